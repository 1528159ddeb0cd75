//! What a model is shown of the tools, and what it is told when it calls them wrongly.

use proptest::{prop_assert, proptest};
use serde_json::{Map, Value, json};

use super::arguments::ToolArguments;
use super::*;
use crate::engine::RecordedHistory;
use crate::hub::{ClockSample, CommandLookup};
use crate::journal::Journal;
use crate::lifecycle::Limits;
use crate::protocol::actions::RegisteredAction;
use crate::protocol::garbled;

/// The longest list of the five tools: 12 KB, of which 5 % stay free.
const LIST_MAX: usize = 12 * 1024 * 95 / 100;

fn check(arguments: &ToolArguments, given: Value) -> Result<Value, Value> {
    let Value::Object(given) = given else { panic!("arguments are an object") };
    match arguments.check(given) {
        Ok(checked) => Ok(Value::Object(checked)),
        Err(wrong) => Err(serde_json::to_value(wrong).unwrap()),
    }
}

fn interact(given: Value) -> Result<Value, Value> {
    check(arguments_of(interact::NAME), given)
}

/// Every schema inside a schema.
fn walk(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match schema {
        Value::Object(object) => {
            visit(object);
            object.values().for_each(|inner| walk(inner, visit));
        }
        Value::Array(items) => items.iter().for_each(|inner| walk(inner, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_list_of_tools_is_small_and_in_its_order() {
    let names: Vec<_> = list().as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["interact", "observe", "analyze", "configure", "wksm_monitor_sync"]);
    let size = list().to_string().len();
    assert!(size <= LIST_MAX, "{size} bytes");
}

/// Whether a description says something of the thing with this name to a reader who sees nothing else.
fn stands_alone(name: &str, about: &str) -> bool {
    let plain =
        |text: &str| text.to_lowercase().replace(['_', '-', '.', '`'], " ").trim().to_owned();
    // The choices for which a parameter is stand before its description.
    let own = about.strip_prefix('(').and_then(|rest| Some(rest.split_once(") ")?.1));
    let own = own.unwrap_or(about);
    own.ends_with('.')
        && own.split_whitespace().count() >= 2
        && plain(own) != plain(name)
        && own != "Which entries of a stream."
}

/// The names and descriptions in these definitions: of tools, of choices, of parameters.
fn described(tools: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        all.push((name.to_owned(), tool["description"].as_str().unwrap_or_default().to_owned()));
        for (parameter, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let about = schema["description"].as_str().unwrap_or_default();
            let is_selector = ["interact", "observe", "analyze", "configure"].contains(&name)
                && ["action", "what"].contains(&parameter.as_str());
            if !is_selector {
                all.push((parameter.clone(), about.to_owned()));
                continue;
            }
            // Each choice has a line of its own.
            let choices: Vec<_> = schema["enum"].as_array().unwrap().iter().collect();
            let lines: Vec<_> = about.lines().collect();
            assert_eq!(choices.len(), lines.len(), "{name}");
            for (choice, line) in choices.into_iter().zip(lines) {
                let (told, about) = line.split_once(": ").unwrap_or((line, ""));
                assert_eq!(told.split(' ').next(), choice.as_str(), "{name}: {line}");
                all.push((told.to_owned(), about.to_owned()));
            }
        }
    }
    all
}

#[test]
fn every_tool_choice_and_parameter_of_both_surfaces_has_a_description_that_stands_alone() {
    let split = split::split_list(&ToolSurface::whole());
    for surface in [list(), &split] {
        for (name, about) in described(surface) {
            assert!(stands_alone(&name, &about), "{name}: {about}");
        }
    }
    // No two tools say the same, nor do two choices of one tool.
    let tools = split.as_array().unwrap().iter().map(|tool| tool["description"].as_str().unwrap());
    let mut tools: Vec<_> = tools.collect();
    tools.sort_unstable();
    assert!(tools.windows(2).all(|pair| pair[0] != pair[1]), "{tools:?}");
}

#[test]
fn every_input_schema_is_one_flat_object_that_all_clients_can_read() {
    for tool in list().as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        walk(schema, &mut |object| {
            for forbidden in ["oneOf", "anyOf", "allOf", "if", "$ref", "format"] {
                assert!(!object.get(forbidden).is_some_and(Value::is_array), "{forbidden}");
            }
        });
        for (name, property) in schema["properties"].as_object().unwrap() {
            // One type, or any at all.
            let is_untyped = ["data", "snapshot", "steps"].contains(&name.as_str());
            assert!(property["type"].is_string() || is_untyped, "{name}: {property}");
            assert!(property.get("type").is_none_or(Value::is_string), "{name}: {property}");
            let about = property["description"].as_str().unwrap_or_default();
            assert!(about.ends_with('.') && about.len() > 8, "{name}: {about}");
        }
    }
}

#[test]
fn the_hints_say_of_each_tool_whether_it_reads_destroys_repeats_and_leaves_this_machine() {
    let hints = |read_only, destructive, idempotent, open_world| {
        json!({
            "readOnlyHint": read_only, "destructiveHint": destructive,
            "idempotentHint": idempotent, "openWorldHint": open_world,
        })
    };
    // Of a tool that only reads the other two say nothing.
    let reading = json!({"readOnlyHint": true, "openWorldHint": true});
    for (tool, expected) in [
        ("interact", hints(false, true, false, true)),
        ("observe", reading),
        ("analyze", hints(false, true, false, true)),
        ("configure", hints(false, true, false, false)),
        ("wksm_monitor_sync", hints(false, false, true, false)),
    ] {
        let mut tools = list().as_array().unwrap().iter();
        let tool = tools.find(|listed| listed["name"] == tool).unwrap();
        assert_eq!(tool["annotations"], expected, "{}", tool["name"]);
        let properties = tool["inputSchema"]["properties"].to_string();
        let deletes = ["\"delete\"", "\"clear\""].iter().any(|word| properties.contains(word));
        assert!(!deletes || expected["destructiveHint"] == true, "{}", tool["name"]);
    }
}

#[test]
fn every_choice_of_every_tool_has_its_answers_published_and_its_failures() {
    let definitions = answers()["$defs"].as_object().unwrap();
    for tool in list().as_array().unwrap() {
        let (name, properties) =
            (tool["name"].as_str().unwrap(), &tool["inputSchema"]["properties"]);
        let choices =
            properties["what"]["enum"].as_array().or(properties["action"]["enum"].as_array());
        for choice in choices.into_iter().flatten().filter_map(Value::as_str) {
            let own = definitions.contains_key(&format!("{name}.{choice}"));
            assert!(own || definitions.contains_key(name), "{name}.{choice}");
        }
        assert!(definitions.contains_key(&format!("{name}.failed")), "{name}");
        let of_tool = definitions.keys().filter_map(|key| key.strip_prefix(&format!("{name}.")));
        for choice in of_tool.filter(|choice| *choice != "failed") {
            assert!(choices.unwrap().contains(&choice.into()), "{name}.{choice} is no choice");
        }
    }
}

#[test]
fn every_output_schema_is_one_flat_object_that_requires_nothing() {
    let with_schema =
        list().as_array().unwrap().iter().filter(|tool| tool.get("outputSchema").is_some());
    let names: Vec<_> = with_schema.clone().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["wksm_monitor_sync"]);
    for tool in with_schema {
        let schema = &tool["outputSchema"];
        let words: Vec<_> = schema.as_object().unwrap().keys().collect();
        assert_eq!(words, ["type", "properties"]);
        assert_eq!(schema["type"], "object");
        for (name, property) in schema["properties"].as_object().unwrap() {
            let words = property.as_object().unwrap().keys();
            assert!(
                words.clone().all(|word| word == "type" || word == "enum"),
                "{name}: {property}"
            );
        }
    }
}

