//! Forms: lists, boxes, and whole forms at once.

use serde_json::{Value, json};

use super::ActionStage;

fn field(target: &str, value: impl Into<Value>) -> Value {
    json!({"target": target, "value": value.into()})
}

/// What the form sends when each of its fields has been filled.
fn sent_by_all_fields() -> Value {
    json!([
        "name=Ann Lee",
        "email=ann@example.com",
        "phone=+47 1",
        "site=https://example.com",
        "find=tea",
        "amount=42",
        "password=hunter",
        "notes=one\ntwo",
        "day=2026-11-23",
        "time=14:30",
        "start=2026-11-23T09:05",
        "month=2026-11",
        "week=2026-W48",
        "color=#ffa500",
        "volume=7",
        "country=se",
        "days=Mon",
        "days=Wed",
        "agree=on",
        "hidden=on",
        "size=l",
        "locked=fixed"
    ])
}

#[tokio::test]
async fn a_form_with_every_kind_of_field_is_filled_and_submitted_in_one_call() {
    let stage = ActionStage::open("fields.html").await;
    let fields = json!([
        field("label=Name", "Ann Lee"),
        field("label=Email", "ann@example.com"),
        field("label=Phone", "+47 1"),
        field("label=Site", "https://example.com"),
        field("label=Find", "tea"),
        field("label=Amount", 42),
        field("label=Password", "hunter"),
        field("label=Notes", "one\ntwo"),
        field("label=Day", "2026-11-23"),
        field("label=Time", "2:30 pm"),
        field("label=Start", "2026-11-23 09:05"),
        field("label=Month", "2026-11"),
        field("label=Week", "2026-W48"),
        field("label=Color", "orange"),
        field("label=Volume", 7),
        field("label=Country", "Sweden"),
        field("label=Days", json!(["Mon", "Wed"])),
        field("label=I agree", true),
        field("#hidden", "true"),
        field("label=Small", "Large"),
    ]);
    let filled = stage.act("fill_form", json!({"fields": fields, "submit": true})).await;
    assert_eq!(filled["filled"], 20, "{filled}");
    assert_eq!(filled["submitted"], true, "{filled}");
    assert_eq!(filled.get("differing"), None, "{filled}");
    let sent = stage.read("sent").await;
    assert_eq!(sent, sent_by_all_fields());
    let changed = stage.read("events.filter((event) => event.startsWith('change')).length").await;
    assert_eq!(changed, 20, "each field has told of its change once");
    stage.end().await;
}

#[tokio::test]
async fn a_field_that_cannot_be_filled_ends_the_form_and_is_named_with_those_before_it() {
    let stage = ActionStage::open("fields.html").await;
    stage.act("fill_form", json!({"fields": [field("label=Phone", "+47 1")]})).await;
    let beyond = json!({"fields": [field("label=Volume", 99), field("#rich", "text")]});
    let told = stage.act("fill_form", beyond).await;
    assert_eq!(told["differing"][0]["value"], "10", "the browser bounds it: {told}");
    for (value, reason) in [
        (field("label=Locked", "x"), "not_editable"),
        (field("label=File", "x"), "wrong_kind"),
        (field("label=Day", "2026-02-30"), "invalid_params"),
        (field("label=I agree", "perhaps"), "invalid_params"),
        (field("label=Small", "Medium"), "option_not_found"),
        (field("label=Country", "Oz"), "option_not_found"),
        (field("#nowhere", "x"), "target_not_found"),
    ] {
        let fields =
            json!([field("label=Name", "Bo"), value.clone(), field("label=Phone", "never")]);
        let failed = stage.fails("fill_form", json!({"fields": fields, "timeout_ms": 2_000})).await;
        assert_eq!(failed["reason"], reason, "{value}: {failed}");
        let error = failed["error"].as_str().unwrap();
        assert!(error.contains("field 2 of 3") && error.contains("filled before it: "), "{error}");
        assert_ne!(failed["may_have_run"], false, "{failed}");
    }
    assert_eq!(stage.read("document.forms[0].elements.phone.value").await, "+47 1");
    let outside = json!({"fields": [field("#rich", "x")], "submit": true});
    assert_eq!(stage.fails("fill_form", outside).await["reason"], "wrong_kind");
    stage.end().await;
}

#[tokio::test]
async fn options_are_chosen_by_value_or_label_and_an_unknown_one_is_answered_with_all_there_are() {
    let stage = ActionStage::open("fields.html").await;
    let country = "document.forms[0].elements.country.value";
    let norway = json!("Norway");
    for (value, chosen, label) in
        [("no", "no", &norway), ("Sweden", "se", &Value::Null), ("norway", "no", &norway)]
    {
        let told =
            stage.act("select_option", json!({"target": "label=Country", "values": [value]})).await;
        assert!(told["selected"].as_str().unwrap().starts_with("combobox \"Country\" "), "{told}");
        assert_eq!(&told["value"], label, "a label that was not given: {told}");
        assert_eq!(stage.read(country).await, chosen);
    }
    let days = json!({"target": "label=Days", "values": ["Tue", "Wed"]});
    stage.act("select_option", days).await;
    let days = "[...document.forms[0].elements.days.selectedOptions].map(({ label }) => label)";
    assert_eq!(stage.read(days).await, json!(["Tue", "Wed"]));
    let unknown =
        stage.fails("select_option", json!({"target": "label=Country", "values": ["Oz"]})).await;
    assert_eq!(unknown["reason"], "option_not_found", "{unknown}");
    for option in ["\"Norway\" (no)", "\"Sweden\" (se)", "\"Mars\" (ma) disabled"] {
        assert!(unknown["error"].as_str().unwrap().contains(option), "{unknown}");
    }
    for (target, values, reason) in [
        ("label=Country", json!(["Mars"]), "disabled"),
        ("label=Country", json!(["no", "se"]), "invalid_params"),
        ("#fruits", json!(["Apple"]), "wrong_kind"),
    ] {
        let failed =
            stage.fails("select_option", json!({"target": target, "values": values})).await;
        assert_eq!(failed["reason"], reason, "{failed}");
    }
    let custom =
        stage.fails("select_option", json!({"target": "#fruits", "values": ["Apple"]})).await;
    assert!(custom["hint"].as_str().unwrap().contains("click the option"), "{custom}");
    // Options that come later are waited for.
    stage
        .read("setTimeout(() => document.forms[0].elements.country.add(new Option('Oz')), 300)")
        .await;
    stage.act("select_option", json!({"target": "label=Country", "values": ["Oz"]})).await;
    assert_eq!(stage.read(country).await, "Oz");
    stage.end().await;
}

