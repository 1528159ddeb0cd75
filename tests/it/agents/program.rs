//! The programs: how each is configured, and started so that nothing of it leaves this computer.

use std::fs;
use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use super::model_api::{ClaudeApi, CodexApi, CodexScriptApi, GeminiApi, ModelApi};
use crate::clients::{installed, node};

/// A program whose model is given tools.
#[derive(Clone, Copy, Debug)]
pub(super) enum AgentProgram {
    ClaudeCode,
    /// Codex with a model that it has no description of: it gives the least of an answer to that.
    Codex,
    /// Codex with the model that it takes by default.
    CodexScripts,
    GeminiCli,
}

impl AgentProgram {
    /// What `tabwire install --client` calls it.
    pub(super) const fn client(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex | Self::CodexScripts => "codex-cli",
            Self::GeminiCli => "gemini-cli",
        }
    }

    pub(super) fn api(self) -> &'static dyn ModelApi {
        match self {
            Self::ClaudeCode => &ClaudeApi,
            Self::Codex => &CodexApi,
            Self::CodexScripts => &CodexScriptApi,
            Self::GeminiCli => &GeminiApi,
        }
    }

    /// Writes the settings that a person would have, for the model at this address.
    pub(super) fn write_settings(self, home: &Path, model: &str) {
        match self {
            // It is told by its environment.
            Self::ClaudeCode => {}
            Self::Codex => write(home, ".codex/config.toml", &codex_settings(model, "unheard-of")),
            Self::CodexScripts => write(home, ".codex/config.toml", &codex_settings(model, "")),
            Self::GeminiCli => {
                let settings = json!({
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                    "privacy": {"usageStatisticsEnabled": false},
                    "telemetry": {"enabled": false},
                });
                write(home, ".gemini/settings.json", &settings.to_string());
            }
        }
    }

    /// The program with a task, not started; its model is at this address.
    pub(super) fn command(self, model: &str) -> Command {
        let mut command = node();
        let package = |path: &str| installed("tests/agents/node_modules").join(path);
        match self {
            Self::ClaudeCode => {
                command.arg(package("@anthropic-ai/claude-code/cli-wrapper.cjs"));
                command.args(["--print", "Go.", "--allowedTools", "mcp__tabwire"]);
                command.env("ANTHROPIC_BASE_URL", model).env("ANTHROPIC_API_KEY", "none");
                command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
                command.env("DISABLE_AUTOUPDATER", "1");
            }
            Self::Codex | Self::CodexScripts => {
                command.arg(package("@openai/codex/bin/codex.js"));
                command.args(["exec", "--skip-git-repo-check"]);
                command.args(["--dangerously-bypass-approvals-and-sandbox", "Go."]);
            }
            Self::GeminiCli => {
                command.arg(package("@google/gemini-cli/bundle/gemini.js"));
                command.args(["--prompt", "Go.", "--approval-mode", "yolo"]);
                command.env("GOOGLE_GEMINI_BASE_URL", model).env("GEMINI_API_KEY", "none");
                command.env("GEMINI_CLI_NO_RELAUNCH", "true");
                command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
            }
        }
        command
    }
}

fn codex_settings(model: &str, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("model = \"{name}\"\n") };
    format!(
        "{name}model_provider = \"scripted\"\n\
         check_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [features]\nplugins = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nwire_api = \"responses\"\n\
         base_url = \"{model}/v1\"\n"
    )
}

fn write(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
