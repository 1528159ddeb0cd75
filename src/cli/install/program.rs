//! The program that runs now: its path, and how it came to this computer.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::config::DaemonLocation;
use crate::install::{ProgramOrigin, ProgramSurroundings, own_copy_in, stable_program_path};

/// The list of files of Debian's package, which is there while the package is.
const DEBIAN_LIST: &str = "/var/lib/dpkg/info/tabwire.list";

/// Where that package has its program.
const DEBIAN_PROGRAM: &str = "/usr/bin/tabwire";

/// The program that runs now.
pub(in crate::cli) struct RunningProgram {
    /// Its path, by a name that stays valid after an update if there is one.
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) origin: ProgramOrigin,
}

impl RunningProgram {
    /// The program, beside this state directory.
    pub(in crate::cli) fn find(state: &Path) -> anyhow::Result<Self> {
        let program = env::current_exe().context("cannot find the path of this program")?;
        let path = stable_program_path(&program, env::var_os("PATH").as_deref());
        // The copy of an installation lasts, wherever the state directory is.
        let is_copy = program == own_copy_in(state);
        let origin = if is_copy { ProgramOrigin::File } else { origin_of(&path) };
        Ok(Self { path, origin })
    }
}

fn origin_of(program: &Path) -> ProgramOrigin {
    let home = etcetera::home_dir().ok();
    let temporary = env::temp_dir();
    let is_packaged =
        |program: &Path| program == Path::new(DEBIAN_PROGRAM) && Path::new(DEBIAN_LIST).is_file();
    let around = ProgramSurroundings { home: home.as_deref(), temporary: &temporary, is_packaged };
    ProgramOrigin::of(program, &around)
}

/// This program by a path that lasts: its own, or that of the copy which `tabwire install` has made.
///
/// # Errors
///
/// It runs from a place that does not last, and there is no copy.
pub(in crate::cli) fn lasting_program(location: &DaemonLocation) -> anyhow::Result<PathBuf> {
    let state = std::path::absolute(location.home()?)?;
    let RunningProgram { path, origin } = RunningProgram::find(&state)?;
    let Some(place) = origin.passing_place() else { return Ok(path) };
    let copy = own_copy_in(&state);
    if copy.is_file() {
        return Ok(copy);
    }
    bail!(
        "this program runs from {place}, so its path cannot be named for later. Run its `install` first: it \
         copies the program to {}",
        copy.display()
    )
}
