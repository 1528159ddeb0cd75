//! Every answer of a tool that a test gets is checked against what is published of it.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use jsonschema::Validator;
use serde_json::Value;
use tabwire::mcp::body_of;
use tabwire::tools;

use super::body;

/// A schema that is made and compiled once it is needed.
struct PublishedSchema {
    make: Box<dyn Fn() -> Value + Send + Sync>,
    validator: OnceLock<Validator>,
}

impl PublishedSchema {
    fn new(make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), validator: OnceLock::new() }
    }

    fn errors(&self, answer: &Value) -> Vec<String> {
        let compile = || jsonschema::validator_for(&(self.make)()).unwrap();
        let errors = self.validator.get_or_init(compile).iter_errors(answer);
        errors.map(|error| format!("{}: {error}", error.schema_path())).collect()
    }
}

/// The `outputSchema` of each tool.
static OUTPUTS: LazyLock<HashMap<&str, PublishedSchema>> = LazyLock::new(|| {
    let tools = tools::list().as_array().unwrap().iter();
    let with_schema = tools.filter(|tool| tool["outputSchema"].is_object());
    let read = |tool: &'static Value| {
        (tool["name"].as_str().unwrap(), PublishedSchema::new(|| tool["outputSchema"].clone()))
    };
    with_schema.map(read).collect()
});

/// The answers to each kind of call.
static ANSWERS: LazyLock<HashMap<&str, PublishedSchema>> = LazyLock::new(|| {
    let definitions = tools::answers()["$defs"].as_object().unwrap();
    let read = |name: &'static String| {
        let make = move || {
            let mut schema = tools::answers().clone();
            schema["$ref"] = format!("#/$defs/{name}").into();
            schema
        };
        (name.as_str(), PublishedSchema::new(make))
    };
    definitions.keys().map(read).collect()
});

/// What is wrong with the result of a call of this tool that chose this.
fn errors(tool: &str, choice: &str, result: &Value) -> Vec<String> {
    let answer = &body(result);
    let choice = if result["isError"] == true { "failed" } else { choice };
    let own = ANSWERS.get(format!("{tool}.{choice}").as_str());
    let Some(published) = own.or_else(|| ANSWERS.get(tool)) else {
        return vec![format!("nothing is published of {tool}.{choice}")];
    };
    let mut errors = published.errors(answer);
    if let Some(output) = OUTPUTS.get(tool) {
        errors.extend(output.errors(answer).iter().map(|error| format!("outputSchema{error}")));
    }
    errors
}

fn check(tool: &str, choice: &str, result: &Value) {
    let errors = errors(tool, choice, result);
    assert!(errors.is_empty(), "{tool} {choice} is not as published: {errors:#?}\n{result:#}");
}

/// Checks the answer to a request, if it carries the answer of a tool.
pub fn check_answer(request: &Value, answer: &Value) {
    let (params, result) = (&request["params"], &answer["result"]);
    match request["method"].as_str() {
        // What a stand-in for a daemon says is made up.
        _ if result["_meta"]["standIn"] == true => {}
        Some("tools/call") if body_of(result).is_some() => {
            let arguments = &params["arguments"];
            let choice = arguments["what"].as_str().or(arguments["action"].as_str());
            // A tool of the split surface answers as the choice that it is.
            let name = params["name"].as_str().unwrap();
            let (tool, own) = tools::choice_of(name).unwrap_or((name, None));
            check(tool, own.or(choice).unwrap_or_default(), result);
        }
        Some("tasks/get") => check_task(result),
        Some(_) | None => {}
    }
}

/// Checks what a task has come to, if the message tells that.
pub(crate) fn check_notification(message: &Value) {
    if message["method"] == "notifications/tasks" {
        check_task(&message["params"]);
    }
}

/// What a task has come to is what the call that began it would have answered.
fn check_task(task: &Value) {
    let result = &task["result"];
    let Some(body) = body_of(result) else { return };
    let Some(command) = body["command"].as_str() else { return check("interact", "", result) };
    let tools = tools::list().as_array().unwrap().iter();
    let mut named = tools.filter(|tool| {
        let choices = &tool["inputSchema"]["properties"];
        let choices = [&choices["action"], &choices["what"]];
        let is_choice = |choice: &&Value| {
            choice["enum"].as_array().is_some_and(|all| all.iter().any(|one| one == command))
        };
        tool["name"] == command || (tool["async"] == true && choices.iter().any(is_choice))
    });
    let tool = named.next().unwrap_or_else(|| panic!("no tool does `{command}`: {task}"));
    check(tool["name"].as_str().unwrap(), command, result);
}

#[cfg(test)]
#[test]
fn an_answer_that_is_not_as_published_is_found() {
    use serde_json::json;
    let pending = json!({"pending": [], "completed": [], "failed": [], "page": "*"});
    let result = |answer: &Value| json!({"content": [{"type": "text", "text": answer.to_string()}], "isError": false});
    assert_eq!(errors("observe", "pending_commands", &result(&pending)), Vec::<String>::new());
    let mut more = pending.clone();
    more["more"] = true.into();
    let mut less = pending.clone();
    less.as_object_mut().unwrap().remove("failed");
    let mut other = pending.clone();
    other["pending"] = json!([{}]);
    for wrong in [more, less, other] {
        assert_eq!(errors("observe", "pending_commands", &result(&wrong)).len(), 1, "{wrong}");
    }
    assert_eq!(errors("observe", "nothing", &result(&pending)).len(), 1);
    let mut failed = result(&json!({"error": "x", "message": "x"}));
    failed["isError"] = true.into();
    assert_eq!(errors("interact", "back", &failed).len(), 1, "a failure has a hint");
}
