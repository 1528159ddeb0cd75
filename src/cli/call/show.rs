//! Prints an answer: the value alone for people and scripts, or the whole answer as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::session::{AnswerFile, ToolAnswer};
use super::shell_form::with_shell_commands;
use crate::cli::output_file::{write_named, write_new};
use crate::cli::print_error;
use crate::terminal::{clean, clean_lines, is_terminal, print_line};
use crate::tools::FAILED_STATUSES;

/// The action whose answer is a PDF.
const PDF: &str = "pdf";

/// The action whose answer may have pictures beside its value.
const BATCH: &str = "batch";

/// Fields that say how a call went, beside the value.
const ENVELOPE: [&str; 3] = ["status", "hint", "page"];

/// How an answer is printed.
pub(super) struct AnswerPrinter<'a> {
    pub(super) json: bool,
    /// Where a picture or a PDF goes.
    pub(super) out: Option<&'a Path>,
    /// The action of the call: the word in the name of its file if nobody names one.
    pub(super) named_after: &'a str,
}

impl AnswerPrinter<'_> {
    /// Prints an answer, and writes its picture or PDF; whether the call did all that it was asked for.
    pub(super) fn print(&self, mut answer: ToolAnswer) -> anyhow::Result<bool> {
        let mut files = std::mem::take(&mut answer.pictures);
        // A page decides the value of a script: only the answer of this action becomes a file.
        if files.is_empty() && self.named_after == PDF {
            files.extend(answer.take_pdf()?);
        }
        let has_file = !files.is_empty();
        let saved = files.iter().enumerate().map(|(at, file)| self.save(file, at));
        let paths = saved.collect::<anyhow::Result<Vec<_>>>()?;
        let failed = has_failed(&answer);
        if self.json {
            if let (Some(body), Some((first, more))) =
                (answer.body.as_object_mut(), paths.split_first())
            {
                let name = if self.named_after == PDF { "pdf_file" } else { "picture_file" };
                body.insert(name.to_owned(), json!(first));
                if !more.is_empty() {
                    body.insert("picture_files".to_owned(), json!(paths));
                }
            }
            print_text(&serde_json::to_string_pretty(&answer.body)?)?;
        } else if failed {
            print_failure(&answer);
        } else {
            self.print_value(&answer, &paths)?;
            print_hint(&answer);
        }
        match self.out {
            Some(out) if !has_file && !failed => {
                print_error(format_args!(
                    "the answer has no picture and no PDF, so {} was not written",
                    out.display()
                ));
                Ok(false)
            }
            _ => Ok(!failed),
        }
    }

    /// Only the first of several files gets the name that the person chose.
    fn save(&self, file: &AnswerFile, at: usize) -> anyhow::Result<PathBuf> {
        let AnswerFile { bytes, extension } = file;
        match self.out {
            Some(path) if at == 0 => write_new(path, bytes).map(|()| path.to_owned()),
            Some(_) | None => {
                write_named(&format!("tabwire-{}", self.named_after), extension, bytes)
            }
        }
    }

    /// Prints the value of an answer. The value of a screenshot and of a PDF is its file; a drawing and
    /// a batch have a value besides.
    fn print_value(&self, answer: &ToolAnswer, files: &[PathBuf]) -> anyhow::Result<()> {
        let has_value = answer.body.get("annotations").is_some() || self.named_after == BATCH;
        match files {
            // `$(tabwire call … action=screenshot)` gets the file's path alone.
            [path] if !has_value => return Ok(print_line(path.display())?),
            paths => {
                for path in paths {
                    print_error(format_args!("the picture is in {}", path.display()));
                }
            }
        }
        let value = value_of(answer);
        match value.as_str() {
            Some(text) => print_text(text),
            None => print_text(&serde_json::to_string_pretty(&value)?),
        }
    }

    /// Prints the answer of a command that is not over: its id, which reads the result later.
    pub(super) fn print_pending(&self, answer: &ToolAnswer) -> anyhow::Result<()> {
        if self.json {
            return print_text(&serde_json::to_string_pretty(&answer.body)?);
        }
        let id = answer.command_id();
        print_line(clean(id))?;
        print_error(format_args!(
            "the command still runs; `tabwire call observe what=command_result correlation_id={}` waits for it",
            clean(id)
        ));
        Ok(())
    }
}

