"""Packages for npm: one for each target, and one without a program that finds the right one.

No package has a script that runs at set-up: npm runs none from version 12 on."""

import json
from pathlib import Path

from archives import Entry, tar_gz
from program import DESCRIPTION, ROOT, Program
from publisher import HOMEPAGE, MCP_NAME, REPOSITORY
from targets import TARGETS, Target

LAUNCHER = Path(__file__).resolve().parent / "npm" / "tabwire.js"


def package_json(fields: dict) -> bytes:
    common = {"license": "MIT", "homepage": HOMEPAGE, "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}}
    return (json.dumps(fields | common, indent=2) + "\n").encode()


def file_name(package: str, version: str) -> str:
    """The name that `npm pack` gives."""
    return f"{package.lstrip('@').replace('/', '-')}-{version}.tgz"


def target_package(program: Program, version: str) -> bytes:
    """The package with the program of one target."""
    target = program.target
    fields = {
        "name": target.npm_package,
        "version": version,
        "description": f"{DESCRIPTION}: the program for {target.name}",
        "os": [target.node_os],
        "cpu": [target.node_cpu],
        "files": ["bin"],
        "preferUnplugged": True,
    }
    if target.node_libc is not None:
        fields["libc"] = [target.node_libc]
    return tar_gz([
        Entry("package/package.json", package_json(fields)),
        Entry(f"package/bin/{target.program}", program.content, 0o755),
        Entry("package/LICENSE", (ROOT / "LICENSE").read_bytes()),
    ])


def main_package(version: str, targets: list[Target] = TARGETS) -> bytes:
    """The package that people name."""
    fields = {
        "name": "tabwire",
        "version": version,
        "description": DESCRIPTION,
        "keywords": ["mcp", "browser", "agent", "chrome"],
        "bin": {"tabwire": "bin/tabwire.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "mcpName": MCP_NAME,
        "optionalDependencies": {target.npm_package: version for target in targets},
    }
    return tar_gz([
        Entry("package/package.json", package_json(fields)),
        Entry("package/bin/tabwire.js", LAUNCHER.read_bytes(), 0o755),
        Entry("package/README.md", (ROOT / "README.md").read_bytes()),
        Entry("package/LICENSE", (ROOT / "LICENSE").read_bytes()),
    ])
