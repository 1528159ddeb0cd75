//! The command whose standard input and output reach the far end.

use std::process::Stdio;
use std::str::FromStr;

use tokio::process::Command;

use super::LineKind;
use super::place::PlaceName;

/// The options of `ssh`: a plain line, without anything else that the person's settings add.
const SSH: [&str; 8] = [
    "-T",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "ForwardAgent=no",
    "-o",
    "RemoteCommand=none",
    "--",
];

/// How a place is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FarCommand {
    /// By `ssh`.
    Ssh {
        /// The destination, as `ssh` takes it.
        destination: String,
        /// The program there; else it is looked for.
        program: Option<FarProgram>,
    },
    /// By a command of the person's own, which has to end in `tabwire carry`.
    Own(Vec<String>),
}

/// The path of the program at the far end, in characters that no shell there changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarProgram(String);

/// A text that cannot be passed to any shell as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "use letters, digits and . _ / ~ + - only; for another path write the whole command behind --"
)]
pub struct FarProgramError;

impl FromStr for FarProgram {
    type Err = FarProgramError;

    fn from_str(text: &str) -> Result<Self, FarProgramError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._/~+-".contains(&byte);
        let is_path = !text.is_empty() && !text.starts_with('-') && text.bytes().all(fits);
        if is_path { Ok(Self(text.to_owned())) } else { Err(FarProgramError) }
    }
}

impl FarCommand {
    /// The words of the command. The one that comes back by itself asks nobody anything.
    fn words(&self, place: &PlaceName, kind: LineKind, is_retry: bool) -> Vec<String> {
        match self {
            Self::Own(words) => words.clone(),
            Self::Ssh { destination, program } => {
                let mut words = vec!["ssh".to_owned()];
                if is_retry {
                    words.extend(["-o", "BatchMode=yes"].map(str::to_owned));
                }
                words.extend(SSH.map(str::to_owned));
                words.push(destination.clone());
                words.push(remote_script(program.as_ref(), place, kind));
                words
            }
        }
    }

    /// The command, with its three streams as pipes. It ends when it is dropped.
    pub(super) fn command(
        &self,
        place: &PlaceName,
        kind: LineKind,
        is_retry: bool,
    ) -> Option<Command> {
        let words = self.words(place, kind, is_retry);
        let (program, arguments) = words.split_first()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Some(command)
    }

    /// The command in a few words, for lists.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Ssh { destination, .. } => format!("ssh {destination}"),
            Self::Own(words) => words.join(" "),
        }
    }

    /// Whether a failure may be for want of the program at the far end.
    pub(super) const fn is_ssh(&self) -> bool {
        matches!(self, Self::Ssh { .. })
    }
}

/// What the person's shell at the far end runs, whichever that is: one word for `sh`, without a quote in it.
fn remote_script(program: Option<&FarProgram>, place: &PlaceName, kind: LineKind) -> String {
    let near = match kind {
        LineKind::SameMachine => " --near",
        LineKind::Network => "",
    };
    let script = match program {
        Some(FarProgram(path)) => {
            let path = path.strip_prefix("~/").map_or_else(
                || format!("\"{path}\""),
                |below_home| format!("\"$HOME/{below_home}\""),
            );
            format!("exec {path} carry {place}{near}")
        }
        None => format!(
            "p=tabwire; command -v tabwire >/dev/null 2>&1 || p=\"$HOME/.local/bin/tabwire\"; \
             exec \"$p\" carry {place}{near}"
        ),
    };
    format!("sh -c '{script}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> PlaceName {
        "box".parse().unwrap()
    }

    #[test]
    fn ssh_opens_no_other_way_and_a_retry_asks_nobody() {
        let ssh = FarCommand::Ssh { destination: "ann@box".to_owned(), program: None };
        let first = ssh.words(&place(), LineKind::Network, false).join(" ");
        assert!(
            first.starts_with(
                "ssh -T -o ClearAllForwardings=yes -o ForwardAgent=no -o RemoteCommand=none -- ann@box sh -c '"
            ),
            "{first}"
        );
        assert!(first.contains("$HOME/.local/bin/tabwire") && first.ends_with(" carry box'"));
        let retry = ssh.words(&place(), LineKind::SameMachine, true).join(" ");
        assert!(retry.starts_with("ssh -o BatchMode=yes -T ") && retry.ends_with("box --near'"));
        let own = FarCommand::Own(vec!["docker".to_owned(), "exec".to_owned()]);
        assert_eq!(own.words(&place(), LineKind::Network, true), ["docker", "exec"]);
    }

    #[test]
    fn a_program_at_the_far_end_is_named_by_a_path_that_no_shell_changes() {
        let script = |path: &str| {
            let program = path.parse().unwrap();
            remote_script(Some(&program), &place(), LineKind::Network)
        };
        assert_eq!(script("/opt/tw"), "sh -c 'exec \"/opt/tw\" carry box'");
        assert_eq!(script("~/bin/tw"), "sh -c 'exec \"$HOME/bin/tw\" carry box'");
        for wrong in ["", "-x", "a b", "a;b", "$(x)", "a'b", "a\"b", "`a`", "a\nb", "ä"] {
            assert_eq!(wrong.parse::<FarProgram>(), Err(FarProgramError), "{wrong}");
        }
    }
}
