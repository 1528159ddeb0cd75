//! MCP clients: where each keeps its settings, and how an MCP server stands in them.

use std::path::PathBuf;

use super::machine::Machine;
use super::settings::Format;

/// An MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Gemini CLI.
    GeminiCli,
    /// Codex CLI.
    CodexCli,
}

impl Client {
    /// All that are known.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::GeminiCli,
        Self::CodexCli,
    ];

    /// As a person calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::GeminiCli => "Gemini CLI",
            Self::CodexCli => "Codex CLI",
        }
    }

    /// What the command line calls it by.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::GeminiCli => "gemini-cli",
            Self::CodexCli => "codex-cli",
        }
    }

    /// The file with its MCP servers.
    #[must_use]
    pub fn file(self, machine: &Machine) -> PathBuf {
        match self {
            Self::ClaudeCode => machine.claude_code.join(".claude.json"),
            Self::ClaudeDesktop => machine.settings.join("Claude/claude_desktop_config.json"),
            Self::Cursor => machine.home.join(".cursor/mcp.json"),
            Self::VsCode => machine.settings.join("Code/User/mcp.json"),
            Self::Windsurf => machine.home.join(".codeium/windsurf/mcp_config.json"),
            Self::GeminiCli => machine.home.join(".gemini/settings.json"),
            Self::CodexCli => machine.codex.join("config.toml"),
        }
    }

    /// Whether it has ever run here: it then has made its folder, though not the file yet.
    #[must_use]
    pub fn is_here(self, machine: &Machine) -> bool {
        let file = self.file(machine);
        match self {
            Self::ClaudeCode => file.exists() || machine.home.join(".claude").is_dir(),
            Self::ClaudeDesktop
            | Self::Cursor
            | Self::VsCode
            | Self::Windsurf
            | Self::GeminiCli
            | Self::CodexCli => file.parent().is_some_and(std::path::Path::is_dir),
        }
    }

    /// How an MCP server is written down there.
    #[must_use]
    pub const fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::Json { section: "mcpServers", with_type: true },
            Self::VsCode => Format::Json { section: "servers", with_type: true },
            Self::ClaudeDesktop | Self::Cursor | Self::Windsurf | Self::GeminiCli => {
                Format::Json { section: "mcpServers", with_type: false }
            }
            Self::CodexCli => Format::Toml { section: "mcp_servers" },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::machine::System;
    use super::*;

    #[test]
    fn each_client_has_its_file_on_each_system() {
        let file = |client: Client, system| {
            client.file(&Machine::in_home(system, Path::new("/h"))).display().to_string()
        };
        let mac = "/h/Library/Application Support";
        for system in [System::Linux, System::MacOs] {
            assert_eq!(file(Client::ClaudeCode, system), "/h/.claude.json");
            assert_eq!(file(Client::Cursor, system), "/h/.cursor/mcp.json");
            assert_eq!(file(Client::Windsurf, system), "/h/.codeium/windsurf/mcp_config.json");
            assert_eq!(file(Client::GeminiCli, system), "/h/.gemini/settings.json");
            assert_eq!(file(Client::CodexCli, system), "/h/.codex/config.toml");
        }
        let desktop = |base: &str| format!("{base}/Claude/claude_desktop_config.json");
        let code = |base: &str| format!("{base}/Code/User/mcp.json");
        for (system, base) in [
            (System::Linux, "/h/.config"),
            (System::MacOs, mac),
            (System::Windows, r"/h/AppData\Roaming"),
        ] {
            assert_eq!(file(Client::ClaudeDesktop, system), desktop(base));
            assert_eq!(file(Client::VsCode, system), code(base));
        }
    }

    #[test]
    fn a_client_is_found_once_it_has_made_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::in_home(System::Linux, dir.path());
        assert!(Client::ALL.iter().all(|client| !client.is_here(&machine)));
        fs::create_dir(dir.path().join(".claude")).unwrap();
        fs::create_dir_all(dir.path().join(".config/Code/User")).unwrap();
        let found: Vec<_> = Client::ALL.into_iter().filter(|c| c.is_here(&machine)).collect();
        assert_eq!(found, [Client::ClaudeCode, Client::VsCode]);
    }
}
