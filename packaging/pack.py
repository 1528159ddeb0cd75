#!/usr/bin/env python3
"""Makes the packages of built programs: `pack.py --out DIR [--program PATH --target NAME]... [--built NAME]...`.

Same input, same bytes: no time, user, folder or order of this computer goes into a package."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import deb
import extension
import manifests
import mcpb
import npm
import sbom
import sizes
import wheel
from archives import Entry, gzip_bytes, sha256, tar_bytes, xz_bytes, zip_bytes
from program import ROOT, Program, version
from publisher import REPOSITORY
from targets import TARGETS, Target, host_target, target_named

PACKAGING = Path(__file__).resolve().parent


@dataclass(frozen=True)
class PackageFolder:
    """The folder that packages are written to."""

    path: Path
    is_bounded: bool
    """Whether a package above its bound is refused."""
    written: list[sizes.Row] = field(default_factory=list)

    def write(self, name: str, content: bytes, program: Program | None = None) -> None:
        """Writes a package; `program` is the one that is in it."""
        if self.is_bounded:
            sizes.check(name, len(content), sizes.PACKAGE)
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(content)
        self.written.append(sizes.Row(name, len(content), None if program is None else len(program.content)))

    def archive_of(self, target: Target, of: str) -> Path | None:
        """The smallest archive for downloads of this target; None: it was not packed."""
        path = self.path / f"tabwire-{of}-{target.name}.{'zip' if target.is_windows else 'tar.xz'}"
        return path if path.exists() else None


def archives(program: Program, of: str) -> Iterator[tuple[str, bytes]]:
    """The program in archives for people who download it. Not each Linux can read xz, which is the smaller one."""
    folder = f"tabwire-{of}-{program.target.name}"
    entries = [
        Entry(f"{folder}/{program.target.program}", program.content, 0o755),
        Entry(f"{folder}/LICENSE", (ROOT / "LICENSE").read_bytes()),
        Entry(f"{folder}/README.md", (ROOT / "README.md").read_bytes()),
    ]
    if program.target.is_windows:
        yield f"{folder}.zip", zip_bytes(entries)
        return
    content = tar_bytes(entries)
    yield f"{folder}.tar.gz", gzip_bytes(content)
    yield f"{folder}.tar.xz", xz_bytes(content, program.target.is_x86)


def packages_of(program: Program, of: str) -> Iterator[tuple[str, bytes]]:
    """The packages that have the program in them, each made when it is asked for."""
    yield from archives(program, of)
    yield wheel.wheel(program, of)
    yield npm.file_name(program.target.npm_package, of), npm.target_package(program, of)
    if program.target.deb is not None:
        yield deb.package(program, of)
    if program.target.node_os != "linux":
        yield mcpb.bundle(program, of)


def pack_target(out: PackageFolder, program: Program, of: str) -> None:
    """Writes the packages that have the program in them."""
    if out.is_bounded:
        sizes.check(f"the program for {program.target.name}", len(program.content), sizes.PROGRAM)
    # What is too large is refused before the next one is made.
    for name, content in packages_of(program, of):
        out.write(name, content, program)


def pack_common(out: PackageFolder, targets: list[Target], of: str) -> None:
    """The packages without a program, the manifests that name packages, and the sums of all."""
    out.write(npm.file_name("tabwire", of), npm.main_package(of, targets))
    out.write(f"tabwire-extension-{of}.zip", extension.extension_zip())
    releases = f"{REPOSITORY}/releases/download/v{of}"
    for name in ["install.sh", "install.ps1"]:
        script = (PACKAGING / name).read_text().replace("@VERSION@", of).replace("@RELEASES@", releases)
        out.write(name, script.encode())
    out.write("server.json", manifests.server_json(of, releases, out.path))
    out.write(f"tabwire-{of}.cdx.json", sbom.sbom(targets, of))
    packed = {target: path for target in TARGETS if (path := out.archive_of(target, of)) is not None}
    for name, content in manifests.package_managers(of, releases, packed).items():
        out.write(name, content)
    there = [path for path in sorted(out.path.iterdir()) if path.name != "SHA256SUMS"]
    out.write("SHA256SUMS", "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in there).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the packages")
    parser.add_argument("--program", type=Path, action="append", default=[], help="a built program (repeatable)")
    parser.add_argument("--target", action="append", default=[], help="its target [default: this computer's]")
    parser.add_argument("--built", action="append", default=[], help="a target that build.sh has built (repeatable)")
    parser.add_argument("--profile", default="dist", help="its profile [default: dist]")
    parser.add_argument("--any-size", action="store_true", help="pack a build that is not for people, above the bounds")
    given = parser.parse_args()
    if given.target and len(given.target) != len(given.program):
        parser.error("name a --target for each --program")
    targets = [target_named(name) for name in given.target] or [host_target()] * len(given.program)
    of = version()
    print(f"Tabwire {of} → {given.out}")
    out = PackageFolder(given.out, is_bounded=not given.any_size)
    programs = [Program.read(target, path) for target, path in zip(targets, given.program, strict=True)]
    programs += [Program.built(target_named(name), given.profile) for name in given.built]
    for program in programs:
        pack_target(out, program, of)
    pack_common(out, [program.target for program in programs], of)
    print(sizes.table([sizes.Row(f"the program for {one.target.name}", len(one.content), None) for one in programs] + out.written))


if __name__ == "__main__":
    main()