#[test]
fn a_tool_that_can_return_early_says_so_in_both_places() {
    for tool in list().as_array().unwrap() {
        let is_async = submits(tool["name"].as_str().unwrap());
        assert_eq!(tool.get("async").is_some_and(|said| *said == true), is_async);
        assert_eq!(tool["_meta"]["tabwire/async"] == true, is_async);
    }
    assert!(submits("interact") && submits("analyze") && !submits("observe"));
}

#[test]
fn the_schema_names_every_action_and_says_whose_a_parameter_is() {
    let properties = &list()[0]["inputSchema"]["properties"];
    let actions = &properties["action"]["enum"];
    let all: Vec<_> = RegisteredAction::of_tool(ActionTool::Interact)
        .map(|it| it.spec.name)
        .chain([super::asks::NAME, super::run::NAME])
        .collect();
    assert_eq!(*actions, json!(all));
    let script = properties["script"]["description"].as_str().unwrap();
    assert!(script.starts_with("(execute_js)"), "{script}");
    assert_eq!(properties["wait_ms"]["maximum"], 55_000);
}

#[test]
fn what_one_tool_offers_the_other_refuses() {
    let analyses = &list()[2]["inputSchema"]["properties"]["what"]["enum"];
    let analyze = RegisteredAction::of_tool(ActionTool::Analyze).map(|it| it.spec.name);
    let names: Vec<_> = analyze.chain(["annotations"]).collect();
    assert_eq!(*analyses, json!(names));
    let wrong = interact(json!({"action": "dom", "selector": "a"})).unwrap_err();
    assert_eq!((&wrong["error"], &wrong["param"]), (&json!("invalid_argument"), &json!("action")));
    for given in [json!({"what": "execute_js"}), json!({"what": "dom", "action": "execute_js"})] {
        check(arguments_of(analyze::NAME), given).unwrap_err();
    }
    let wrong = check(arguments_of(analyze::NAME), json!({"what": "dom"})).unwrap_err();
    assert_eq!(
        (&wrong["error"], &wrong["param"]),
        (&json!("missing_argument"), &json!("selector"))
    );
}

