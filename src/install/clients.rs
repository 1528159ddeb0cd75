//! MCP clients: where each keeps its settings, and how an MCP server stands in them.

use std::path::{Path, PathBuf};

use super::settings::{JsonEntry, SettingsFormat};
use super::user_folders::UserFolders;
use crate::os::OperatingSystem;
use BaseFolder::{DotConfig, Home, Settings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
    VsCodeInsiders,
    VsCodium,
    Windsurf,
    GeminiCli,
    CodexCli,
    Cline,
    RooCode,
    Zed,
    Kiro,
    Amp,
    Junie,
    LmStudio,
    CopilotCli,
    OpenCode,
}

/// A folder that the operating system or the environment decides.
#[derive(Clone, Copy)]
enum BaseFolder {
    Home,
    /// Where programs of this system keep their settings.
    Settings,
    /// Where programs do on Linux, for those that do the same on other systems.
    DotConfig,
    /// The same on Linux and macOS, and as other programs on Windows.
    DotConfigOrRoaming,
    ClaudeCode,
    Codex,
    Copilot,
}

/// All that is to be known of a client.
struct ClientFacts {
    /// As a person calls it.
    name: &'static str,
    /// Its name on the command line.
    id: &'static str,
    /// The file with its MCP servers, below the base.
    file: (BaseFolder, &'static str),
    /// A folder that the client makes when it first runs, below the base; None: the file's own.
    made: Option<(BaseFolder, &'static str)>,
    format: SettingsFormat,
}

const SERVERS: SettingsFormat = json("mcpServers", JsonEntry::Plain);
const VS_CODE: SettingsFormat = json("servers", JsonEntry::WithType);

const fn json(section: &'static str, entry: JsonEntry) -> SettingsFormat {
    SettingsFormat::Json { section, entry }
}

const fn row(
    name: &'static str,
    id: &'static str,
    file: (BaseFolder, &'static str),
    format: SettingsFormat,
) -> ClientFacts {
    ClientFacts { name, id, file, made: None, format }
}

/// In the order of [`McpClient::ALL`], which is the order of declaration.
static FACTS: [ClientFacts; 18] = [
    ClientFacts {
        made: Some((Home, ".claude")),
        ..row(
            "Claude Code",
            "claude-code",
            (BaseFolder::ClaudeCode, ".claude.json"),
            json("mcpServers", JsonEntry::WithType),
        )
    },
    row(
        "Claude Desktop",
        "claude-desktop",
        (Settings, "Claude/claude_desktop_config.json"),
        SERVERS,
    ),
    row("Cursor", "cursor", (Home, ".cursor/mcp.json"), SERVERS),
    row("VS Code", "vscode", (Settings, "Code/User/mcp.json"), VS_CODE),
    row(
        "VS Code Insiders",
        "vscode-insiders",
        (Settings, "Code - Insiders/User/mcp.json"),
        VS_CODE,
    ),
    row("VSCodium", "vscodium", (Settings, "VSCodium/User/mcp.json"), VS_CODE),
    row("Windsurf", "windsurf", (Home, ".codeium/windsurf/mcp_config.json"), SERVERS),
    row("Gemini CLI", "gemini-cli", (Home, ".gemini/settings.json"), SERVERS),
    row(
        "Codex CLI",
        "codex-cli",
        (BaseFolder::Codex, "config.toml"),
        SettingsFormat::Toml { section: "mcp_servers" },
    ),
    row(
        "Cline",
        "cline",
        (
            Settings,
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        SERVERS,
    ),
    row(
        "Roo Code",
        "roo-code",
        (Settings, "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
        SERVERS,
    ),
    row(
        "Zed",
        "zed",
        (BaseFolder::DotConfigOrRoaming, "zed/settings.json"),
        json("context_servers", JsonEntry::Plain),
    ),
    ClientFacts {
        made: Some((Home, ".kiro")),
        ..row("Kiro", "kiro", (Home, ".kiro/settings/mcp.json"), SERVERS)
    },
    row("Amp", "amp", (DotConfig, "amp/settings.json"), json("amp.mcpServers", JsonEntry::Plain)),
    ClientFacts {
        made: Some((Home, ".junie")),
        ..row("Junie", "junie", (Home, ".junie/mcp/mcp.json"), SERVERS)
    },
    row("LM Studio", "lm-studio", (Home, ".lmstudio/mcp.json"), SERVERS),
    row(
        "Copilot CLI",
        "copilot-cli",
        (BaseFolder::Copilot, "mcp-config.json"),
        json("mcpServers", JsonEntry::WithTools),
    ),
    row(
        "OpenCode",
        "opencode",
        (DotConfig, "opencode/opencode.json"),
        json("mcp", JsonEntry::CommandLine),
    ),
];

impl McpClient {
    pub(crate) const ALL: [Self; 18] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::VsCodeInsiders,
        Self::VsCodium,
        Self::Windsurf,
        Self::GeminiCli,
        Self::CodexCli,
        Self::Cline,
        Self::RooCode,
        Self::Zed,
        Self::Kiro,
        Self::Amp,
        Self::Junie,
        Self::LmStudio,
        Self::CopilotCli,
        Self::OpenCode,
    ];

    /// All that is to be known of it.
    const fn facts(self) -> &'static ClientFacts {
        &FACTS[self as usize]
    }

    /// As a person calls it.
    pub(crate) const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its name on the command line.
    pub(crate) const fn id(self) -> &'static str {
        self.facts().id
    }

    /// The file with its MCP servers.
    pub(crate) fn file(self, user_folders: &UserFolders) -> PathBuf {
        below(user_folders, self.facts().file)
    }

    /// Whether it has ever run here: it then has made its folder, though not the file yet.
    pub(crate) fn is_here(self, user_folders: &UserFolders) -> bool {
        let file = self.file(user_folders);
        match self.facts().made {
            Some(made) => file.exists() || below(user_folders, made).is_dir(),
            None => file.parent().is_some_and(Path::is_dir),
        }
    }

    /// How an MCP server is written down there.
    pub(crate) const fn format(self) -> SettingsFormat {
        self.facts().format
    }
}

fn below(user_folders: &UserFolders, (base, path): (BaseFolder, &str)) -> PathBuf {
    match base {
        BaseFolder::Home => user_folders.home.join(path),
        BaseFolder::Settings => user_folders.settings.join(path),
        BaseFolder::DotConfig => match user_folders.system {
            OperatingSystem::Linux => user_folders.settings.join(path),
            OperatingSystem::MacOs | OperatingSystem::Windows => {
                user_folders.home.join(".config").join(path)
            }
        },
        BaseFolder::DotConfigOrRoaming => match user_folders.system {
            OperatingSystem::Linux | OperatingSystem::Windows => user_folders.settings.join(path),
            OperatingSystem::MacOs => user_folders.home.join(".config").join(path),
        },
        BaseFolder::ClaudeCode => user_folders.claude_code.join(path),
        BaseFolder::Codex => user_folders.codex.join(path),
        BaseFolder::Copilot => user_folders.copilot.join(path),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_client_has_its_own_row() {
        for (row, client) in McpClient::ALL.into_iter().enumerate() {
            assert_eq!(client as usize, row);
            let plain: String = client.name().chars().filter(|c| c.is_alphanumeric()).collect();
            let declared = format!("{client:?}");
            assert_eq!(plain.to_lowercase(), declared.to_lowercase());
        }
    }

    #[test]
    fn each_client_has_its_file_on_each_system() {
        let file = |client: McpClient, system| {
            let file = client.file(&UserFolders::in_home(system, Path::new("/h")));
            file.display().to_string().replace('\\', "/")
        };
        let mac = "/h/Library/Application Support";
        for system in [OperatingSystem::Linux, OperatingSystem::MacOs] {
            assert_eq!(file(McpClient::ClaudeCode, system), "/h/.claude.json");
            assert_eq!(file(McpClient::Cursor, system), "/h/.cursor/mcp.json");
            assert_eq!(file(McpClient::Windsurf, system), "/h/.codeium/windsurf/mcp_config.json");
            assert_eq!(file(McpClient::GeminiCli, system), "/h/.gemini/settings.json");
            assert_eq!(file(McpClient::CodexCli, system), "/h/.codex/config.toml");
            assert_eq!(file(McpClient::Zed, system), "/h/.config/zed/settings.json");
            assert_eq!(file(McpClient::Amp, system), "/h/.config/amp/settings.json");
            assert_eq!(file(McpClient::Kiro, system), "/h/.kiro/settings/mcp.json");
            assert_eq!(file(McpClient::Junie, system), "/h/.junie/mcp/mcp.json");
            assert_eq!(file(McpClient::LmStudio, system), "/h/.lmstudio/mcp.json");
            assert_eq!(file(McpClient::CopilotCli, system), "/h/.copilot/mcp-config.json");
            assert_eq!(file(McpClient::OpenCode, system), "/h/.config/opencode/opencode.json");
        }
        let desktop = |base: &str| format!("{base}/Claude/claude_desktop_config.json");
        let code = |base: &str| format!("{base}/Code/User/mcp.json");
        let windows = "/h/AppData/Roaming";
        let zed = file(McpClient::Zed, OperatingSystem::Windows);
        assert_eq!(zed, format!("{windows}/zed/settings.json"));
        let amp = file(McpClient::Amp, OperatingSystem::Windows);
        assert_eq!(amp, "/h/.config/amp/settings.json");
        for (system, base) in [
            (OperatingSystem::Linux, "/h/.config"),
            (OperatingSystem::MacOs, mac),
            (OperatingSystem::Windows, windows),
        ] {
            assert_eq!(file(McpClient::ClaudeDesktop, system), desktop(base));
            assert_eq!(file(McpClient::VsCode, system), code(base));
            let insiders = format!("{base}/Code - Insiders/User/mcp.json");
            assert_eq!(file(McpClient::VsCodeInsiders, system), insiders);
            assert_eq!(file(McpClient::VsCodium, system), format!("{base}/VSCodium/User/mcp.json"));
            let extensions = format!("{base}/Code/User/globalStorage/");
            assert!(file(McpClient::Cline, system).starts_with(&extensions));
            assert!(file(McpClient::RooCode, system).starts_with(&extensions));
        }
    }

    #[test]
    fn a_client_is_found_once_it_has_made_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let user_folders = UserFolders::in_home(OperatingSystem::Linux, dir.path());
        assert!(McpClient::ALL.iter().all(|client| !client.is_here(&user_folders)));
        fs::create_dir(dir.path().join(".claude")).unwrap();
        fs::create_dir_all(dir.path().join(".config/Code/User")).unwrap();
        fs::create_dir(dir.path().join(".kiro")).unwrap();
        let found: Vec<_> =
            McpClient::ALL.into_iter().filter(|c| c.is_here(&user_folders)).collect();
        assert_eq!(found, [McpClient::ClaudeCode, McpClient::VsCode, McpClient::Kiro]);
    }
}
