//! Tabwire's own pages: those of the daemon, by every name of this computer, and those of the
//! extension. They are the person's alone: agents neither touch nor name them, and no rule changes
//! that.
//!
//! The extension decides with the browser's own parser (`extension-shim/src/policy/own_pages.js`). The
//! daemon has none, so it takes each host with an unusual spelling for this computer.
//! `tests/fixtures/own_pages.json` holds both to the same addresses.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::EXTENSION_ID;

/// Prefixes of a URL that shows or holds the content of another one.
const AROUND: [&str; 3] = ["view-source:", "blob:", "filesystem:"];

/// The schemes that lead to a host, and their usual ports.
const SCHEMES: [(&str, u16); 4] = [("http:", 80), ("https:", 443), ("ws:", 80), ("wss:", 443)];

/// Whether a URL is one of Tabwire's own pages, while its daemon listens on `port`.
#[must_use]
pub fn is_own_page(url: &str, port: u16) -> bool {
    // Browsers drop tabs and line ends anywhere in a URL, and take `\` for `/`.
    let url: String = url
        .chars()
        .filter(|c| !c.is_ascii_control())
        .map(|c| if c == '\\' { '/' } else { c })
        .collect();
    let url = url.trim().to_ascii_lowercase();
    let mut inner = url.as_str();
    while let Some(rest) = AROUND.iter().find_map(|head| inner.strip_prefix(head)) {
        inner = rest;
    }
    if let Some(rest) = inner.strip_prefix("chrome-extension:") {
        return authority(rest).split(':').next() == Some(EXTENSION_ID);
    }
    SCHEMES.iter().any(|(scheme, usual)| {
        inner.strip_prefix(scheme).is_some_and(|rest| is_daemon(authority(rest), *usual, port))
    })
}

/// The host and port in the part of a URL after its scheme.
fn authority(rest: &str) -> &str {
    // Any number of slashes leads to the host.
    let rest = rest.trim_start_matches('/');
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let whole = &rest[..end];
    whole.rsplit_once('@').map_or(whole, |(_user, host)| host)
}

/// Whether this host and port are the daemon's.
fn is_daemon(authority: &str, usual: u16, port: u16) -> bool {
    let (host, given) = match authority.rsplit_once(':') {
        // The last colon of an address in brackets may be inside of them.
        Some((host, given)) if !given.ends_with(']') => (host, given),
        _ => (authority, ""),
    };
    let given = if given.is_empty() { Some(usual) } else { given.parse().ok() };
    given == Some(port) && is_this_computer(host)
}

/// Whether a host leads to this computer, or is spelled in a way that only a browser's parser
/// understands.
fn is_this_computer(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().map_or(true, |address| {
            let is_own = address.is_loopback() || address.is_unspecified();
            is_own || address.to_ipv4_mapped().is_some_and(is_own_address)
        });
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return is_own_address(address);
    }
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let last = host.rsplit('.').next().unwrap_or_default();
    // Browsers take a number at the end for an address: `127.1`, `0x7f.1`, `2130706433`.
    let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    !is_plain || is_number || last == "localhost"
}

const fn is_own_address(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_spelling_of_tabwire_s_own_pages_is_known_and_no_other_page_is_taken_for_one() {
        let fixture = include_str!("../../tests/fixtures/own_pages.json");
        let fixture: Value = serde_json::from_str(fixture).unwrap();
        for (list, is_own) in [("own", true), ("others", false)] {
            let urls = fixture[list].as_array().unwrap();
            assert!(urls.len() > 10, "{list}");
            for url in urls.iter().map(|url| url.as_str().unwrap()) {
                let url = url.replace("EXTENSION", EXTENSION_ID);
                assert_eq!(is_own_page(&url, 7890), is_own, "{url}");
            }
        }
    }

    #[test]
    fn a_daemon_on_the_usual_port_of_a_scheme_is_found_without_a_port() {
        assert!(is_own_page("http://localhost/", 80) && is_own_page("https://127.1", 443));
        assert!(!is_own_page("http://localhost/", 443) && !is_own_page("http://localhost/", 7890));
    }
}
