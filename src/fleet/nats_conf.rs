//! The configuration of a tenant's NATS servers: one file for each server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::NatsAddress;
use super::operator::{OperatorFolderError, ServerCertificate, TenantSettings};
use crate::proof;

/// The file of the authorities' certificates, by which the servers of a cluster know each other.
pub(super) const AUTHORITIES: &str = "ca.pem";

/// How far the port at which the servers of a cluster speak to each other is above that of their clients: as in
/// NATS's own defaults, 4222 and 6222.
const ROUTE_PORT_ABOVE: u16 = 2_000;

/// The files of the servers by their names, in the order of the addresses; the certificates of the authorities last.
/// The servers of a cluster share a password that is drawn anew each time.
///
/// # Errors
///
/// [`OperatorFolderError::Path`] and [`OperatorFolderError::Cluster`].
pub(super) fn server_files(
    settings: &TenantSettings,
    certificate: Option<&ServerCertificate>,
) -> Result<Vec<(String, String)>, OperatorFolderError> {
    let addresses = &settings.servers.addresses;
    let is_cluster = addresses.len() > 1;
    if is_cluster {
        check_cluster(addresses)?;
    }
    let password = proof::random_hex::<16>();
    let mut files = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        let name = server_file(at, addresses.len());
        let text = server_text(&name, settings, address, certificate, &password)?;
        files.push((name, text));
    }
    if let Some(ca) = settings.servers.ca.as_ref().filter(|_| is_cluster) {
        files.push((AUTHORITIES.to_owned(), ca.clone()));
    }
    Ok(files)
}

/// The name of the file of a server, by its number from 0 and the number of all.
pub(super) fn server_file(at: usize, count: usize) -> String {
    if count == 1 { "nats.conf".to_owned() } else { format!("nats-{}.conf", at + 1) }
}

/// One computer cannot open a port twice, and what is on the loopback no other server reaches.
fn check_cluster(addresses: &[NatsAddress]) -> Result<(), OperatorFolderError> {
    let refused = |why: String| Err(OperatorFolderError::Cluster(why.into()));
    let (here, there) = addresses.iter().partition::<Vec<_>, _>(|address| address.is_loopback());
    if let (Some(here), Some(there)) = (here.first(), there.first()) {
        return refused(format!(
            "{here} is on one machine alone, so {there} and the places do not reach it. Name all servers as the other \
             machines reach them"
        ));
    }
    let mut ports: BTreeMap<(&str, u16), &NatsAddress> = BTreeMap::new();
    for address in addresses {
        let Some(route) = route_port(address) else {
            return refused(format!(
                "{address} leaves no port for the cluster: its servers speak to each other at the port that is \
                 {ROUTE_PORT_ABOVE} above. Name a port up to {}",
                u16::MAX - ROUTE_PORT_ABOVE
            ));
        };
        for port in [address.port(), route] {
            if let Some(other) = ports.insert((address.host(), port), address) {
                return refused(if other.port() == address.port() {
                    format!("{address} is named twice. Name each server once")
                } else {
                    format!(
                        "{other} and {address} both need port {port}: the servers of a cluster speak to each other at \
                         the port that is {ROUTE_PORT_ABOVE} above. Name another port"
                    )
                });
            }
        }
    }
    Ok(())
}

fn route_port(address: &NatsAddress) -> Option<u16> {
    address.port().checked_add(ROUTE_PORT_ABOVE)
}

/// The configuration of a server. Clients and servers on other machines come by TLS alone.
fn server_text(
    name: &str,
    TenantSettings { tenant, servers }: &TenantSettings,
    address: &NatsAddress,
    certificate: Option<&ServerCertificate>,
    password: &str,
) -> Result<String, OperatorFolderError> {
    let is_far = servers.require_tls();
    let listen = if is_far { "0.0.0.0" } else { "127.0.0.1" };
    let port = address.port();
    let mut text = format!(
        "# A NATS server of the tenant {tenant}, {address}: `nats-server -c {name}`.\nlisten: \"{listen}:{port}\"\n"
    );
    let usual = || ServerCertificate {
        certificate: PathBuf::from("server-cert.pem"),
        key: PathBuf::from("server-key.pem"),
    };
    let files = certificate.cloned().or_else(|| is_far.then(usual));
    let tls = files.map(|files| {
        let (cert, key) = (quoted(&files.certificate)?, quoted(&files.key)?);
        Ok::<_, OperatorFolderError>(format!("  cert_file: {cert}\n  key_file: {key}\n"))
    });
    let tls = tls.transpose()?;
    if let Some(tls) = &tls {
        let _ = write!(text, "\ntls {{\n{tls}}}\n");
    }
    let others: Vec<_> = servers.addresses.iter().filter(|other| *other != address).collect();
    if let (false, Some(route)) = (others.is_empty(), route_port(address)) {
        let _ = write!(
            text,
            "\n# The servers of the tenant speak to each other here; no one else knows the password.\ncluster {{\n  name: \
             \"{tenant}\"\n  listen: \"{listen}:{route}\"\n  no_advertise: true\n  authorization {{\n    user: \
             \"route\"\n    password: \"{password}\"\n  }}\n"
        );
        if let Some(tls) = tls {
            let authorities = match &servers.ca {
                Some(_) => format!("  ca_file: \"{AUTHORITIES}\"\n"),
                None => String::new(),
            };
            let _ = write!(text, "  tls {{\n{tls}{authorities}  }}\n");
        }
        text += "  routes: [\n";
        for other in others {
            let (host, port) = (other.host(), route_port(other).unwrap_or_default());
            let _ = writeln!(text, "    \"nats://route:{password}@{host}:{port}\"");
        }
        text += "  ]\n}\n";
    }
    text +=
        "\n# Places and agents. `tabwire-fleet places` writes this file.\ninclude \"users.conf\"\n";
    Ok(text)
}

