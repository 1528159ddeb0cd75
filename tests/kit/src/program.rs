//! The program itself, in a throw-away state directory.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tabwire::home::DaemonRecord;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::contents::{body, check_contents, in_full};
use super::published::{check_answer, check_notification};
use super::{LEGACY, StateDir, soon};

/// A place for the program: a state directory of its own, and any free port. Whatever
/// daemon it leaves behind is ended with it.
pub struct ProgramSandbox {
    dir: StateDir,
    port: u16,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub struct ProgramOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A `tabwire serve` that listens.
pub struct ServedDaemon {
    child: Child,
    pub port: u16,
}

impl Default for ProgramSandbox {
    fn default() -> Self {
        Self::with_port(0)
    }
}

impl ProgramSandbox {
    pub fn new() -> Self {
        Self::default()
    }

    /// One whose daemon is to listen on this port.
    pub fn with_port(port: u16) -> Self {
        Self { dir: StateDir::default(), port }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> tabwire::home::StateDirectory {
        self.dir.home()
    }

    /// The daemon that runs here.
    pub fn daemon(&self) -> Option<DaemonRecord> {
        let home = self.home();
        if home.has_daemon().unwrap() { home.daemon_record().unwrap() } else { None }
    }

    /// Waits until no daemon runs here any more, so that nobody takes a dying one for a
    /// living one.
    pub async fn until_no_daemon(&self) {
        let home = self.home();
        let gone = async {
            while home.has_daemon().unwrap() {
                tokio::task::yield_now().await;
            }
        };
        soon("the daemon's end", gone).await;
    }

    /// Waits until another daemon than this one runs here.
    pub async fn daemon_after(&self, gone: &DaemonRecord) -> DaemonRecord {
        let next = async {
            loop {
                match self.daemon() {
                    Some(next) if next.pid != gone.pid => return next,
                    Some(_) | None => tokio::task::yield_now().await,
                }
            }
        };
        soon("another daemon", next).await
    }

    /// The processes, of whatever program, that were started for this place.
    pub fn processes(&self) -> Vec<u32> {
        let wanted = format!("TABWIRE_HOME={}", self.path().display());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|part| part == wanted.as_bytes())
        };
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).collect()
    }

    /// The program with these arguments, not started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(program(), arguments)
    }

    /// Another program with these arguments, which may run ours.
    pub fn command_of(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("TABWIRE_HOME", self.path())
            .env("TABWIRE_PORT", self.port.to_string())
            .env_remove("TABWIRE_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, arguments: &[&str]) -> ProgramOutput {
        finish(self.command(arguments)).await
    }

    /// Starts `tabwire serve` and waits until it listens.
    pub async fn serve(&self, arguments: &[&str]) -> ServedDaemon {
        let arguments: Vec<_> = ["serve", "--json"].iter().chain(arguments).copied().collect();
        self.serve_by(self.command(&arguments)).await
    }

    /// Starts the daemon by this command, and waits until it listens.
    pub async fn serve_by(&self, mut command: Command) -> ServedDaemon {
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = soon("the daemon's start", said.next_line()).await.unwrap();
        let Some(line) = line else {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
            panic!("it did not start: {stderr}");
        };
        let said: Value = serde_json::from_str(&line).unwrap();
        let port = said["port"].as_u64().unwrap().try_into().unwrap();
        ServedDaemon { child, port }
    }
}

impl Drop for ProgramSandbox {
    fn drop(&mut self) {
        // Nothing here may panic: the test may have failed already.
        let Ok(home) = tabwire::home::StateDirectory::open(self.path()) else { return };
        let Ok(true) = home.has_daemon() else { return };
        if let Ok(Some(record)) = home.daemon_record() {
            let _ = kill_process(pid(record.pid), Signal::KILL);
        }
    }
}

