//! An extension as the daemon sees it: a WebSocket that speaks frames, and does with
//! them whatever a test wants.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tabwire::proof::ExtensionKey;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{ExtensionIdentity, TestDaemon, soon};

/// An extension in a browser, not connected.
#[derive(Clone)]
pub struct ExtensionBuilder {
    port: u16,
    identity: ExtensionIdentity,
    actions: Vec<&'static str>,
    tabs: Vec<Value>,
    shared: Vec<i64>,
    receive_buffer: Option<u32>,
}

/// A connected extension.
pub struct FakeExtension {
    shim: ExtensionBuilder,
    socket: WebSocketStream<TcpStream>,
    /// What was read while the answer to a question was waited for.
    unread: VecDeque<Value>,
    barriers: u32,
    answers_pings: bool,
}

/// A command as it was delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveredCommand {
    pub id: String,
    pub attempt: u64,
    /// Everything that the frame says of it.
    pub command: Value,
}

impl DeliveredCommand {
    pub fn of(frame: &Value) -> Self {
        assert_eq!(frame["type"], "command", "{frame}");
        let command = frame["command"].clone();
        let id = command["correlation_id"].as_str().unwrap().to_owned();
        Self { id, attempt: frame["attempt"].as_u64().unwrap(), command }
    }

    pub fn script(&self) -> &str {
        self.command["params"]["script"].as_str().unwrap()
    }

    /// A frame of this type about this command, with further fields.
    pub fn frame(&self, kind: &str, fields: Value) -> Value {
        let Value::Object(fields) = fields else { panic!("fields are an object: {fields}") };
        let mut frame = json!({"type": kind, "correlation_id": self.id, "attempt": self.attempt});
        frame.as_object_mut().unwrap().extend(fields);
        frame
    }

    /// What the daemon answers of this type.
    pub fn answer(&self, kind: &str) -> Value {
        self.frame(kind, json!({}))
    }

    /// The frame that tells it to stop.
    pub fn cancel(&self, reason: &str) -> Value {
        json!({"type": "cancel", "correlation_id": self.id, "reason": reason})
    }

    /// The frame that says that it does not count.
    pub fn nack(&self, reason: &str) -> Value {
        self.frame("nack", json!({"reason": reason}))
    }
}

/// A tab as the extension reports it; the first window, not active.
pub fn tab(id: i64) -> Value {
    json!({"tab_id": id, "window_id": 1, "url": format!("http://tab-{id}.test/"),
           "title": format!("Tab {id}"), "active": false, "focused": true})
}

/// The same, shown by its window.
pub fn active_tab(id: i64) -> Value {
    let mut tab = tab(id);
    tab["active"] = true.into();
    tab
}

impl ExtensionBuilder {
    /// Our own extension in a browser with two tabs: 7, which is active, and 8.
    pub fn of(daemon: &TestDaemon) -> Self {
        Self::at(daemon.port(), &daemon.home())
    }

    /// The same for a daemon of which only the port and the state directory are known.
    pub fn at(port: u16, home: &StateDirectory) -> Self {
        Self::with_identity(ExtensionIdentity::new(port, home, "browser-1"))
    }

    /// The same with this name and key.
    pub fn with_identity(identity: ExtensionIdentity) -> Self {
        Self {
            port: identity.port,
            identity,
            actions: vec!["execute_js", "navigate", "page_info", "screenshot", "tab_list"],
            tabs: vec![active_tab(7), tab(8)],
            shared: Vec::new(),
            receive_buffer: None,
        }
    }

    pub fn browser(mut self, browser: &str) -> Self {
        browser.clone_into(&mut self.identity.browser);
        self
    }

    /// Another life of its worker.
    pub fn instance(mut self, instance: &str) -> Self {
        instance.clone_into(&mut self.identity.instance);
        self
    }

    /// Another extension; its key stays the same.
    pub fn extension(mut self, id: &str) -> Self {
        id.clone_into(&mut self.identity.extension_id);
        self
    }

    pub fn key(mut self, key: ExtensionKey) -> Self {
        self.identity.key = Arc::new(key);
        self
    }

