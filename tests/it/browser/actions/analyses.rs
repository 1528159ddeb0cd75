//! Analyses of a page: its forms, its barriers, its costs.

use std::process::Command;

use serde_json::{Value, json};

use super::ActionStage;
use testkit::OTHER_SITE;

/// The fields of all forms in the answer of `forms`, by their labels.
fn field<'a>(forms: &'a Value, label: &str) -> &'a Value {
    let all = forms["forms"].as_array().unwrap();
    let mut fields = all.iter().flat_map(|form| form["fields"].as_array().unwrap());
    fields
        .find(|field| field["label"] == label)
        .unwrap_or_else(|| panic!("no field {label} in {forms:#}"))
}

#[tokio::test]
async fn a_pages_fields_are_told_with_values_and_errors_and_their_refs_fill_the_form() {
    let stage = ActionStage::open("sign_up.html").await;
    let told = stage.act("forms", json!({})).await;
    let [form, loose, frame] = told["forms"].as_array().unwrap().as_slice() else {
        panic!("a form, loose fields and a frame: {told:#}")
    };
    assert_eq!(
        (&form["name"], &form["submit_name"]),
        (&json!("Sign up"), &json!("Create account"))
    );
    assert_eq!(form["hidden_fields"], 1, "a person sees no trap: {form:#}");
    assert_eq!(loose["form"], "fields outside of forms");
    assert_eq!(frame["frame"], stage.url_elsewhere("").trim_end_matches('/'), "{told:#}");

    let email = field(&told, "Email");
    assert_eq!((&email["type"], &email["value"]), (&json!("email"), &json!("nobody")));
    assert_eq!((&email["required"], &email["min"]), (&json!(true), &Value::Null));
    assert!(email["invalid"].as_str().unwrap().contains("'@'"), "{email}");
    let name = field(&told, "Name");
    assert!(name["invalid"].as_str().unwrap().contains("fill out"), "{name}");
    assert_eq!(field(&told, "Country")["options"], json!(["Choose", "Norway", "Sweden"]));
    let size = field(&told, "Size");
    assert_eq!((&size["type"], &size["value"]), (&json!("radio"), &json!("Large")));
    assert_eq!(size["options"], json!(["Small", "Large"]));
    assert_eq!(field(&told, "I agree")["value"], false, "a box that is drawn by its label");
    assert_eq!(field(&told, "City")["invalid"], "No such city");
    assert_eq!(field(&told, "Newsletter")["value"], true);
    assert_eq!(field(&told, "About you")["type"], "editor");

    let fill = |label: &str, value: Value| json!({"target": field(&told, label)["target"], "value": value});
    let fields = json!([
        fill("Name", json!("Ann")),
        fill("Email", json!("ann@example.com")),
        fill("Search", json!("123456")),
        fill("Age", json!("30")),
        fill("Country", json!("Sweden")),
        fill("Size", json!("Small")),
        fill("I agree", json!(true)),
        fill("Inner", json!("in the frame")),
    ]);
    stage.act("fill_form", json!({"fields": fields})).await;
    let again = stage.act("forms", json!({})).await;
    for label in ["Name", "Email", "Search", "Age", "Country", "I agree"] {
        assert!(field(&again, label)["invalid"].is_null(), "{}", field(&again, label));
    }
    assert_eq!(field(&again, "Size")["value"], "Small");
    assert_eq!(field(&again, "Inner")["value"], "in the frame");
    assert_eq!(field(&again, "Email")["target"], email["target"], "the element is the same");
    stage.act("click", json!({"target": form["submit"]})).await;
    assert_eq!(stage.read("window.sent.country").await, "se");

    let part = stage.act("forms", json!({"target": "#about"})).await;
    assert_eq!(part["forms"].as_array().unwrap().len(), 1, "{part:#}");
    let gone = stage.fails("forms", json!({"target": "#nowhere"})).await;
    assert_eq!(gone["reason"], "target_not_found", "{gone}");
    stage.go("plain.html").await;
    let none = stage.act("forms", json!({})).await;
    assert_eq!(none, json!({"forms": [], "note": "the page shows no fields"}));
    stage.end().await;
}