#[test]
fn right_arguments_pass_unchanged_and_whole_numbers_may_be_written_with_a_point() {
    let given = json!({"action": "execute_js", "script": "1", "wait_ms": 5.0, "tab_id": 7});
    let expected = json!({"action": "execute_js", "script": "1", "wait_ms": 5, "tab_id": 7});
    assert_eq!(interact(given), Ok(expected));
}

#[test]
fn a_misspelt_action_or_parameter_gets_the_closest_known_one() {
    let wrong = interact(json!({"action": "execute_jss"})).unwrap_err();
    assert_eq!(wrong["param"], "action");
    assert_eq!(wrong["hint"], "Did you mean `execute_js`?");
    let wrong = interact(json!({"action": "execute_js", "scrpt": "1"})).unwrap_err();
    assert_eq!(wrong["error"], "unknown_argument");
    assert_eq!(wrong["param"], "scrpt");
    assert_eq!(wrong["hint"], "Did you mean `script`?");
    let wrong = interact(json!({"action": "screenshot", "format": "pgn"})).unwrap_err();
    assert_eq!(wrong["hint"], "Did you mean `png`?");
}

#[test]
fn a_parameter_of_another_action_is_told_from_an_unknown_one() {
    let wrong = interact(json!({"action": "navigate", "url": "x", "script": "1"})).unwrap_err();
    assert_eq!(wrong["error"], "unknown_argument");
    assert_eq!(wrong["hint"], "`script` belongs to execute_js; omit it.");
}

#[test]
fn what_is_missing_is_named_with_what_it_is_for() {
    let wrong = interact(json!({})).unwrap_err();
    assert_eq!((&wrong["error"], &wrong["param"]), (&json!("missing_argument"), &json!("action")));
    let wrong = interact(json!({"action": "navigate"})).unwrap_err();
    assert_eq!((&wrong["error"], &wrong["param"]), (&json!("missing_argument"), &json!("url")));
    assert!(wrong["hint"].as_str().unwrap().starts_with("Add `url`: "));
}

