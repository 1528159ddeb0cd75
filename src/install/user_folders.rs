//! Where other programs keep their settings, by system. Data, so that each system's can be
//! tested on every other one.

use std::env;
use std::path::{Path, PathBuf};

use crate::os::OperatingSystem;

/// One user's computer, as far as it matters where files go.
#[derive(Clone, Debug)]
pub(crate) struct UserFolders {
    pub(crate) system: OperatingSystem,
    pub(crate) home: PathBuf,
    /// Where programs keep their settings.
    pub(crate) settings: PathBuf,
    /// Where programs keep what belongs to this computer alone: on Windows another folder.
    pub(crate) local: PathBuf,
    /// Where Claude Code keeps `.claude.json`.
    pub(crate) claude_code: PathBuf,
    /// Where Codex CLI keeps `config.toml`.
    pub(crate) codex: PathBuf,
    /// Where Copilot CLI keeps `mcp-config.json`.
    pub(crate) copilot: PathBuf,
}

impl UserFolders {
    /// The path as a person of this computer reads it: `~` is the home directory.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) if self.system != OperatingSystem::Windows => {
                format!("~/{}", below.to_string_lossy())
            }
            Ok(_) | Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// One on which nothing was set to be elsewhere.
    pub(crate) fn in_home(system: OperatingSystem, home: &Path) -> Self {
        let settings = home.join(match system {
            OperatingSystem::Linux => ".config",
            OperatingSystem::MacOs => "Library/Application Support",
            OperatingSystem::Windows => "AppData/Roaming",
        });
        let local = match system {
            OperatingSystem::Linux | OperatingSystem::MacOs => settings.clone(),
            OperatingSystem::Windows => home.join("AppData/Local"),
        };
        let (codex, copilot) = (home.join(".codex"), home.join(".copilot"));
        let home = home.to_owned();
        Self { system, claude_code: home.clone(), home, settings, local, codex, copilot }
    }

    /// This one. The environment counts, as it does for those programs.
    pub(crate) fn current() -> Result<Self, etcetera::HomeDirError> {
        let mut user_folders = Self::in_home(OperatingSystem::current(), &etcetera::home_dir()?);
        // A relative path would depend on the directory in which each program starts.
        let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let (settings, local) = match user_folders.system {
            OperatingSystem::Linux => (set("XDG_CONFIG_HOME"), set("XDG_CONFIG_HOME")),
            OperatingSystem::MacOs => (None, None),
            OperatingSystem::Windows => (set("APPDATA"), set("LOCALAPPDATA")),
        };
        let take = |place: &mut PathBuf, set: Option<PathBuf>| {
            if let Some(set) = set {
                *place = set;
            }
        };
        take(&mut user_folders.settings, settings);
        take(&mut user_folders.local, local);
        take(&mut user_folders.claude_code, set("CLAUDE_CONFIG_DIR"));
        take(&mut user_folders.codex, set("CODEX_HOME"));
        take(&mut user_folders.copilot, set("COPILOT_HOME"));
        Ok(user_folders)
    }
}

/// Where `program` is to be found also after it was updated: under the name that `path` (as in
/// `PATH`) leads to it by, if it does. Package managers put a new version into another folder,
/// and a link of the same name before it.
pub(crate) fn stable_program_path(program: &Path, path: Option<&std::ffi::OsStr>) -> PathBuf {
    let (Some(name), Ok(real)) = (program.file_name(), program.canonicalize()) else {
        return program.to_owned();
    };
    env::split_paths(path.unwrap_or_default())
        .map(|folder| folder.join(name))
        .filter(|named| named.is_absolute())
        .find(|named| named.canonicalize().is_ok_and(|to| to == real))
        .unwrap_or_else(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use super::*;
    use crate::os::testing::symlink;

    #[test]
    fn a_program_is_named_by_the_link_that_outlives_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["cellar/1.0", "bin", "other"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("cellar/1.0/tabwire"), "1").unwrap();
        fs::write(at("other/tabwire"), "another program of that name").unwrap();
        symlink(at("cellar/1.0/tabwire"), at("bin/tabwire")).unwrap();
        let program = at("cellar/1.0/tabwire");
        let path = env::join_paths([at("other"), at("none"), at("bin")]).unwrap();
        assert_eq!(stable_program_path(&program, Some(&path)), at("bin/tabwire"));
        assert_eq!(stable_program_path(&program, Some(OsStr::new("."))), program);
        assert_eq!(stable_program_path(&program, None), program);
    }
}
