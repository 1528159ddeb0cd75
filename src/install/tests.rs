use std::collections::BTreeMap;

use serde_json::Value;

use super::plan::ApplyError;
use super::settings::SettingsFormat;
use super::*;
use crate::os::testing::symlink;
use crate::protocol::EXTENSION_ID;

/// A home directory of nobody, with a state directory in it.
struct World {
    dir: tempfile::TempDir,
    installation: Installation,
}

impl World {
    fn new(system: OperatingSystem) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Temporary folders may be behind a link.
        let home = dir.path().canonicalize().unwrap();
        let installation = Installation {
            state: home.join("state"),
            user_folders: Some(UserFolders::in_home(system, &home)),
            program: "/opt/bin/tabwire".into(),
            running: "/opt/bin/tabwire".into(),
            origin: ProgramOrigin::File,
            port: 7890,
        };
        Self { dir, installation }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn file(&self, client: McpClient) -> PathBuf {
        client.file(self.installation.user_folders.as_ref().unwrap())
    }

    /// Makes the client's settings say this.
    fn settings(&self, client: McpClient, text: &str) -> PathBuf {
        let path = self.file(client);
        self.write(path.strip_prefix(self.at("")).unwrap().to_str().unwrap(), text)
    }

    fn plan(&self, clients: &[McpClient]) -> Result<ChangePlan, PlanError> {
        self.installation.install(clients, |_| server())
    }

    fn install(&self, clients: &[McpClient]) {
        self.plan(clients).unwrap().apply(&self.installation.state).unwrap();
    }

    fn uninstall(&self) {
        self.installation.uninstall().unwrap().apply(&self.installation.state).unwrap();
    }

    /// Every file and its content and permissions, but for the extension's own.
    fn files(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.starts_with(self.installation.extension()) {
                    let mode = crate::os::testing::mode(&path);
                    files.insert(path.clone(), (fs::read(&path).unwrap(), mode));
                }
            }
        }
        files
    }

    /// The same outside the state directory.
    fn files_of_others(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let mut files = self.files();
        files.retain(|path, _| !path.starts_with(&self.installation.state));
        files
    }
}

fn server() -> ServerEntry {
    ServerEntry { command: "/opt/bin/tabwire".to_owned(), args: vec!["mcp".to_owned()] }
}

/// Settings that each client might have, odd but valid.
fn some_settings(client: McpClient) -> &'static str {
    match client.format() {
        SettingsFormat::Toml { .. } => {
            "# mine\nmodel = 'x' # best\n\n[mcp_servers.a]\ncommand = \"a\"\n"
        }
        SettingsFormat::Json { section: "servers", .. } => {
            "{\n  // mine\n  \"servers\": {\"a\": {\"command\": \"a\"},},\n}\n"
        }
        SettingsFormat::Json { section: "mcp", .. } => {
            "{ \"mcp\": {\n\t\"a\": {\"type\": \"local\", \"command\": [\"a\"]} // mine\n} }"
        }
        SettingsFormat::Json { .. } => "{\"z\":1,\n   \"mcpServers\": { \"a\" : {} }, \"b\": [ ]}",
    }
}

#[test]
fn every_client_gets_the_server_and_is_as_it_was_afterwards() {
    for client in McpClient::ALL {
        for before in [None, Some(some_settings(client))] {
            let world = World::new(OperatingSystem::Linux);
            if let Some(text) = before {
                let path = world.settings(client, text);
                crate::os::testing::chmod(&path, 0o640).unwrap();
            }
            let others = world.files_of_others();
            world.install(&[client]);
            let text = fs::read_to_string(world.file(client)).unwrap();
            assert!(text.contains("/opt/bin/tabwire"), "{}: {text}", client.name());
            if let Some(before) = before {
                let backup = backup_of(&world.file(client), 1);
                assert_eq!(fs::read_to_string(&backup).unwrap(), before);
                for path in [&backup, &world.file(client)] {
                    assert_eq!(crate::os::testing::mode(path), 0o640);
                }
            }
            world.uninstall();
            assert_eq!(world.files_of_others(), others, "{}", client.name());
        }
    }
}

