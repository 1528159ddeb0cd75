"""A bundle for Claude Desktop: a manifest and the program, in a zip."""

import json

from archives import Entry, zip_bytes
from program import DESCRIPTION, MCP_ARGUMENTS, ROOT, Program
from publisher import HOMEPAGE


def manifest(program: Program, version: str) -> dict:
    """The manifest, by the rules of version 0.3."""
    command = f"${{__dirname}}/server/{program.target.program}"
    return {
        "manifest_version": "0.3",
        "name": "tabwire",
        "display_name": "Tabwire",
        "version": version,
        "description": DESCRIPTION,
        "author": {"name": "Tabwire", "url": HOMEPAGE},
        "license": "MIT",
        "icon": "icon.png",
        "server": {
            "type": "binary",
            "entry_point": f"server/{program.target.program}",
            "mcp_config": {"command": command, "args": MCP_ARGUMENTS},
        },
        "compatibility": {"platforms": [program.target.node_os]},
    }


def bundle(program: Program, version: str) -> tuple[str, bytes]:
    """The bundle's file name and content."""
    text = json.dumps(manifest(program, version), indent=2) + "\n"
    icon = (ROOT / "extension-shim" / "icons" / "icon-128.png").read_bytes()
    entries = [
        Entry("manifest.json", text.encode()),
        Entry("icon.png", icon),
        Entry(f"server/{program.target.program}", program.content, 0o755),
        Entry("LICENSE", (ROOT / "LICENSE").read_bytes()),
    ]
    return f"tabwire-{version}-{program.target.name}.mcpb", zip_bytes(entries)
