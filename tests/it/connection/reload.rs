//! A browser that has loaded another version than the one in the renewed folder is told so, once.

use std::fs;

use serde_json::{Value, json};
use testkit::{ExtensionBuilder, FakeExtension, ProgramSandbox, ServedDaemon};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A daemon, and the folder that the extension was unpacked to.
async fn unpacked() -> (ProgramSandbox, ServedDaemon) {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home()).browser("b_before");
    let mut before = connect(&shim, "0.0.1").await;
    unpack(&place).await;
    // The daemon looks at the folder now and then: it has, and does not look while a test spoils it.
    before.expect_in_time(&reload()).await;
    (place, daemon)
}

async fn unpack(place: &ProgramSandbox) {
    assert_eq!(place.run(&["extension", "unpack"]).await.code, Some(0));
}

/// This extension, connected with that version.
async fn connect(shim: &ExtensionBuilder, version: &str) -> FakeExtension {
    let mut extension = shim.open().await;
    let challenge = extension.challenge().await;
    let mut hello = extension.hello_to(&challenge);
    hello["extension_version"] = version.into();
    extension.send(&hello).await;
    extension.next().await;
    extension.ready(&[]).await;
    extension
}

fn reload() -> Value {
    json!({"type": "reload", "version": VERSION})
}

#[tokio::test]
async fn an_extension_of_another_version_is_told_once_in_a_run_of_the_daemon_to_load_its_files() {
    let (place, daemon) = unpacked().await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    for other in ["0.0.1", "99.0.0"] {
        let shim = shim.clone().browser(&format!("b_{other}"));
        connect(&shim, other).await.expect(&reload()).await;
        connect(&shim, other).await.expect_nothing().await;
        connect(&shim, "0.0.2").await.expect_nothing().await;
    }
    connect(&shim.clone().browser("b_same"), VERSION).await.expect_nothing().await;
}

#[tokio::test]
async fn a_folder_with_a_foreign_or_a_changed_file_or_one_that_others_may_write_is_not_loaded() {
    use std::os::unix::fs::PermissionsExt as _;

    let (place, daemon) = unpacked().await;
    let folder = place.path().join("extension");
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let open = |name: &str| {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o777)).unwrap();
    };
    let spoilings: [&dyn Fn(); 4] = [
        &|| fs::write(folder.join("src/worker/planted.js"), "").unwrap(),
        &|| fs::write(folder.join("_locales"), "").unwrap(),
        &|| open(""),
        &|| open("src/worker/main.js"),
    ];
    for (n, spoil) in spoilings.into_iter().enumerate() {
        spoil();
        let shim = shim.clone().browser(&format!("b_{n}"));
        connect(&shim, "0.0.1").await.expect_nothing().await;
        unpack(&place).await;
    }
    let worker = folder.join("src/worker/main.js");
    fs::remove_file(&worker).unwrap();
    fs::write(&worker, "// planted").unwrap();
    let mut extension = connect(&shim.clone().browser("b_changed"), "0.0.1").await;
    extension.expect(&json!({"type": "extension_changed"})).await;
    extension.expect_nothing().await;
    fs::write(place.path().join("unpacked_version.json"), "\"0.0.1\"").unwrap();
    connect(&shim.browser("b_old"), "0.0.1").await.expect_nothing().await;
}

#[tokio::test]
async fn an_extension_that_is_connected_while_its_folder_is_renewed_is_told_and_no_other_one_is() {
    let place = ProgramSandbox::new();
    let other = "a".repeat(32);
    let daemon = place.serve(&[]).await;
    assert_eq!(place.run(&["extension", "allow", &other, "--unattended"]).await.code, Some(0));
    let home = place.home();
    let shim = ExtensionBuilder::at(daemon.port, &home);
    let mut ours = connect(&shim, "0.0.1").await;
    let key = home.auth().extension_key(&other);
    let shim = shim.clone().browser("b_other").extension(&other).key(key);
    let mut theirs = connect(&shim, "0.0.1").await;
    unpack(&place).await;
    ours.expect_in_time(&reload()).await;
    assert!(!theirs.so_far().await.contains(&reload()));
}
