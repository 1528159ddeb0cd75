//! Reading pages: as lines with refs, as text, and by the description of an element.

use serde_json::{Value, json};

use super::ActionStage;

/// The ref of the line that has this in it.
pub(super) fn ref_of(snapshot: &Value, line: &str) -> String {
    let text = snapshot.as_str().unwrap();
    let found = text.lines().find(|one| one.contains(line));
    let found = found.unwrap_or_else(|| panic!("no line with {line}:\n{text}"));
    let is_ref = |word: &&str| {
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
        !digits.is_empty()
            && digits.len() < word.len()
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let after = found.split_once(line).map_or(found, |(_, after)| after);
    let words: Vec<_> = after.split([' ', ':', '.']).collect();
    words.into_iter().find(is_ref).unwrap_or_else(|| panic!("no ref in {found}")).to_owned()
}

fn assert_has(snapshot: &Value, parts: &[&str]) {
    let text = snapshot.as_str().unwrap();
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

fn assert_lacks(snapshot: &Value, parts: &[&str]) {
    let text = snapshot.as_str().unwrap();
    for part in parts {
        assert!(!text.contains(part), "`{part}` is in:\n{text}");
    }
}

#[tokio::test]
async fn a_strict_page_is_read_as_lines_whose_refs_stay_and_name_elements() {
    let stage = ActionStage::open("shop.html").await;
    let page = stage.act("snapshot", json!({})).await;
    println!("{}", page.as_str().unwrap());
    assert_has(
        &page,
        &[
            "heading 1 \"Tea Shop\" ",
            "link \"Cart\" ",
            " current",
            "Sencha | 12 €",
            "textbox \"Email\" ",
            ": ann@example.com",
            "checkbox \"Wrap as a gift\" ",
            " checked",
            "combobox \"Amount\" ",
            ": 100 g",
            "button \"Sold out\" ",
            " disabled",
        ],
    );
    assert_lacks(
        &page,
        &["correct horse", "Not shown", "Not seen", "Decoration", "Inside the details"],
    );
    let buy = ref_of(&page, "button \"Buy now\"");
    let again = stage.act("snapshot", json!({"interactive_only": true, "urls": true})).await;
    assert_eq!(ref_of(&again, "button \"Buy now\""), buy, "the element is the same");
    assert_has(&again, &["<https://example.com/uji?a=1>"]);
    assert_lacks(&again, &["Sencha", "Free delivery"]);
    let attributes = stage.act("get_attributes", json!({"target": buy})).await;
    assert_eq!(attributes, json!({"id": "buy", "type": "button"}));

    let part = stage.act("snapshot", json!({"target": "form", "boxes": true})).await;
    assert_lacks(&part, &["Sencha"]);
    assert!(part.as_str().unwrap().lines().all(|line| line.contains(']')), "boxes: {part}");
    let cut = stage.act("snapshot", json!({"max_bytes": 500})).await;
    assert!(cut.to_string().len() <= 500, "{cut}");
    assert_has(&cut, &["more lines: give a part as target"]);

    let missing = stage.fails("snapshot", json!({"target": "role=button[name=\"Buy new\"]"})).await;
    assert_eq!(missing["reason"], "target_not_found", "{missing}");
    assert!(missing["hint"].as_str().unwrap().contains("\"Buy now\""), "{missing}");
    stage.end().await;
}

#[tokio::test]
async fn only_the_changes_since_the_last_snapshot_are_told_if_that_is_asked_for() {
    let stage = ActionStage::open("rerender.html").await;
    stage.act("snapshot", json!({})).await;
    let none = stage.act("snapshot", json!({"diff": true})).await;
    assert_eq!(none, "Nothing has changed.");
    stage.read("document.querySelector('#add').click()").await;
    let changed = stage.act("snapshot", json!({"diff": true})).await;
    assert_has(&changed, &["Remove Item 3", "4 items"]);
    stage.go("plain.html").await;
    let other = stage.act("snapshot", json!({"diff": true})).await;
    assert_has(&other, &["No earlier snapshot", "Plain Page"]);
    stage.end().await;
}

#[tokio::test]
async fn a_ref_of_an_element_that_was_rendered_anew_fails_with_the_nearest_one_now() {
    let stage = ActionStage::open("rerender.html").await;
    let page = stage.act("snapshot", json!({})).await;
    let stale = ref_of(&page, "\"Remove Bread\"");
    stage.read("document.querySelector('#add').click()").await;
    let failed = stage.fails("get_html", json!({"target": stale})).await;
    assert_eq!(failed["reason"], "stale_ref", "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("\"Remove Bread\""), "{failed}");
    let hint = failed["hint"].as_str().unwrap();
    assert!(hint.contains("button \"Remove Bread\""), "{hint}");
    let now = ref_of(&json!(hint), "\"Remove Bread\"");
    assert_ne!(now, stale);
    let html = stage.act("get_html", json!({"target": now})).await;
    assert_eq!(html, "<button aria-label=\"Remove Bread\">x</button>");

    stage.go("plain.html").await;
    let failed = stage.fails("get_text", json!({"target": now})).await;
    assert_eq!(failed["reason"], "stale_ref", "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("navigated"), "{failed}");
    let unknown = stage.fails("get_text", json!({"target": "zz9"})).await;
    assert_eq!(unknown["reason"], "stale_ref", "{unknown}");
    stage.end().await;
}

#[tokio::test]
async fn frames_of_both_sites_and_shadow_trees_of_both_kinds_are_read_as_one_page() {
    let stage = ActionStage::open("frames.html").await;
    let page = stage.act("snapshot", json!({})).await;
    assert_has(
        &page,
        &[
            "iframe \"Near\"",
            "  - I am near",
            "button \"Inside near\"",
            "iframe \"Far\"",
            "button \"Inside far\"",
            "iframe \"Nested\"",
            "button \"Inside nearest\"",
            "textbox \"Open field\"",
            ": in Open",
            "button \"Closed button\"",
            ": in Closed",
        ],
    );
    for (name, text) in [
        ("button \"Inside far\"", "Inside far"),
        ("button \"Inside nearest\"", "Inside nearest"),
        ("button \"Closed button\"", "Closed button"),
    ] {
        let found = stage.act("get_text", json!({"target": ref_of(&page, name)})).await;
        assert_eq!(found, text);
    }
    for target in ["#far #inside", "text=Inside far", "role=button[name=\"Inside far\"]"] {
        let found = stage.act("get_attributes", json!({"target": target})).await;
        assert_eq!(found, json!({"id": "inside"}), "{target}");
    }
    let value = stage.act("get_value", json!({"target": "#closed input"})).await;
    assert_eq!(value["value"], "in Closed", "{value}");
    let text = stage.act("get_text", json!({})).await;
    for part in ["Outside", "I am near", "I am far", "I am nearest", "Open button", "Closed button"]
    {
        assert!(text.as_str().unwrap().contains(part), "{part}: {text}");
    }
    let found = stage.act("find", json!({"role": "button", "name": "Inside"})).await;
    assert_eq!(found.as_str().unwrap().lines().count(), 3, "{found}");
    let many = stage.fails("get_text", json!({"target": "text=Inside"})).await;
    assert_eq!(many["reason"], "ambiguous_target", "{many}");
    stage.end().await;
}

#[tokio::test]
async fn elements_are_found_by_all_that_a_person_knows_of_them() {
    let stage = ActionStage::open("shop.html").await;
    for (query, line) in [
        (json!({"text": "fresh"}), "Fresh"),
        (json!({"role": "button", "name": "buy"}), "button \"Buy now\" "),
        (json!({"label": "Email"}), "textbox \"Email\" "),
        (json!({"placeholder": "you@"}), "textbox \"Email\" "),
        (json!({"testid": "note-field"}), "textbox \"Note\" "),
        (json!({"role": "link", "name": "Uji", "exact": true}), "link \"Uji\" "),
    ] {
        let found = stage.act("find", query.clone()).await;
        let found = found.as_str().unwrap();
        assert!(found.contains(line), "{query}: {found}");
        assert_eq!(found.lines().count(), 1, "{query}: {found}");
    }
    let nothing = stage.act("find", json!({"text": "Buy later"})).await;
    assert_has(&nothing, &["Nothing fits", "\"Buy now\""]);
    let refused = stage.fails("find", json!({})).await;
    assert!(refused["error"].as_str().unwrap().contains("text, role"), "{refused}");
    stage.end().await;
}

#[tokio::test]
async fn texts_tables_values_and_attributes_are_read_and_secrets_are_not() {
    let stage = ActionStage::open("shop.html").await;
    let text = stage.act("get_text", json!({})).await;
    assert_has(&text, &["Fresh green tea from Uji, in tins.", "Free delivery", "Sencha"]);
    assert_lacks(&text, &["correct horse", "Not shown"]);
    let markdown = stage.act("get_markdown", json!({})).await;
    assert_has(
        &markdown,
        &[
            "# Tea Shop",
            "**green tea**",
            "[Uji](https://example.com/uji?a=1)",
            "| Sencha | 12 € |",
            "- Free delivery",
        ],
    );
    assert_lacks(&markdown, &["© Tea Shop"]);
    let html = stage.act("get_html", json!({"target": "ul"})).await;
    assert_eq!(html, "<ul><li>Free delivery</li><li>Gift wrap</li></ul>");
    let whole = stage.act("get_html", json!({"target": "form"})).await;
    assert_lacks(&whole, &["correct horse"]);
    for (target, value) in [
        ("#email", json!({"value": "ann@example.com"})),
        ("#note", json!({"value": "To the door\nplease"})),
        ("#gift", json!({"checked": true})),
    ] {
        assert_eq!(stage.act("get_value", json!({"target": target})).await, value, "{target}");
    }
    let amount = stage.act("get_value", json!({"target": "label=Amount"})).await;
    assert_eq!(amount["value"], "100 g", "{amount}");
    let password = stage.act("get_value", json!({"target": "#password"})).await;
    assert_lacks(&json!(password.to_string()), &["correct"]);
    let hidden = stage.act("get_attributes", json!({"target": "#password"})).await;
    assert_lacks(&json!(hidden.to_string()), &["correct"]);
    let kind = stage.fails("get_value", json!({"target": "h1"})).await;
    assert_eq!(kind["reason"], "wrong_kind", "{kind}");
    let wrong = stage.fails("get_html", json!({"target": "div["})).await;
    assert_eq!(wrong["reason"], "invalid_params", "{wrong}");
    stage.end().await;
}

#[tokio::test]
async fn texts_from_right_to_left_and_emoji_come_through_whole_and_a_page_that_redefines_everything_is_read()
 {
    let stage = ActionStage::open("rtl.html").await;
    let page = stage.act("snapshot", json!({})).await;
    assert_has(
        &page,
        &["\"مرحبا 👋🏽 بكم\"", "👨‍👩‍👧‍👦", "textbox \"الاسم\"", ": أحمد 😀", "button \"إرسال ✅\""],
    );
    let value = stage.act("get_value", json!({"target": "label=الاسم"})).await;
    assert_eq!(value["value"], "أحمد 😀");

    stage.go("redefined.html").await;
    let page = stage.act("snapshot", json!({})).await;
    assert_has(&page, &["form \"Trap\"", "textbox \"First\"", ": third", "button \"Real\""]);
    let target = ref_of(&page, "button \"Real\"");
    assert_eq!(stage.act("get_text", json!({"target": target})).await, "Real");
    let found = stage.act("find", json!({"role": "textbox", "name": "Third"})).await;
    assert_has(&found, &["textbox \"Third\""]);
    for action in ["get_text", "get_markdown", "get_html", "get_value", "get_attributes"] {
        stage.act(action, json!({"target": "label=Third"})).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn html_has_neither_values_nor_texts_of_secret_fields() {
    let stage = ActionStage::open("plain.html").await;
    let fields = "<textarea name=api_token>open &amp; shut</textarea>\
        <p contenteditable aria-label=Password>open <b>sesame</b></p><input name=pin value=12345>";
    stage.read(&format!("document.body.innerHTML = '{fields}'; 1")).await;
    let html = stage.act("get_html", json!({"target": "body"})).await;
    assert_has(&html, &["api_token", "contenteditable", "[redacted]"]);
    assert_lacks(&html, &["shut", "sesame", "12345"]);
    stage.end().await;
}

#[tokio::test]
async fn pages_of_other_namespaces_edited_in_place_or_without_any_element_are_read() {
    let stage = ActionStage::open("plain.html").await;
    let form = "'<form><input name=getAttribute><button>Real</button></form>'";
    stage.read(&format!("document.body.innerHTML = {form}; document.designMode = 'on'")).await;
    assert_has(&stage.act("get_text", json!({})).await, &["Real"]);
    stage.read("document.body.append(document.createElementNS('urn:other', 'select'))").await;
    assert_has(&stage.act("snapshot", json!({})).await, &["combobox", "button \"Real\""]);
    stage.act("get_value", json!({"target": "select"})).await;
    stage.read("document.documentElement.remove()").await;
    assert_eq!(stage.act("get_text", json!({})).await, "");
    assert_eq!(stage.act("snapshot", json!({})).await, "Nothing is shown.");
    stage.end().await;
}

#[tokio::test]
async fn a_page_of_more_text_than_is_read_at_once_is_read_in_part_and_says_so() {
    let stage = ActionStage::open("plain.html").await;
    let paragraph =
        "Object.assign(document.createElement('p'), { textContent: 'words '.repeat(400) })";
    stage
        .read(&format!(
            "document.body.replaceChildren(...Array.from({{ length: 5_000 }}, () => {paragraph}))"
        ))
        .await;
    let page = stage.act("snapshot", json!({"timeout_ms": 30_000})).await;
    assert_has(&page, &["more lines: give a part", "the page has more than is read at once"]);
    stage.end().await;
}

/// Names that Chromium has for what ARIA and this program call otherwise.
const ROLES_OF_CHROMIUM: [(&str, &str); 8] = [
    ("image", "img"),
    ("Iframe", "iframe"),
    ("DisclosureTriangle", "summary"),
    ("DisclosureTriangleGrouped", "summary"),
    ("Details", "group"),
    ("LabelText", "generic"),
    ("Legend", "generic"),
    ("Figcaption", "generic"),
];

#[tokio::test]
async fn roles_and_names_are_those_of_the_browsers_own_accessibility_tree() {
    let stage = ActionStage::open("roles.html").await;
    let mut user = stage.user().await;
    user.open_beside(&stage.url("roles.html")).await;
    let mut differences = Vec::new();
    let known = user.accessible("[data-testid]", "data-testid").await;
    assert!(known.len() > 90, "{}", known.len());
    for (id, role, name) in known {
        let alias = ROLES_OF_CHROMIUM.iter().find(|(theirs, _)| *theirs == role);
        let role = alias.map_or(role.as_str(), |(_, ours)| ours);
        // Of an element that says nothing by itself, `find` tells its tag and its text.
        if ["generic", "none"].contains(&role) {
            continue;
        }
        let told = stage.act("find", json!({"testid": id, "exact": true})).await;
        let told = told.as_str().unwrap();
        let begin = match name.trim() {
            "" => format!("{role} "),
            name => format!("{role} {} ", json!(name)),
        };
        let is_same = told.starts_with(&begin);
        if !is_same {
            differences.push(format!("{id}: the browser says {begin}and we say {told}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    stage.end().await;
}
