//! Browsers of the Chromium family: where each looks for native messaging hosts.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::user_folders::UserFolders;
use crate::os::OperatingSystem;
use crate::protocol::EXTENSION_ID;
use BrowserSandbox::{Flatpak, Snap, SnapWithPortal};
use WindowsFolder::{Local, Roaming};

/// The name by which the extension calls the native messaging host.
pub(crate) const HOST_NAME: &str = "dev.tabwire.host";

/// The folder of host manifests in a browser's folder of profiles.
pub(super) const HOSTS_FOLDER: &str = "NativeMessagingHosts";

/// A browser of the Chromium family, or one channel of it that has profiles of its own.
#[derive(Debug)]
pub(crate) struct ChromiumBrowser {
    /// As a person calls it.
    pub(crate) name: &'static str,
    /// Its folder of profiles below `~/.config`; `None`: there is no such browser on Linux.
    linux: Option<&'static str>,
    /// The same below `~/Library/Application Support`.
    mac_os: Option<&'static str>,
    /// The same on Windows.
    windows: Option<WindowsFolder>,
    /// The keys below `HKEY_CURRENT_USER\Software` under which it looks for hosts on Windows.
    registry: &'static [&'static str],
    /// The systems on which it looks for hosts in Chrome's folder too.
    reads_chrome: &'static [OperatingSystem],
    /// On Linux its folders of profiles below the home directory where it was installed as a Snap or a
    /// Flatpak.
    sandboxes: &'static [(BrowserSandbox, &'static str)],
}

/// A folder of profiles on Windows.
#[derive(Clone, Copy, Debug)]
enum WindowsFolder {
    /// Below `%LOCALAPPDATA%`.
    Local(&'static str),
    /// Below `%APPDATA%`.
    Roaming(&'static str),
}

/// A sandbox in which a browser cannot start programs of the computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrowserSandbox {
    Snap,
    /// A Snap that asks the desktop's portal to start native messaging hosts. Ubuntu has that portal, and other
    /// systems do not.
    SnapWithPortal,
    Flatpak,
}

/// A browser in a sandbox that has run on this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SandboxedBrowser {
    name: &'static str,
    pub(crate) sandbox: BrowserSandbox,
}

impl SandboxedBrowser {
    /// As a person calls it, with the kind of its sandbox.
    pub(crate) fn name(self) -> String {
        let sandbox = match self.sandbox {
            BrowserSandbox::Snap | BrowserSandbox::SnapWithPortal => "Snap",
            BrowserSandbox::Flatpak => "Flatpak",
        };
        format!("{} ({sandbox})", self.name)
    }
}

const CHROME_KEY: &str = r"Google\Chrome";
const EDGE_KEY: &str = r"Microsoft\Edge";

/// A browser whose hosts stand in its own folder, and on Windows under these keys.
const fn row(
    name: &'static str,
    linux: Option<&'static str>,
    mac_os: Option<&'static str>,
    windows: Option<WindowsFolder>,
    registry: &'static [&'static str],
) -> ChromiumBrowser {
    ChromiumBrowser { name, linux, mac_os, windows, registry, reads_chrome: &[], sandboxes: &[] }
}

/// A channel of Brave: on macOS it was seen to read Chrome's folder in place of its own, and on Windows
/// Chrome's key.
const fn brave(
    name: &'static str,
    folder: &'static str,
    windows: &'static str,
    registry: &'static [&'static str],
) -> ChromiumBrowser {
    ChromiumBrowser {
        reads_chrome: &[OperatingSystem::MacOs],
        ..row(name, Some(folder), Some(folder), Some(Local(windows)), registry)
    }
}

/// A channel of Opera, which looks in Chrome's places too.
const fn opera(
    name: &'static str,
    linux: Option<&'static str>,
    mac_os: &'static str,
    windows: &'static str,
) -> ChromiumBrowser {
    ChromiumBrowser {
        reads_chrome: &[OperatingSystem::Linux, OperatingSystem::MacOs],
        ..row(name, linux, Some(mac_os), Some(Roaming(windows)), &["Opera Software", CHROME_KEY])
    }
}