#[tokio::test]
async fn secrets_in_fields_are_not_told_even_if_labels_and_messages_lie() {
    let stage = ActionStage::open("sign_up.html").await;
    let told = stage.act("forms", json!({})).await;
    for label in ["Password", "Search", "Card"] {
        assert_eq!(field(&told, label)["value"], "[redacted]");
    }
    assert_eq!(field(&told, "Search")["invalid"], "the browser refuses it");
    for secret in ["hunter2", "4711", "4111"] {
        assert!(!told.to_string().contains(secret), "{told:#}");
    }

    stage.go("planted.html").await;
    let told = stage.act("forms", json!({})).await;
    let bytes = told.to_string().len();
    assert!(bytes <= 10_000, "{bytes} bytes of thousands of fields");
    assert!(told["more_fields"].as_u64().unwrap() > 4_000, "{told:#}");
    assert!(told["hint"].as_str().unwrap().contains("target"), "{told:#}");
    assert_eq!(field(&told, "First")["required"], true, "the page's own names hide nothing");
    assert_eq!(field(&told, "Search words")["value"], "[redacted]");
    for secret in ["hunter2", "4111", "redefined"] {
        assert!(!told.to_string().contains(secret), "{told:#}");
    }
    let first = field(&told, "First")["target"].clone();
    stage.act("fill_form", json!({"fields": [{"target": first, "value": "real"}]})).await;
    let part = stage.act("forms", json!({"target": "#form", "max_bytes": 2_000})).await;
    assert_eq!(field(&part, "First")["value"], "real", "{part:#}");
    assert!(part["more_fields"].is_null(), "{part:#}");
    stage.end().await;
}

#[tokio::test]
async fn the_slowest_interaction_and_the_longest_tasks_are_told_with_their_scripts() {
    let stage = ActionStage::open("slow.html").await;
    let before = stage.act("performance", json!({})).await;
    assert!(before["interaction_to_next_paint"].is_null(), "{before:#}");
    // No paint is measured in the background, and the answer says so.
    stage.act("click", json!({"target": "#slow"})).await;
    let behind = stage.act("performance", json!({})).await;
    let note = behind["interaction_to_next_paint"]["note"].as_str().unwrap();
    assert!(note.contains("tab_activate"), "{behind:#}");

    stage.act("tab_activate", json!({})).await;
    stage.act("click", json!({"target": "#slow"})).await;
    stage.until("window.painted").await;
    let told = stage.act("performance", json!({})).await;
    let interaction = &told["interaction_to_next_paint"];
    assert_eq!(interaction["element"], "button#slow", "{told:#}");
    assert_eq!(interaction["event"], "click", "{told:#}");
    assert!(interaction["processing_ms"].as_f64().unwrap() >= 200.0, "{told:#}");
    assert!(interaction["ms"].as_f64().unwrap() >= 200.0, "{told:#}");
    let longest = &told["long_tasks"]["longest"][0];
    assert!(longest["ms"].as_f64().unwrap() >= 200.0, "{told:#}");
    let scripts: Vec<_> = told["long_tasks"]["longest"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|task| task["scripts"].as_array().into_iter().flatten())
        .collect();
    assert!(scripts.iter().any(|script| script["invoker"] == "BUTTON#slow.onclick"), "{told:#}");
    stage.end().await;
}

/// The violation of this rule in the answer of `audit`.
fn violation<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let all = report["violations"].as_array().unwrap();
    all.iter().find(|one| one["rule"] == rule).unwrap_or_else(|| panic!("no {rule} in {report:#}"))
}

