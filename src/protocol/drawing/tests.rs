use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::{prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::*;
use crate::protocol::{ImageFormat, Timestamp, garbled};

const ID: &str = "0123456789abcdef0123456789abcdef";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and the rest";

fn url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(bytes))
}

/// All that a drawing can say.
fn whole() -> Value {
    json!({
        "drawing_id": ID,
        "screenshot_data_url": url("image/png", PNG),
        "annotations": [{"id": 1, "kind": "note", "text": "hier"}, {}],
        "element_details": {"e1": {"selector": "#buy"}},
        "page_url": "http://127.0.0.1:8000/",
        "page_title": "Home",
        "tab_id": 12,
        "annot_session_name": "check out",
        "correlation_id": "ann_1",
    })
}

/// It with some fields as given, and without those that are null.
fn whole_but(changes: &Value) -> Value {
    let mut changed = whole();
    for (field, value) in changes.as_object().unwrap() {
        let fields = changed.as_object_mut().unwrap();
        fields.shift_remove(field);
        if !value.is_null() {
            fields.insert(field.clone(), value.clone());
        }
    }
    changed
}

fn read(body: &Value) -> Drawing {
    Drawing::parse(body.to_string().as_bytes()).unwrap_or_else(|why| panic!("{body}: {why}"))
}

fn refused(body: &Value) -> String {
    Drawing::parse(body.to_string().as_bytes()).expect_err("no drawing").to_string()
}

#[test]
fn a_drawing_is_read_whole_and_written_back_the_same() {
    let drawing = read(&whole());
    assert_eq!(drawing.drawing_id.as_str(), ID);
    assert_eq!(drawing.screenshot.as_ref().unwrap().bytes, PNG);
    assert_eq!(drawing.session.as_ref().unwrap().as_str(), "check out");
    assert_eq!(serde_json::to_value(&drawing).unwrap(), whole());
}

#[test]
fn only_annotations_and_the_page_are_needed() {
    let bare = read(&json!({"annotations": [], "page_url": "http://a/", "tab_id": null, "new": 1}));
    assert_eq!(bare.element_details.get(), "{}");
    assert!(bare.screenshot.is_none() && bare.tab_id.is_none() && bare.session.is_none());
    for field in ["annotations", "page_url"] {
        let why = refused(&whole_but(&json!({ field: null })));
        assert!(why.contains(field), "{why}");
    }
}

#[test]
fn annotations_and_details_are_kept_byte_for_byte() {
    let annotation = r#"{ "b":1.0,"a" : 12345678901234567890.5, "b":"\u00e9" }"#;
    let body = format!(
        r#"{{"annotations":[ {annotation} ],"element_details":{annotation},"page_url":""}}"#
    );
    let drawing = Drawing::parse(body.as_bytes()).unwrap();
    assert_eq!(drawing.annotations[0].get(), annotation);
    assert_eq!(drawing.element_details.get(), annotation);
    assert!(serde_json::to_string(&drawing).unwrap().contains(annotation));
}

#[test]
fn what_is_wrong_with_a_drawing_is_named() {
    let many = |count| json!({"annotations": vec![json!({}); count]});
    read(&whole_but(&many(200)));
    for (changes, says) in [
        (many(201), "there are 201 annotations"),
        (json!({"annotations": [{}, 1]}), "`annotations[1]` must be a JSON object"),
        (json!({"annotations": {}}), "a list of annotations"),
        (json!({"element_details": []}), "`element_details` must be a JSON object"),
        (json!({"drawing_id": "../../auth.key"}), "32 hexadecimal digits"),
        (json!({"drawing_id": ID.to_uppercase()}), "32 hexadecimal digits"),
        (json!({"annot_session_name": ""}), "1 to 64 bytes"),
        (json!({"annot_session_name": "a\nb"}), "control characters"),
        (json!({"page_url": 5}), "integer"),
        (json!({"cancelled": "bored"}), "bored"),
        (json!({"cancelled": "user"}), "`cancelled` and has annotations"),
        (json!({"screenshot_data_url": "http://a/b.png"}), "data:image/png;base64,"),
        (json!({"screenshot_data_url": url("image/gif", PNG)}), "data:image/png;base64,"),
        (json!({"screenshot_data_url": "data:image/png;base64,a"}), "not valid base64"),
        (json!({"screenshot_data_url": url("image/png", b"GIF89a")}), "neither PNG nor JPEG"),
        (json!({"screenshot_data_url": 5}), "a data URL"),
    ] {
        let why = refused(&whole_but(&changes));
        assert!(why.contains(says), "{changes}: {why}");
    }
    assert!(Drawing::parse(b"[]").unwrap_err().to_string().contains("not an object"));
    assert!(Drawing::parse(b"{\"page_url\":\"\xff\"}").is_err());
}