/// All browsers that are known.
pub(crate) static BROWSERS: [ChromiumBrowser; 20] = [
    ChromiumBrowser {
        sandboxes: &[(Flatpak, ".var/app/com.google.Chrome/config/google-chrome")],
        ..row(
            "Chrome",
            Some("google-chrome"),
            Some(CHROME_ON_MAC_OS),
            Some(Local("Google/Chrome/User Data")),
            &[CHROME_KEY],
        )
    },
    row(
        "Chrome Beta",
        Some("google-chrome-beta"),
        Some("Google/Chrome Beta"),
        Some(Local("Google/Chrome Beta/User Data")),
        &[CHROME_KEY],
    ),
    row(
        "Chrome Dev",
        Some("google-chrome-unstable"),
        Some("Google/Chrome Dev"),
        Some(Local("Google/Chrome Dev/User Data")),
        &[CHROME_KEY],
    ),
    row(
        "Chrome Canary",
        Some("google-chrome-canary"),
        Some("Google/Chrome Canary"),
        Some(Local("Google/Chrome SxS/User Data")),
        &[CHROME_KEY],
    ),
    row(
        "Chrome for Testing",
        Some("google-chrome-for-testing"),
        Some("Google/Chrome for Testing"),
        Some(Local("Google/Chrome for Testing/User Data")),
        &[CHROME_KEY],
    ),
    ChromiumBrowser {
        sandboxes: &[
            (SnapWithPortal, "snap/chromium/common/chromium"),
            (Flatpak, ".var/app/org.chromium.Chromium/config/chromium"),
            (Flatpak, ".var/app/io.github.ungoogled_software.ungoogled_chromium/config/chromium"),
        ],
        ..row(
            "Chromium",
            Some("chromium"),
            Some("Chromium"),
            Some(Local("Chromium/User Data")),
            &["Chromium"],
        )
    },
    ChromiumBrowser {
        sandboxes: &[(Flatpak, ".var/app/com.microsoft.Edge/config/microsoft-edge")],
        ..row(
            "Edge",
            Some("microsoft-edge"),
            Some("Microsoft Edge"),
            Some(Local("Microsoft/Edge/User Data")),
            &[EDGE_KEY],
        )
    },
    row(
        "Edge Beta",
        Some("microsoft-edge-beta"),
        Some("Microsoft Edge Beta"),
        Some(Local("Microsoft/Edge Beta/User Data")),
        &[EDGE_KEY],
    ),
    row(
        "Edge Dev",
        Some("microsoft-edge-dev"),
        Some("Microsoft Edge Dev"),
        Some(Local("Microsoft/Edge Dev/User Data")),
        &[EDGE_KEY],
    ),
    row(
        "Edge Canary",
        Some("microsoft-edge-canary"),
        Some("Microsoft Edge Canary"),
        Some(Local("Microsoft/Edge SxS/User Data")),
        &[EDGE_KEY],
    ),
    ChromiumBrowser {
        sandboxes: &[
            (Snap, "snap/brave/current/.config/BraveSoftware/Brave-Browser"),
            (Flatpak, ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser"),
        ],
        ..brave(
            "Brave",
            "BraveSoftware/Brave-Browser",
            "BraveSoftware/Brave-Browser/User Data",
            &[r"BraveSoftware\Brave-Browser", CHROME_KEY],
        )
    },
    brave(
        "Brave Beta",
        "BraveSoftware/Brave-Browser-Beta",
        "BraveSoftware/Brave-Browser-Beta/User Data",
        &[r"BraveSoftware\Brave-Browser-Beta", CHROME_KEY],
    ),
    brave(
        "Brave Nightly",
        "BraveSoftware/Brave-Browser-Nightly",
        "BraveSoftware/Brave-Browser-Nightly/User Data",
        &[r"BraveSoftware\Brave-Browser-Nightly", CHROME_KEY],
    ),
    ChromiumBrowser {
        sandboxes: &[
            (Snap, "snap/vivaldi/current/.config/vivaldi"),
            (Flatpak, ".var/app/com.vivaldi.Vivaldi/config/vivaldi"),
        ],
        ..row(
            "Vivaldi",
            Some("vivaldi"),
            Some("Vivaldi"),
            Some(Local("Vivaldi/User Data")),
            // Vivaldi was seen to read the key of Chrome.
            &["Vivaldi", CHROME_KEY],
        )
    },
    row("Vivaldi Snapshot", Some("vivaldi-snapshot"), Some("Vivaldi Snapshot"), None, &[]),
    ChromiumBrowser {
        sandboxes: &[
            (Snap, "snap/opera/current/.config/opera"),
            (Flatpak, ".var/app/com.opera.Opera/config/opera"),
        ],
        ..opera("Opera", Some("opera"), "com.operasoftware.Opera", "Opera Software/Opera Stable")
    },
    opera("Opera GX", None, "com.operasoftware.OperaGX", "Opera Software/Opera GX Stable"),
    opera(
        "Opera Beta",
        Some("opera-beta"),
        "com.operasoftware.OperaNext",
        "Opera Software/Opera Next",
    ),
    opera(
        "Opera Developer",
        Some("opera-developer"),
        "com.operasoftware.OperaDeveloper",
        "Opera Software/Opera Developer",
    ),
    row("Arc", None, Some("Arc/User Data"), None, &[]),
];

/// Chrome's folder of profiles on macOS.
const CHROME_ON_MAC_OS: &str = "Google/Chrome";

impl ChromiumBrowser {
    /// The folder that it makes when it first runs; `None`: no such browser on this system.
    pub(crate) fn folder(&self, user_folders: &UserFolders) -> Option<PathBuf> {
        match user_folders.system {
            OperatingSystem::Linux => self.linux.map(|folder| user_folders.settings.join(folder)),
            OperatingSystem::MacOs => self.mac_os.map(|folder| user_folders.settings.join(folder)),
            OperatingSystem::Windows => self.windows.map(|folder| match folder {
                Local(folder) => user_folders.local.join(folder),
                Roaming(folder) => user_folders.settings.join(folder),
            }),
        }
    }

    /// Whether it has run on this computer, outside of a sandbox.
    pub(crate) fn has_run(&self, user_folders: &UserFolders) -> bool {
        self.folder(user_folders).is_some_and(|folder| has_profiles(&folder))
    }

    /// Where it has run in sandboxes.
    pub(crate) fn found_in_sandboxes(
        &self,
        user_folders: &UserFolders,
    ) -> impl Iterator<Item = SandboxedBrowser> {
        let found = self.sandbox_folders(user_folders).filter(|(_, folder)| has_profiles(folder));
        found.map(|(sandbox, _)| SandboxedBrowser { name: self.name, sandbox })
    }

    fn sandbox_folders(
        &self,
        user_folders: &UserFolders,
    ) -> impl Iterator<Item = (BrowserSandbox, PathBuf)> {
        let has_sandboxes = user_folders.system == OperatingSystem::Linux;
        let sandboxes = self.sandboxes.iter().filter(move |_| has_sandboxes);
        sandboxes.map(|(sandbox, folder)| (*sandbox, user_folders.home.join(folder)))
    }

    /// All folders in which it may keep profiles.
    pub(crate) fn profile_folders(&self, user_folders: &UserFolders) -> Vec<PathBuf> {
        let sandboxed = self.sandbox_folders(user_folders).map(|(_, folder)| folder);
        self.folder(user_folders).into_iter().chain(sandboxed).collect()
    }

    /// The files in which it looks for our host; none where there is no such browser on this system, or
    /// where it looks [in the registry](Self::registry_keys).
    pub(crate) fn manifests(&self, user_folders: &UserFolders) -> Vec<PathBuf> {
        let system = user_folders.system;
        let chrome = match system {
            OperatingSystem::Windows => return Vec::new(),
            OperatingSystem::Linux => "google-chrome",
            OperatingSystem::MacOs => CHROME_ON_MAC_OS,
        };
        let Some(own) = self.folder(user_folders) else { return Vec::new() };
        let chrome =
            self.reads_chrome.contains(&system).then(|| user_folders.settings.join(chrome));
        [Some(own), chrome].iter().flatten().map(|folder| manifest_below(folder)).collect()
    }

    /// The keys of the user's registry under which it looks for the path of our host's manifest.
    pub(crate) fn registry_keys(&self) -> impl Iterator<Item = String> {
        let key = |vendor| format!(r"Software\{vendor}\NativeMessagingHosts\{HOST_NAME}");
        self.registry.iter().map(key)
    }
}

/// Whether a browser has made this folder. Programs that register hosts make the folder of a browser that
/// was never there, as we do for one that reads Chrome's.
fn has_profiles(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != HOSTS_FOLDER))
}