/// The path of the program: the build that stands beside the tests, unless `TABWIRE_PROGRAM` names
/// another one.
pub fn program() -> &'static str {
    // Cargo tells this path only to the tests of the package that the program belongs to.
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let named = std::env::var("TABWIRE_PROGRAM").ok();
        named.unwrap_or_else(|| {
            let tests = std::env::current_exe().unwrap();
            let built = tests.ancestors().nth(2).unwrap().join("tabwire");
            assert!(built.is_file(), "no {}: run `cargo build` first", built.display());
            built.into_os_string().into_string().unwrap()
        })
    });
    &PROGRAM
}

/// The program for a daemon that runs in this process.
pub fn cli_of(daemon: &super::TestDaemon, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(arguments)
        .env("TABWIRE_HOME", daemon.home().dir())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub async fn finish(mut command: Command) -> ProgramOutput {
    ProgramOutput::of(soon("the program's end", command.output()).await.unwrap())
}

impl ProgramOutput {
    /// The same as text.
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl ServedDaemon {
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Asks it to end, and waits until it has: how it ended, and what it said to standard
    /// error, which must be less than a pipe holds.
    pub async fn stop(self) -> (ExitStatus, String) {
        signal(self.pid(), Signal::TERM);
        let output = soon("the daemon's end", self.child.wait_with_output()).await.unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }

    /// Waits for its end.
    pub async fn end(mut self) -> ExitStatus {
        soon("the daemon's end", self.child.wait()).await.unwrap()
    }
}

fn pid(pid: u32) -> Pid {
    Pid::from_raw(pid.try_into().unwrap()).unwrap()
}

/// Sends a signal to a process of ours.
pub fn signal(process: u32, signal: Signal) {
    kill_process(pid(process), signal).unwrap();
}

/// No call of a bridge takes longer: it has its own time limits.
const LONGEST_CALL: Duration = Duration::from_secs(70);

/// An MCP client of `tabwire mcp`: lines in, lines out.
pub struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// Answers that came before the one that was waited for.
    unread: Vec<Value>,
    /// Requests that are not answered.
    asked: Vec<Value>,
    checks_answers: bool,
    /// How many requests had an id that was given here.
    requests: u64,
}

impl StdioClient {
    pub fn start(place: &ProgramSandbox) -> Self {
        Self::spawn(place.command(&["mcp"]))
    }

    pub fn spawn(mut command: Command) -> Self {
        Self::start_again(&mut command)
    }

    /// Starts what may have been started before.
    pub fn start_again(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
            unread: Vec::new(),
            asked: Vec::new(),
            checks_answers: true,
            requests: 0,
        }
    }

    /// Does not check answers against what is published of them, which would be measured, too.
    pub fn without_checks(self) -> Self {
        Self { checks_answers: false, ..self }
    }

    /// Shakes hands as a client of this name.
    pub async fn initialize(&mut self, name: &str) {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": {"name": name, "version": "1"},
        });
        self.request("initialize", params).await;
    }

    /// Sends a request under an id that is given here, and waits as long as a call may take; its
    /// result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut answer = self.try_rpc(&request).await.expect("the bridge has ended");
        answer["result"].take()
    }

    /// Its process; `None` once it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a request and waits for its answer; `None` if the bridge was killed.
    pub async fn try_rpc(&mut self, request: &Value) -> Option<Value> {
        self.try_send(request).await?;
        loop {
            let message = self.try_read().await?;
            if message["id"] == request["id"] {
                if self.checks_answers {
                    check_answer(request, &message);
                }
                return Some(message);
            }
        }
    }

    /// Sends a message; `None` if the bridge was killed.
    pub async fn try_send(&mut self, message: &Value) -> Option<()> {
        let line = format!("{message}\n");
        self.input.as_mut()?.write_all(line.as_bytes()).await.ok()
    }

    /// The next message, which may take as long as a call; `None` if the bridge was killed.
    pub async fn try_read(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(LONGEST_CALL, self.output.next_line()).await;
        serde_json::from_str(&line.expect("a call hangs").ok()??).ok()
    }

    /// Sends bytes as they are.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        soon("writing", input.write_all(bytes)).await.unwrap();
        input.flush().await.unwrap();
    }

    /// Sends a message as a line.
    pub async fn send(&mut self, message: &Value) {
        self.asked.push(message.clone());
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    /// The next line, which must be a JSON-RPC message; `None` at the end.
    pub async fn read(&mut self) -> Option<Value> {
        let line = soon("a line", self.output.next_line()).await.unwrap()?;
        Some(self.checked(&line))
    }

    fn checked(&mut self, line: &str) -> Value {
        let message: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("nothing but MCP on stdout ({error}): {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        self.check(&message);
        message
    }

    /// Checks a message against what is published of it.
    fn check(&mut self, message: &Value) {
        if !self.checks_answers {
            return;
        }
        check_notification(message);
        let of_it = |asked: &Value| message.get("id").is_some_and(|id| *id == asked["id"]);
        if let Some(n) = self.asked.iter().position(of_it) {
            check_answer(&self.asked.remove(n), message);
        }
    }

    /// The answer to the request of this id.
    pub async fn answer(&mut self, id: &Value) -> Value {
        if let Some(n) = self.unread.iter().position(|answer| answer["id"] == *id) {
            return self.unread.remove(n);
        }
        loop {
            let message = self.read().await.expect("the bridge has ended");
            if message["id"] == *id {
                return message;
            }
            self.unread.push(message);
        }
    }

    /// The answer to the request of this id, which may take as long as a call.
    pub async fn late_answer(&mut self, id: &Value) -> Value {
        while !self.unread.iter().any(|answer| answer["id"] == *id) {
            let line = tokio::time::timeout(LONGEST_CALL, self.output.next_line()).await;
            let line = line.expect("a call hangs").unwrap().expect("the bridge has ended");
            let message = self.checked(&line);
            self.unread.push(message);
        }
        self.answer(id).await
    }

    /// Sends a request and waits for its answer.
    pub async fn rpc(&mut self, id: Value, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message).await;
        self.answer(&id).await
    }

    /// Sends a tool call, and does not wait for its answer.
    pub async fn ask(&mut self, id: &Value, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask_with(id, params).await;
    }

    /// The same with these parameters.
    pub async fn ask_with(&mut self, id: &Value, mut params: Value) {
        let tool = params["name"].as_str().unwrap().to_owned();
        params["arguments"] = in_full(&tool, params["arguments"].take());
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params,
        });
        self.send(&call).await;
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, id: &Value) {
        let params = json!({"requestId": id, "reason": "enough"});
        let method = "notifications/cancelled";
        let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&told).await;
    }

    /// Kills the bridge.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Everything that the bridge still has to say, once its input has ended.
    pub async fn last_words(mut self) -> Vec<Value> {
        self.end_input();
        let mut said = std::mem::take(&mut self.unread);
        while let Some(message) = self.read().await {
            said.push(message);
        }
        said
    }

    /// Calls a tool; the whole result.
    pub async fn call_raw(&mut self, tool: &str, arguments: Value) -> Value {
        let arguments = in_full(tool, arguments);
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.rpc("call".into(), "tools/call", params).await;
        let result = answer["result"].clone();
        check_contents(&arguments, &result);
        result
    }

    /// Calls a tool and expects that it works.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_raw(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        body(&result)
    }

    /// Calls a tool and expects that it fails, with a word, a sentence and a next step.
    pub async fn call_fails(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_raw(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        body(&result)
    }

    /// Ends standard input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Waits for the bridge to end; whether it ended well.
    pub async fn ended(&mut self) -> bool {
        soon("the bridge's end", self.child.wait()).await.unwrap().success()
    }

    /// What it wrote to standard error, once it has ended.
    pub async fn complaints(&mut self) -> String {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
        stderr
    }
}