    pub fn actions(self, actions: &[&'static str]) -> Self {
        Self { actions: actions.to_vec(), ..self }
    }

    pub fn tabs(self, tabs: Vec<Value>) -> Self {
        Self { tabs, ..self }
    }

    /// The person shares these tabs.
    pub fn sharing(self, tabs: &[i64]) -> Self {
        Self { shared: tabs.to_vec(), ..self }
    }

    /// Leaves the daemon little room to send ahead.
    pub fn with_little_room(self) -> Self {
        Self { receive_buffer: Some(4_096), ..self }
    }

    /// What a person would call this browser.
    pub fn label(&self) -> String {
        format!("Browser {}", self.identity.browser)
    }

    /// Opens the socket, no more.
    pub async fn open(&self) -> FakeExtension {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(size) = self.receive_buffer {
            socket.set_recv_buffer_size(size).unwrap();
        }
        let address = format!("127.0.0.1:{}", self.port);
        let stream = soon("a connection", socket.connect(address.parse().unwrap())).await.unwrap();
        stream.set_nodelay(true).unwrap();
        self.open_on(stream).await
    }

    /// The same on a connection that is there.
    pub async fn open_on(&self, stream: TcpStream) -> FakeExtension {
        let upgrade = self.identity.upgrade(self.port);
        let upgrade = tokio_tungstenite::client_async(upgrade, stream);
        let (socket, _) = soon("the upgrade", upgrade).await.unwrap();
        FakeExtension::new(self, socket)
    }

    /// Opens the socket; `None` if that fails, since the daemon may be killed at any moment.
    pub async fn try_open(&self) -> Option<FakeExtension> {
        let address = format!("127.0.0.1:{}", self.port);
        let stream = TcpStream::connect(&address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let upgrade = self.identity.upgrade(self.port);
        let (socket, _) = tokio_tungstenite::client_async(upgrade, stream).await.ok()?;
        Some(FakeExtension::new(self, socket))
    }

    /// The `hello` that answers a challenge.
    pub fn hello_to(&self, challenge: &str) -> Value {
        self.identity.hello_to(challenge)
    }

    /// Sees to it that the daemon proves that it holds the key, too.
    pub fn check_welcome(&self, welcome: &Value, hello: &Value, challenge: &str) {
        let is_proven = self.identity.is_proven_by(welcome, hello, challenge);
        assert!(is_proven, "the daemon proves that it holds the key: {welcome}");
    }

    pub fn ready_frame(&self, in_flight: &[Value]) -> Value {
        json!({
            "type": "ready", "label": self.label(), "user_agent": "it", "actions": self.actions,
            "tabs": self.tabs, "in_flight": in_flight, "tab_scopes": true, "hands_over": true,
            "private_tabs": true, "far_owners": true, "shared_tabs": self.shared,
        })
    }

    /// The same, which has dialled this port, from where a relay passes on what it says.
    pub const fn dialled(mut self, port: u16) -> Self {
        self.identity.port = port;
        self
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn origin(&self) -> String {
        self.identity.origin()
    }

    /// Opens the socket and proves itself, no more.
    pub async fn greet(&self) -> FakeExtension {
        let mut extension = self.open().await;
        extension.hello().await;
        extension
    }

    /// Connects; nothing is in flight.
    pub async fn connect(&self) -> FakeExtension {
        self.connect_with(&[]).await
    }

    /// Connects with commands in flight, each with its state.
    pub async fn connect_with(&self, in_flight: &[(&DeliveredCommand, &str)]) -> FakeExtension {
        let mut extension = self.greet().await;
        extension.ready(in_flight).await;
        extension
    }
}

impl FakeExtension {
    fn new(shim: &ExtensionBuilder, socket: WebSocketStream<TcpStream>) -> Self {
        let (shim, unread) = (shim.clone(), VecDeque::new());
        Self { shim, socket, unread, barriers: 0, answers_pings: false }
    }

    /// Answers the heartbeat whenever it comes upon one, for tests that may take longer than
    /// its interval.
    pub fn with_heartbeat(self) -> Self {
        Self { answers_pings: true, ..self }
    }

    /// The `hello` that answers a challenge.
    pub fn hello_to(&self, challenge: &str) -> Value {
        self.shim.hello_to(challenge)
    }

    /// The challenge's nonce.
    pub async fn challenge(&mut self) -> String {
        let challenge = self.next().await;
        assert_eq!(challenge["type"], "challenge", "{challenge}");
        challenge["nonce"].as_str().unwrap().to_owned()
    }

    /// Proves itself, and has the daemon prove itself; its `welcome`.
    pub async fn hello(&mut self) -> Value {
        let challenge = self.challenge().await;
        let hello = self.hello_to(&challenge);
        self.send(&hello).await;
        let welcome = self.next().await;
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        self.shim.check_welcome(&welcome, &hello, &challenge);
        welcome
    }

    /// Says that it is ready, and waits until the daemon has taken that in.
    pub async fn ready(&mut self, in_flight: &[(&DeliveredCommand, &str)]) {
        let in_flight: Vec<_> = in_flight
            .iter()
            .map(|(command, state)| {
                json!({"correlation_id": command.id, "attempt": command.attempt, "state": state})
            })
            .collect();
        let ready = self.shim.ready_frame(&in_flight);
        self.send(&ready).await;
        let sent = self.so_far().await;
        self.unread.extend(sent);
    }

    /// The same as [`hello`](Self::hello), unless the connection breaks.
    pub async fn try_hello(&mut self) -> Option<Value> {
        let challenge = self.try_next().await?["nonce"].as_str()?.to_owned();
        let hello = self.hello_to(&challenge);
        self.try_send(&hello).await?;
        self.try_next().await.filter(|welcome| welcome["type"] == "welcome")
    }

    /// The same as [`ready`](Self::ready), unless the connection breaks.
    pub async fn try_ready(&mut self, in_flight: &[Value]) -> Option<()> {
        let ready = self.shim.ready_frame(in_flight);
        self.try_send(&ready).await
    }

    /// The next frame; `None` once the connection has ended.
    ///
    /// Cancel safe.
    pub async fn try_next(&mut self) -> Option<Value> {
        match self.socket.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).ok(),
            _ended => None,
        }
    }

    /// Sends a frame; `None` once the connection has ended.
    pub async fn try_send(&mut self, frame: &Value) -> Option<()> {
        self.socket.send(Message::text(frame.to_string())).await.ok()
    }

    pub async fn send(&mut self, frame: &Value) {
        self.send_message(Message::text(frame.to_string())).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        soon("sending", self.socket.send(message)).await.unwrap();
    }

    /// Sends bytes past the WebSocket, and sees to it that the other side takes them all.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        soon("sending", self.socket.get_mut().write_all(bytes)).await.unwrap();
    }