#[test]
fn wrong_types_and_ranges_say_what_is_expected() {
    for (given, param, expected) in [
        (json!({"action": 1}), "action", json!(null)),
        (json!({"action": "execute_js", "script": 1}), "script", json!("string")),
        (json!({"action": "tab_list", "wait_ms": "5"}), "wait_ms", json!("integer")),
        (json!({"action": "tab_list", "wait_ms": 5.5}), "wait_ms", json!("integer")),
        (json!({"action": "tab_list", "wait_ms": null}), "wait_ms", json!("integer")),
        (json!({"action": "screenshot", "max_side": 63}), "max_side", json!("64 to 8192")),
        (json!({"action": "tab_open", "focus": 1}), "focus", json!("boolean")),
        (json!({"action": "tab_list", "wait_ms": -1}), "wait_ms", json!("0 to 55000")),
        (json!({"action": "tab_list", "wait_ms": 55_001}), "wait_ms", json!("0 to 55000")),
        (json!({"action": "tab_list", "timeout_ms": 0}), "timeout_ms", json!("1 to 300000")),
        (json!({"action": "tab_list", "wait_ms": u64::MAX}), "wait_ms", json!("0 to 55000")),
        (json!({"action": "tab_list", "trace": "yes"}), "trace", json!("boolean")),
        (json!({"action": "tab_list", "browser": ["b"]}), "browser", json!("string")),
    ] {
        let wrong = interact(given.clone()).unwrap_err();
        assert_eq!(wrong["error"], "invalid_argument", "{given}");
        assert_eq!(wrong["param"], param, "{given}");
        assert!(expected.is_null() || wrong["expected"] == expected, "{given}: {wrong}");
        assert!(wrong["hint"].is_string(), "{given}");
    }
}

#[test]
fn what_passes_the_check_can_be_read_by_the_handlers() {
    for (tool, given) in [
        (
            "interact",
            json!({"action": "screenshot", "full_page": true, "format": "jpeg", "max_side": 64}),
        ),
        ("interact", json!({"action": "tab_open", "url": "http://127.0.0.1/", "focus": true})),
        ("interact", json!({"action": "tab_close", "tab_id": 7})),
        ("observe", json!({"what": "command_result", "correlation_id": "x", "limit": 10})),
        ("observe", json!({"what": "tabs"})),
        ("configure", json!({"action": "cancel", "correlation_id": "x"})),
        ("configure", json!({"action": "health"})),
        ("configure", json!({"action": "store", "data": null})),
        ("configure", json!({"action": "load", "name": "a", "offset": 1, "limit": 9})),
        ("analyze", json!({"what": "dom", "selector": "a", "limit": 5, "wait_ms": 0, "tab_id": 7})),
        ("analyze", json!({"what": "accessibility", "selector": "a", "depth": 5, "wait_ms": 0})),
        ("analyze", json!({"what": "performance", "wait_ms": 0, "timeout_ms": 1, "trace": true})),
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tools =
                ToolSet::new(Hub::start(crate::lifecycle::Limits::default()), Duration::ZERO);
            let caller = Caller { owner: "user".into(), client: "a".into() };
            let Value::Object(given) = given else { panic!("arguments are an object") };
            let outcome = tools
                .call(
                    &caller,
                    tool,
                    given,
                    RequestContext::default(),
                    ResponseMode::Usual,
                    &ToolSurface::default(),
                )
                .await
                .map(|call| call.outcome);
            let Some(NowOrLater::Now(result)) = outcome else { panic!("{tool}") };
            assert!(!result.body.get().contains("invalid_argument"), "{}", result.body);
        });
    }
}

#[test]
fn the_idempotency_key_of_the_arguments_counts_before_the_carriers() {
    let key_of = |argument: Option<&str>, carried: Option<&str>| {
        let mut given = json!({"action": "page_info"}).as_object().unwrap().clone();
        given.extend(argument.map(|key| ("idempotency_key".to_owned(), json!(key))));
        let asked = interact::read_request(
            &given,
            RequestContext { key: carried.map(Into::into), trace_context: None, record_by: None },
            Duration::ZERO,
        );
        asked.map(|asked| asked.submission.idempotency_key)
    };
    assert_eq!(key_of(None, None).unwrap(), None);
    assert_eq!(key_of(None, Some("b")).unwrap().as_deref(), Some("b"));
    assert_eq!(key_of(Some("a"), None).unwrap().as_deref(), Some("a"));
    assert_eq!(key_of(Some("a"), Some("b")).unwrap().as_deref(), Some("a"));
    let longest = "~".repeat(128);
    assert_eq!(key_of(Some(&longest), None).unwrap().as_deref(), Some(longest.as_str()));
    for wrong in ["", " ", "a b", "a\n", "\u{7f}", "schl\u{fc}ssel", &"x".repeat(129)] {
        for refused in [key_of(Some(wrong), Some("b")), key_of(None, Some(wrong))] {
            let body: Value = serde_json::from_str(refused.unwrap_err().body.get()).unwrap();
            assert_eq!(body["error"], "invalid_argument", "{wrong:?}");
            assert_eq!(body["param"], "idempotency_key", "{wrong:?}");
            assert!(body["hint"].is_string(), "{wrong:?}");
        }
    }
}

