//! `analyze`: what it makes of a page in a real Chromium, and how its answers come.

use serde_json::{Value, json};

use crate::browser::Stage;
use testkit::{ExtensionBuilder, LOOK, McpClient, TestDaemon, soon};

/// What an analysis finds.
async fn found(stage: &Stage, arguments: Value) -> Value {
    let answer = stage.client.call("analyze", arguments).await;
    assert_eq!(answer["status"], "complete", "{answer}");
    assert_eq!(answer["page"], stage.pages.url(""));
    answer["result"]["value"].clone()
}

/// Why an analysis failed.
async fn failure(stage: &Stage, arguments: Value) -> Value {
    let result = stage.client.call_raw("analyze", arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// Each match's selector, with what it is in.
fn selectors(found: &Value) -> Vec<String> {
    let matches = found["matches"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let whole = |one: &Value| {
        let within = one["within"].as_array().into_iter().flatten().map(text);
        within.chain([text(&one["selector"])]).collect::<Vec<_>>().join(" >> ")
    };
    matches.iter().map(whole).collect()
}

#[tokio::test]
async fn elements_are_found_in_shadow_roots_and_frames_and_told_as_a_person_sees_them() {
    let stage = Stage::set().await;
    stage.go("/shop").await;
    let items = found(&stage, json!({"what": "dom", "selector": ".item"})).await;
    assert_eq!((&items["count"], &items["shown"]), (&json!(9), &json!(9)));
    assert_eq!(
        selectors(&items),
        [
            "li:nth-of-type(1)",
            "li:nth-of-type(2)",
            "p:nth-of-type(2)",
            "p:nth-of-type(3)",
            "p:nth-of-type(4)",
            "#far",
            "x-card >> button",
            "em",
            "#inner >> p",
        ]
    );
    let of = |field: &str| -> Vec<Value> {
        items["matches"].as_array().unwrap().iter().map(|one| one[field].clone()).collect()
    };
    assert_eq!(of("hidden_by")[2..5], [json!("display"), json!("visibility"), json!("opacity")]);
    assert_eq!(of("visible")[..3], [json!(true), json!(true), json!(false)]);
    assert_eq!(of("text")[5], "Far below");
    assert_eq!((&of("in_view")[0], &of("in_view")[5]), (&json!(true), &json!(false)));
    assert!(of("box")[5]["y"].as_i64().unwrap() > 3_000);
    // What is in a frame is told where it is on the page: behind the frame's own place.
    let frame = found(&stage, json!({"what": "dom", "selector": "#inner"})).await;
    let (inner, outer) = (&of("box")[8], &frame["matches"][0]["box"]);
    assert!(inner["x"].as_i64() > outer["x"].as_i64(), "{inner} in {outer}");
    assert!(inner["y"].as_i64() > outer["y"].as_i64(), "{inner} in {outer}");

    let two = found(&stage, json!({"what": "dom", "selector": ".item", "limit": 2})).await;
    assert_eq!((&two["count"], selectors(&two).len()), (&json!(9), 2));
    let none = found(&stage, json!({"what": "dom", "selector": "video"})).await;
    assert_eq!((&none["count"], &none["matches"]), (&json!(0), &json!([])));
    let wrong = failure(&stage, json!({"what": "dom", "selector": "a["})).await;
    assert_eq!(wrong["reason"], "invalid_params", "{wrong}");
    stage.end().await;
}

#[tokio::test]
async fn secrets_are_not_told_and_a_page_cannot_pass_one_thing_off_as_another() {
    let stage = Stage::set().await;
    stage.go("/shop").await;
    // What a page's scripts change is theirs; an analysis has a world of its own.
    let tamper = "JSON.stringify = () => '{}'; Element.prototype.matches = () => false;
        Object.defineProperty(Element.prototype, 'attributes', {get: () => []});
        window.getComputedStyle = () => { throw 1 }; performance.getEntriesByType = () => []; 1";
    stage.value(tamper).await;
    let secret = found(&stage, json!({"what": "dom", "selector": "[name=secret]"})).await;
    assert_eq!(secret["matches"][0]["filled"], true, "{secret}");
    assert!(!secret.to_string().contains("hunter2"), "{secret}");
    let summary = found(&stage, json!({"what": "page_summary"})).await;
    assert!(!summary.to_string().contains("hunter2"), "{summary}");
    // The form has fields that are called like what a form has.
    let form = found(&stage, json!({"what": "dom", "selector": "form"})).await;
    assert_eq!(form["matches"][0]["attributes"]["action"], "/order?step=2", "{form}");
    stage.end().await;
}

#[tokio::test]
async fn the_accessibility_tree_is_told_in_lines_of_roles_names_and_states() {
    let stage = Stage::set().await;
    stage.go("/shop").await;
    let whole = found(&stage, json!({"what": "accessibility"})).await;
    let tree = whole["tree"].as_str().unwrap();
    for line in [
        "document \"Shop: Checkout\"",
        "\n    navigation \"Main\"\n      link \"Cart\"\n",
        "\n    heading \"Checkout\" [level=1]\n    paragraph: \"Two items, 42 euros.\"\n    alert: ",
        "\n      textbox \"E-mail\" [required] value=\"ann@example.org\"\n",
        "\n      combobox \"Card\" [expanded=false, hasPopup=menu] value=\"Amex\"\n",
        "\n        option \"Amex\" [selected]\n",
        "\n      checkbox \"I agree\" [checked=true]\n",
        "\n      button \"Pay now\"\n      button \"More options\" [expanded=false]\n",
        "\n      tab \"Details\"\n",
        "\n    heading \"In the shadow\" [level=3]\n    button \"Shadow button\"\n",
        "\n    frame \"Inner page\"\n",
        "\n          button \"Frame button\"\n",
    ] {
        assert!(tree.contains(line), "{line} is missing in:\n{tree}");
    }
    for label in ["E-mail", "Password", "Card", "Note", "No", "te", "Code"] {
        assert!(!tree.contains(&format!("text \"{label}\"")), "{label} is said twice:\n{tree}");
    }
    for hidden in ["Gone", "Unseen", "generic", "hunter2", "secretly"] {
        assert!(!tree.contains(hidden), "{hidden} is in:\n{tree}");
    }
    assert_eq!(whole["nodes"], tree.lines().count());

    let part = json!({"what": "accessibility", "selector": "[role=tablist]"});
    let part = found(&stage, part).await;
    assert_eq!(part["tree"], "tablist\n  tab \"Summary\" [selected]\n  tab \"Details\"");
    // What means nothing by itself, but what is in it does.
    let card = found(&stage, json!({"what": "accessibility", "selector": "x-card"})).await;
    assert!(card["tree"].as_str().unwrap().starts_with("heading \"In the shadow\""), "{card}");
    let flat = json!({"what": "accessibility", "selector": "main", "depth": 1});
    let flat = found(&stage, flat).await;
    assert_eq!(flat["tree"], "main");
    assert!(flat["not_shown"].as_u64().unwrap() > 5, "{flat}");
    for (selector, says) in [(".gone", "hidden"), ("video", "nothing"), ("a[", "no CSS")] {
        let wrong = failure(&stage, json!({"what": "accessibility", "selector": selector})).await;
        assert!(wrong["error"].as_str().unwrap().contains(says), "{wrong}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_summary_says_what_is_on_the_page_and_how_to_reach_it() {
    let stage = Stage::set().await;
    stage.go("/shop").await;
    let page = found(&stage, json!({"what": "page_summary"})).await;
    assert_eq!(
        (&page["title"], &page["language"]),
        (&json!("Shop: Checkout"), &json!("en")),
        "{page}"
    );
    assert_eq!(page["description"], "Where orders are paid.");
    assert_eq!(page["headings"][0], json!({"level": 1, "text": "Checkout"}));
    let roles: Vec<_> = page["landmarks"].as_array().unwrap().iter().map(|l| &l["role"]).collect();
    assert_eq!(roles, ["banner", "navigation", "main", "region", "contentinfo"]);
    assert_eq!(page["landmarks"][3]["name"], "Payment");
    let form = &page["forms"][0];
    assert_eq!((&form["action"], &form["method"]), (&json!("/order?step=2"), &json!("post")));
    let labels: Vec<_> = form["fields"].as_array().unwrap().iter().map(|f| &f["label"]).collect();
    assert_eq!(labels, ["E-mail", "Password", "Card", "I agree", "Note"], "hidden ones are not");
    assert_eq!(form["fields"][2]["options"], json!(["Visa", "Amex", "Maestro"]));
    assert_eq!(form["buttons"], json!(["Pay now", "More options"]));
    assert_eq!(page["forms"][1]["fields"][0]["within"], json!(["#inner"]));
    assert_eq!((&page["buttons"]["count"], &page["links"]["count"]), (&json!(5), &json!(4)));
    assert_eq!(page["links"]["first"][3], json!({"text": "A picture", "href": "/image"}));
    assert_eq!(page["alerts"], json!(["The card was refused."]));
    assert_eq!(page["hidden_controls"], 1);
    let text = page["text"].as_str().unwrap();
    assert!(text.starts_with("Checkout\nTwo items,\n42 euros.\n"), "{text}");
    assert!(!text.contains("Gone") && !text.contains("Unseen"), "{text}");
    assert!(page.to_string().len() < 4_000, "an agent reads all of it");

    // Each selector finds what it was told for, and that alone.
    for field in form["fields"].as_array().unwrap() {
        let selector = field["selector"].clone();
        let one = found(&stage, json!({"what": "dom", "selector": selector})).await;
        assert_eq!((&one["count"], &one["matches"][0]["selector"]), (&json!(1), &selector));
    }
    stage.end().await;
}

#[tokio::test]
async fn how_a_page_loaded_is_told_from_what_the_browser_has_noted() {
    let stage = Stage::set().await;
    // A browser under load notes a long task some time after it, and in one of some twenty loads none at all.
    let noted = async {
        loop {
            stage.go("/heavy").await;
            for _look in 0..5 {
                let page = found(&stage, json!({"what": "performance"})).await;
                if page["long_tasks"]["count"] != 0 {
                    return page;
                }
                tokio::time::sleep(LOOK).await;
            }
        }
    };
    let page = soon("the long task among the notes", noted).await;
    let ms = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {page}"));
    let navigation = &page["navigation"];
    assert!(ms(&navigation["first_byte_ms"]) <= ms(&navigation["load_ms"]), "{page}");
    assert!(ms(&page["paint"]["first_contentful_paint_ms"]) > 0.0, "{page}");
    assert!(ms(&page["largest_contentful_paint"]["ms"]) > 0.0, "{page}");
    assert_eq!(page["cumulative_layout_shift"]["score"], 0, "{page}");
    assert!(ms(&page["long_tasks"]["longest_ms"]) >= 80.0, "{page}");
    assert!(ms(&page["memory"]["js_heap_used_bytes"]) > 100_000.0, "{page}");
    let resources = &page["resources"];
    assert_eq!(resources["by_type"]["img"]["count"], 1, "{page}");
    assert_eq!(resources["by_type"]["script"]["count"], 1, "{page}");
    assert!(ms(&resources["transfer_bytes"]) > 0.0, "{page}");
    let slowest = resources["slowest"].as_array().unwrap();
    assert!(slowest.iter().any(|one| one["url"] == stage.pages.url("/missing")), "{page}");
    stage.end().await;
}

#[tokio::test]
async fn a_large_page_is_told_in_part_and_the_browsers_own_pages_not_at_all() {
    let stage = Stage::set().await;
    stage.go("/rows").await;
    let rows = found(&stage, json!({"what": "dom", "selector": ".row", "limit": 3})).await;
    assert_eq!((&rows["count"], &rows["shown"]), (&json!(4_000), &json!(3)));
    let page = found(&stage, json!({"what": "page_summary"})).await;
    assert_eq!(page["links"]["count"], 4_000);
    assert_eq!(page["links"]["first"].as_array().unwrap().len(), 25);
    assert!(page.to_string().len() < 8_000);
    let large = failure(&stage, json!({"what": "accessibility"})).await;
    assert!(large["error"].as_str().unwrap().contains("name a part"), "{large}");
    let row = json!({"what": "accessibility", "selector": ".row:nth-of-type(7)"});
    assert_eq!(found(&stage, row).await["tree"], "paragraph\n  text \"A\"\n  link \"row\"");

    stage.end().await;
    let stage = Stage::showing(Some("chrome://version/")).await;
    for what in ["page_summary", "accessibility", "performance"] {
        let refused = failure(&stage, json!({"what": what})).await;
        assert_eq!(refused["reason"], "restricted_page", "{refused}");
    }
    stage.end().await;
}

/// An extension that analyzes whatever a test says.
async fn analyzer(daemon: &TestDaemon) -> testkit::FakeExtension {
    ExtensionBuilder::of(daemon).actions(&["dom", "page_summary", "tab_list"]).connect().await
}

#[tokio::test]
async fn an_analysis_is_waited_for_unless_the_call_says_otherwise() {
    let daemon = TestDaemon::start().await;
    let (mut extension, client) = (analyzer(&daemon).await, McpClient::modern(&daemon));
    let dom = json!({"what": "dom", "selector": "a", "limit": 5, "tab_id": 8});
    let (answer, ()) = tokio::join!(client.call("analyze", dom), async {
        let command = extension.command().await;
        assert_eq!(command.command["type"], "dom");
        assert_eq!(command.command["params"], json!({"selector": "a", "limit": 5}));
        assert_eq!(
            (&command.command["tab_id"], &command.command["safe"]),
            (&json!(8), &json!(true))
        );
        extension.complete(&command, &json!("found")).await;
    });
    assert_eq!((&answer["status"], &answer["result"]), (&json!("complete"), &json!("found")));
    assert_eq!(answer["command"], "dom");

    let summary = json!({"what": "page_summary", "wait_ms": 0});
    let queued = client.call("analyze", summary).await;
    assert_eq!(queued["status"], "queued");
    let command = extension.command().await;
    extension.complete(&command, &json!("a page")).await;
    let id = queued["correlation_id"].as_str().unwrap();
    assert_eq!(client.outcome(id).await["result"], "a page");
    daemon.stop().await;
}

#[tokio::test]
async fn an_extension_that_knows_no_analysis_is_not_asked_for_one() {
    let daemon = TestDaemon::start().await;
    let _extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let refused = client.call_fails("analyze", json!({"what": "page_summary"})).await;
    assert_eq!(refused["error"], "unsupported_action", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("tabwire install"), "{refused}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_large_analysis_is_cut_and_read_on_by_its_id() {
    let daemon = TestDaemon::start().await;
    let (mut extension, client) = (analyzer(&daemon).await, McpClient::modern(&daemon));
    let result = json!({"success": true, "value": {"text": "ä".repeat(60_000)}, "type": "object"});
    let call = client.call("analyze", json!({"what": "page_summary"}));
    let (first, ()) = tokio::join!(call, async {
        let command = extension.command().await;
        extension.complete(&command, &result).await;
    });
    assert_eq!(first["truncated"], true);
    assert_eq!(first["total_bytes"], result["value"].to_string().len());
    let mut text = first["result"]["text"].as_str().unwrap().to_owned();
    assert!(first["result"].to_string().len() <= 10_000);
    let mut next = first["next_offset"].clone();
    while !next.is_null() {
        let read = json!({
            "what": "command_result", "correlation_id": first["correlation_id"], "limit": 65_536,
            "offset": next,
        });
        let part = client.call("observe", read).await;
        assert_eq!(part["continued_levels"], 1, "the text goes on");
        text.push_str(part["result"]["text"].as_str().unwrap());
        next = part["next_offset"].clone();
    }
    assert_eq!(json!({ "text": text }), result["value"]);
    daemon.stop().await;
}
