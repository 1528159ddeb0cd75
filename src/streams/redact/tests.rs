use proptest::{prop_assert, proptest};

use super::*;
use crate::protocol::garbled;

const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0";

#[test]
fn secrets_are_taken_out_and_the_rest_stays() {
    let jwt = format!("got {JWT}, expired");
    for (text, clean) in [
        ("Authorization: Bearer abc.def\nnext", "Authorization: [redacted]\nnext"),
        ("Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: [redacted]"),
        ("Cookie: a=b; c=d", "Cookie: [redacted]"),
        ("set-cookie: sid=1; Path=/", "set-cookie: [redacted]"),
        ("X-Api-Key: 0123", "X-Api-Key: [redacted]"),
        ("sent with bearer abcdefgh12", "sent with bearer [redacted]"),
        (jwt.as_str(), "got [redacted], expired"),
        ("key sk-proj-abcDEF0123456789xyz.", "key [redacted]."),
        ("ghp_0123456789abcdef0123456789abcdef0123", "[redacted]"),
        ("github_pat_11ABCDEFG0123456789_abc", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE used", "id [redacted] used"),
        ("xoxb-123456789012-abcdef", "[redacted]"),
        ("http://h/p?a=1&token=t&b=2", "http://h/p?a=1&token=[redacted]&b=2"),
        (
            "http://h/cb?code=xyz#access_token=q",
            "http://h/cb?code=[redacted]#access_token=[redacted]",
        ),
        (
            "http://h/?key=1&password=2&session=3",
            "http://h/?key=[redacted]&password=[redacted]&session=[redacted]",
        ),
        ("https://me:pw@host/path", "https://[redacted]@host/path"),
        (
            r#"{"user":"u","password":"p\"q","n":1}"#,
            r#"{"user":"u","password":"[redacted]","n":1}"#,
        ),
        (r#"{\"accessToken\":\"abc\",\"n\":1}"#, r#"{\"accessToken\":\"[redacted]\",\"n\":1}"#),
        (r#"{"client_secret": 12345}"#, r#"{"client_secret": [redacted]}"#),
        (r#"cut: {"api_key":"abc de"#, r#"cut: {"api_key":"[redacted]"#),
        ("password = hunter2 failed", "password = [redacted] failed"),
        ("headers['x-auth-token']='abc'", "headers['x-auth-token']='[redacted]'"),
    ] {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn everyday_words_are_names_of_secrets_where_they_stand_as_names_and_nested_values_go_whole() {
    for (text, clean) in [
        // Everyday words that are a secret's name where they stand as names.
        (r#"{"pass":"a","pin":1234}"#, r#"{"pass":"[redacted]","pin":[redacted]}"#),
        ("http://h/?sid=1&otp=2&user=u", "http://h/?sid=[redacted]&otp=[redacted]&user=u"),
        ("sent {user: 'ann', pass: 'x y'}", "sent {user: 'ann', pass: '[redacted]'}"),
        ("otp: 123456 is right", "otp: [redacted] is right"),
        ("sid=8f14e45fceea167a", "sid=[redacted]"),
        (r#"{"session":"3f9a"}"#, r#"{"session":"[redacted]"}"#),
        // Nested values and lists.
        (r#"{"password":["a","b"],"n":1}"#, r#"{"password":[[redacted]],"n":1}"#),
        (r#"{"token":{"value":"a}","list":[1]},"n":1}"#, r#"{"token":{[redacted]},"n":1}"#),
        (r#"{\"token\":{\"v\":\"a}\"},\"n\":1}"#, r#"{\"token\":{[redacted]},\"n\":1}"#),
        (
            r#"{"passwords":{"ann":"a"},"password":[]}"#,
            r#"{"passwords":{[redacted]},"password":[]}"#,
        ),
    ] {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn a_value_beside_a_name_and_in_an_element_is_known_by_it() {
    for (text, clean) in [
        // Pairs of a name and a value.
        (r#"{"name":"password","value":"hunter2"}"#, r#"{"name":"password","value":"[redacted]"}"#),
        (
            r#"[{"value":"hunter2","name":"Passwort"},{"name":"user","value":"ann"}]"#,
            r#"[{"value":"[redacted]","name":"Passwort"},{"name":"user","value":"ann"}]"#,
        ),
        (
            r#"{"name":"otp","meta":{"name":"x","value":"stays"},"value":"1"}"#,
            r#"{"name":"otp","meta":{"name":"x","value":"stays"},"value":"[redacted]"}"#,
        ),
        (
            r#"<input name="password" value="hunter2"><input name="q" value="x">"#,
            r#"<input name="password" value="[redacted]"><input name="q" value="x">"#,
        ),
        (
            r#"<input value="1234" type=text name=pin>Your PIN"#,
            r#"<input value="[redacted]" type=text name=pin>Your PIN"#,
        ),
        (
            r#"<string name="password">hunter2</string><string name="user">ann</string>"#,
            r#"<string name="password">[redacted]</string><string name="user">ann</string>"#,
        ),
        ("?name=pin&value=1234&next=2", "?name=pin&value=[redacted]&next=2"),
        // XML.
        (
            "<a:login><user>ann</user><a:Password t=\"x\">hunter2</a:Password></a:login>",
            "<a:login><user>ann</user><a:Password t=\"x\">[redacted]</a:Password></a:login>",
        ),
        ("<pin><![CDATA[12]]></pin><n>1</n>", "<pin>[redacted]</pin><n>1</n>"),
        (r#"<user name="ann" otp="123"/>"#, r#"<user name="ann" otp="[redacted]"/>"#),
    ] {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn names_in_other_languages_are_known_also_as_forms_write_them() {
    for (text, clean) in [
        // Other languages, also as forms write them.
        ("Passwort: geheim", "Passwort: [redacted]"),
        ("contraseña=x&n=1", "contraseña=[redacted]&n=1"),
        ("?contrase%C3%B1a=x&n=1", "?contrase%C3%B1a=[redacted]&n=1"),
        (r#"{"mot de passe":"x"}"#, r#"{"mot de passe":"[redacted]"}"#),
        ("Пароль: секрет", "Пароль: [redacted]"),
        ("密码：hunter2", "密码：[redacted]"),
        (r#"{"パスワード":"x"}"#, r#"{"パスワード":"[redacted]"}"#),
        ("user%5Bpassword%5D=x&user%5Bname%5D=y", "user%5Bpassword%5D=[redacted]&user%5Bname%5D=y"),
        ("?user%5Bpin%5D=1", "?user%5Bpin%5D=[redacted]"),
        ("%22password%22%3A%22x%22&n=1", "%22password%22%3A[redacted]&n=1"),
    ] {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn everyday_words_are_left_alone() {
    for text in [
        "",
        "error code: 404",
        "Unexpected token < in JSON at position 0",
        "Unexpected token: }",
        "key=Enter pressed",
        "class sk-toolbar-button-primary",
        "http://host:8000/keys/1?page=2&sort=name",
        "session started: ok",
        "max_tokens: 5",
        "Basic authentication required",
        "ünïcödé: ✓ password",
        "author: somebody",
        "pinterest=1 spin: 12345 opinion: ab1234cd",
        r#"{"pinterest":"x","passenger":"Ann","sidebar":"left","spin":"3"}"#,
        "tests pass: true, 12 pass, fail: 3",
        "pass: 12 fail: 3",
        "session: ok, pin: left, pass: done",
        "the session started: 10:15",
        r#"{"requires_password":true,"has_token":false,"session":null}"#,
        r#"{"name":"user","value":"ann"}"#,
        r#"{"name":"Ann","pin_position":"left","value":"x"}"#,
        "Promise<Token>(resolve) and a <b",
        "<session-list>2</session-list>",
        r#"<label for="x" id="password-label">Password</label>"#,
        "sent: form-data; name=x",
        "%22name%22%3A%22x%22",
        "heading \"Sign in\"\n  textbox \"Password\" a3 focused\n  textbox \"API key\" a2\n  button \"Go\" a4",
        "textbox \"Password\" a3: ••••\n  text: Your session has ended",
        "тест: ok 日本語：ok",
    ] {
        assert_eq!(redact(text), text, "{text}");
    }
}

#[test]
fn a_form_that_begins_with_a_secret_is_one() {
    assert_eq!(redact_body("code=1&user=u"), "code=[redacted]&user=u");
    assert_eq!(redact("code=1&user=u"), "code=1&user=u");
    assert_eq!(redact_body("pin=1234&user=u"), "pin=[redacted]&user=u");
    assert_eq!(redact_body("user[pin]=1&user[n]=2"), "user[pin]=[redacted]&user[n]=2");
}

#[test]
fn in_a_multipart_form_the_parts_of_secrets_are_taken_out() {
    let body = |password: &str, file: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nann\r\n--b\r\n\
             Content-Disposition: form-data; name=\"password\"\r\n\r\n{password}\r\n--b\r\n\
             content-disposition: FORM-DATA; name=\"pin\"; filename=\"a.txt\"\r\n\
             Content-Type: text/plain\r\n\r\n{file}\r\n--b--\r\n"
        )
    };
    let clean = body(REDACTED, REDACTED);
    assert_eq!(redact_body(&body("hunter2\r\nin two lines", "1234")), clean);
    let cut = "--b\nContent-Disposition: form-data; name=\"Kennwort\"\n\nhunter";
    assert_eq!(redact_body(cut), cut.replace("hunter", REDACTED));
}

#[test]
fn what_was_cut_off_in_an_element_is_a_secret_in_a_body() {
    assert_eq!(redact_body("<r><password>hunt"), "<r><password>[redacted]");
}

#[test]
fn a_text_of_nothing_but_beginnings_is_read_in_time() {
    for beginning in [
        "<password>",
        "<password></x",
        "session:[",
        "data:[",
        "value:\\\"{",
        "token:{",
        "(name=\"pin\" ",
    ] {
        let text = beginning.repeat((64 << 10) / beginning.len());
        // What is read once for each of them takes minutes, and the test is ended.
        assert!(redact(&text).len() <= 2 * text.len(), "{beginning}");
        assert!(redact_body(&text).len() <= 2 * text.len(), "{beginning}");
    }
}

#[test]
fn headers_are_judged_by_their_name() {
    for name in ["Cookie", "set-cookie", "AUTHORIZATION", "x-api-key", "X-Amz-Security-Token"] {
        assert!(is_secret_header(name), "{name}");
    }
    for name in ["content-type", "www-authenticate", ":authority", "accept", "etag"] {
        assert!(!is_secret_header(name), "{name}");
    }
}

#[test]
fn whatever_the_text_is_what_is_before_the_first_secret_stays() {
    let samples = [
        "Authorization: Bearer abc\nx",
        r#"{"password":"p\"q","token":["a"]}"#,
        "https://me:pw@host/?token=1&é=2",
        JWT,
    ];
    proptest!(garbled::cases(4_000), |(text in garbled::nearly_text(&samples))| {
        let clean = redact(&text).into_owned();
        let before = clean.split(REDACTED).next().unwrap_or_default();
        prop_assert!(text.starts_with(before));
    });
}

#[test]
fn a_parameter_of_a_recorded_step_is_no_secret() {
    let step = r#"{"target":"role=textbox[name=\"Password\"s]","value":"{{param.password}}"}"#;
    assert_eq!(redact(step), step);
    for secret in ["{{param.pw}}hunter2", "{{param.}}", "{{param.a b}}", "param.pw"] {
        let text = format!("password: \"{secret}\"");
        assert!(!redact(&text).contains(secret), "{text}");
    }
}