#[test]
fn any_arguments_are_taken_or_refused_with_the_parameter_and_the_next_step() {
    let samples = [
        r#"{"action":"execute_js","script":"1","wait_ms":0,"tab_id":7,"timeout_ms":10000}"#,
        r#"{"action":"screenshot","full_page":true,"format":"png","max_side":1568,"trace":true}"#,
        r#"{"action":"navigate","url":"http://127.0.0.1/","focus":false,"browser":"b1"}"#,
        r#"{"what":"command_result","correlation_id":"exec_1","wait_ms":5,"offset":0,"limit":9}"#,
        r#"{"what":"pending_commands"}"#,
        r#"{"action":"cancel","correlation_id":"exec_1"}"#,
        r#"{"what":"dom","selector":"main a","limit":20,"wait_ms":0,"tab_id":7}"#,
        r#"{"action":"store","name":"a","data":{"b":[1,2.0,null]}}"#,
        r#"{"action":"load","name":"a","offset":0,"limit":9}"#,
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let limits = Limits { calls_per_minute: 0, ..Limits::default() };
    let tools = ToolSet::new(Hub::start(limits), Duration::ZERO);
    let caller = Caller { owner: "user".into(), client: "ann".into() };
    proptest!(garbled::cases(2_000), |(text in garbled::nearly(&samples))| {
        let Ok(Value::Object(given)) = serde_json::from_slice(&text) else { return Ok(()) };
        for tool in ["interact", "observe", "analyze", "configure"] {
            let call = runtime.block_on(tools.call(&caller, tool, given.clone(), RequestContext::default(), ResponseMode::Usual, &ToolSurface::default()));
            let Some(NowOrLater::Now(answer)) = call.map(|call| call.outcome) else { continue };
            let answer_is: Value = serde_json::from_str(answer.body.get()).unwrap();
            if !answer.is_error {
                continue;
            }
            for part in ["error", "message", "hint"] {
                let said = answer_is[part].as_str().unwrap_or_default();
                prop_assert!(!said.is_empty(), "{} of {}", part, answer_is);
            }
            // What passed the check can be read: else this would be all that is said.
            prop_assert!(answer_is["hint"] != "Correct the argument; the tool's inputSchema describes it.", "{}", answer_is);
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_list_tells_what_is_recorded_and_in_trouble_what_is_known() {
    let (journal, mut pages) = Journal::channel();
    let hub =
        Hub::open(Limits::default(), journal, RecordedHistory::default(), &ClockSample::now());
    let tools = ToolSet::new(hub.clone(), Duration::ZERO);
    let caller = Caller { owner: "user".into(), client: "ann".into() };
    let given = json!({"action": "page_info"}).as_object().unwrap().clone();
    let asked = interact::read_request(&given, RequestContext::default(), Duration::ZERO).unwrap();
    let list = || {
        let (tools, caller) = (tools.clone(), caller.clone());
        let given = json!({"what": "pending_commands"}).as_object().unwrap().clone();
        tokio::spawn(async move {
            let call = tools
                .call(
                    &caller,
                    "observe",
                    given,
                    RequestContext::default(),
                    ResponseMode::Usual,
                    &ToolSurface::default(),
                )
                .await
                .unwrap();
            let NowOrLater::Now(result) = call.outcome else { panic!("it does not wait") };
            result.body.get().to_owned()
        })
    };
    for is_written in [true, false] {
        let submitted = hub.submit_unrecorded(&caller, asked.submission.clone()).await.unwrap();
        let id = submitted.accepted.id;
        let listing = list();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!listing.is_finished());
        pages.take_batch();
        if is_written {
            pages.recorded();
        } else {
            pages.failed("the disk is full");
        }
        assert!(listing.await.unwrap().contains(id.as_str()));
    }
}

#[test]
fn a_list_is_checked_item_by_item() {
    let capture = |streams: Value| {
        check(arguments_of(configure::NAME), json!({"action": "capture", "streams": streams}))
    };
    assert!(capture(json!([])).is_ok());
    assert!(capture(json!(["logs", "bodies"])).is_ok());
    let wrong = capture(json!(["logs", "netwrk"])).unwrap_err();
    assert_eq!(
        (&wrong["param"], &wrong["hint"]),
        (&json!("streams"), &json!("Did you mean `network`?"))
    );
    let wrong = capture(json!(["logs", 7])).unwrap_err();
    assert_eq!(wrong["message"], "`streams` must be of type string, not integer");
    let wrong = capture(json!("logs")).unwrap_err();
    assert_eq!(wrong["message"], "`streams` must be of type array, not string");
}

#[test]
fn a_parameter_of_many_variants_does_not_list_them_but_the_refusal_does() {
    let properties = &list()[1]["inputSchema"]["properties"];
    assert_eq!(properties["url"]["description"], "Only entries with this in the URL.");
    let given = json!({"what": "tabs", "url": "x"});
    let wrong = check(arguments_of(observe::NAME), given).unwrap_err();
    assert!(
        wrong["hint"].as_str().unwrap().starts_with("`url` belongs to logs, errors,"),
        "{wrong}"
    );
    let given = json!({"what": "logs", "limit": 500});
    assert_eq!(check(arguments_of(observe::NAME), given).unwrap_err()["expected"], "1 to 200");
}

/// Tools that keep what they are given in a folder of this test's own.
fn keeping() -> (ToolSet, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = crate::home::StateDirectory::open(&dir.path().join("state")).unwrap().store();
    let tools = ToolSet::new(Hub::start(Limits::default()), Duration::ZERO).with_store(store);
    (tools, dir)
}

/// What `configure` answers, and whether the call failed.
async fn configure(tools: &ToolSet, owner: &str, given: Value) -> (Value, bool) {
    answer_of(tools, "configure", owner, given).await
}

/// What a tool answers, and whether the call failed.
async fn answer_of(tools: &ToolSet, tool: &str, owner: &str, given: Value) -> (Value, bool) {
    let caller = Caller { owner: owner.into(), client: "ann".into() };
    let given = given.as_object().unwrap().clone();
    let call = tools
        .call(
            &caller,
            tool,
            given,
            RequestContext::default(),
            ResponseMode::Usual,
            &ToolSurface::default(),
        )
        .await
        .unwrap();
    let NowOrLater::Now(result) = call.outcome else { panic!("it does not wait") };
    (serde_json::from_str(result.body.get()).unwrap(), result.is_error)
}

#[tokio::test]
async fn any_json_is_kept_as_it_is_under_its_name_or_under_default() {
    let (tools, _dir) = keeping();
    for data in [json!(null), json!(5.0), json!("{}"), json!([]), json!({"b": 1, "a": {"$": 2}})] {
        let (stored, _) = configure(&tools, "user", json!({"action": "store", "data": data})).await;
        assert_eq!((&stored["status"], &stored["name"]), (&json!("stored"), &json!("default")));
        let (loaded, _) = configure(&tools, "user", json!({"action": "load"})).await;
        assert_eq!(loaded["data"].to_string(), data.to_string());
        assert_eq!(loaded["size_bytes"], data.to_string().len());
    }
    configure(&tools, "user", json!({"action": "store", "name": "Größe", "data": 1})).await;
    let (list, _) = configure(&tools, "user", json!({"action": "list"})).await;
    let names: Vec<_> = list["values"].as_array().unwrap().iter().map(|v| &v["name"]).collect();
    assert_eq!(json!([list["count"], names]), json!([2, ["Größe", "default"]]));
    assert!(list["values"][0]["stored_at"].as_str().unwrap().ends_with('Z'), "{list}");
    let (list, _) = configure(&tools, "ci", json!({"action": "list"})).await;
    assert_eq!(list, json!({"count": 0, "values": []}));
    let gone = json!({"action": "delete", "name": "Größe"});
    assert_eq!(configure(&tools, "user", gone.clone()).await.0["status"], "deleted");
    assert_eq!(configure(&tools, "user", gone).await.0["error"], "not_found");
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_with_the_next_step() {
    let (tools, dir) = keeping();
    configure(&tools, "user", json!({"action": "store", "name": "login-flow", "data": 1})).await;
    let long = "x".repeat(crate::home::VALUE_MAX);
    for (given, code, hint) in [
        (json!({"action": "store"}), "missing_argument", "Add `data`"),
        (json!({"action": "store", "name": "a\nb", "data": 1}), "invalid_argument", "short name"),
        (json!({"action": "delete"}), "missing_argument", "Add `name`"),
        (json!({"action": "store", "data": long}), "value_too_large", "in parts"),
        (json!({"action": "load", "name": "login-flo"}), "not_found", "`login-flow`"),
        (json!({"action": "load"}), "not_found", "list"),
    ] {
        let (answer, is_error) = configure(&tools, "user", given.clone()).await;
        assert!(is_error && answer["error"] == code, "{answer}");
        assert!(answer["hint"].as_str().unwrap().contains(hint), "{answer}");
    }
    // The folder cannot be made: a file is in its place.
    let store = dir.path().join("state/store");
    std::fs::remove_dir_all(&store).unwrap();
    std::fs::write(&store, "").unwrap();
    let (answer, is_error) = configure(&tools, "user", json!({"action": "store", "data": 1})).await;
    assert!(is_error && answer["error"] == "storage_unavailable", "{answer}");
    assert!(answer["hint"].as_str().unwrap().contains("Free space"), "{answer}");
}

#[tokio::test]
async fn a_large_value_is_loaded_in_parts_that_make_it_up() {
    let (tools, _dir) = keeping();
    let data = json!({"text": "ä€".repeat(30_000)});
    configure(&tools, "user", json!({"action": "store", "name": "a \"b\"", "data": data})).await;
    let mut given = json!({"action": "load", "name": "a \"b\""});
    let mut text = String::new();
    loop {
        let (part, _) = configure(&tools, "user", given.clone()).await;
        assert_eq!(part["total_bytes"], data.to_string().len());
        assert!(part["data"].to_string().len() <= 10_000);
        text.push_str(part["data"]["text"].as_str().unwrap());
        let Some(next) = part.get("next_offset") else { break };
        let call = format!(r#"configure({{action:"load", name:"a \"b\"", offset:{next}}})"#);
        assert!(part["hint"].as_str().unwrap().contains(&call), "{}", part["hint"]);
        given["offset"] = next.clone();
    }
    assert_eq!(json!({ "text": text }), data);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_which_a_further_part_is_read_is_kept_and_one_that_is_looked_at_is_not() {
    let (tools, _dir) = keeping();
    let caller = Caller { owner: "user".into(), client: "ann".into() };
    let given = json!({"action": "page_info"}).as_object().unwrap().clone();
    let asked = interact::read_request(&given, RequestContext::default(), Duration::ZERO).unwrap();
    for (offset, is_kept) in [(json!(0), false), (json!(1), true)] {
        let id = tools.hub.submit(&caller, asked.submission.clone()).await.unwrap().id;
        let _ = tools.hub.cancel(&caller, &id).await.unwrap();
        tokio::time::sleep(Duration::from_secs(50)).await;
        let query = json!({
            "what": "command_result", "correlation_id": id.as_str(), "offset": offset, "wait_ms": 0,
        });
        answer_of(&tools, "observe", "user", query).await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        let seen = tools.hub.get(&caller, &id, false).await.unwrap();
        assert_eq!(matches!(seen, CommandLookup::Command(_)), is_kept, "{offset}");
    }
}
