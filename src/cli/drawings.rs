//! `tabwire drawings`: what people drew, and how it is got rid of.

use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use crate::config::Place;
use crate::home::{Drawings, Home, KeptDrawing};
use crate::protocol::{DrawingId, Owner, SessionName};
use crate::terminal::{Style, Table, say};

const NOTHING: &str = "nothing was drawn yet";

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List them; what is done if nothing else is said
    List,
    /// Delete one, with its screenshot
    Delete {
        /// As the list names it
        #[arg(value_parser = drawing_id)]
        id: DrawingId,
    },
    /// Delete all, or those of one session
    Clear {
        /// Only those of this session
        #[arg(long, value_name = "NAME", value_parser = SessionName::parse)]
        session: Option<SessionName>,
    },
}

fn drawing_id(text: &str) -> Result<DrawingId, String> {
    DrawingId::parse(text)
        .ok_or_else(|| "the id of a drawing has 32 digits and letters a to f".into())
}

pub(super) fn run(
    place: &Place,
    command: Option<Command>,
    owner: &str,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let command = command.unwrap_or(Command::List);
    let Some(home) = Home::find(&place.home()?)? else { return nothing(&command, json) };
    let (drawings, owner) = (home.drawings(), Owner::from(owner));
    match command {
        Command::List => list(&drawings, &owner, json)?,
        Command::Delete { id } => {
            drawings.delete(&owner, &id)?;
            said_deleted(1, json)?;
        }
        Command::Clear { session } => {
            let deleted = match &session {
                Some(session) => drawings.clear_session(&owner, Some(session))?,
                None => drawings.clear(&owner)?,
            };
            said_deleted(deleted, json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said where there is no state directory yet. None is made for the question.
fn nothing(command: &Command, json: bool) -> anyhow::Result<ExitCode> {
    match command {
        Command::List if json => say(json!({"drawings": [], "damaged": []}))?,
        Command::List => say(NOTHING)?,
        Command::Clear { .. } => said_deleted(0, json)?,
        Command::Delete { id } => bail!("there is no drawing `{id}`"),
    }
    Ok(ExitCode::SUCCESS)
}

fn said_deleted(count: usize, json: bool) -> anyhow::Result<()> {
    if json {
        say(json!({"deleted": count}))?;
    } else {
        say(match count {
            1 => "1 drawing deleted".to_owned(),
            count => format!("{count} drawings deleted"),
        })?;
    }
    Ok(())
}

fn list(drawings: &Drawings, owner: &Owner, json: bool) -> anyhow::Result<()> {
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
        say(json!({"drawings": described, "damaged": damaged}))?;
        return Ok(());
    }
    if list.drawings.is_empty() && list.damaged.is_empty() {
        say(NOTHING)?;
        return Ok(());
    }
    let mut table = Table::new(&["ID", "WHEN", "SESSION", "MARKS", "SIZE", "READ", "PAGE"]);
    for kept in &list.drawings {
        table.row([
            (kept.drawing_id.as_str(), Style::Bold),
            (&kept.at.to_string(), Style::Plain),
            (kept.session.as_ref().map_or("-", SessionName::as_str), Style::Plain),
            (&kept.annotations.to_string(), Style::Plain),
            (&format!("{} kB", kept.bytes.div_ceil(1_000)), Style::Plain),
            (if kept.is_unread { "no" } else { "yes" }, Style::Plain),
            (&kept.page_url, Style::Plain),
        ]);
    }
    for line in table.lines() {
        say(line)?;
    }
    for file in list.damaged {
        say(format!("damaged: {} ({})", file.path.display(), file.why))?;
    }
    Ok(())
}