#[test]
fn twice_is_the_same_as_once() {
    let world = World::new(OperatingSystem::Linux);
    for client in McpClient::ALL {
        world.settings(client, some_settings(client));
    }
    fs::create_dir_all(world.at(".config/chromium/Default")).unwrap();
    world.install(&McpClient::ALL);
    let once = world.files();
    let again = world.plan(&McpClient::ALL).unwrap();
    let is_unpack = |change: &PlannedChange| matches!(change, PlannedChange::Unpack { .. });
    assert!(again.changes.iter().all(is_unpack), "{again:?}");
    world.install(&McpClient::ALL);
    assert_eq!(world.files(), once);
    world.uninstall();
    let gone = world.files();
    world.uninstall();
    assert_eq!(world.files(), gone);
}

#[test]
fn what_others_have_changed_since_stays_when_it_goes() {
    let world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::Cursor, "{\n  \"mcpServers\": {}\n}\n");
    world.install(&[McpClient::Cursor]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("{\n", "{\n  \"new\": true, // since\n", 1)).unwrap();
    world.uninstall();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"new\": true, // since") && !text.contains("tabwire"), "{text}");
    assert!(!backup_of(&path, 1).exists());
}

#[test]
fn a_program_that_has_moved_is_corrected_and_the_first_state_still_comes_back() {
    let world = World::new(OperatingSystem::Linux);
    let before = some_settings(McpClient::Windsurf);
    let path = world.settings(McpClient::Windsurf, before);
    world.install(&[McpClient::Windsurf]);
    let moved = ServerEntry { command: "/new/tabwire".to_owned(), args: Vec::new() };
    let plan = world.installation.install(&[McpClient::Windsurf], |_| moved.clone()).unwrap();
    plan.apply(&world.installation.state).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("/new/tabwire"));
    world.uninstall();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_second_edit_of_what_others_have_changed_is_taken_back_as_well() {
    let world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::ClaudeCode, "{\n  \"a\": 1\n}\n");
    world.install(&[McpClient::ClaudeCode]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"a\": 1", "\"a\": 2")).unwrap();
    let moved = ServerEntry { command: "/new/tabwire".to_owned(), args: Vec::new() };
    let plan = world.installation.install(&[McpClient::ClaudeCode], |_| moved.clone()).unwrap();
    plan.apply(&world.installation.state).unwrap();
    world.uninstall();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"a\": 2") && !text.contains("tabwire"), "{text}");
    assert!(!backup_of(&path, 1).exists());
}

#[test]
fn a_backup_that_nobody_has_noted_is_neither_written_over_nor_removed() {
    let world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::Cursor, "{}");
    fs::write(backup_of(&path, 1), "an older one").unwrap();
    symlink("nowhere", backup_of(&path, 2)).unwrap();
    world.install(&[McpClient::Cursor]);
    assert_eq!(fs::read_to_string(backup_of(&path, 3)).unwrap(), "{}");
    world.uninstall();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(fs::read_to_string(backup_of(&path, 1)).unwrap(), "an older one");
    assert!(!backup_of(&path, 3).exists());
}

#[test]
fn what_was_edited_is_found_again_wherever_programs_keep_their_settings_by_then() {
    let mut world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::VsCode, some_settings(McpClient::VsCode));
    world.install(&[McpClient::VsCode, McpClient::VsCode]);
    assert!(fs::read_to_string(&path).unwrap().contains("tabwire"));
    let elsewhere = world.at("elsewhere");
    world.installation.user_folders.as_mut().unwrap().settings = elsewhere;
    world.uninstall();
    assert_eq!(fs::read_to_string(&path).unwrap(), some_settings(McpClient::VsCode));
}

#[test]
fn settings_that_cannot_be_parsed_stop_everything_before_it_begins() {
    for client in McpClient::ALL {
        let world = World::new(OperatingSystem::Linux);
        let path = world.settings(client, "{ = not settings");
        let before = world.files();
        let error = world.plan(&McpClient::ALL).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(error.contains(client.name()) && error.contains("Nothing was changed"), "{error}");
        assert_eq!(world.files(), before);
    }
    let world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::Cursor, "");
    fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    assert!(matches!(world.plan(&[McpClient::Cursor]), Err(PlanError::Settings { .. })));
}

#[test]
fn a_link_stays_one_and_a_link_to_nothing_is_refused() {
    let world = World::new(OperatingSystem::Linux);
    let real = world.write("dotfiles/mcp.json", "{}");
    let link = world.file(McpClient::Cursor);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&real, &link).unwrap();
    world.install(&[McpClient::Cursor]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("tabwire"));
    world.uninstall();
    assert_eq!(fs::read_to_string(&link).unwrap(), "{}");
    fs::remove_file(&real).unwrap();
    assert!(matches!(world.plan(&[McpClient::Cursor]), Err(PlanError::Io { .. })));
    assert!(!real.exists());
}

