"""What registries and package managers read: each names packages that are published elsewhere, with their sums."""

import json
from pathlib import Path

from archives import sha256
from program import DESCRIPTION, MCP_ARGUMENTS
from publisher import HOMEPAGE, MCP_NAME, PUBLISHER, REPOSITORY, WINGET_NAME
from targets import Target

# The names that Homebrew has for a system and a processor.
BREW_SYSTEMS = {"darwin": "macos", "linux": "linux"}
BREW_PROCESSORS = {"arm64": "arm", "x64": "intel"}
SCOOP_PROCESSORS = {"arm64": "arm64", "x64": "64bit"}


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
        "packageArguments": registry_arguments(MCP_ARGUMENTS),
        "transport": {"type": "stdio"},
    }


def registry_arguments(words: list[str]) -> list[dict]:
    """A command line in the words of the registry: a flag and its value are one argument."""
    found = []
    for word in words:
        if word.startswith("--"):
            found.append({"type": "named", "name": word})
        elif found and found[-1]["type"] == "named" and "value" not in found[-1]:
            found[-1]["value"] = word
        else:
            found.append({"type": "positional", "value": word})
    return found


def package_managers(version: str, releases: str, archives: dict[Target, Path]) -> dict[str, bytes]:
    """The manifests of package managers that read the archives for downloads, by file name."""
    found = {}
    # Homebrew brings a C library of its own.
    brewed = {target: path for target, path in archives.items() if not target.is_windows and target.node_libc != "musl"}
    if brewed:
        found["tabwire.rb"] = brew_formula(version, releases, brewed)
    windows = {target: path for target, path in archives.items() if target.is_windows}
    if windows:
        found["tabwire.json"] = scoop_manifest(version, releases, windows)
        found |= winget_manifests(version, releases, windows)
    return found


def brew_formula(version: str, releases: str, archives: dict[Target, Path]) -> bytes:
    """The formula of a Homebrew tap."""
    lines = [
        "class Tabwire < Formula",
        f'  desc "{DESCRIPTION}"',
        f'  homepage "{HOMEPAGE}"',
        f'  version "{version}"',
        '  license "MIT"',
    ]
    for system in sorted({target.node_os for target in archives}):
        lines += ["", f"  on_{BREW_SYSTEMS[system]} do"]
        for target, path in sorted(archives.items(), key=lambda item: item[0].name):
            if target.node_os == system:
                lines += [
                    f"    on_{BREW_PROCESSORS[target.node_cpu]} do",
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


def scoop_manifest(version: str, releases: str, archives: dict[Target, Path]) -> bytes:
    """The manifest for a bucket of Scoop, which reads later versions from `SHA256SUMS`."""
    fields = {
        "version": version,
        "description": DESCRIPTION,
        "homepage": HOMEPAGE,
        "license": "MIT",
        "architecture": {
            SCOOP_PROCESSORS[target.node_cpu]: {
                "url": f"{releases}/{path.name}",
                "hash": sha256(path.read_bytes()),
                "extract_dir": path.stem,
            }
            for target, path in archives.items()
        },
        "bin": "tabwire.exe",
        "notes": "Run `tabwire install`: it sets up the browser extension and adds Tabwire to MCP clients.",
        "checkver": {"github": REPOSITORY},
        "autoupdate": {
            "architecture": {
                SCOOP_PROCESSORS[target.node_cpu]: {
                    # Scoop puts the version in.
                    "url": f"{releases}/{path.name}".replace(version, "$version"),
                    "extract_dir": path.stem.replace(version, "$version"),
                }
                for target, path in archives.items()
            },
            "hash": {"url": "$baseurl/SHA256SUMS"},
        },
    }
    return (json.dumps(fields, indent=4) + "\n").encode()


def winget_manifests(version: str, releases: str, archives: dict[Target, Path]) -> dict[str, bytes]:
    """The three files of a version in the repository of winget, schema 1.10.0."""
    locale = "en-US"
    files = {
        "": ("version", {"DefaultLocale": locale}),
        ".installer": ("installer", {
            "InstallerType": "zip",
            "NestedInstallerType": "portable",
            "Installers": [winget_installer(target, path, releases) for target, path in archives.items()],
        }),
        f".locale.{locale}": ("defaultLocale", {
            "PackageLocale": locale,
            "Publisher": PUBLISHER,
            "PublisherUrl": HOMEPAGE,
            "PackageName": "Tabwire",
            "PackageUrl": HOMEPAGE,
            "License": "MIT",
            "LicenseUrl": f"{REPOSITORY}/blob/v{version}/LICENSE",
            "ShortDescription": DESCRIPTION,
            "InstallationNotes": "Run `tabwire install` next.",
        }),
    }
    found = {}
    for suffix, (kind, fields) in files.items():
        named = {"PackageIdentifier": WINGET_NAME, "PackageVersion": version} | fields
        whole = named | {"ManifestType": kind, "ManifestVersion": "1.10.0"}
        found[f"{WINGET_NAME}{suffix}.yaml"] = yaml_lines(whole).encode()
    return found


def winget_installer(target: Target, path: Path, releases: str) -> dict:
    return {
        "Architecture": target.node_cpu,
        "NestedInstallerFiles": [
            {"RelativeFilePath": f"{path.stem}\\{target.program}", "PortableCommandAlias": "tabwire"},
        ],
        "InstallerUrl": f"{releases}/{path.name}",
        "InstallerSha256": sha256(path.read_bytes()).upper(),
    }


def yaml_lines(fields: dict, indent: str = "") -> str:
    """An object as YAML. Texts are in quotes as in JSON, which YAML reads the same."""
    lines = ""
    for name, value in fields.items():
        if isinstance(value, list):
            lines += f"{indent}{name}:\n"
            for item in value:
                lines += f"{indent}- " + yaml_lines(item, f"{indent}  ").lstrip(" ")
        else:
            lines += f"{indent}{name}: {json.dumps(value)}\n"
    return lines
