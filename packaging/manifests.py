"""What registries and package managers read: each names packages that are published elsewhere, with their sums."""

import json
from pathlib import Path

from archives import sha256
from program import DESCRIPTION
from publisher import HOMEPAGE, MCP_NAME, REPOSITORY

# The names that Homebrew has for a system and a processor.
BREW_SYSTEMS = {"darwin": "macos", "linux": "linux"}
BREW_PROCESSORS = {"arm64": "arm", "x64": "intel"}


def server_json(version: str, releases: str, out: Path) -> bytes:
    """The entry in the registry of MCP servers, schema of 2025-12-11."""
    packages = [package("npm", "npx", version), package("pypi", "uvx", version)]
    for bundle in sorted(out.glob("*.mcpb")):
        packages.append({
            "registryType": "mcpb",
            "identifier": f"{releases}/{bundle.name}",
            "version": version,
            "fileSha256": sha256(bundle.read_bytes()),
            "transport": {"type": "stdio"},
        })
    fields = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": MCP_NAME,
        "title": "Tabwire",
        "description": DESCRIPTION,
        "repository": {"url": REPOSITORY, "source": "github"},
        "websiteUrl": HOMEPAGE,
        "version": version,
        "packages": packages,
    }
    return (json.dumps(fields, indent=2) + "\n").encode()


def package(registry: str, runner: str, version: str) -> dict:
    """A package that a client can start without an installation."""
    return {
        "registryType": registry,
        "identifier": "tabwire",
        "version": version,
        "runtimeHint": runner,
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }


def brew_formula(version: str, releases: str, archives: dict[tuple[str, str], Path]) -> bytes:
    """The formula of a Homebrew tap. `archives`: by Node's names of system and processor."""
    lines = [
        "class Tabwire < Formula",
        f'  desc "{DESCRIPTION}"',
        f'  homepage "{HOMEPAGE}"',
        f'  version "{version}"',
        '  license "MIT"',
    ]
    for system in sorted({system for system, _ in archives}):
        lines += ["", f"  on_{BREW_SYSTEMS[system]} do"]
        for (of, processor), path in sorted(archives.items()):
            if of == system:
                lines += [
                    f"    on_{BREW_PROCESSORS[processor]} do",
                    f'      url "{releases}/{path.name}"',
                    f'      sha256 "{sha256(path.read_bytes())}"',
                    "    end",
                ]
        lines.append("  end")
    lines += [
        "",
        "  def install",
        '    bin.install "tabwire"',
        '    generate_completions_from_executable(bin/"tabwire", "completions")',
        "  end",
        "",
        "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/tabwire --version")',
        "  end",
        "end",
    ]
    return ("\n".join(lines) + "\n").encode()
