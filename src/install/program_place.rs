//! Where a program runs from: how it came there, and whether it is still there next month.

use std::path::{Component, Path};

/// How the program came to this computer, as far as its path tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramOrigin {
    /// `npx`, which keeps it in a cache.
    Npx,
    /// `npm install -g` and its relatives.
    Npm,
    /// npm in a project.
    NpmProject,
    /// `uvx`, which keeps it in a cache.
    Uvx,
    /// `uv tool install`.
    UvTool,
    /// `pipx run`, which keeps it in a cache.
    PipxRun,
    /// `pipx install`.
    Pipx,
    /// Homebrew.
    Homebrew,
    /// Debian's package manager.
    Debian,
    /// `cargo install`.
    CargoInstall,
    /// A build folder of cargo.
    CargoBuild,
    /// A folder for what passes: temporary files, downloads, a mounted image, a cache.
    Passing,
    /// Any other file.
    File,
}

/// The computer around a program, as far as it tells where the program runs from.
pub(crate) struct ProgramSurroundings<'a> {
    /// The person's home directory.
    pub(crate) home: Option<&'a Path>,
    /// The folder for temporary files.
    pub(crate) temporary: &'a Path,
    /// Whether this path belongs to a package of Debian.
    pub(crate) is_packaged: fn(&Path) -> bool,
}

/// Folders below which nothing stays.
const PASSING: [&str; 5] = ["/tmp", "/var/tmp", "/private/var/folders", "/Volumes", "/run/media"];

/// The same below a home directory.
const PASSING_AT_HOME: [&str; 4] = ["Downloads", ".cache", "Library/Caches", "AppData/Local/Temp"];

