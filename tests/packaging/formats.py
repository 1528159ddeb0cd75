"""The formats that other programs read, as JSON schemas: the rules for the fields that packaging/ writes, no more.

Each refuses a field that it does not know, so that a new field comes with its rule."""

URL = {"type": "string", "pattern": r"^https://[^\s$]+$"}
SUM = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
# A version and no range of versions.
VERSION = {"type": "string", "pattern": r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$", "maxLength": 255}


def text(shortest: int, longest: int) -> dict:
    return {"type": "string", "minLength": shortest, "maxLength": longest}


def one(value: object) -> dict:
    return {"const": value}


def fields(needed: dict, optional: dict | None = None) -> dict:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": needed | (optional or {}),
        "required": sorted(needed),
        "additionalProperties": False,
    }


def several(item: dict) -> dict:
    return {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}


# The registry of MCP servers, schema of 2025-12-11. It takes packages of npm and PyPI by their name, and a bundle
# by an address at GitHub or GitLab, with its sum.
ARGUMENT = {
    "oneOf": [
        fields({"type": one("positional"), "value": text(1, 255)}),
        fields({"type": one("named"), "name": {"type": "string", "pattern": "^--[a-z-]+$"}, "value": text(1, 255)}),
    ],
}
STDIO = fields({"type": one("stdio")})
NAMED_PACKAGE = fields({
    "registryType": {"enum": ["npm", "pypi"]},
    "identifier": {"type": "string", "pattern": "^[a-z0-9-]+$"},
    "version": VERSION,
    "runtimeHint": {"enum": ["npx", "uvx"]},
    "packageArguments": several(ARGUMENT),
    "transport": STDIO,
})
BUNDLE = fields({
    "registryType": one("mcpb"),
    "identifier": {"type": "string", "pattern": r"^https://(github|gitlab)\.com/.+/releases/.+\.mcpb$"},
    "version": VERSION,
    "fileSha256": SUM,
    "transport": STDIO,
})
MCP_SERVER = fields({
    "$schema": one("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
    "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
    "title": text(1, 100),
    "description": text(1, 100),
    "repository": fields({"url": URL, "source": one("github")}),
    "websiteUrl": URL,
    "version": VERSION,
    "packages": several({"oneOf": [NAMED_PACKAGE, BUNDLE]}),
})

# A manifest of Scoop. An address of autoupdate holds the version as `$version`.
LATER_URL = {"type": "string", "pattern": r"^https://\S*\$version\S*$"}
PROCESSORS = ("64bit", "arm64")
SCOOP = fields({
    "version": {"type": "string", "pattern": r"^[\w.+-]+$"},
    "description": text(1, 255),
    "homepage": URL,
    "license": text(1, 64),
    "architecture": {
        "type": "object",
        "properties": {name: fields({"url": URL, "hash": SUM, "extract_dir": text(1, 255)}) for name in PROCESSORS},
        "minProperties": 1,
        "additionalProperties": False,
    },
    "bin": text(1, 255),
    "notes": text(1, 1000),
    "checkver": fields({"github": URL}),
    "autoupdate": fields({
        "architecture": {
            "type": "object",
            "properties": {name: fields({"url": LATER_URL, "extract_dir": text(1, 255)}) for name in PROCESSORS},
            "minProperties": 1,
            "additionalProperties": False,
        },
        "hash": fields({"url": {"type": "string", "pattern": r"^\$baseurl/\S+$"}}),
    }),
})

# The three files of a version in the repository of winget, schema 1.10.0.
WINGET_COMMON = {
    "PackageIdentifier": {"type": "string", "pattern": r"^[^.\s\\/:*?\"<>|]{1,32}(\.[^.\s\\/:*?\"<>|]{1,32}){1,7}$", "maxLength": 128},
    "PackageVersion": {"type": "string", "pattern": r"^[^\\/:*?\"<>|]+$", "maxLength": 128},
    "ManifestVersion": one("1.10.0"),
}
WINGET = {
    "version": fields(WINGET_COMMON | {"ManifestType": one("version"), "DefaultLocale": one("en-US")}),
    "installer": fields(WINGET_COMMON | {
        "ManifestType": one("installer"),
        "InstallerType": one("zip"),
        "NestedInstallerType": one("portable"),
        "Installers": several(fields({
            "Architecture": {"enum": ["x64", "arm64"]},
            "NestedInstallerFiles": several(fields({
                "RelativeFilePath": {"type": "string", "pattern": r"^[^/]+$", "maxLength": 512},
                "PortableCommandAlias": text(1, 40),
            })),
            "InstallerUrl": URL | {"maxLength": 2048},
            "InstallerSha256": {"type": "string", "pattern": "^[A-F0-9]{64}$"},
        })),
    }),
    "defaultLocale": fields(WINGET_COMMON | {
        "ManifestType": one("defaultLocale"),
        "PackageLocale": one("en-US"),
        "Publisher": text(2, 256),
        "PublisherUrl": URL,
        "PackageName": text(2, 256),
        "PackageUrl": URL,
        "License": text(3, 512),
        "LicenseUrl": URL,
        "ShortDescription": text(3, 256),
        "InstallationNotes": text(1, 10000),
    }),
}
