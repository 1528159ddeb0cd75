use super::*;
use crate::install::McpClient;

fn server() -> ServerEntry {
    ServerEntry { command: "/opt/bin/tabwire".to_owned(), args: vec!["mcp".to_owned()] }
}

const PLAIN: SettingsFormat =
    SettingsFormat::Json { section: "mcpServers", entry: JsonEntry::Plain };
const TOML: SettingsFormat = SettingsFormat::Toml { section: "mcp_servers" };

/// Puts the server in, twice: the second time changes nothing.
fn added(text: &str, format: SettingsFormat) -> String {
    let once = with_server(text, format, &server()).unwrap();
    assert_eq!(with_server(&once, format, &server()).unwrap(), once, "twice is once");
    once
}

/// What a JSON text says, without its comments.
fn says(text: &str) -> Value {
    let root = parse_json(text).unwrap();
    root.to_serde_value().unwrap_or(Value::Null)
}

#[test]
fn an_empty_or_missing_file_gets_the_server_and_nothing_else() {
    for client in McpClient::ALL {
        for nothing in ["", "\n"] {
            let text = added(nothing, client.format());
            assert!(text.contains("/opt/bin/tabwire") && text.ends_with('\n'), "{text}");
        }
    }
    let with_type = added("", McpClient::ClaudeCode.format());
    let entry = json!({"type": "stdio", "command": "/opt/bin/tabwire", "args": ["mcp"]});
    assert_eq!(says(&with_type), json!({"mcpServers": {"tabwire": entry}}));
    assert_eq!(says(&added("{}", McpClient::VsCode.format()))["servers"]["tabwire"], entry);
    let entry = json!({"command": "/opt/bin/tabwire", "args": ["mcp"]});
    assert_eq!(says(&added("", PLAIN)), json!({"mcpServers": {"tabwire": entry}}));
    assert_eq!(
        added("", TOML).trim_start(),
        "[mcp_servers.tabwire]\ncommand = \"/opt/bin/tabwire\"\nargs = [\"mcp\"]\n"
    );
}

#[test]
fn a_client_that_wants_a_list_of_tools_gets_all_and_keeps_the_ones_that_a_person_chose() {
    let format = McpClient::CopilotCli.format();
    let entry =
        json!({"type": "stdio", "command": "/opt/bin/tabwire", "args": ["mcp"], "tools": ["*"]});
    assert_eq!(says(&added("", format)), json!({"mcpServers": {"tabwire": entry}}));
    let chosen = r#"{"mcpServers": {"tabwire": {"command": "old", "tools": ["click"]}}}"#;
    let renewed = says(&added(chosen, format));
    assert_eq!(renewed["mcpServers"]["tabwire"]["tools"], json!(["click"]));
    assert_eq!(renewed["mcpServers"]["tabwire"]["command"], "/opt/bin/tabwire");
}

#[test]
fn a_client_that_wants_one_command_line_gets_it_and_keeps_the_bounds_in_it() {
    let format = McpClient::OpenCode.format();
    let entry = json!({"type": "local", "command": ["/opt/bin/tabwire", "mcp"]});
    assert_eq!(says(&added("", format)), json!({"mcp": {"tabwire": entry}}));
    let bounded = r#"{"mcp": {"tabwire": {"type": "local", "command": ["old", "mcp", "--owner", "work"], "enabled": false}}}"#;
    assert_eq!(owner_in(bounded, format).as_deref(), Some("work"));
    let entry = json!({
        "type": "local",
        "command": ["/opt/bin/tabwire", "mcp", "--owner", "work"],
        "enabled": false,
    });
    assert_eq!(says(&added(bounded, format))["mcp"]["tabwire"], entry);
}

#[test]
fn comments_order_indentation_and_odd_commas_of_everything_else_stay() {
    let before = "// mine\n{\n\t\"theme\": \"dark\", // at night\n\t\"mcpServers\": {\n\t\t/* db */ \"db\":   {\"command\":\"db\", \"env\": {\"K\": \"\\u0041\"},},\n\t},\n\t\"z\": 1e3,\n}\n// end\n";
    let after = added(before, PLAIN);
    let (head, tail) = before.split_at(before.find("\n\t},\n\t\"z\"").unwrap());
    assert!(after.starts_with(head) && after.ends_with(tail), "{after}");
    assert_eq!(says(&after)["mcpServers"]["tabwire"]["command"], "/opt/bin/tabwire");
    assert!(after.contains("\n\t\t\"tabwire\": {\n\t\t\t\"command\""), "{after}");
    assert_eq!(without_server(&after, PLAIN).unwrap(), before);
}

#[test]
fn lines_end_as_they_did() {
    let before = "{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n";
    let after = added(before, PLAIN);
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
    assert_eq!(without_server(&after, PLAIN).unwrap(), before);
    let marked = format!("\u{feff}{before}");
    assert_eq!(added(&marked, PLAIN), format!("\u{feff}{after}"));
    let before = "a = 1\r\n[mcp_servers.x]\r\ncommand = \"a\"\r\n# end\r\n";
    let after = added(before, TOML);
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
    assert_eq!(without_server(&after, TOML).unwrap(), before);
}

