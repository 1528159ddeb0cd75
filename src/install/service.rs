//! The daemon as a service of the person's own session: a systemd unit with its socket, or an agent
//! of launchd. Texts and places alone; who runs the service manager is the command line.

use std::fs;
use std::net::{Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};

use super::plan::{ChangePlan, FileChange, PlannedChange};
use super::{OperatingSystem, PlanError, UserFolders};

/// The unit of the daemon.
pub(crate) const SERVICE: &str = "tabwire.service";
/// The unit that listens, and starts the service at the first connection.
pub(crate) const SOCKET: &str = "tabwire.socket";
/// The label of the agent of launchd.
pub(crate) const LAUNCHD_LABEL: &str = "dev.tabwire.daemon";

/// The first words of each file: one without them is somebody else's.
const MARK: &str = "Written by `tabwire service install`";

/// The service of one person's computer.
#[derive(Clone, Debug)]
pub(crate) struct DaemonService {
    /// Whose computer it is, and which service manager runs there.
    pub(crate) user_folders: UserFolders,
    /// The program, as an absolute path that outlives its version.
    pub(crate) program: PathBuf,
    /// The state directory, where the service's own environment would lead to another.
    pub(crate) home: Option<PathBuf>,
    /// The port on which it listens.
    pub(crate) port: u16,
    /// Further arguments of `tabwire serve`.
    pub(crate) further: Vec<String>,
    /// Whether the computer has a loopback of IPv6: a socket that cannot listen everywhere does not
    /// listen at all.
    pub(crate) has_ipv6: bool,
}

/// Why the files of the service are left as they are.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    /// A file of that name was not written by this program.
    #[error(
        "{0} is not Tabwire's, so it stays as it is. Move it away, then run `tabwire service install` again"
    )]
    Foreign(PathBuf),
    /// A file cannot be read.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl DaemonService {
    /// Whether this computer can listen on the loopback of IPv6.
    pub(crate) fn finds_ipv6() -> bool {
        TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
    }

    /// The folder of the service manager's own files of this person.
    fn folder(folders: &UserFolders) -> PathBuf {
        match folders.system {
            OperatingSystem::Linux => folders.settings.join("systemd/user"),
            OperatingSystem::MacOs | OperatingSystem::Windows => {
                folders.home.join("Library/LaunchAgents")
            }
        }
    }

    /// The files by which the service manager knows the service.
    pub(crate) fn paths(folders: &UserFolders) -> Vec<PathBuf> {
        let folder = Self::folder(folders);
        match folders.system {
            OperatingSystem::Linux => vec![folder.join(SOCKET), folder.join(SERVICE)],
            OperatingSystem::MacOs => vec![folder.join(format!("{LAUNCHD_LABEL}.plist"))],
            // A service of Windows runs for the whole computer, not for one person.
            OperatingSystem::Windows => Vec::new(),
        }
    }

    /// Those of them that this program has written.
    pub(crate) fn installed(folders: &UserFolders) -> Vec<PathBuf> {
        let is_own = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| has_mark(&bytes));
        Self::paths(folders).into_iter().filter(is_own).collect()
    }

    /// Whether the service manager listens on this port, so that a connection starts the daemon.
    pub(crate) fn listens(folders: &UserFolders, port: u16) -> bool {
        let socket = Self::folder(folders).join(SOCKET);
        folders.system == OperatingSystem::Linux
            && fs::read_to_string(socket)
                .is_ok_and(|unit| unit.lines().any(|line| line == listen_line("127.0.0.1", port)))
    }

    /// The texts of the files, in the order of [`DaemonService::paths`].
    fn texts(&self) -> Vec<String> {
        match self.user_folders.system {
            OperatingSystem::Linux => vec![self.socket_unit(), self.service_unit()],
            OperatingSystem::MacOs => vec![self.launchd_agent()],
            OperatingSystem::Windows => Vec::new(),
        }
    }

    /// The files with their texts.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        Self::paths(&self.user_folders).into_iter().zip(self.texts()).collect()
    }

    /// The changes that install the service, or bring it up to date.
    pub(crate) fn install(&self) -> Result<ChangePlan, ServiceError> {
        let mut changes = Vec::new();
        for (path, text) in self.files() {
            if fs::read(&path).is_ok_and(|bytes| !has_mark(&bytes)) {
                return Err(ServiceError::Foreign(path));
            }
            // Service managers read it as the person, and other people may: it holds no secret.
            changes.extend(FileChange::put(&path, text, 0o644)?.map(PlannedChange::File));
        }
        Ok(ChangePlan { changes })
    }

    /// The changes that take it away again. Files of others stay.
    pub(crate) fn uninstall(folders: &UserFolders) -> Result<ChangePlan, PlanError> {
        let mut changes = Vec::new();
        for path in Self::installed(folders) {
            changes.extend(FileChange::remove(&path)?.map(PlannedChange::File));
        }
        Ok(ChangePlan { changes })
    }

    fn socket_unit(&self) -> String {
        let mut listen = listen_line("127.0.0.1", self.port);
        if self.has_ipv6 {
            // Clients that resolve `localhost` try this address first.
            listen.push('\n');
            listen.push_str(&listen_line("[::1]", self.port));
        }
        format!(
            "# {MARK}. It listens for MCP clients and the browser extension, and starts the daemon at the first connection.\n\
             [Unit]\nDescription=Tabwire's port on the loopback\n\n\
             [Socket]\n{listen}\nBacklog=1024\n\n\
             [Install]\nWantedBy=sockets.target\n"
        )
    }

    fn service_unit(&self) -> String {
        let (program, port) = (unit_program(&self.program), self.port);
        let home = self.home.as_deref().map(|home| format!(" --home {}", unit_argument(home)));
        let home = home.unwrap_or_default();
        let further = self.further.iter().map(|word| format!(" {}", unit_argument(word.as_ref())));
        let further: String = further.collect();
        format!(
            "# {MARK}. `tabwire service uninstall` removes it.\n\
             [Unit]\nDescription=Tabwire daemon\nRequires={SOCKET}\nAfter={SOCKET}\n\n\
             [Service]\nExecStart={program} serve --port {port}{home}{further}\nRestart=on-failure\n\
             NoNewPrivileges=yes\nUMask=0077\n"
        )
    }

    fn launchd_agent(&self) -> String {
        let log = self.user_folders.home.join("Library/Logs/tabwire.log");
        let (program, port) = (&*self.program.to_string_lossy(), self.port.to_string());
        let mut words = vec![program, "serve", "--port", &port];
        let home = self.home.as_deref().map(Path::to_string_lossy);
        words.extend(home.iter().flat_map(|home| ["--home", home]));
        words.extend(self.further.iter().map(String::as_str));
        let words: String =
            words.iter().map(|word| format!("\t\t<string>{}</string>\n", xml_text(word))).collect();
        let log = xml_text(&log.to_string_lossy());
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!-- {MARK}. `tabwire service uninstall` removes it. -->\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n\
             \t<key>Label</key>\n\t<string>{LAUNCHD_LABEL}</string>\n\
             \t<key>ProgramArguments</key>\n\t<array>\n{words}\t</array>\n\
             \t<key>RunAtLoad</key>\n\t<true/>\n\
             \t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n\
             \t<key>Umask</key>\n\t<integer>63</integer>\n\
             \t<key>StandardErrorPath</key>\n\t<string>{log}</string>\n\
             </dict>\n</plist>\n"
        )
    }
}