#[test]
fn a_cancelled_one_has_no_annotations_and_says_why() {
    let body = |why| whole_but(&json!({"annotations": [], "cancelled": why}));
    assert_eq!(read(&body("user")).cancelled, Some(DrawingCancel::User));
    assert_eq!(read(&body("page_closed")).cancelled, Some(DrawingCancel::PageClosed));
}

#[test]
fn a_picture_is_of_the_format_that_its_bytes_have() {
    for (mime, bytes, format) in [
        ("image/png", PNG, ImageFormat::Png),
        ("image/jpeg", b"\xff\xd8\xff\xe0".as_slice(), ImageFormat::Jpeg),
        ("image/png", b"\xff\xd8\xff\xe0", ImageFormat::Jpeg),
    ] {
        let picture = Screenshot::parse(&url(mime, bytes)).unwrap();
        assert_eq!((picture.format, &*picture.bytes), (format, bytes), "{mime}");
        assert_eq!(picture.data_url(), url(format.mime_type(), bytes));
    }
}

#[test]
fn older_extensions_are_understood() {
    let picture = url("image/png", PNG);
    let old = read(&whole_but(&json!({"screenshot_data_url": null, "screenshot": picture})));
    assert_eq!(old.screenshot.unwrap().bytes, PNG);
    let both = read(&whole_but(&json!({"screenshot": "/tmp/a.png"})));
    assert_eq!(both.screenshot.unwrap().bytes, PNG, "the right name counts");
    let none = read(&whole_but(&json!({"screenshot_data_url": "", "element_details": null})));
    assert!(none.screenshot.is_none());
}

#[test]
fn the_same_sent_again_without_an_id_is_the_same_drawing_and_another_one_is_not() {
    let without = whole_but(&json!({"drawing_id": null}));
    let id = |body: &Value| read(body).drawing_id;
    let first = id(&without);
    assert_eq!(first, DrawingId::parse(first.as_str()).unwrap());
    let mut turned = json!({"new": 1});
    for (field, value) in without.as_object().unwrap().iter().rev() {
        turned[field] = value.clone();
    }
    assert_eq!(id(&turned), first, "whatever the order");
    let others = [
        json!({"annotations": [{"id": 1, "kind": "note", "text": "hier"}]}),
        json!({"annotations": [], "cancelled": "user"}),
        json!({"annotations": []}),
        json!({"page_url": "http://127.0.0.1:8000/2"}),
        json!({"annot_session_name": "check out 2"}),
        json!({"annot_session_name": null, "correlation_id": "check out"}),
        json!({"correlation_id": null}),
        json!({"screenshot_data_url": null}),
        json!({"screenshot_data_url": url("image/png", b"\x89PNG\r\n\x1a\n")}),
    ];
    let mut ids: Vec<_> = others
        .iter()
        .map(|other| {
            let mut body = without.clone();
            for (field, value) in other.as_object().unwrap() {
                body[field] = value.clone();
            }
            id(&body)
        })
        .chain([first])
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), others.len() + 1);
}

#[test]
fn where_an_id_is_needed_one_is_not_made_up() {
    let parse = |body: &Value| Drawing::parse_with_id(body.to_string().as_bytes());
    assert!(parse(&whole()).is_ok());
    let why = parse(&whole_but(&json!({"drawing_id": null}))).unwrap_err();
    assert!(matches!(why, DrawingError::NoId), "{why}");
}