/// Where a browser with this folder of profiles looks for the manifest.
pub fn manifest_below(folder: &Path) -> PathBuf {
    folder.join(HOSTS_FOLDER).join(format!("{HOST_NAME}.json"))
}

/// The host manifest: it lets our extension start `wrapper`, and no other. A manifest carries no
/// arguments, hence the wrapper.
pub(super) fn manifest(wrapper: &Path) -> String {
    let manifest = json!({
        "name": HOST_NAME,
        "description": "Gives the Tabwire extension the key to the daemon on this computer",
        "path": wrapper,
        "type": "stdio",
        "allowed_origins": [origin()],
    });
    format!("{manifest:#}\n")
}

/// The name by which a browser calls our extension when it starts the host.
pub(super) fn origin() -> String {
    format!("chrome-extension://{EXTENSION_ID}/")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const SYSTEMS: [OperatingSystem; 3] =
        [OperatingSystem::Linux, OperatingSystem::MacOs, OperatingSystem::Windows];

    fn of(name: &str) -> &'static ChromiumBrowser {
        BROWSERS.iter().find(|browser| browser.name == name).unwrap()
    }

    fn folders(system: OperatingSystem) -> UserFolders {
        UserFolders::in_home(system, Path::new("/h"))
    }

    /// The paths as Unix writes them, also where this test runs elsewhere.
    fn shown(paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| path.to_string_lossy().replace('\\', "/")).collect()
    }

    #[test]
    fn each_browser_has_on_each_system_a_folder_and_the_place_of_its_hosts_or_neither() {
        for browser in &BROWSERS {
            for system in SYSTEMS {
                let folders = folders(system);
                let is_there = browser.folder(&folders).is_some();
                let has_hosts = match system {
                    OperatingSystem::Windows => browser.registry_keys().next().is_some(),
                    OperatingSystem::Linux | OperatingSystem::MacOs => {
                        !browser.manifests(&folders).is_empty()
                    }
                };
                assert_eq!(is_there, has_hosts, "{} on {system:?}", browser.name);
            }
            let somewhere =
                SYSTEMS.iter().any(|system| browser.folder(&folders(*system)).is_some());
            assert!(somewhere, "{}", browser.name);
            for (sandbox, folder) in browser.sandboxes {
                let root = match sandbox {
                    Snap | SnapWithPortal => "snap/",
                    Flatpak => ".var/app/",
                };
                assert!(folder.starts_with(root), "{}: {folder}", browser.name);
            }
        }
    }

    #[test]
    fn no_two_browsers_share_a_name_or_a_folder() {
        let mut names: Vec<_> = BROWSERS.iter().map(|browser| browser.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BROWSERS.len());
        for system in SYSTEMS {
            let folders = folders(system);
            let mut found: Vec<_> =
                BROWSERS.iter().flat_map(|browser| browser.profile_folders(&folders)).collect();
            let all = found.len();
            found.sort();
            found.dedup();
            assert_eq!(found.len(), all, "{system:?}");
        }
    }

    #[test]
    fn each_browser_is_told_where_it_looks() {
        let tail = "NativeMessagingHosts/dev.tabwire.host.json";
        for (name, linux, mac) in [
            ("Chrome", Some("google-chrome"), "Google/Chrome"),
            ("Chrome Beta", Some("google-chrome-beta"), "Google/Chrome Beta"),
            ("Chrome Dev", Some("google-chrome-unstable"), "Google/Chrome Dev"),
            ("Chrome Canary", Some("google-chrome-canary"), "Google/Chrome Canary"),
            ("Chrome for Testing", Some("google-chrome-for-testing"), "Google/Chrome for Testing"),
            ("Chromium", Some("chromium"), "Chromium"),
            ("Edge", Some("microsoft-edge"), "Microsoft Edge"),
            ("Edge Canary", Some("microsoft-edge-canary"), "Microsoft Edge Canary"),
            ("Brave", Some("BraveSoftware/Brave-Browser"), "BraveSoftware/Brave-Browser"),
            ("Vivaldi", Some("vivaldi"), "Vivaldi"),
            ("Opera", Some("opera"), "com.operasoftware.Opera"),
            ("Arc", None, "Arc/User Data"),
        ] {
            let own = |system| shown(&of(name).manifests(&folders(system))).into_iter().next();
            let path = linux.map(|linux| format!("/h/.config/{linux}/{tail}"));
            assert_eq!(own(OperatingSystem::Linux), path);
            let path = format!("/h/Library/Application Support/{mac}/{tail}");
            assert_eq!(own(OperatingSystem::MacOs), Some(path));
            assert_eq!(own(OperatingSystem::Windows), None, "there it is the registry");
        }
    }

    #[test]
    fn opera_and_on_macos_brave_are_told_in_the_folder_of_chrome_too() {
        for system in SYSTEMS {
            let folders = folders(system);
            let chrome = of("Chrome").manifests(&folders);
            let told: Vec<_> = BROWSERS
                .iter()
                .filter(|browser| {
                    chrome.iter().any(|path| browser.manifests(&folders).contains(path))
                })
                .map(|browser| browser.name)
                .collect();
            let operas = ["Opera", "Opera GX", "Opera Beta", "Opera Developer"];
            let expected = match system {
                OperatingSystem::Linux => ["Chrome", "Opera", operas[2], operas[3]].to_vec(),
                OperatingSystem::MacOs => {
                    [&["Chrome", "Brave", "Brave Beta", "Brave Nightly"][..], &operas].concat()
                }
                OperatingSystem::Windows => Vec::new(),
            };
            assert_eq!(told, expected, "{system:?}");
        }
        for name in ["Opera", "Brave", "Vivaldi", "Chrome Canary"] {
            let keys: Vec<_> = of(name).registry_keys().collect();
            let chrome = r"Software\Google\Chrome\NativeMessagingHosts\dev.tabwire.host";
            assert!(keys.iter().any(|key| key == chrome), "{name}: {keys:?}");
        }
    }

    #[test]
    fn on_windows_opera_keeps_its_profiles_in_the_roaming_folder_and_others_do_not() {
        let folder = |name| shown(of(name).folder(&folders(OperatingSystem::Windows)).as_slice());
        assert_eq!(folder("Opera"), ["/h/AppData/Roaming/Opera Software/Opera Stable"]);
        assert_eq!(folder("Chrome Canary"), ["/h/AppData/Local/Google/Chrome SxS/User Data"]);
        assert_eq!(folder("Edge Canary"), ["/h/AppData/Local/Microsoft/Edge SxS/User Data"]);
        assert_eq!(folder("Vivaldi"), ["/h/AppData/Local/Vivaldi/User Data"]);
    }

    #[test]
    fn a_snap_and_a_flatpak_keep_their_profiles_elsewhere_and_on_linux_only() {
        let chromium = of("Chromium").profile_folders(&folders(OperatingSystem::Linux));
        for folder in [
            "/h/.config/chromium",
            "/h/snap/chromium/common/chromium",
            "/h/.var/app/org.chromium.Chromium/config/chromium",
        ] {
            assert!(chromium.contains(&folder.into()), "{folder}: {chromium:?}");
        }
        let mac = of("Chromium").profile_folders(&folders(OperatingSystem::MacOs));
        assert_eq!(mac, [PathBuf::from("/h/Library/Application Support/Chromium")]);
    }

    #[test]
    fn a_folder_that_holds_hosts_alone_is_no_browser() {
        let dir = tempfile::tempdir().unwrap();
        let user_folders = UserFolders::in_home(OperatingSystem::Linux, dir.path());
        let folder = of("Chrome").folder(&user_folders).unwrap();
        assert!(!of("Chrome").has_run(&user_folders));
        fs::create_dir_all(folder.join("NativeMessagingHosts")).unwrap();
        assert!(!of("Chrome").has_run(&user_folders));
        fs::write(folder.join("Local State"), "{}").unwrap();
        assert!(of("Chrome").has_run(&user_folders));
        let flatpak = ".var/app/org.chromium.Chromium/config/chromium/Default";
        let sandboxed = || of("Chromium").found_in_sandboxes(&user_folders).collect::<Vec<_>>();
        assert_eq!(sandboxed(), []);
        fs::create_dir_all(dir.path().join(flatpak)).unwrap();
        let names: Vec<_> = sandboxed().into_iter().map(SandboxedBrowser::name).collect();
        assert_eq!(names, ["Chromium (Flatpak)"]);
        assert!(!of("Chromium").has_run(&user_folders));
    }

    #[test]
    fn a_manifest_lets_in_our_extension_only() {
        let manifest: Value = serde_json::from_str(&manifest(Path::new("/s/native-host"))).unwrap();
        assert_eq!(manifest["name"], HOST_NAME);
        assert_eq!(manifest["path"], "/s/native-host");
        assert_eq!(manifest["type"], "stdio");
        let origins = json!([format!("chrome-extension://{EXTENSION_ID}/")]);
        assert_eq!(manifest["allowed_origins"], origins);
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_';
        assert!(HOST_NAME.chars().all(fits), "as browsers demand");
    }
}
