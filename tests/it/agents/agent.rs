//! An agent: a program that runs, and the model that a test plays for it.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::process::Child;

use super::model_api::ModelApi;
use super::model_server::{ModelServer, ModelTurn};
use super::program::AgentProgram;
use super::shown::{ShownResult, ToolCall, texts_in};
use super::workplace::Workplace;
use testkit::split_tools;

/// How long a step may take on a busy machine; the first one starts an interpreter, and one may
/// wait for a person's drawing.
const STEP: Duration = Duration::from_secs(60);

pub(super) struct RunningAgent {
    pub(super) place: Workplace,
    api: &'static dyn ModelApi,
    model: ModelServer,
    child: Child,
    log: PathBuf,
    /// The request that waits for the model's step.
    turn: Option<ModelTurn>,
    calls: usize,
}

impl RunningAgent {
    /// Starts a program at a workplace of its own, whose browser shows this page.
    pub(super) async fn start(program: AgentProgram, page: &str) -> Self {
        let api = program.api();
        let model = ModelServer::start(api).await;
        let place = Workplace::set(program, &model.url, page).await;
        let mut command = place.at_home(&program.command(&model.url));
        let log = place.path().join("agent.log");
        let file = File::create(&log).unwrap();
        command.env("HTTPS_PROXY", &model.url).env("HTTP_PROXY", &model.url);
        command.env("NO_PROXY", "127.0.0.1").current_dir(place.path().join("work"));
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        command.process_group(0);
        let child = command.spawn().unwrap();
        let mut this = Self { place, api, model, child, log, turn: None, calls: 0 };
        this.next_turn().await;
        if let Some(step) = api.load_tools("load", &split_tools()) {
            this.turn.take().unwrap().answer(step);
            this.next_turn().await;
        }
        this
    }

    async fn next_turn(&mut self) {
        let turn = async {
            tokio::select! {
                turn = self.model.turn() => Ok(turn),
                ended = self.child.wait() => Err(ended),
            }
        };
        match tokio::time::timeout(STEP, turn).await {
            Ok(Ok(turn)) => self.turn = Some(turn),
            Ok(Err(ended)) => panic!("the program ended, {ended:?}: {}", self.said()),
            Err(_elapsed) => panic!("the program hangs: {}", self.said()),
        }
    }

    /// Everything that the program has written.
    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Every text that the model is shown now.
    pub(super) fn texts(&self) -> Vec<&str> {
        texts_in(&self.turn.as_ref().unwrap().request)
    }

    /// The model calls a tool: what it is shown of the answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> ShownResult {
        self.make(&ToolCall { tool: tool.to_owned(), arguments }).await
    }

    pub(super) async fn make(&mut self, call: &ToolCall) -> ShownResult {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        self.turn.take().unwrap().answer(self.api.call(&id, call));
        self.next_turn().await;
        let request = &self.turn.as_ref().unwrap().request;
        let shown = self.api.shown(&id, request);
        shown.unwrap_or_else(|| panic!("the answer to {call:?} is not shown: {request}"))
    }

    /// Runs a script in the page, and waits for its value.
    pub(super) async fn run_script(&mut self, script: &str) -> ShownResult {
        self.call("execute_js", json!({"script": script})).await
    }

    /// The model is done. The program must end well, and never have reached for another computer.
    pub(super) async fn end(mut self) {
        self.turn.take().unwrap().answer(self.api.say("Done."));
        let ended = tokio::time::timeout(STEP, self.child.wait()).await;
        let ended = ended.unwrap_or_else(|_elapsed| panic!("it does not end: {}", self.said()));
        assert!(ended.unwrap().success(), "{}", self.said());
        assert_eq!(self.model.reached_for(), [""; 0], "on other computers");
        self.place.end().await;
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        // Whatever the program has started goes with it.
        let group = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
