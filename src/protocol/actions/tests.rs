use serde_json::json;

use super::*;

#[test]
fn a_target_is_told_in_short_and_without_what_could_be_secret_in_a_url() {
    let navigate = |url: &str| Action::from(NavigateAction { url: url.to_owned(), focus: None });
    for (url, told) in [
        ("https://ann:pw@a.test/x?token=1#f", "https://a.test/x"),
        ("https://ann@a.test?k=1", "https://a.test"),
        ("https://a.test/x@y", "https://a.test/x@y"),
        ("about:blank", "about:blank"),
    ] {
        assert_eq!(navigate(url).target().as_deref(), Some(told));
    }
    let script =
        |script: &str| Action::from(ExecuteJsAction { script: script.into(), user_gesture: None });
    assert_eq!(script("a\n  b").target().as_deref(), Some("a b"));
    let long = script(&"é".repeat(100)).target().unwrap();
    assert_eq!(*long, *format!("{}…", "é".repeat(40)));
}

#[test]
fn the_letters_of_a_ref_are_found_wherever_an_element_can_be_named() {
    for known in RegisteredAction::all() {
        let schema = (known.schema)(SchemaGenerator::default()).to_value();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let by_ref = properties.filter(|(_, property)| {
            let about = property["description"].as_str().unwrap_or_default();
            // A flag names no element.
            let is_text = !property["type"].to_string().contains("boolean");
            let is_ref = about.contains(" ref,") || about.contains(" ref ");
            is_text && is_ref || about.starts_with("Element that")
        });
        for (name, _) in by_ref {
            assert!(ELEMENT_PARAMETERS.contains(&&**name), "{}: {name}", known.spec.name);
        }
    }
    let letters = |text: &str| letters_of_first_ref(&serde_json::from_str(text).unwrap());
    for (params, found) in [
        (r#"{"action": "click", "target": "b12"}"#, Some("b")),
        (r#"{"endTarget": "ab3", "startX": 1}"#, Some("ab")),
        (r#"{"fields": [{"target": "label=Name", "value": "c1"}, {"target": "c2"}]}"#, Some("c")),
        (r#"{"steps": [{"action": "navigate"}, {"action": "click", "target": "d9"}]}"#, Some("d")),
        (r#"{"target": "b0"}"#, None),
        (r#"{"target": "b"}"#, None),
        (r#"{"target": "abcd1"}"#, None),
        (r#"{"target": "b1 > a"}"#, None),
        (r#"{"target": "B1"}"#, None),
        (r#"{"target": "12"}"#, None),
        (r#"{"target": "é1"}"#, None),
        (r#"{"text": "b1"}"#, None),
    ] {
        assert_eq!(letters(params).as_deref(), found, "{params}");
    }
}

#[test]
fn every_action_has_a_name_of_its_own_and_an_example_that_is_an_action() {
    let mut names: Vec<_> = RegisteredAction::all().iter().map(|known| known.spec.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for known in RegisteredAction::all() {
        let spec = known.spec;
        let example: Map<String, Value> = serde_json::from_str(spec.example).unwrap();
        let action = Action::of_params(spec.name, &example).unwrap().unwrap();
        assert_eq!(action.name(), spec.name);
        let wire: Value = serde_json::from_str(action.params().get()).unwrap();
        let is_sent = |name: &String| wire.get(name).is_some() || name == "path";
        assert!(example.keys().all(is_sent), "{}: {wire}", spec.name);
        assert!(!spec.title.is_empty() && spec.title.len() < 30, "{}", spec.name);
    }
}

#[test]
fn every_action_and_each_of_its_parameters_has_a_description_that_is_a_sentence() {
    for known in RegisteredAction::all() {
        let generator = SchemaGenerator::default();
        let schema = (known.schema)(generator).to_value();
        let name = known.spec.name;
        let about = schema["description"].as_str().unwrap_or_default();
        assert!(about.ends_with('.') && about.len() > 10, "{name}: {about}");
        for (parameter, schema) in schema["properties"].as_object().into_iter().flatten() {
            let about = schema["description"].as_str().unwrap_or_default();
            assert!(about.ends_with('.') && about.len() > 10, "{name} {parameter}: {about}");
        }
    }
}

#[test]
fn an_action_that_only_looks_says_so_and_is_safe_to_run_twice() {
    for known in RegisteredAction::all() {
        let spec = known.spec;
        assert!(spec.effect != ActionEffect::Reads || spec.is_safe, "{}", spec.name);
        // An analysis may leave a file behind, and changes nothing else.
        let is_harmless = matches!(
            spec.effect,
            ActionEffect::Reads | ActionEffect::Acts { destructive: false, .. }
        );
        assert!(spec.tool != ActionTool::Analyze || is_harmless, "{}", spec.name);
    }
}

#[test]
fn a_record_selects_its_action_by_the_parameter_of_its_tool() {
    let read = |record: Value| serde_json::from_value::<Action>(record);
    let dom = Action::from(DomAction { selector: "a".to_owned(), limit: None });
    assert_eq!(dom.to_record(), r#"{"what":"dom","selector":"a"}"#);
    assert_eq!(read(json!({"what": "dom", "selector": "a"})).unwrap(), dom);
    let refresh = Action::from(RefreshAction {});
    assert_eq!(refresh.to_record(), r#"{"action":"refresh"}"#);
    assert_eq!(read(json!({"action": "refresh"})).unwrap(), refresh);
    for wrong in [
        json!({"action": "dom", "selector": "a"}),
        json!({"what": "refresh"}),
        json!({"what": "dom"}),
        json!({"action": "fly"}),
        json!({}),
    ] {
        read(wrong).unwrap_err();
    }
}

#[test]
fn the_answer_to_a_dialog_is_in_no_record() {
    let given =
        json!({"operation": "accept", "username": "ann", "password": "sesame", "text": "Ann"});
    let answer = Action::of_params("dialog", given.as_object().unwrap()).unwrap().unwrap();
    assert!(answer.params().get().contains("sesame"));
    assert_eq!(answer.to_record(), r#"{"action":"dialog","operation":"accept"}"#);
}
