//! The daemon's socket in the state directory, beside its port.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Signal, geteuid};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::task::AbortOnDropHandle;

use testkit::{ProgramSandbox, StdioClient, TestDaemon, authorized, become_user, signal, soon};

fn socket_of(home: &Path) -> PathBuf {
    home.join("daemon.sock")
}

/// Puts a relay in the place of the socket, which counts connections.
fn relay(home: &Path) -> (Arc<AtomicUsize>, AbortOnDropHandle<()>) {
    let (place, real) = (socket_of(home), home.join("real.sock"));
    fs::rename(&place, &real).unwrap();
    let listener = UnixListener::bind(&place).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let relaying = async move {
        while let Ok((mut near, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let real = real.clone();
            tokio::spawn(async move {
                let mut far = UnixStream::connect(real).await.unwrap();
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    };
    (count, AbortOnDropHandle::new(tokio::spawn(relaying)))
}

async fn ask(daemon: &TestDaemon, head: &str) -> String {
    let mut stream = UnixStream::connect(socket_of(daemon.home().dir())).await.unwrap();
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon("an answer", stream.read_to_string(&mut answer)).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_token_and_all_other_checks_are_asked_for_on_the_socket_too() {
    let daemon = TestDaemon::start().await;
    let mode = fs::metadata(socket_of(daemon.home().dir())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let own = authorized("GET /api/status", daemon.port(), &daemon.token());
    assert_eq!(ask(&daemon, &own).await, "HTTP/1.1 200 OK");
    let wrong = authorized("GET /api/status", daemon.port(), "wrong");
    assert_eq!(ask(&daemon, &wrong).await, "HTTP/1.1 401 Unauthorized");
    let page = format!("{own}Origin: http://evil.test\r\n");
    assert_eq!(ask(&daemon, &page).await, "HTTP/1.1 403 Forbidden");
    let rebound = own.replace("127.0.0.1", "evil.test");
    assert_eq!(ask(&daemon, &rebound).await, "HTTP/1.1 403 Forbidden");
}

/// Bridge and command line both get their answer.
async fn assert_both_work(place: &ProgramSandbox) {
    assert_eq!(place.run(&["status"]).await.code, Some(0));
    let mut bridge = StdioClient::start(place);
    bridge.call("configure", json!({"action": "health"})).await;
    bridge.kill().await;
}

#[tokio::test]
async fn bridge_and_command_line_use_the_socket_and_the_port_where_there_is_none() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let (count, relaying) = relay(place.path());
    assert_eq!(place.run(&["status"]).await.code, Some(0));
    let of_command_line = count.load(Ordering::SeqCst);
    assert!(of_command_line > 0, "the command line");
    assert_both_work(&place).await;
    let of_both = count.load(Ordering::SeqCst);
    assert!(of_both > 2 * of_command_line, "the bridge, too");
    // A link leads to the same relay, and is not followed.
    let (path, moved) = (socket_of(place.path()), place.path().join("relay.sock"));
    fs::rename(&path, &moved).unwrap();
    symlink(&moved, &path).unwrap();
    assert_both_work(&place).await;
    // Nobody answers there any more, and then there is no file.
    fs::rename(&moved, &path).unwrap();
    drop(relaying);
    assert_both_work(&place).await;
    fs::remove_file(&path).unwrap();
    assert_both_work(&place).await;
    assert_eq!(count.load(Ordering::SeqCst), of_both);
    daemon.stop().await;
}

#[tokio::test]
async fn the_socket_ends_with_the_daemon_and_that_of_a_killed_one_is_replaced() {
    let place = ProgramSandbox::new();
    let path = socket_of(place.path());
    let daemon = place.serve(&[]).await;
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket());
    daemon.stop().await;
    assert!(!path.exists());
    let daemon = place.serve(&[]).await;
    signal(daemon.pid(), Signal::KILL);
    daemon.end().await;
    assert!(path.exists(), "it was killed");
    let daemon = place.serve(&[]).await;
    let (count, _relaying) = relay(place.path());
    assert_eq!(place.run(&["status"]).await.code, Some(0));
    assert!(count.load(Ordering::SeqCst) > 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_starts_without_a_socket_where_a_file_a_link_or_a_long_path_is_in_the_way() {
    let place = ProgramSandbox::new();
    fs::write(socket_of(place.path()), "mine").unwrap();
    let daemon = place.serve(&[]).await;
    assert_eq!(place.run(&["status"]).await.code, Some(0));
    let (_, said) = daemon.stop().await;
    assert!(said.contains("is no socket"), "{said}");
    assert_eq!(fs::read_to_string(socket_of(place.path())).unwrap(), "mine");

    let long = place.path().join("x".repeat(100));
    fs::create_dir(&long).unwrap();
    fs::set_permissions(&long, fs::Permissions::from_mode(0o700)).unwrap();
    let mut serve = place.command(&["serve", "--json"]);
    serve.env("TABWIRE_HOME", &long);
    let daemon = place.serve_by(serve).await;
    assert!(!socket_of(&long).exists());
    let mut status = place.command(&["status"]);
    status.env("TABWIRE_HOME", &long);
    assert_eq!(testkit::finish(status).await.code, Some(0));
    let (_, said) = daemon.stop().await;
    assert!(said.contains("TABWIRE_HOME"), "{said}");
}

/// Connects as another user and sends a request. Returns the bytes that came back; `None`: this process
/// cannot be another user.
pub(crate) fn sent_by_another_user(path: &Path, request: &str) -> Option<Vec<u8>> {
    const NOBODY: u32 = 65_534;
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            if !become_user(NOBODY) {
                return None;
            }
            let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
            // It may be closed already.
            let _ = stream.write_all(request.as_bytes());
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            Some(answer)
        });
        sending.join().unwrap()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn another_users_connection_is_closed_unread_also_with_a_right_token_and_open_modes() {
    if !geteuid().is_root() {
        return;
    }
    let daemon = TestDaemon::start().await;
    let home = daemon.home().dir().to_owned();
    let head = authorized("GET /api/status", daemon.port(), &daemon.token());
    // It has started by then: one that finds its directory open to others does not start.
    assert_eq!(ask(&daemon, &head).await, "HTTP/1.1 200 OK");
    let request = head + "\r\n";
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&home, 0o711);
    mode(&socket_of(&home), 0o666);
    let path = socket_of(&home);
    let sending = tokio::task::spawn_blocking(move || sent_by_another_user(&path, &request));
    let answer = soon("the close", sending).await.unwrap();
    mode(&home, 0o700);
    assert_eq!(answer.as_deref().map(String::from_utf8_lossy).as_deref(), Some(""));
}