    /// Sends what the daemon may refuse while it is still being sent.
    pub async fn try_send_message(&mut self, message: Message) {
        let _ = soon("sending", self.socket.send(message)).await;
    }

    /// The next frame.
    pub async fn next(&mut self) -> Value {
        match self.unread.pop_front() {
            Some(frame) => frame,
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Value {
        loop {
            let frame = match self.next_message().await {
                Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
                other => panic!("a frame was expected, not {other:?}"),
            };
            if !self.answered_as_ping(&frame).await {
                return frame;
            }
        }
    }

    /// Waits, for as long as it takes, until there is a next frame.
    pub async fn until_next(&mut self) {
        while self.unread.is_empty() {
            let frame = self.try_next().await.expect("the daemon closed the socket");
            if !self.answered_as_ping(&frame).await {
                self.unread.push_back(frame);
            }
        }
    }

    async fn answered_as_ping(&mut self, frame: &Value) -> bool {
        let is_ping = self.answers_pings && frame["type"] == "ping";
        if is_ping {
            self.send(&json!({"type": "pong", "t": frame["t"]})).await;
        }
        is_ping
    }

    async fn next_message(&mut self) -> Option<Message> {
        soon("a frame", self.socket.next()).await.and_then(Result::ok)
    }

    /// Reads on until the daemon closes the socket: its code and reason.
    pub async fn closed(&mut self) -> (u16, String) {
        let mut said = None;
        while let Some(message) = self.next_message().await {
            if let Message::Close(frame) = message {
                said = frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned()));
            }
        }
        said.expect("the daemon says why it closes the socket")
    }

    /// The same, and it says nothing more before it does.
    pub async fn closed_without_a_frame(&mut self) -> (u16, String) {
        assert_eq!(self.unread, Vec::<Value>::new());
        match self.next_message().await {
            Some(Message::Close(Some(frame))) => {
                (frame.code.into(), frame.reason.as_str().to_owned())
            }
            other => panic!("a close frame was expected, not {other:?}"),
        }
    }

    /// The next frame, which must be a command.
    pub async fn command(&mut self) -> DeliveredCommand {
        DeliveredCommand::of(&self.next().await)
    }

    /// The next frame must be this one.
    pub async fn expect(&mut self, frame: &Value) {
        assert_eq!(self.next().await, *frame);
    }

    /// This frame comes. Others may pass it, since it has to wait until what it tells of is
    /// recorded; they stay unread.
    pub async fn expect_in_time(&mut self, frame: &Value) {
        let mut passed = Vec::new();
        loop {
            let next = self.next().await;
            if next == *frame {
                break;
            }
            passed.push(next);
        }
        passed.extend(self.unread.drain(..));
        self.unread = passed.into();
    }