/// Whether a call has failed. For MCP, reading the result of a failed command succeeds; a call on
/// the command line stands for the command that it waited for.
fn has_failed(answer: &ToolAnswer) -> bool {
    answer.is_error || FAILED_STATUSES.contains(&answer.text("status"))
}

/// The value of an answer: the command's, else all fields that do not describe the call.
fn value_of(answer: &ToolAnswer) -> Value {
    let Some(fields) = answer.body.as_object() else { return answer.body.clone() };
    if let Some(annotations) = fields.get("annotations") {
        return annotations.clone();
    }
    if let Some(result) = fields.get("result") {
        let reported = result.get("value").filter(|_| result["success"] == true);
        return reported.filter(|_| !answer.is_bare).unwrap_or(result).clone();
    }
    let rest = fields.iter().filter(|(name, _)| !ENVELOPE.contains(&name.as_str()));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// Prints a text to standard output. Pages write it: a terminal gets no control characters, a
/// pipe gets every byte.
fn print_text(text: &str) -> anyhow::Result<()> {
    if is_terminal() {
        print_line(clean_lines(text))?;
    } else {
        print_line(text)?;
    }
    Ok(())
}

/// Says to standard error why a call failed, and the next step.
fn print_failure(answer: &ToolAnswer) {
    let (message, error) = (answer.text("message"), answer.text("error"));
    let why = match (message, error, answer.text("status")) {
        ("", "", status) => status,
        ("", error, _) => error,
        (message, _, _) => message,
    };
    print_error(format_args!("{}", clean_lines(why)));
    print_hint(answer);
    if let Some(choices) = choices(&answer.body) {
        print_error(format_args!("choose from: {}", clean_lines(&choices)));
    }
    if answer.body["may_have_run"] == true {
        print_error(format_args!("it may have begun in the page"));
    }
}

/// Says the next step to standard error.
fn print_hint(answer: &ToolAnswer) {
    let hint = answer.text("hint");
    if !hint.is_empty() {
        print_error(format_args!("{}", clean_lines(&with_shell_commands(hint))));
    }
}

/// The choices for a wrong argument, unless the hint lists them.
fn choices(body: &Value) -> Option<String> {
    let choices = body["expected"].as_array()?.iter().filter_map(Value::as_str);
    let choices = choices.collect::<Vec<_>>().join(", ");
    let is_told = body["hint"].as_str().is_some_and(|hint| hint.contains(&choices));
    (!is_told).then_some(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_in(body: Value, is_bare: bool) -> Value {
        value_of(&ToolAnswer { body, is_error: false, pictures: Vec::new(), is_bare })
    }

    #[test]
    fn a_value_is_printed_without_what_says_how_the_call_went() {
        for (answer, value) in [
            (json!({"result": {"success": true, "value": "T"}}), json!("T")),
            (json!({"result": {"success": true, "value": null}}), json!(null)),
            (json!({"result": {"headings": []}}), json!({"headings": []})),
            (json!({"result": 5}), json!(5)),
            (json!({"status": "ok", "count": 0, "tabs": []}), json!({"count": 0, "tabs": []})),
            (
                json!({"result": {"pages": []}, "annotations": [{"text": "x"}]}),
                json!([{"text": "x"}]),
            ),
        ] {
            assert_eq!(value_in(answer.clone(), false), value, "{answer}");
        }
    }

    #[test]
    fn a_value_that_looks_like_a_report_is_left_alone_where_it_stands_by_itself() {
        let value = json!({"success": true, "value": 1});
        assert_eq!(value_in(json!({"result": value}), true), value);
    }
}