/// A path as a text of the configuration.
fn quoted(path: &Path) -> Result<String, OperatorFolderError> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\\', '\n']));
    let text = text.ok_or_else(|| OperatorFolderError::Path(path.to_owned()))?;
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::TenantServers;

    fn settings(addresses: &[&str], ca: Option<&str>) -> TenantSettings {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let servers = TenantServers { addresses, ca: ca.map(str::to_owned), name: None };
        TenantSettings { tenant: "acme".parse().unwrap(), servers }
    }

    #[test]
    fn a_server_for_other_machines_has_tls_and_a_path_that_would_be_configuration_is_refused() {
        let far = settings(&["nats://nats.acme.example:4222"], None);
        let files = server_files(&far, None).unwrap();
        let [(name, text)] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!(name, "nats.conf");
        assert!(text.contains("0.0.0.0:4222") && text.contains("cert_file"), "{text}");
        assert!(!text.contains("cluster"), "{text}");
        let of = |certificate: &str| ServerCertificate {
            certificate: certificate.into(),
            key: "/etc/key.pem".into(),
        };
        let text = server_files(&far, Some(&of("/etc/a.pem"))).unwrap().remove(0).1;
        assert!(text.contains("\"/etc/a.pem\""));
        for wrong in ["/a\".pem", "/a\\b", "/a\nb"] {
            let why = server_files(&far, Some(&of(wrong))).unwrap_err().to_string();
            assert!(why.contains("without quotes"), "{why}");
        }
    }

    #[test]
    fn each_server_of_a_cluster_has_a_file_that_names_all_the_others() {
        let three = ["nats1.example", "nats2.example:4333", "nats3.example"];
        let files = server_files(&settings(&three, Some("PEM")), None).unwrap();
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["nats-1.conf", "nats-2.conf", "nats-3.conf", "ca.pem"]);
        assert_eq!(files[3].1, "PEM");
        let second = &files[1].1;
        let password = second.split("password: \"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(password.len(), 32);
        for wanted in
            ["\"0.0.0.0:4333\"", "\"0.0.0.0:6333\"", "name: \"acme\"", "ca_file: \"ca.pem\""]
        {
            assert!(second.contains(wanted), "{wanted}: {second}");
        }
        assert_eq!(second.matches("cert_file").count(), 2, "clients and servers: {second}");
        for (host, port) in [("nats1.example", 6222), ("nats3.example", 6222)] {
            let route = format!("nats://route:{password}@{host}:{port}");
            assert!(second.contains(&route), "{route}: {second}");
        }
        assert!(!second.contains("@nats2.example"), "none to itself: {second}");
        assert!(files[0].1.contains(password) && files[2].1.contains(password));
    }

    #[test]
    fn servers_that_can_be_no_cluster_are_refused_with_the_next_step() {
        for (addresses, says) in [
            (&["a.example", "a.example:4222"][..], "named twice"),
            (&["127.0.0.1", "a.example"], "as the other machines reach them"),
            (&["a.example:63536", "b.example"], "up to 63535"),
            (&["127.0.0.1:4222", "127.0.0.1:6222"], "both need port 6222"),
            (&["127.0.0.1:6222", "127.0.0.1:4222"], "both need port 6222"),
        ] {
            let why = server_files(&settings(addresses, None), None).unwrap_err().to_string();
            assert!(why.contains(says), "{addresses:?}: {why}");
        }
        assert!(server_files(&settings(&["127.0.0.1:4222", "127.0.0.1:4223"], None), None).is_ok());
        assert!(server_files(&settings(&["127.0.0.1:65000"], None), None).is_ok(), "no cluster");
    }
}