impl ProgramOrigin {
    /// The origin of the program at this path.
    pub(crate) fn of(program: &Path, around: &ProgramSurroundings<'_>) -> Self {
        let names: Vec<_> = program
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => name.to_str(),
                Component::Prefix(_)
                | Component::RootDir
                | Component::CurDir
                | Component::ParentDir => None,
            })
            .collect();
        let has = |name: &str| names.contains(&name);
        let follow = |first: &str, second: &str| names.windows(2).any(|two| two == [first, second]);
        // A cache is told before the folder that it is in.
        if has("_npx") {
            return Self::Npx;
        }
        if has("node_modules") {
            let is_global = ["lib", "npm"].iter().any(|folder| follow(folder, "node_modules"));
            let is_global = is_global || has("global");
            return if is_global { Self::Npm } else { Self::NpmProject };
        }
        if names.iter().any(|name| name.starts_with("archive-v")) {
            return Self::Uvx;
        }
        if follow("pipx", ".cache") || follow(".cache", "pipx") {
            return Self::PipxRun;
        }
        if follow("uv", "tools") {
            return Self::UvTool;
        }
        if follow("pipx", "venvs") {
            return Self::Pipx;
        }
        if has("Cellar") || has("homebrew") {
            return Self::Homebrew;
        }
        if follow(".cargo", "bin") {
            return Self::CargoInstall;
        }
        Self::by_folder(program, around)
    }

    fn by_folder(program: &Path, around: &ProgramSurroundings<'_>) -> Self {
        // Cargo locks its folder by this file.
        if program.parent().is_some_and(|folder| folder.join(".cargo-lock").is_file()) {
            return Self::CargoBuild;
        }
        if (around.is_packaged)(program) {
            return Self::Debian;
        }
        // A home directory may itself be below a folder for temporary files.
        let at_home = around.home.and_then(|home| program.strip_prefix(home).ok());
        let passes = match at_home {
            Some(below) => PASSING_AT_HOME.iter().any(|folder| below.starts_with(folder)),
            None => {
                program.starts_with(around.temporary)
                    || PASSING.iter().any(|folder| program.starts_with(folder))
            }
        };
        if passes { Self::Passing } else { Self::File }
    }

    /// Whether the program is likely to be there as long as it is wanted.
    pub(crate) const fn is_lasting(self) -> bool {
        self.passing_place().is_none()
    }

    /// The name for programs and for the record.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Npm => "npm",
            Self::NpmProject => "npm_project",
            Self::Uvx => "uvx",
            Self::UvTool => "uv_tool",
            Self::PipxRun => "pipx_run",
            Self::Pipx => "pipx",
            Self::Homebrew => "homebrew",
            Self::Debian => "debian",
            Self::CargoInstall => "cargo_install",
            Self::CargoBuild => "cargo_build",
            Self::Passing => "passing",
            Self::File => "file",
        }
    }

    /// The origin of this [word](Self::word).
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.word() == word)
    }

    const ALL: [Self; 13] = [
        Self::Npx,
        Self::Npm,
        Self::NpmProject,
        Self::Uvx,
        Self::UvTool,
        Self::PipxRun,
        Self::Pipx,
        Self::Homebrew,
        Self::Debian,
        Self::CargoInstall,
        Self::CargoBuild,
        Self::Passing,
        Self::File,
    ];

    /// Where a program that does not last runs from, as the end of a sentence; `None`: it lasts.
    pub(crate) const fn passing_place(self) -> Option<&'static str> {
        match self {
            Self::Npx => Some("npx's cache"),
            Self::NpmProject => Some("the packages of a project"),
            Self::Uvx => Some("uv's cache"),
            Self::PipxRun => Some("pipx's cache"),
            Self::Passing => Some("a folder whose files do not stay"),
            Self::Npm
            | Self::UvTool
            | Self::Pipx
            | Self::Homebrew
            | Self::Debian
            | Self::CargoInstall
            | Self::CargoBuild
            | Self::File => None,
        }
    }

    /// The commands that bring a newer version, and install it.
    pub(crate) const fn update(self) -> &'static str {
        match self {
            Self::Npx => "npx -y tabwire@latest install",
            Self::Npm => "npm install -g tabwire@latest && tabwire install",
            Self::NpmProject => "npm install tabwire@latest && npx tabwire install",
            Self::Uvx => "uvx tabwire@latest install",
            Self::UvTool => "uv tool upgrade tabwire && tabwire install",
            Self::PipxRun => "pipx run --no-cache tabwire install",
            Self::Pipx => "pipx upgrade tabwire && tabwire install",
            Self::Homebrew => "brew upgrade tabwire && tabwire install",
            Self::Debian => "sudo apt-get install ./tabwire_VERSION_ARCH.deb && tabwire install",
            Self::CargoInstall => "git pull && cargo install --locked --path . && tabwire install",
            Self::CargoBuild => {
                "git pull && cargo build --release --locked && target/release/tabwire install"
            }
            Self::Passing | Self::File => "./tabwire install",
        }
    }

    /// A step that the person does before [`update`](Self::update), if there is one.
    pub(crate) const fn before_update(self) -> Option<&'static str> {
        match self {
            Self::Debian => Some("Download the package of the new version"),
            Self::CargoInstall | Self::CargoBuild => Some("Go to the folder of the source"),
            Self::Passing | Self::File => Some("Download the program of the new version"),
            Self::Npx
            | Self::Npm
            | Self::NpmProject
            | Self::Uvx
            | Self::UvTool
            | Self::PipxRun
            | Self::Pipx
            | Self::Homebrew => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(path: &str) -> ProgramOrigin {
        let around = ProgramSurroundings {
            home: Some(Path::new("/home/ann")),
            temporary: Path::new("/scratch"),
            is_packaged: |path| path == Path::new("/usr/bin/tabwire"),
        };
        ProgramOrigin::of(Path::new(path), &around)
    }

    #[test]
    fn a_path_tells_how_the_program_came_there() {
        use ProgramOrigin as O;
        for (path, expected) in [
            ("/home/ann/.npm/_npx/5f/node_modules/@tabwire/cli-linux-x64/bin/tabwire", O::Npx),
            (
                "/usr/lib/node_modules/tabwire/node_modules/@tabwire/cli-linux-x64/bin/tabwire",
                O::Npm,
            ),
            ("/home/ann/.local/share/pnpm/global/5/node_modules/@tabwire/x/bin/tabwire", O::Npm),
            ("/home/ann/AppData/Roaming/npm/node_modules/@tabwire/x/bin/tabwire.exe", O::Npm),
            ("/home/ann/AppData/Local/Temp/tabwire.exe", O::Passing),
            ("/home/ann/shop/node_modules/@tabwire/cli-linux-x64/bin/tabwire", O::NpmProject),
            ("/home/ann/.cache/uv/archive-v0/9x/bin/tabwire", O::Uvx),
            ("/srv/cache/archive-v0/9x/bin/tabwire", O::Uvx),
            ("/home/ann/.local/share/uv/tools/tabwire/bin/tabwire", O::UvTool),
            ("/home/ann/.local/share/pipx/.cache/0a/bin/tabwire", O::PipxRun),
            ("/home/ann/.cache/pipx/0a/bin/tabwire", O::PipxRun),
            ("/home/ann/.local/share/pipx/venvs/tabwire/bin/tabwire", O::Pipx),
            ("/opt/homebrew/Cellar/tabwire/0.1.0/bin/tabwire", O::Homebrew),
            ("/home/ann/.cargo/bin/tabwire", O::CargoInstall),
            ("/usr/bin/tabwire", O::Debian),
            ("/usr/local/bin/tabwire", O::File),
            ("/home/ann/.local/bin/tabwire", O::File),
            ("/home/ann/Downloads/tabwire-0.1.0/tabwire", O::Passing),
            ("/tmp/tabwire", O::Passing),
            ("/scratch/tabwire", O::Passing),
            ("/Volumes/Tabwire/tabwire", O::Passing),
            ("/home/ann/.cache/x/tabwire", O::Passing),
        ] {
            assert_eq!(origin(path), expected, "{path}");
        }
    }

    #[test]
    fn a_build_folder_is_no_place_that_passes_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("tabwire");
        let path = program.to_str().unwrap();
        let before = ProgramOrigin::of(
            Path::new(path),
            &ProgramSurroundings { home: None, temporary: dir.path(), is_packaged: |_| false },
        );
        assert_eq!(before, ProgramOrigin::Passing);
        std::fs::write(dir.path().join(".cargo-lock"), "").unwrap();
        assert_eq!(origin(path), ProgramOrigin::CargoBuild);
    }

    #[test]
    fn every_origin_has_its_word_and_its_update() {
        for origin in ProgramOrigin::ALL {
            assert_eq!(ProgramOrigin::of_word(origin.word()), Some(origin));
            assert!(
                origin.update().ends_with("tabwire install")
                    || origin.update().contains("@latest install")
            );
        }
        assert_eq!(ProgramOrigin::of_word("elsewhere"), None);
    }
}
