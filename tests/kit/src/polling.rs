//! Extensions that only poll: one that asks for its queries, and one that speaks `/sync`.

use serde_json::{Value, json};

use super::{RawAnswer, RawConnection, TestDaemon, raw};

/// A request as an extension that polls makes it.
pub struct PollingExtension<'a> {
    pub daemon: &'a TestDaemon,
    pub extension: &'a str,
    pub session: &'a str,
}

impl<'a> PollingExtension<'a> {
    /// The id of the extension that was recorded.
    pub const ID: &'static str = "pknkjmecjogdphnahbagadepchhknbfe";

    pub fn new(daemon: &'a TestDaemon) -> Self {
        Self { daemon, extension: Self::ID, session: "ext_1_a" }
    }

    /// One of this id, that names this session.
    pub fn named(daemon: &'a TestDaemon, extension: &'a str, session: &'a str) -> Self {
        Self { daemon, extension, session }
    }

    /// One that a person has let in.
    pub fn allowed(daemon: &'a TestDaemon) -> Self {
        let old = Self::new(daemon);
        daemon.home().legacy().allow(old.extension).unwrap();
        old
    }

    pub async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> RawAnswer {
        let body = body.as_ref();
        let lines = [
            format!("POST {path} HTTP/1.1"),
            "Host: HOST".to_owned(),
            "Content-Type: application/json".to_owned(),
            "X-Gasoline-Extension-Version: 5.6.0".to_owned(),
            format!("Origin: chrome-extension://{}", self.extension),
            "Sec-Fetch-Site: none".to_owned(),
            format!("Content-Length: {}", body.len()),
        ];
        raw(self.daemon, &lines.each_ref().map(String::as_str), body).await
    }

    pub async fn name_session(&self) -> RawAnswer {
        let body = json!({"session_id": self.session, "settings": {"aiWebPilotEnabled": true}});
        self.post("/settings", body.to_string()).await
    }

    /// The queries of one poll.
    pub async fn poll(&self) -> Vec<Value> {
        let lines = [
            "GET /pending-queries HTTP/1.1".to_owned(),
            "Host: HOST".to_owned(),
            "Content-Type: application/json".to_owned(),
            "X-Gasoline-Pilot: 1".to_owned(),
            "X-Gasoline-Extension-Version: 5.6.0".to_owned(),
            format!("X-Gasoline-Session: {}", self.session),
            "Sec-Fetch-Site: none".to_owned(),
        ];
        let answer = raw(self.daemon, &lines.each_ref().map(String::as_str), &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        let queries = answer["queries"].as_array().unwrap().clone();
        assert_eq!(answer["count"], queries.len());
        queries
    }

    /// One that a person has let in, and that polls.
    pub async fn connect(daemon: &'a TestDaemon) -> Self {
        let old = Self::allowed(daemon);
        assert_eq!(old.name_session().await.status, 200);
        assert!(old.poll().await.is_empty());
        old
    }
}

/// A request as a `/sync` extension makes it.
#[derive(Clone, Copy)]
pub struct SyncingExtension<'a> {
    pub daemon: &'a TestDaemon,
    pub extension: &'a str,
    pub version: &'a str,
}

impl<'a> SyncingExtension<'a> {
    /// The id of an extension of this kind that was recorded.
    pub const ID: &'static str = "dpadlilgmpioiddafgmbfmolmfeadnph";

    pub const fn new(daemon: &'a TestDaemon) -> Self {
        Self { daemon, extension: Self::ID, version: "0.8.2" }
    }

    pub fn head(&self, path: &str, length: usize) -> String {
        [
            format!("POST {path} HTTP/1.1"),
            format!("Host: 127.0.0.1:{}", self.daemon.port()),
            "Content-Type: application/json".to_owned(),
            format!("X-Kaboom-Extension-Version: {}", self.version),
            format!("Origin: chrome-extension://{}", self.extension),
            "Sec-Fetch-Site: none".to_owned(),
            format!("Content-Length: {length}\r\n\r\n"),
        ]
        .join("\r\n")
    }

    /// Its request, with further fields.
    pub fn body(&self, fields: &Value) -> String {
        let mut body = json!({
            "ext_session_id": "ext_1_a",
            "extension_version": self.version,
            "settings": {"pilot_enabled": true},
            "in_progress": [],
        });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body.to_string()
    }

    /// A request that is not answered yet.
    pub async fn begin(&self, body: impl AsRef<[u8]>) -> RawConnection {
        let mut connection = RawConnection::open(self.daemon).await;
        connection.send(self.head("/sync", body.as_ref().len())).await;
        connection.send(body).await;
        connection
    }

    pub async fn post(&self, body: impl AsRef<[u8]>) -> RawAnswer {
        self.begin(body).await.answer().await.expect("an answer")
    }

    pub async fn sync(&self, fields: Value) -> Value {
        let answer = self.post(self.body(&fields)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// One that a person has let in: it has brought a result that nobody knows, and so was not
    /// held.
    pub async fn connect(daemon: &'a TestDaemon) -> Self {
        let newer = Self::new(daemon);
        daemon.home().legacy().allow(newer.extension).unwrap();
        newer.sync(json!({"command_results": [{"id": "q_0", "result": 1}]})).await;
        newer
    }

    /// The command of the next answer.
    pub async fn taken(&self) -> Value {
        self.sync(json!({})).await["commands"][0].clone()
    }
}

/// What a `/sync` extension sends when a query has given this value.
pub fn result_of(query: &Value, value: impl Into<Value>) -> Value {
    let value: Value = value.into();
    json!({"command_results": [{
        "id": query["id"], "correlation_id": query["correlation_id"], "status": "complete",
        "result": {"success": true, "result": value},
    }]})
}
