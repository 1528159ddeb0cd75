//! Browsers of the Chromium family: where each looks for native messaging hosts.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::user_folders::UserFolders;
use crate::os::OperatingSystem;
use crate::protocol::EXTENSION_ID;

/// The name by which the extension calls the native messaging host.
pub(crate) const HOST_NAME: &str = "dev.tabwire.host";

/// A browser of the Chromium family.
#[derive(Debug)]
pub(crate) struct ChromiumBrowser {
    /// As a person calls it.
    pub(crate) name: &'static str,
    /// Its folder of profiles below `~/.config`; `None`: there is no such browser on Linux.
    linux: Option<&'static str>,
    /// The same below `~/Library/Application Support`.
    mac_os: &'static str,
    /// The same below `%LOCALAPPDATA%`; `None`: there is no such browser on Windows.
    windows: Option<&'static str>,
    /// The keys below `HKEY_CURRENT_USER\Software` under which it looks for hosts on Windows.
    registry: &'static [&'static str],
    /// On Linux its folders of profiles below the home directory where it was installed as a Snap or a
    /// Flatpak.
    packaged: &'static [&'static str],
}

/// All browsers that are known.
pub(crate) static BROWSERS: [ChromiumBrowser; 6] = [
    ChromiumBrowser {
        name: "Chrome",
        linux: Some("google-chrome"),
        mac_os: "Google/Chrome",
        windows: Some("Google/Chrome/User Data"),
        registry: &[r"Google\Chrome"],
        packaged: &[".var/app/com.google.Chrome/config/google-chrome"],
    },
    ChromiumBrowser {
        name: "Chromium",
        linux: Some("chromium"),
        mac_os: "Chromium",
        windows: Some("Chromium/User Data"),
        registry: &["Chromium"],
        packaged: &[
            "snap/chromium/common/chromium",
            ".var/app/org.chromium.Chromium/config/chromium",
            ".var/app/io.github.ungoogled_software.ungoogled_chromium/config/chromium",
        ],
    },
    ChromiumBrowser {
        name: "Edge",
        linux: Some("microsoft-edge"),
        mac_os: "Microsoft Edge",
        windows: Some("Microsoft/Edge/User Data"),
        registry: &[r"Microsoft\Edge"],
        packaged: &[".var/app/com.microsoft.Edge/config/microsoft-edge"],
    },
    ChromiumBrowser {
        name: "Brave",
        linux: Some("BraveSoftware/Brave-Browser"),
        mac_os: "BraveSoftware/Brave-Browser",
        windows: Some("BraveSoftware/Brave-Browser/User Data"),
        // Brave was seen to read the key of Chrome.
        registry: &[r"BraveSoftware\Brave-Browser", r"Google\Chrome"],
        packaged: &[
            "snap/brave/current/.config/BraveSoftware/Brave-Browser",
            ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser",
        ],
    },
    ChromiumBrowser {
        name: "Vivaldi",
        linux: Some("vivaldi"),
        mac_os: "Vivaldi",
        windows: Some("Vivaldi/User Data"),
        registry: &["Vivaldi"],
        packaged: &[
            "snap/vivaldi/current/.config/vivaldi",
            ".var/app/com.vivaldi.Vivaldi/config/vivaldi",
        ],
    },
    ChromiumBrowser {
        name: "Arc",
        linux: None,
        mac_os: "Arc/User Data",
        windows: None,
        registry: &[],
        packaged: &[],
    },
];

impl ChromiumBrowser {
    /// The folder that it makes when it first runs; `None`: no such browser on this system.
    pub(crate) fn folder(&self, user_folders: &UserFolders) -> Option<PathBuf> {
        match user_folders.system {
            OperatingSystem::Linux => self.linux.map(|folder| user_folders.settings.join(folder)),
            OperatingSystem::MacOs => Some(user_folders.settings.join(self.mac_os)),
            OperatingSystem::Windows => self.windows.map(|folder| user_folders.local.join(folder)),
        }
    }

    /// All folders in which it may keep profiles.
    pub(crate) fn profile_folders(&self, user_folders: &UserFolders) -> Vec<PathBuf> {
        let is_packaged = user_folders.system == OperatingSystem::Linux;
        let packaged = self.packaged.iter().filter(|_| is_packaged);
        let packaged = packaged.map(|folder| user_folders.home.join(folder));
        self.folder(user_folders).into_iter().chain(packaged).collect()
    }

    /// The file in which it looks for our host; `None`: no such browser on this system, or it looks
    /// [in the registry](Self::registry_keys).
    pub(crate) fn manifest(&self, user_folders: &UserFolders) -> Option<PathBuf> {
        let has_files = user_folders.system != OperatingSystem::Windows;
        self.folder(user_folders).filter(|_| has_files).map(|folder| manifest_below(&folder))
    }

    /// The keys of the user's registry under which it looks for the path of our host's manifest.
    pub(crate) fn registry_keys(&self) -> impl Iterator<Item = String> {
        let key = |vendor| format!(r"Software\{vendor}\NativeMessagingHosts\{HOST_NAME}");
        self.registry.iter().map(key)
    }
}

/// Where a browser with this folder of profiles looks for the manifest.
pub fn manifest_below(folder: &Path) -> PathBuf {
    folder.join("NativeMessagingHosts").join(format!("{HOST_NAME}.json"))
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

    fn of(name: &str) -> &'static ChromiumBrowser {
        BROWSERS.iter().find(|browser| browser.name == name).unwrap()
    }

    #[test]
    fn each_browser_has_its_place_on_each_system() {
        let user_folders = |system| UserFolders::in_home(system, Path::new("/h"));
        let (linux, mac) =
            (user_folders(OperatingSystem::Linux), user_folders(OperatingSystem::MacOs));
        let tail = "NativeMessagingHosts/dev.tabwire.host.json";
        let at = |name: &str, user_folders: &UserFolders| of(name).manifest(user_folders);
        for (name, folder) in [
            ("Chrome", "google-chrome"),
            ("Chromium", "chromium"),
            ("Edge", "microsoft-edge"),
            ("Brave", "BraveSoftware/Brave-Browser"),
            ("Vivaldi", "vivaldi"),
        ] {
            assert_eq!(at(name, &linux), Some(format!("/h/.config/{folder}/{tail}").into()));
        }
        assert_eq!(at("Arc", &linux), None);
        for (name, folder) in [
            ("Chrome", "Google/Chrome"),
            ("Chromium", "Chromium"),
            ("Edge", "Microsoft Edge"),
            ("Brave", "BraveSoftware/Brave-Browser"),
            ("Vivaldi", "Vivaldi"),
            ("Arc", "Arc/User Data"),
        ] {
            let path = format!("/h/Library/Application Support/{folder}/{tail}");
            assert_eq!(at(name, &mac), Some(path.into()));
        }
    }

    #[test]
    fn a_snap_and_a_flatpak_keep_their_profiles_elsewhere_and_on_linux_only() {
        let user_folders = |system| UserFolders::in_home(system, Path::new("/h"));
        let chromium = of("Chromium").profile_folders(&user_folders(OperatingSystem::Linux));
        for folder in [
            "/h/.config/chromium",
            "/h/snap/chromium/common/chromium",
            "/h/.var/app/org.chromium.Chromium/config/chromium",
        ] {
            assert!(chromium.contains(&folder.into()), "{folder}: {chromium:?}");
        }
        let mac = of("Chromium").profile_folders(&user_folders(OperatingSystem::MacOs));
        assert_eq!(mac, [PathBuf::from("/h/Library/Application Support/Chromium")]);
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
