"""The extension as the stores of browsers take it: without `key`, which the store gives."""

import json

from archives import Entry, zip_bytes
from program import ROOT

SHIM = ROOT / "extension-shim"

# What belongs to the source and not to the extension, as src/extension/carried_files.rs has it, and one computer's own.
LEFT_OUT = {"test", "types", "config.json"}


def entries() -> list[Entry]:
    """The files of the extension."""
    manifest = json.loads((SHIM / "manifest.json").read_text())
    manifest.pop("key", None)
    found = [Entry("manifest.json", (json.dumps(manifest, indent=2) + "\n").encode())]
    for path in sorted(SHIM.rglob("*")):
        name = path.relative_to(SHIM).as_posix()
        if path.is_file() and name != "manifest.json" and name.split("/")[0] not in LEFT_OUT:
            found.append(Entry(name, path.read_bytes()))
    return found


def extension_zip() -> bytes:
    return zip_bytes(entries())
