//! MCP clients: where each keeps its settings, and how an MCP server stands in them.

use std::path::PathBuf;

use super::settings::SettingsFormat;
use super::user_folders::UserFolders;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
    Windsurf,
    GeminiCli,
    CodexCli,
}

impl McpClient {
    pub(crate) const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::GeminiCli,
        Self::CodexCli,
    ];

    /// As a person calls it.
    pub(crate) const fn name(self) -> &'static str {
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

    /// Its name on the command line.
    pub(crate) const fn id(self) -> &'static str {
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
    pub(crate) fn file(self, user_folders: &UserFolders) -> PathBuf {
        match self {
            Self::ClaudeCode => user_folders.claude_code.join(".claude.json"),
            Self::ClaudeDesktop => user_folders.settings.join("Claude/claude_desktop_config.json"),
            Self::Cursor => user_folders.home.join(".cursor/mcp.json"),
            Self::VsCode => user_folders.settings.join("Code/User/mcp.json"),
            Self::Windsurf => user_folders.home.join(".codeium/windsurf/mcp_config.json"),
            Self::GeminiCli => user_folders.home.join(".gemini/settings.json"),
            Self::CodexCli => user_folders.codex.join("config.toml"),
        }
    }

    /// Whether it has ever run here: it then has made its folder, though not the file yet.
    pub(crate) fn is_here(self, user_folders: &UserFolders) -> bool {
        let file = self.file(user_folders);
        match self {
            Self::ClaudeCode => file.exists() || user_folders.home.join(".claude").is_dir(),
            Self::ClaudeDesktop
            | Self::Cursor
            | Self::VsCode
            | Self::Windsurf
            | Self::GeminiCli
            | Self::CodexCli => file.parent().is_some_and(std::path::Path::is_dir),
        }
    }

    /// How an MCP server is written down there.
    pub(crate) const fn format(self) -> SettingsFormat {
        match self {
            Self::ClaudeCode => SettingsFormat::Json { section: "mcpServers", with_type: true },
            Self::VsCode => SettingsFormat::Json { section: "servers", with_type: true },
            Self::ClaudeDesktop | Self::Cursor | Self::Windsurf | Self::GeminiCli => {
                SettingsFormat::Json { section: "mcpServers", with_type: false }
            }
            Self::CodexCli => SettingsFormat::Toml { section: "mcp_servers" },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::user_folders::OperatingSystem;
    use super::*;

    #[test]
    fn each_client_has_its_file_on_each_system() {
        let file = |client: McpClient, system| {
            client.file(&UserFolders::in_home(system, Path::new("/h"))).display().to_string()
        };
        let mac = "/h/Library/Application Support";
        for system in [OperatingSystem::Linux, OperatingSystem::MacOs] {
            assert_eq!(file(McpClient::ClaudeCode, system), "/h/.claude.json");
            assert_eq!(file(McpClient::Cursor, system), "/h/.cursor/mcp.json");
            assert_eq!(file(McpClient::Windsurf, system), "/h/.codeium/windsurf/mcp_config.json");
            assert_eq!(file(McpClient::GeminiCli, system), "/h/.gemini/settings.json");
            assert_eq!(file(McpClient::CodexCli, system), "/h/.codex/config.toml");
        }
        let desktop = |base: &str| format!("{base}/Claude/claude_desktop_config.json");
        let code = |base: &str| format!("{base}/Code/User/mcp.json");
        for (system, base) in
            [(OperatingSystem::Linux, "/h/.config"), (OperatingSystem::MacOs, mac)]
        {
            assert_eq!(file(McpClient::ClaudeDesktop, system), desktop(base));
            assert_eq!(file(McpClient::VsCode, system), code(base));
        }
    }

    #[test]
    fn a_client_is_found_once_it_has_made_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let user_folders = UserFolders::in_home(OperatingSystem::Linux, dir.path());
        assert!(McpClient::ALL.iter().all(|client| !client.is_here(&user_folders)));
        fs::create_dir(dir.path().join(".claude")).unwrap();
        fs::create_dir_all(dir.path().join(".config/Code/User")).unwrap();
        let found: Vec<_> =
            McpClient::ALL.into_iter().filter(|c| c.is_here(&user_folders)).collect();
        assert_eq!(found, [McpClient::ClaudeCode, McpClient::VsCode]);
    }
}