#[tokio::test]
async fn barriers_are_told_from_the_worst_with_refs_and_the_way_to_remove_them() {
    let stage = ActionStage::open("barriers.html").await;
    let report = stage.act("audit", json!({})).await;
    assert!(report["engine"].as_str().unwrap().starts_with("axe-core 4."), "{report:#}");
    let buttons = violation(&report, "button-name");
    assert_eq!((&buttons["impact"], &buttons["count"]), (&json!("critical"), &json!(3)));
    assert_eq!(buttons["criteria"], json!(["4.1.2"]));
    assert!(buttons["fix"][0].as_str().unwrap().contains("aria-label"), "{buttons:#}");
    let contrast = violation(&report, "color-contrast");
    assert_eq!(contrast["elements"][0]["element"], "paragraph \"Hardly to be read\"");
    assert!(contrast["fix"][0].as_str().unwrap().contains("4.5:1"), "{contrast:#}");
    let impacts: Vec<_> = report["violations"].as_array().unwrap().iter().collect();
    let rank = |one: &Value| {
        ["critical", "serious", "moderate", "minor"].iter().position(|it| one["impact"] == *it)
    };
    assert!(impacts.windows(2).all(|pair| rank(pair[0]) <= rank(pair[1])), "{report:#}");
    // The refs are those of the other actions, also in a frame of another site.
    let elements = buttons["elements"].as_array().unwrap();
    let mut ids = Vec::new();
    for element in elements {
        let attributes = stage.act("get_attributes", json!({"target": element["target"]})).await;
        ids.push(attributes["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, ["icon", "icon2", "inner"]);

    let one = stage.act("audit", json!({"rules": ["image-alt"]})).await;
    assert_eq!(one["violations"].as_array().unwrap().len(), 1, "{one:#}");
    violation(&one, "image-alt");
    let tagged = stage.act("audit", json!({"tags": ["cat.color"]})).await;
    assert_eq!(tagged["violations"].as_array().unwrap().len(), 1, "{tagged:#}");
    let part = stage.act("audit", json!({"target": "#clean"})).await;
    assert_eq!(part["violations"], json!([]), "{part:#}");
    let short = stage.act("audit", json!({"max_bytes": 1_000})).await;
    assert!(short.to_string().len() <= 1_300, "{short:#}");
    assert!(short["more_violations"].as_u64().unwrap() > 0, "{short:#}");
    assert!(short["hint"].as_str().unwrap().contains("rules"), "{short:#}");
    stage.end().await;
}

#[tokio::test]
async fn an_audit_that_cannot_be_done_says_what_to_ask_for_instead() {
    let stage = ActionStage::open("barriers.html").await;
    let unknown = stage.fails("audit", json!({"rules": ["colour-contrast"]})).await;
    assert_eq!(unknown["reason"], "invalid_params", "{unknown}");
    assert!(unknown["hint"].as_str().unwrap().contains("color-contrast"), "{unknown}");
    let tag = stage.fails("audit", json!({"tags": ["wcag9z"]})).await;
    assert!(tag["hint"].as_str().unwrap().contains("wcag2aa"), "{tag}");
    let both = stage.fails("audit", json!({"rules": ["image-alt"], "tags": ["wcag2a"]})).await;
    assert_eq!(both["reason"], "invalid_params", "{both}");
    let large = "document.body.append(...Array.from({ length: 6001 }, () => document.createElement('p'))); 1";
    stage.read(large).await;
    let refused = stage.fails("audit", json!({})).await;
    assert_eq!(refused["reason"], "result_too_large", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("target"), "{refused}");
    stage.act("audit", json!({"target": "#clean"})).await;
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_redefines_all_it_can_falsifies_no_audit_and_does_not_see_it() {
    let stage = ActionStage::open("false_audit.html").await;
    let report = stage.act("audit", json!({})).await;
    let image = violation(&report, "image-alt");
    assert_eq!(image["count"], 1, "{report:#}");
    assert_eq!(violation(&report, "button-name")["count"], 1, "of the frame: {report:#}");
    let html = stage.act("get_html", json!({"target": image["elements"][0]["target"]})).await;
    assert!(html.as_str().unwrap().starts_with("<img"), "{html}");
    // The page goes on asking: the first questions after the audit would have been answered.
    stage.read("window.before = asked.size; 1").await;
    stage.until("asked.size > window.before + 2").await;
    let seen = stage.read("JSON.stringify([window.heard, typeof window.axe, window.called])").await;
    assert_eq!(
        seen, "[[],\"object\",[]]",
        "the page's own axe is an element, and nothing called it"
    );
    // Names of elements in a form stand before the properties of the form itself.
    stage.go("redefined.html").await;
    let failed = stage.fails("audit", json!({})).await;
    assert_eq!(failed["reason"], "unsupported", "{failed}");
    assert!(failed["hint"].as_str().unwrap().contains("target"), "{failed}");
    stage.end().await;
}

/// The content of a trace file.
fn unzipped(path: &Value) -> String {
    let unzip = Command::new("gzip").arg("-dc").arg(path.as_str().unwrap()).output().unwrap();
    assert!(unzip.status.success(), "{unzip:?}");
    String::from_utf8(unzip.stdout).unwrap()
}

#[tokio::test]
async fn a_trace_names_the_largest_costs_of_a_load_and_an_act_and_goes_to_a_file_for_devtools() {
    // Long enough to be among the largest costs on a busy computer, too.
    let stage = ActionStage::open("slow.html?session=hushed&times=4").await;
    let started = stage.act("trace", json!({"phase": "start"})).await;
    assert!(started["next"].as_str().unwrap().contains("stop"), "{started}");
    stage.act("refresh", json!({})).await;
    stage.act("click", json!({"target": "#slow"})).await;
    let told = stage.act("trace", json!({"phase": "stop", "path": "slow.json.gz"})).await;
    let costs = told["costs"].as_array().unwrap();
    assert_eq!(costs.len(), 3, "{told:#}");
    let own: Vec<_> = costs.iter().filter(|cost| cost["url"] == stage.url("slow.js")).collect();
    let [click, load] = own.as_slice() else { panic!("{told:#}") };
    assert_eq!(click["cost"], "script", "{told:#}");
    assert_eq!(
        (&click["function"], &click["line"]),
        (&json!("document.querySelector.onclick"), &json!(8))
    );
    assert!(click["ms"].as_f64().unwrap() >= 600.0, "{told:#}");
    assert_eq!(load["cost"], "script", "{told:#}");
    assert!(told["busy_ms"].as_f64().unwrap() >= 1_200.0, "{told:#}");
    let requests = told["slowest_requests"].as_array().unwrap();
    assert!(requests.iter().any(|one| one["url"] == stage.url("slow.js")), "{told:#}");

    assert_eq!(told["data"], "(in the file)");
    let text = unzipped(&told["path"]);
    let file: Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let page = &events[0]["args"]["data"]["frames"][0];
    assert_eq!(events[0]["name"], "TracingStartedInBrowser");
    assert_eq!(
        (&page["url"], &page["isOutermostMainFrame"]),
        (&stage.url("slow.html").into(), &json!(true))
    );
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert!(named("RunTask") > 10 && named("FunctionCall") > 0 && named("ProfileChunk") > 0);
    for hidden in ["hushed", "\"headers\""] {
        assert!(!text.contains(hidden), "{hidden} is in the file");
    }
    // Without a file the summary alone is told.
    stage.act("trace", json!({"phase": "start"})).await;
    let summary = stage.act("trace", json!({"phase": "stop"})).await;
    assert!(summary["data"].is_null() && summary["costs"].is_array(), "{summary:#}");
    stage.end().await;
}

#[tokio::test]
async fn a_trace_that_cannot_be_had_names_the_next_step() {
    let mut stage = ActionStage::open("slow.html").await;
    let none = stage.fails("trace", json!({"phase": "stop"})).await;
    assert_eq!(none["reason"], "invalid_params", "{none}");
    assert!(none["hint"].as_str().unwrap().contains("phase start"), "{none}");
    let ending = stage.fails("trace", json!({"phase": "stop", "path": "slow.png"})).await;
    assert!(ending["message"].as_str().unwrap().contains(".gz"), "{ending}");

    stage.act("trace", json!({"phase": "start"})).await;
    let first = stage.tab.clone();
    stage.turn_to("plain.html").await;
    let busy = stage.fails("trace", json!({"phase": "start"})).await;
    assert_eq!(busy["reason"], "unsupported", "{busy}");
    assert!(busy["hint"].as_str().unwrap().contains(&first.to_string()), "{busy}");
    stage.act("tab_close", json!({"tab_id": first})).await;
    // A trace ends with its tab, and the browser can record another one.
    stage.act("trace", json!({"phase": "start"})).await;
    stage.act("trace", json!({"phase": "stop"})).await;

    // A site that was shown and is closed since is not told of.
    stage.act("trace", json!({"phase": "start"})).await;
    let closing = stage.url("slow.html").replace("127.0.0.1", OTHER_SITE);
    stage.act("navigate", json!({"url": closing})).await;
    stage.act("navigate", json!({"url": stage.url("plain.html")})).await;
    let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
    stage.client().call("configure", rule).await;
    let closed = stage.fails("trace", json!({"phase": "stop"})).await;
    assert_eq!(closed["reason"], "blocked_by_policy", "{closed}");
    assert!(closed["result"].is_null(), "{closed}");
    stage.end().await;
}