fn listen_line(host: &str, port: u16) -> String {
    format!("ListenStream={host}:{port}")
}

fn has_mark(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains(MARK)
}

/// The path of the program that a unit starts. Of a program's name no variables are replaced.
///
/// Source: systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers".
fn unit_program(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", path.replace('%', "%%"))
}

/// A path or another word as an argument of that program.
fn unit_argument(path: &Path) -> String {
    unit_program(path).replace('$', "$$")
}

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn service(system: OperatingSystem) -> DaemonService {
        DaemonService {
            user_folders: UserFolders::in_home(system, Path::new("/home/ada")),
            program: "/opt/a <b> & c/tabwire".into(),
            home: Some("/var/a & b".into()),
            port: 7891,
            further: vec!["--otlp".into(), "http://127.0.0.1:4318/%24$a".into()],
            has_ipv6: false,
        }
    }

    #[test]
    fn launchds_agent_is_a_property_list_that_another_program_reads() {
        let files = service(OperatingSystem::MacOs).files();
        let [(path, text)] = &files[..] else { panic!() };
        assert!(path.ends_with("Library/LaunchAgents/dev.tabwire.daemon.plist"));
        let read = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
        let mut python = Command::new("python3");
        python.args(["-c", read]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().expect("this test needs python3");
        python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let read = python.wait_with_output().unwrap().stdout;
        let read: serde_json::Value = serde_json::from_slice(&read).unwrap();
        let words = ["/opt/a <b> & c/tabwire", "serve", "--port", "7891", "--home", "/var/a & b"];
        let words = [&words[..], &["--otlp", "http://127.0.0.1:4318/%24$a"]].concat();
        assert_eq!(read["ProgramArguments"], serde_json::json!(words));
        assert_eq!(read["Umask"], 0o077);
        assert_eq!(read["KeepAlive"]["SuccessfulExit"], false);
    }

    #[test]
    fn no_word_of_a_unit_is_replaced_by_its_manager() {
        let text = &service(OperatingSystem::Linux).files()[1].1;
        let words = r#" --home "/var/a & b" "--otlp" "http://127.0.0.1:4318/%%24$$a""#;
        assert!(text.lines().any(|line| line.ends_with(words)), "{text}");
    }

    #[test]
    fn a_computer_without_ipv6_has_no_socket_that_would_fail_for_it() {
        let mut service = service(OperatingSystem::Linux);
        assert!(!service.files()[0].1.contains("[::1]"));
        service.has_ipv6 = true;
        assert!(service.files()[0].1.contains("ListenStream=[::1]:7891"));
    }
}
