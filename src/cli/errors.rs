//! Error messages on standard error, and errors with exit codes of their own.

use std::io::{self, Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A failure with an exit code of its own.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct ExitFailure {
    pub(super) code: u8,
    pub(super) message: String,
}

/// Names the environment variable if an invalid value came from there: the command line does not show
/// that value. Of a flag that `call` does not have it tells how parameters are written.
pub(super) fn with_origin(error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument && std::env::args().any(|word| word == "call") {
        print_error(format_args!(
            "A tool's parameters are written key=value, such as target=b12; `tabwire call TOOL --help` \
             lists them"
        ));
    }
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => return error,
    };
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.clone(),
        _ => return error,
    };
    let of =
        [("--port", "TABWIRE_PORT"), ("--home", "TABWIRE_HOME"), ("--client", "TABWIRE_CLIENT")];
    let variable = of.iter().find(|(flag, _)| argument.starts_with(flag)).map(|(_, name)| *name);
    let is_set_so = |name: &str| std::env::var_os(name).is_some_and(|set| set == value.as_str());
    if let Some(name) = variable.filter(|name| is_set_so(name)) {
        print_error(format_args!("the environment variable {name} has an invalid value"));
    }
    error
}

/// An error with each of its causes once. Some errors include their cause in their own text.
pub(super) fn message_with_causes(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Substring, not equality: a text such as `cannot use /x: no permission` embeds its cause.
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

pub(super) fn print_error(what: std::fmt::Arguments<'_>) {
    // With standard error closed there is no other channel for the message.
    let _ = writeln!(io::stderr(), "tabwire: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_each_of_its_causes_once() {
        let denied = || std::io::Error::other("no permission");
        let path = "/x".into();
        let home = crate::home::StateDirectoryError::Io { path, source: denied() };
        let said = message_with_causes(&anyhow::Error::from(home).context("cannot start"));
        assert_eq!(said.matches("no permission").count(), 1, "{said}");
        assert!(said.starts_with("cannot start: cannot use"), "{said}");
        assert_eq!(
            message_with_causes(&anyhow::Error::from(denied()).context("cannot")),
            "cannot: no permission"
        );
    }
}
