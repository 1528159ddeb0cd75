//! A client whose browser answers by itself, whoever's commands come.

use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use tokio::task::JoinHandle;

use super::{LoadClient, LoadExtension, LoadPair, ParsedFrame, RESULT, check_complete};

/// A client, and its browser in a task of its own.
pub struct LoadAgent {
    client: LoadClient,
    body: Bytes,
    browser: JoinHandle<anyhow::Result<()>>,
}

impl LoadAgent {
    /// Must be called in a runtime, which runs the browser.
    pub fn of(pair: LoadPair) -> Self {
        let body = pair.body(r#","wait_ms":10000"#);
        let LoadPair { client, mut extension, .. } = pair;
        let browser = tokio::spawn(async move { extension.answer().await });
        Self { client, body, browser }
    }

    /// A call that waits for its result; when that was there.
    pub async fn call(&mut self) -> anyhow::Result<Instant> {
        let request = self.client.request("/mcp", self.body.clone())?;
        let (answer, at) = self.client.send(request).await?;
        check_complete(&answer)?;
        Ok(at)
    }
}

impl Drop for LoadAgent {
    fn drop(&mut self) {
        self.browser.abort();
    }
}

impl LoadExtension {
    /// Runs whatever comes, in no time, until the socket is closed.
    pub async fn answer(&mut self) -> anyhow::Result<()> {
        self.answer_until(usize::MAX).await
    }

    /// The same, until the results of so many commands are acknowledged.
    pub async fn answer_until(&mut self, results: usize) -> anyhow::Result<()> {
        let mut acknowledged = 0;
        while acknowledged < results {
            let text = self.text().await?;
            let ParsedFrame { kind, t, attempt, correlation_id, command } =
                serde_json::from_str(&text)?;
            let id = correlation_id.or(command.map(|command| command.correlation_id));
            let fence = || {
                let id = id.as_deref().unwrap_or_default();
                format!(r#""correlation_id":"{id}","attempt":{attempt}"#)
            };
            match &*kind {
                "command" => self.send(format!(r#"{{"type":"claim",{}}}"#, fence())).await?,
                "go" => {
                    let fence = fence();
                    self.send(format!(r#"{{"type":"complete",{fence},"result":{RESULT}}}"#))
                        .await?;
                }
                "result_ack" => acknowledged += 1,
                "ping" => self.send(json!({"type": "pong", "t": t}).to_string()).await?,
                _ => {}
            }
        }
        Ok(())
    }
}
