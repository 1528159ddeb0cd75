//! `tabwire drawings`: lists and deletes the drawings that people made.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use super::owner::owner_with_files;
use crate::config::DaemonLocation;
use crate::home::{DrawingStore, KeptDrawing, StateDirectory};
use crate::protocol::{DrawingId, Owner, SessionName, TabScope};
use crate::terminal::{TextStyle, TextTable, print_line};

const NO_DRAWINGS: &str = "no drawings";

#[derive(Subcommand, Debug)]
pub(super) enum DrawingsCommand {
    /// List the drawings (default)
    #[command(after_help = "Example:\n  tabwire drawings list --owner ci --json")]
    List,
    /// Delete one drawing and its screenshot
    #[command(after_help = "Example:\n  tabwire drawings delete 4f2a")]
    Delete {
        /// The drawing's id, or its first characters
        #[arg(value_parser = beginning_of_id)]
        id: String,
    },
    /// Delete all drawings, or those of one session
    #[command(
        after_help = "Examples:\n  tabwire drawings clear --session checkout\n  tabwire drawings clear --json"
    )]
    Clear {
        /// Delete the drawings of this session only
        #[arg(long, value_name = "NAME", value_parser = SessionName::parse)]
        session: Option<SessionName>,
    },
}

fn beginning_of_id(text: &str) -> Result<String, String> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if (1..=32).contains(&text.len()) && text.bytes().all(is_digit) {
        return Ok(text.to_owned());
    }
    Err("a drawing's id has up to 32 digits and letters from a to f".to_owned())
}

pub(super) fn run(
    location: &DaemonLocation,
    command: Option<DrawingsCommand>,
    owner: &str,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let command = command.unwrap_or(DrawingsCommand::List);
    // `find` creates no directory: the question must not leave one behind.
    let Some(home) = StateDirectory::find(&location.home()?)? else {
        return run_without_home(&command, json);
    };
    let (drawings, owner) = (home.drawings(), owner_with_files(&home, owner)?);
    match command {
        DrawingsCommand::List => list(&drawings, &owner, json)?,
        DrawingsCommand::Delete { id } => {
            drawings.delete(&owner, &id_beginning_with(&drawings, &owner, &id)?)?;
            print_deleted(1, json)?;
        }
        DrawingsCommand::Clear { session } => {
            let deleted = match &session {
                Some(session) => drawings.clear_session(&owner, Some(session), TabScope::All)?,
                None => drawings.clear(&owner)?,
            };
            print_deleted(deleted, json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The answer where there is no state directory yet. None is made for the question.
fn run_without_home(command: &DrawingsCommand, json: bool) -> anyhow::Result<ExitCode> {
    match command {
        DrawingsCommand::List if json => print_line(json!({"drawings": [], "damaged": []}))?,
        DrawingsCommand::List => print_line(NO_DRAWINGS)?,
        DrawingsCommand::Clear { .. } => print_deleted(0, json)?,
        DrawingsCommand::Delete { id } => bail!("there is no drawing `{id}`"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The one drawing whose id begins so. Damaged ones count too, since they can be deleted.
fn id_beginning_with(
    drawings: &DrawingStore,
    owner: &Owner,
    beginning: &str,
) -> anyhow::Result<DrawingId> {
    if let Some(whole) = DrawingId::parse(beginning) {
        return Ok(whole);
    }
    let list = drawings.list(owner)?;
    let sound = list.drawings.into_iter().map(|kept| kept.drawing_id);
    let damaged = list.damaged.into_iter().map(|file| file.drawing_id);
    let all: BTreeSet<_> = sound.chain(damaged).collect();
    let mut alike = all.into_iter().filter(|id| id.as_str().starts_with(beginning));
    match (alike.next(), alike.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => bail!("there is no drawing `{beginning}`; `tabwire drawings` lists them"),
        (Some(one), Some(other)) => {
            bail!(
                "several ids begin with {beginning}, for example {one} and {other}: give more characters"
            )
        }
    }
}

fn print_deleted(count: usize, json: bool) -> anyhow::Result<()> {
    if json {
        print_line(json!({"deleted": count}))?;
    } else {
        print_line(match count {
            1 => "1 drawing deleted".to_owned(),
            count => format!("{count} drawings deleted"),
        })?;
    }
    Ok(())
}

fn list(drawings: &DrawingStore, owner: &Owner, json: bool) -> anyhow::Result<()> {
    let list = drawings.list(owner)?;
    let screenshot = |kept: &KeptDrawing| {
        drawings.load(owner, &kept.drawing_id).ok().and_then(|report| report.screenshot)
    };
    if json {
        let described = list.drawings.iter().map(|kept| {
            let mut described = json!(kept);
            described["screenshot"] = screenshot(kept).into();
            described
        });
        let damaged = list.damaged.iter().map(
            |file| json!({"drawing_id": file.drawing_id, "path": file.path, "error": file.why}),
        );
        let (described, damaged) = (described.collect::<Vec<_>>(), damaged.collect::<Vec<_>>());
        print_line(json!({"drawings": described, "damaged": damaged}))?;
        return Ok(());
    }
    if list.drawings.is_empty() && list.damaged.is_empty() {
        print_line(NO_DRAWINGS)?;
        return Ok(());
    }
    let mut table = TextTable::new(&["ID", "WHEN", "SESSION", "MARKS", "SIZE", "READ", "PAGE"]);
    for kept in &list.drawings {
        table.row([
            (kept.drawing_id.as_str(), TextStyle::Bold),
            (&kept.at.to_string(), TextStyle::Plain),
            (kept.session.as_ref().map_or("-", SessionName::as_str), TextStyle::Plain),
            (&kept.annotations.to_string(), TextStyle::Plain),
            (&format!("{} kB", kept.bytes.div_ceil(1_000)), TextStyle::Plain),
            (if kept.is_unread { "no" } else { "yes" }, TextStyle::Plain),
            (&kept.page_url, TextStyle::Plain),
        ]);
    }
    for line in table.lines() {
        print_line(line)?;
    }
    for file in list.damaged {
        print_line(format!("damaged: {} ({})", file.path.display(), file.why))?;
    }
    Ok(())
}
