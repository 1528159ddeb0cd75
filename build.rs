//! Packs the files of the browser extension for the program: as they are they would be a sixth of it
//! (docs/decisions/building.md, 622).

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, io};

use lzma_rust2::{LzmaOptions, LzmaWriter};
use sha2::{Digest as _, Sha256};

const EXTENSION: &str = "extension-shim";

/// What the extension needs of its folder. Its tests and types are for developers, and `config.json` there
/// holds the key of a developer's browser, which must not get into a program for others.
const CARRIED: [&str; 6] =
    ["background.js", "icons", "manifest.json", "popup", "src", "third_party"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut names = Vec::new();
    for name in CARRIED {
        println!("cargo::rerun-if-changed={EXTENSION}/{name}");
        add_files(name, &mut names)?;
    }
    // The order of a folder's entries is the file system's.
    names.sort_unstable();
    let mut packed = LzmaWriter::new_use_header(Vec::new(), &for_text(), None)?;
    let mut table = String::from("&[\n");
    for name in &names {
        let contents = fs::read(Path::new(EXTENSION).join(name))?;
        let digest = Sha256::digest(&contents);
        let length = contents.len();
        writeln!(
            table,
            "    CarriedFile {{ name: {name:?}, length: {length}, digest: {:?} }},",
            digest.as_slice()
        )?;
        packed.write_all(&contents)?;
    }
    table.push(']');
    fs::write(out.join("carried_files.rs"), table)?;
    fs::write(out.join("extension.lzma"), packed.finish()?)?;
    Ok(())
}

/// Adds the files at `name`, by their names from the extension's folder, which have `/` on every system.
fn add_files(name: &str, names: &mut Vec<String>) -> io::Result<()> {
    let path = Path::new(EXTENSION).join(name);
    if path.is_file() {
        names.push(name.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?.file_name();
        let entry = entry
            .to_str()
            .ok_or_else(|| io::Error::other(format!("{entry:?} in {name} is no text")))?;
        add_files(&format!("{name}/{entry}"), names)?;
    }
    Ok(())
}

/// What makes text smallest.
fn for_text() -> LzmaOptions {
    let mut options = LzmaOptions::with_preset(9);
    // The program needs as much memory to unpack. All files together are shorter.
    options.dict_size = 1 << 22;
    // Numbers of two or more bytes, which begin at even places, are in no text.
    options.pb = 0;
    options.nice_len = LzmaOptions::NICE_LEN_MAX;
    options
}