#[test]
fn a_file_that_another_program_writes_meanwhile_is_left_alone() {
    let world = World::new(OperatingSystem::Linux);
    let path = world.settings(McpClient::ClaudeCode, "{}");
    let plan = world.plan(&[McpClient::ClaudeCode]).unwrap();
    fs::write(&path, "{\"sessions\": 4}").unwrap();
    let error = plan.apply(&world.installation.state).unwrap_err();
    assert!(matches!(error, ApplyError::Changed(_)), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"sessions\": 4}");
    world.uninstall();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"sessions\": 4}");
}

#[test]
fn a_plan_changes_nothing() {
    let world = World::new(OperatingSystem::Linux);
    world.settings(McpClient::Cursor, "{}");
    let before = world.files();
    let plan = world.plan(&McpClient::ALL).unwrap();
    assert!(plan.changes.len() > McpClient::ALL.len());
    world.installation.uninstall().unwrap();
    assert_eq!(world.files(), before);
    assert!(!world.installation.state.exists());
}

#[test]
fn what_is_shown_of_settings_is_what_they_get_and_nothing_that_is_in_them() {
    let world = World::new(OperatingSystem::Linux);
    world.settings(McpClient::ClaudeCode, "{\"oauth\": \"s3cret\"}");
    let plan = world.plan(&[McpClient::ClaudeCode]).unwrap();
    let shown: Vec<_> = plan.changes.iter().flat_map(PlannedChange::lines).collect();
    let told: Vec<_> = plan.changes.iter().map(PlannedChange::to_json).collect();
    let all = format!("{shown:?} {told:?}");
    assert!(all.contains("mcpServers") && all.contains("tabwire-backup"), "{all}");
    assert!(!all.contains("s3cret"), "{all}");
}

#[test]
fn browsers_that_are_here_are_told_of_the_host_and_others_are_not() {
    for system in [OperatingSystem::Linux, OperatingSystem::MacOs] {
        let world = World::new(system);
        let user_folders = world.installation.user_folders.clone().unwrap();
        let named = |name| BROWSERS.iter().find(|browser| browser.name == name).unwrap();
        let (here, absent) = (named("Chromium"), named("Chrome"));
        fs::create_dir_all(here.folder(&user_folders).unwrap().join("Default")).unwrap();
        world.install(&[]);
        let text = fs::read_to_string(&here.manifests(&user_folders)[0]).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let origin = format!("chrome-extension://{EXTENSION_ID}/");
        assert_eq!(manifest["allowed_origins"], serde_json::json!([origin]));
        let wrapper = PathBuf::from(manifest["path"].as_str().unwrap());
        assert_eq!(crate::os::testing::mode(&wrapper), 0o700);
        let text = fs::read_to_string(&wrapper).unwrap();
        assert!(text.contains("'/opt/bin/tabwire' native-host") && text.contains("/state'"));
        assert!(!absent.folder(&user_folders).unwrap().exists());
        world.uninstall();
        let folder = here.folder(&user_folders).unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the folder we made is gone too");
        assert!(!wrapper.exists() && !world.installation.extension().exists());
    }
}

#[test]
fn with_a_state_directory_of_its_own_nothing_outside_is_touched() {
    let mut world = World::new(OperatingSystem::Linux);
    for client in McpClient::ALL {
        world.settings(client, some_settings(client));
    }
    fs::create_dir_all(world.at(".config/google-chrome/Default")).unwrap();
    world.installation.user_folders = None;
    let before = world.files_of_others();
    assert!(world.installation.clients().is_empty() && world.installation.browsers().is_empty());
    world.install(&McpClient::ALL);
    assert_eq!(world.files_of_others(), before);
    assert!(manifest_below(&world.installation.state).is_file());
    world.uninstall();
    assert_eq!(world.files_of_others(), before);
    let left: Vec<_> =
        world.files().into_keys().filter(|path| !before.contains_key(path)).collect();
    let names = ["auth.key", "unpacked.json", "unpacked_version.json"]
        .map(|name| world.installation.state.join(name));
    assert_eq!(left, names);
}

#[test]
fn a_folder_that_somebody_else_uses_is_not_removed() {
    let world = World::new(OperatingSystem::Linux);
    let thesis = world.write("state/extension/thesis.txt", "years of work");
    crate::os::testing::chmod(&world.installation.state, 0o700).unwrap();
    world.installation.uninstall().unwrap().apply(&world.installation.state).unwrap();
    assert!(thesis.exists());
}