    /// Everything that the daemon has sent so far: it answers in the order in which it is
    /// asked, so what comes before the answer to a question was there before it.
    pub async fn so_far(&mut self) -> Vec<Value> {
        self.barriers += 1;
        let id = format!("barrier-{}", self.barriers);
        self.send(&json!({"type": "claim", "correlation_id": id, "attempt": 1})).await;
        let mut frames: Vec<_> = self.unread.drain(..).collect();
        loop {
            let frame = self.read().await;
            if frame["correlation_id"] == id.as_str() {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// Sees to it that the daemon has sent nothing.
    pub async fn expect_nothing(&mut self) {
        assert_eq!(self.so_far().await, Vec::<Value>::new());
    }

    /// Claims a command and gets its `go`.
    pub async fn claim(&mut self, command: &DeliveredCommand) {
        self.send(&command.answer("claim")).await;
        self.expect(&command.answer("go")).await;
    }

    /// Takes the next command, which must be this script, starts it, and reports a quarter of it as
    /// done.
    pub async fn start_script(&mut self, script: &str) -> DeliveredCommand {
        let command = self.command().await;
        assert_eq!(command.script(), script);
        self.claim(&command).await;
        self.pending(&command, json!({"message": "a quarter", "progress": 0.25})).await;
        command
    }

    pub async fn pending(&mut self, command: &DeliveredCommand, fields: Value) {
        self.send(&command.frame("pending", fields)).await;
    }

    /// Reports a result and gets its `result_ack`.
    pub async fn complete(&mut self, command: &DeliveredCommand, result: &Value) {
        self.report(command, "complete", json!({"result": result})).await;
    }

    /// Reports an end and gets its `result_ack`.
    pub async fn report(&mut self, command: &DeliveredCommand, kind: &str, fields: Value) {
        self.send(&command.frame(kind, fields)).await;
        self.expect_in_time(&command.answer("result_ack")).await;
    }

    /// Takes the next command and runs it.
    pub async fn run(&mut self, result: &Value) -> DeliveredCommand {
        let command = self.command().await;
        self.claim(&command).await;
        self.complete(&command, result).await;
        command
    }

    /// Runs all commands, with these results, until the connection ends.
    pub async fn run_all(mut self, mut result: impl FnMut(&DeliveredCommand) -> Value) {
        let mut claimed = HashMap::new();
        while let Some(frame) = self.try_next().await {
            let say = match frame["type"].as_str().unwrap_or_default() {
                "command" => {
                    let command = DeliveredCommand::of(&frame);
                    let claim = command.answer("claim");
                    claimed.insert(command.id.clone(), command);
                    claim
                }
                "go" => {
                    let id = frame["correlation_id"].as_str().unwrap_or_default();
                    let Some(command) = claimed.remove(id) else { continue };
                    command.frame("complete", json!({"result": result(&command)}))
                }
                "ping" => json!({"type": "pong", "t": frame["t"]}),
                _ => continue,
            };
            if self.try_send(&say).await.is_none() {
                return;
            }
        }
    }

    /// The browser's tabs have changed.
    pub async fn set_tabs(&mut self, tabs: &[Value]) {
        self.send(&json!({"type": "tabs", "tabs": tabs})).await;
    }

    /// The connection breaks: no closing handshake.
    pub fn breaks(self) {
        drop(self);
    }

    /// Runs whatever comes, as a good extension does, until the connection ends.
    pub fn auto(self, run: impl Fn(&DeliveredCommand) -> Value + Send + 'static) -> AutoExtension {
        let runs = Arc::new(Mutex::new(HashMap::new()));
        let task = tokio::spawn(serve(self, run, runs.clone()));
        AutoExtension { runs, task }
    }
}

/// An extension that runs whatever comes.
pub struct AutoExtension {
    runs: Arc<Mutex<HashMap<String, usize>>>,
    task: JoinHandle<()>,
}

impl AutoExtension {
    /// How often each command was run.
    pub fn runs(&self) -> HashMap<String, usize> {
        self.runs.lock().unwrap().clone()
    }
}

impl Drop for AutoExtension {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut extension: FakeExtension,
    run: impl Fn(&DeliveredCommand) -> Value,
    runs: Arc<Mutex<HashMap<String, usize>>>,
) {
    let mut claimed: HashMap<String, DeliveredCommand> = HashMap::new();
    loop {
        let frame: Value = match extension.unread.pop_front() {
            Some(frame) => frame,
            None => match extension.socket.next().await {
                Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
                _ended => return,
            },
        };
        let ready = match frame["type"].as_str().unwrap() {
            "command" => {
                let command = DeliveredCommand::of(&frame);
                if command.command["safe"] == true {
                    Some(command)
                } else {
                    extension.send(&command.answer("claim")).await;
                    claimed.insert(command.id.clone(), command);
                    None
                }
            }
            // A second `go` for the same attempt finds nothing to run.
            "go" => claimed.remove(frame["correlation_id"].as_str().unwrap()),
            "ping" => {
                extension.send(&json!({"type": "pong", "t": frame["t"]})).await;
                None
            }
            "result_ack" | "cancel" | "capture" | "extension_changed" | "reload" | "held_tabs"
            | "opened_tabs" | "close_tabs" => None,
            unexpected => panic!("{unexpected}: {frame}"),
        };
        if let Some(command) = ready {
            *runs.lock().unwrap().entry(command.id.clone()).or_default() += 1;
            let result = run(&command);
            extension.send(&command.frame("complete", json!({"result": result}))).await;
        }
    }
}