#[test]
fn a_server_that_is_there_is_brought_up_to_date_and_keeps_what_else_was_set() {
    let before = r#"{"mcpServers": {"tabwire": {"command": "/old/tabwire", "args":[ "mcp" ], "disabled": false}}}"#;
    let after = added(before, PLAIN);
    assert_eq!(after, before.replace("/old/tabwire", "/opt/bin/tabwire"));
    let before = "[mcp_servers.tabwire]\ncommand = \"/old/tabwire\" # mine\nargs = [ \"mcp\" ]\nstartup_timeout_sec = 30\n";
    let after = added(before, TOML);
    assert!(after.contains("args = [ \"mcp\" ]\nstartup_timeout_sec = 30"), "{after}");
    assert!(after.contains("\"/opt/bin/tabwire\"") && !after.contains("/old/"), "{after}");
}

#[test]
fn a_renewed_entry_keeps_its_browser_and_its_owner_unless_others_are_named() {
    let mcp = |more: &[&str]| ServerEntry {
        command: "tabwire".to_owned(),
        args: ["mcp"].iter().chain(more).map(|arg| (*arg).to_owned()).collect(),
    };
    for former in [
        ["--browser", "work", "--owner", "research"].as_slice(),
        &["--browser=work", "--owner=research"],
    ] {
        for format in [PLAIN, TOML] {
            let before = with_server("", format, &mcp(former)).unwrap();
            let renewed = with_server(&before, format, &server()).unwrap();
            for kept in ["--browser", "work", "--owner", "research"] {
                assert!(renewed.contains(&format!("\"{kept}\"")), "{renewed}");
            }
            assert_eq!(with_server(&renewed, format, &server()).unwrap(), renewed);
            for text in [before.clone(), renewed.clone(), format!("\u{feff}{renewed}")] {
                assert_eq!(owner_in(&text, format).as_deref(), Some("research"), "{text}");
            }
            assert_eq!(owner_in(&with_server("", format, &server()).unwrap(), format), None);
            assert_eq!(owner_in("{ = broken", format), None);
            let other = with_server(&before, format, &mcp(&["--owner", "user"])).unwrap();
            assert!(other.contains("\"user\"") && !other.contains("research"), "{other}");
            assert!(other.contains("\"work\""), "{other}");
        }
    }
}

#[test]
fn a_file_that_does_not_parse_or_has_another_shape_is_refused() {
    for broken in ["{\"a\": }", "{\"a\": 1", "{'a': 1}", "{a: 1}", "{} {}", "{\"a\": 1 \"b\": 2}"] {
        let error = with_server(broken, PLAIN, &server()).unwrap_err();
        assert!(matches!(error, SettingsError::Unparsable(_)), "{broken}: {error}");
        assert!(without_server(broken, PLAIN).is_err(), "{broken}");
    }
    for other in ["[]", "1", r#"{"mcpServers": []}"#, r#"{"mcpServers": {"tabwire": "x"}}"#] {
        let error = with_server(other, PLAIN, &server()).unwrap_err();
        assert!(matches!(error, SettingsError::Misshapen(_)), "{other}: {error}");
        assert_eq!(without_server(other, PLAIN).map(|text| text.len() <= other.len()), Ok(true));
    }
    for broken in ["a = ", "[mcp_servers", "a = 1\na = 2\n"] {
        assert!(matches!(with_server(broken, TOML, &server()), Err(SettingsError::Unparsable(_))));
    }
    let error = with_server("mcp_servers = 3\n", TOML, &server()).unwrap_err();
    assert!(matches!(error, SettingsError::Misshapen(_)), "{error}");
}

#[test]
fn where_two_places_could_be_meant_none_is_edited() {
    for repeated in [
        r#"{"mcpServers": {}, "mcp\u0053ervers": {"a": {}}}"#,
        r#"{"mcpServers": {"tabwire": {"command": "a"}, "tabwire": {"command": "b"}}}"#,
    ] {
        let error = with_server(repeated, PLAIN, &server()).unwrap_err();
        assert!(matches!(error, SettingsError::Repeated(_)), "{repeated}: {error}");
    }
}

#[test]
fn toml_keeps_its_comments_and_gets_a_table_at_its_end() {
    let before = "# top\nmodel = \"o5\" # best\n\n[mcp_servers.docs]\ncommand = 'docs'\n\n[tui] # looks\ntheme = \"x\"\n# the end\n";
    let after = added(before, TOML);
    assert_eq!(
        after,
        format!(
            "{before}\n[mcp_servers.tabwire]\ncommand = \"/opt/bin/tabwire\"\nargs = [\"mcp\"]\n"
        )
    );
    assert_eq!(without_server(&after, TOML).unwrap(), before);
}

#[test]
fn servers_in_one_line_of_toml_stay_in_one_line() {
    let before = "mcp_servers = { docs = { command = \"docs\" } }\n[tui]\n";
    let after = added(before, TOML);
    assert!(after.starts_with("mcp_servers = { docs = { command = \"docs\" }"), "{after}");
    assert!(after.lines().next().unwrap().contains("/opt/bin/tabwire"), "{after}");
    assert!(!without_server(&after, TOML).unwrap().contains("tabwire"));
}

#[test]
fn a_text_without_the_server_is_left_as_it_is() {
    for text in ["", "{}", "{ \"mcpServers\" : { } }", "// x\n", "{\"mcpServers\": []}"] {
        assert_eq!(without_server(text, PLAIN).as_deref(), Ok(text));
    }
    for text in ["", "a = 1", "[mcp_servers]\n", "mcp_servers = 3"] {
        assert_eq!(without_server(text, TOML).as_deref(), Ok(text));
    }
}
