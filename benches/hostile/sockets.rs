//! Attacks on the socket of extensions, by one that never proves itself, and by some that did.

use std::time::Duration;

use anyhow::ensure;
use testkit::load::{LoadClient, LoadExtension, call, tcp};
use tokio::net::TcpSocket;

use crate::attacker::Target;
use crate::requests::HELD;

/// How many extensions there are that proved themselves.
const EXTENSIONS: usize = 8;

/// How many results are reported before their answers are read.
const AT_ONCE: usize = 32;

/// What is no frame.
const MALFORMED: [&str; 5] = ["{", "[]", r#"{"type":7}"#, "\0", r#"{"type":"complete"}"#];

/// The receive buffer of an extension that never reads, in bytes.
const LITTLE_ROOM: u32 = 4_096;

/// How long the script is that is pushed to it, in bytes.
const LARGE: usize = 900_000;

impl Target {
    /// An extension that proves itself.
    async fn paired(&self, browser: &str) -> anyhow::Result<LoadExtension> {
        LoadExtension::connect(self.port, &self.identity(browser)).await
    }
}

/// Holds sockets whose `hello` does not come, and opens each anew that is closed.
pub(crate) async fn silent(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target: Target, _| async move {
        loop {
            // It may be closed before the handshake is over.
            let stream = tcp(target.port).await?;
            if let Ok(mut extension) = LoadExtension::open(stream, &target.identity("silent")).await
            {
                while extension.text().await.is_ok() {}
            }
            target.tried();
        }
    };
    target.abreast(HELD, one_after_another).await
}

/// Sends what is no frame until the socket is closed, and connects anew.
pub(crate) async fn malformed(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target: Target, number| async move {
        let browser = format!("rubbish-{number}");
        loop {
            let mut extension = target.paired(&browser).await?;
            for frame in MALFORMED {
                // It may be closed by now.
                if extension.send(frame.to_owned()).await.is_ok() {
                    target.tried();
                }
            }
            while extension.text().await.is_ok() {}
        }
    };
    target.abreast(EXTENSIONS, one_after_another).await
}

/// Reports results of commands that it does not have.
pub(crate) async fn forged(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target: Target, number| async move {
        let mut extension = target.paired(&format!("liar-{number}")).await?;
        let fence = format!(r#""correlation_id":"exec_1_{:032x}","attempt":1"#, number);
        let forged = format!(r#"{{"type":"complete",{fence},"result":{{"success":true}}}}"#);
        loop {
            for _ in 0..AT_ONCE {
                extension.send(forged.clone()).await?;
                target.tried();
            }
            for _ in 0..AT_ONCE {
                let answer = extension.text().await?;
                ensure!(!answer.contains(r#""result_ack""#), "it counted: {answer}");
            }
        }
    };
    target.abreast(EXTENSIONS, one_after_another).await
}

/// Has large commands pushed to extensions that read nothing, and claims what they do not
/// have until what that is answered is too much, and connects anew.
pub(crate) async fn unread(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target, number| async move { never_read(&target, number).await };
    target.abreast(EXTENSIONS, one_after_another).await
}

async fn never_read(target: &Target, number: usize) -> anyhow::Result<()> {
    let mut client = LoadClient::connect(target.port, target.token.clone(), Duration::ZERO).await?;
    let browser = format!("unread-{number}");
    client.name = browser.clone();
    let pushes = [7, 8].map(|tab| {
        let script = "x".repeat(LARGE);
        let place = format!(r#""browser":"{browser}","tab_id":{tab}"#);
        call("interact", &format!(r#""action":"execute_js","script":"{script}",{place}"#))
    });
    let claim = r#"{"type":"claim","correlation_id":"nobodys","attempt":1}"#;
    loop {
        let mut extension = with_little_room(target, &browser).await?;
        for push in &pushes {
            // It may have too many waiting, or have lost its link.
            let _ = client.ask(client.request("/mcp", push.clone())?).await?;
        }
        while extension.send(claim.to_owned()).await.is_ok() {
            target.tried();
        }
    }
}

/// A paired extension into whose socket hardly anything fits.
async fn with_little_room(target: &Target, browser: &str) -> anyhow::Result<LoadExtension> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(LITTLE_ROOM)?;
    let stream = socket.connect(([127, 0, 0, 1], target.port).into()).await?;
    let identity = target.identity(browser);
    let mut extension = LoadExtension::open(stream, &identity).await?;
    extension.introduce(&identity).await?;
    Ok(extension)
}