#[test]
fn millions_of_annotations_are_counted_and_not_kept() {
    let list = format!("[{}{{}}]", "{},".repeat(2_000_000));
    let read: FirstAnnotations = serde_json::from_str(&list).unwrap();
    assert_eq!((read.first.len(), read.count), (ANNOTATIONS_MAX, 2_000_001));
    let body = format!(r#"{{"page_url":"","annotations":{list}}}"#);
    let why = Drawing::parse(body.as_bytes()).unwrap_err();
    assert!(matches!(why, DrawingError::TooManyAnnotations { count: 2_000_001 }), "{why}");
}

#[test]
fn a_report_has_its_fields_in_their_order_and_leaves_out_what_is_not_known() {
    let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap().into();
    let bare = DrawingReport {
        session: None,
        drawing_id: DrawingId::parse(ID).unwrap(),
        page_url: "http://a/".to_owned(),
        page_title: None,
        tab_id: None,
        at: Timestamp::from_unix_micros(1_795_298_985_123_456),
        screenshot: None,
        annotations: vec![raw(r#"{ "id":1.0 }"#)],
        element_details: raw("{}"),
    };
    let at = "2026-11-21T22:09:45.123Z";
    let expected = format!(
        r#"{{"drawing_id":"{ID}","page_url":"http://a/","at":"{at}","annotations":[{{ "id":1.0 }}],"element_details":{{}}}}"#
    );
    assert_eq!(serde_json::to_string(&bare).unwrap(), expected);
    let full = DrawingReport {
        session: Some(SessionName::parse("s").unwrap()),
        page_title: Some("t".to_owned()),
        tab_id: Some(TabId(12)),
        screenshot: Some("/tmp/a.png".to_owned()),
        ..bare
    };
    let expected = format!(
        r#"{{"session":"s","drawing_id":"{ID}","page_url":"http://a/","page_title":"t","tab_id":12,"at":"{at}","screenshot":"/tmp/a.png","annotations":[{{ "id":1.0 }}],"element_details":{{}}}}"#
    );
    assert_eq!(serde_json::to_string(&full).unwrap(), expected);
}

#[test]
fn annotations_of_several_drawings_say_whose_they_are() {
    let report = |id: &str, annotation: &str| DrawingReport {
        session: None,
        drawing_id: DrawingId::parse(&id.repeat(32)).unwrap(),
        page_url: String::new(),
        page_title: None,
        tab_id: None,
        at: Timestamp::from_unix_micros(0),
        screenshot: None,
        annotations: vec![RawValue::from_string(annotation.to_owned()).unwrap().into()],
        element_details: RawValue::from_string("{}".to_owned()).unwrap().into(),
    };
    let session = SessionName::parse("s").ok();
    let texts = |report: &DrawingsReport| -> Vec<_> {
        report.annotations.iter().map(|annotation| annotation.get().to_owned()).collect()
    };
    let one = DrawingsReport::new(vec![report("a", "{ }")], session.clone());
    assert_eq!(texts(&one), ["{ }"]);
    let pages = vec![report("a", "{ }"), report("b", r#"{"id":1.0,"drawing_id":"other"}"#)];
    let both = DrawingsReport::new(pages, session);
    let (a, b) = ("a".repeat(32), "b".repeat(32));
    let expected = [
        format!(r#"{{ "drawing_id":"{a}"}}"#),
        format!(r#"{{"id":1.0,"drawing_id":"other","drawing_id":"{b}"}}"#),
    ];
    assert_eq!(texts(&both), expected);
    let value = serde_json::to_value(&both).unwrap();
    assert_eq!(value["annotations"][1]["drawing_id"], *b, "ours is the one that counts");
    assert_eq!(value["annotations"][1]["id"], 1.0);
    assert!(value["pages"][1].get("annotations").is_none(), "they are told once");
    let fields: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["annotations", "pages", "session"]);
}

#[test]
fn whatever_is_sent_is_read_as_what_it_says_or_refused_with_a_reason() {
    let samples = [whole().to_string(), json!({"annotations": [], "page_url": ""}).to_string()];
    let samples = samples.each_ref().map(String::as_str);
    proptest!(garbled::cases(2_000), |(body in garbled::nearly(&samples))| {
        match Drawing::parse(&body) {
            Ok(drawing) => {
                let written = serde_json::to_vec(&drawing).unwrap();
                let again = Drawing::parse_with_id(&written).unwrap();
                prop_assert_eq!(serde_json::to_vec(&again).unwrap(), written);
                let text = String::from_utf8_lossy(&body);
                prop_assert!(drawing.annotations.iter().all(|kept| text.contains(kept.get())));
                prop_assert!(drawing.annotations.len() <= ANNOTATIONS_MAX);
            }
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    });
}
