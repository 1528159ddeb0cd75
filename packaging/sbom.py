"""The bill of materials (SBOM): every library in the programs, in CycloneDX 1.6, from Cargo's own words."""

import base64
import json
import os
import re
import subprocess
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

from program import DESCRIPTION, ROOT
from publisher import HOMEPAGE, REPOSITORY
from targets import Target

CARGO = os.environ.get("CARGO", "cargo")

# The serial number of a bill is made of its content below this name.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, f"{REPOSITORY}/sbom")


@dataclass
class Library:
    """A library, under the name that tools look up weaknesses by (a package URL)."""

    purl: str
    name: str
    version: str
    licence: str
    hashes: list[tuple[str, str]] = field(default_factory=list)
    """Algorithms, and sums in hexadecimal."""
    source: str = ""
    """Where its source code is."""
    needs: set[str] = field(default_factory=set)
    """The package URLs of the libraries that it uses."""

    def component(self) -> dict:
        fields = {"type": "library", "bom-ref": self.purl, "name": self.name, "version": self.version, "purl": self.purl}
        if self.licence:
            fields["licenses"] = [{"expression": self.licence}]
        if self.hashes:
            fields["hashes"] = [{"alg": algorithm, "content": content} for algorithm, content in self.hashes]
        if self.source:
            fields["externalReferences"] = [{"type": "vcs", "url": self.source}]
        return fields


# The C libraries that a crate carries: the library, the header that says its version below the crate's folder, the
# pattern there, and its licence.
CARRIED = {
    "libsqlite3-sys": ("sqlite", "sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"([\d.]+)"', "blessing"),
    "libmimalloc-sys": ("mimalloc", "c_src/mimalloc/v3/include/mimalloc.h", r"#define MI_MALLOC_VERSION +(\d+)", "MIT"),
}


def run_cargo(*arguments: str) -> str:
    """What Cargo says of this package. It needs no network once the crates are there."""
    ran = subprocess.run([CARGO, *arguments, "--locked"], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"the bill of materials needs `cargo {arguments[0]}`, which failed:\n{ran.stderr.strip()}")
    return ran.stdout


def crates(targets: list[Target], of: str) -> dict[str, Library]:
    """The crates in the programs for these targets, and the program itself, by package URL."""
    sums = lock_sums()
    found: dict[str, Library] = {}
    for rust in sorted({target.rust for target in targets}):
        tree = run_cargo("tree", "--package", "tabwire", "--edges", "normal,no-proc-macro", "--target", rust,
                         "--prefix", "depth", "--format", "\t{p}\t{l}\t{r}")
        above: list[str] = []
        for line in tree.splitlines():
            depth, name_version, licence, source = line.removesuffix(" (*)").split("\t")
            name, version = name_version.split(" ")[:2]
            library = crate(name, version.removeprefix("v"), licence, source, sums)
            del above[int(depth):]
            if above:
                found[above[-1]].needs.add(library.purl)
            found.setdefault(library.purl, library)
            above.append(library.purl)
    if not targets:
        program = crate("tabwire", of, "MIT", "", sums)
        found[program.purl] = program
    return found


def crate(name: str, version: str, licence: str, source: str, sums: dict[tuple[str, str], str]) -> Library:
    # Crates from before 2020 separate the licences to choose from by a slash.
    licence = re.sub(r" ?/ ?", " OR ", licence)
    known = sums.get((name, version))
    return Library(f"pkg:cargo/{name}@{quote(version)}", name, version, licence, [("SHA-256", known)] if known else [], source)


def lock_sums() -> dict[tuple[str, str], str]:
    """The sums of crates in Cargo.lock."""
    blocks = (ROOT / "Cargo.lock").read_text().split("[[package]]")
    pattern = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\n.*?checksum = "([0-9a-f]{64})"', re.DOTALL)
    found = (pattern.search(block) for block in blocks)
    return {(match[1], match[2]): match[3] for match in found if match}


def add_carried(libraries: dict[str, Library], targets: list[Target]) -> None:
    """Adds the C libraries that crates carry: their weaknesses are published under their own names."""
    platforms = [word for rust in sorted({target.rust for target in targets}) for word in ("--filter-platform", rust)]
    about = json.loads(run_cargo("metadata", "--format-version", "1", *platforms))
    folders = {package["name"]: Path(package["manifest_path"]).parent for package in about["packages"]}
    for carrier in [library for library in libraries.values() if library.name in CARRIED]:
        name, header, pattern, licence = CARRIED[carrier.name]
        said = re.search(pattern, (folders[carrier.name] / header).read_text())
        if said is None:
            raise SystemExit(f"{carrier.name} does not say the version of {name} in {header}: see CARRIED in packaging/sbom.py")
        version = said[1] if "." in said[1] else two_digit_parts(said[1])
        library = Library(f"pkg:generic/{name}@{version}", name, version, licence)
        libraries[library.purl] = library
        carrier.needs.add(library.purl)


def two_digit_parts(number: str) -> str:
    """30302 is 3.3.2."""
    return ".".join(str(int(part)) for part in (number[:-4], number[-4:-2], number[-2:]))


def axe_core() -> Library:
    """The one library of others that the extension carries."""
    package = json.loads((ROOT / "package-lock.json").read_text())["packages"]["node_modules/axe-core"]
    sum512 = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
    version = package["version"]
    return Library(f"pkg:npm/axe-core@{version}", "axe-core", version, package["license"], [("SHA-512", sum512)])


def sbom(targets: list[Target], of: str) -> bytes:
    """The bill for the programs of these targets and the extension in them."""
    libraries = crates(targets, of)
    add_carried(libraries, targets)
    program = libraries[f"pkg:cargo/tabwire@{of}"]
    carried = axe_core()
    libraries[carried.purl] = carried
    program.needs.add(carried.purl)
    itself = program.component() | {"type": "application", "description": DESCRIPTION}
    itself["externalReferences"] = [{"type": "website", "url": HOMEPAGE}, {"type": "vcs", "url": REPOSITORY}]
    ordered = [libraries[purl] for purl in sorted(libraries)]
    body = {
        "metadata": {"component": itself},
        "components": [library.component() for library in ordered if library is not program],
        "dependencies": [{"ref": library.purl, "dependsOn": sorted(library.needs)} for library in ordered],
    }
    # A build says when it was made only if it was told to: the same source gives the same bytes.
    if "SOURCE_DATE_EPOCH" in os.environ:
        made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
        body["metadata"] = {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ")} | body["metadata"]
    serial = uuid.uuid5(NAMESPACE, json.dumps(body, sort_keys=True))
    fields = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1} | body
    return (json.dumps(fields, indent=2) + "\n").encode()