#[tokio::test]
async fn boxes_radio_buttons_and_switches_are_ticked_and_seen_to_be() {
    let stage = ActionStage::open("fields.html").await;
    let ticked = stage.act("check", json!({"target": "label=I agree"})).await;
    assert!(ticked["checked"].as_str().unwrap().starts_with("checkbox \"I agree\" "), "{ticked}");
    let again = stage.act("check", json!({"target": "label=I agree"})).await;
    assert_eq!(again["unchanged"], true, "{again}");
    stage.act("uncheck", json!({"target": "label=I agree"})).await;
    stage.act("check", json!({"target": "#hidden"})).await;
    stage.act("check", json!({"target": "role=switch[name=\"Dark mode\"]"})).await;
    stage.act("check", json!({"target": "label=Large"})).await;
    stage.act("check", json!({"target": "label=Inner box"})).await;
    let state = "[document.forms[0].elements.agree.checked, document.forms[0].elements.hidden.checked, \
                 document.querySelector('#switch').getAttribute('aria-checked'), document.forms[0].elements.size.value].join()";
    assert_eq!(stage.read(state).await, "false,true,true,l");
    stage.act("uncheck", json!({"target": "#switch"})).await;
    assert_eq!(stage.read(state).await, "false,true,false,l");
    let scripted = stage.read("events.filter((event) => event.endsWith('scripted'))").await;
    assert_eq!(scripted, json!([]), "all of it is input of the browser");
    for (action, target, reason) in [
        ("uncheck", "label=Large", "wrong_kind"),
        ("check", "label=Name", "wrong_kind"),
        ("check", "#stubborn", "not_editable"),
        ("check", "#nothing", "target_not_found"),
    ] {
        let failed = stage.fails(action, json!({"target": target, "timeout_ms": 2_500})).await;
        assert_eq!(failed["reason"], reason, "{target}: {failed}");
    }
    stage.end().await;
}

#[tokio::test]
async fn inputs_that_react_controls_take_what_is_entered_and_the_answer_says_what_it_made_of_it() {
    let stage = ActionStage::open("react_form.html").await;
    stage.until("document.querySelector('#name')").await;
    let fields = json!([
        field("#name", "Ann"),
        field("#upper", "a1b2"),
        field("#about", "two\nlines"),
        field("#color", "#123456"),
        field("#day", "2026-11-23"),
        field("#size", 9),
        field("#list", "C"),
        field("#agree", true),
        field("label=y", true),
    ]);
    let filled = stage.act("fill_form", json!({"fields": fields, "submit": true})).await;
    assert_eq!(filled["filled"], 9, "{filled}");
    assert_eq!(filled["differing"].as_array().unwrap().len(), 1, "{filled}");
    assert_eq!(filled["differing"][0]["value"], "AB", "{filled}");
    let state = stage.read("submitted").await;
    assert_eq!(
        state,
        json!({
            "name": "Ann", "upper": "AB", "about": "two\nlines", "color": "#123456", "day": "2026-11-23",
            "size": "9", "list": "c", "agree": true, "kind": "y"
        })
    );
    let typed = stage.act("type", json!({"target": "#upper", "text": "c3", "slowly": true})).await;
    assert_eq!(typed["value"], "ABC", "{typed}");
    stage.act("uncheck", json!({"target": "#agree"})).await;
    stage.act("select_option", json!({"target": "#list", "values": ["b"]})).await;
    stage.act("type", json!({"target": "#name", "text": "", "clear": true})).await;
    let now = stage
        .read("[formState.agree, formState.list, formState.name, formState.upper].join()")
        .await;
    assert_eq!(now, "false,b,,ABC");
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_redefines_fields_and_forms_is_filled_as_it_is_and_called_through_nothing() {
    let stage = ActionStage::open("clobbering.html").await;
    let fields = json!([
        field("label=One", "first"),
        field("label=Two", "second"),
        field("label=Day", "2026-11-23"),
        field("label=List", "b"),
        field("label=Box", true),
    ]);
    let filled = stage.act("fill_form", json!({"fields": fields, "submit": true})).await;
    assert_eq!(filled["filled"], 5, "{filled}");
    stage.act("type", json!({"target": "label=One", "text": " more"})).await;
    let called = stage.read("called").await;
    assert_eq!(called, json!([]), "nothing of ours goes through what the page has put there");
    assert_eq!(
        stage.read("sent").await,
        json!([
            "requestSubmit=first",
            "closest=second",
            "elements=2026-11-23",
            "isConnected=b",
            "dispatchEvent=on"
        ])
    );
    stage.end().await;
}
