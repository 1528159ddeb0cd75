#!/usr/bin/env python3
"""Makes the packages of a built program: `pack.py --out DIR [--program PATH --target NAME]...`.

Same input, same bytes: no time, user, folder or order of this computer goes into a package."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import deb
import extension
import manifests
import mcpb
import npm
import wheel
from archives import Entry, sha256, tar_gz, write
from program import ROOT, Program, version
from publisher import REPOSITORY
from targets import TARGETS, Target, host_target, target_named

PACKAGING = Path(__file__).resolve().parent


def archive_name(target: Target, of: str) -> str:
    return f"tabwire-{of}-{target.name}.tar.gz"


def archive(program: Program, of: str) -> tuple[str, bytes]:
    """The program in a tar for people who download it."""
    folder = f"tabwire-{of}-{program.target.name}"
    entries = [
        Entry(f"{folder}/{program.target.program}", program.content, 0o755),
        Entry(f"{folder}/LICENSE", (ROOT / "LICENSE").read_bytes()),
        Entry(f"{folder}/README.md", (ROOT / "README.md").read_bytes()),
    ]
    return archive_name(program.target, of), tar_gz(entries)


def pack_target(out: Path, program: Program, of: str) -> None:
    """The packages that have the program in them."""
    packages = [archive(program, of), wheel.wheel(program, of)]
    packages.append((npm.file_name(program.target.npm_package, of), npm.target_package(program, of)))
    if program.target.deb is not None:
        packages.append(deb.package(program, of))
    if program.target.node_os != "linux":
        packages.append(mcpb.bundle(program, of))
    for name, content in packages:
        write(out / name, content)


def pack_common(out: Path, targets: list[Target], of: str) -> None:
    """The packages without a program, the manifests that name packages, and the sums of all."""
    write(out / npm.file_name("tabwire", of), npm.main_package(of, targets))
    write(out / f"tabwire-extension-{of}.zip", extension.extension_zip())
    releases = f"{REPOSITORY}/releases/download/v{of}"
    script = (PACKAGING / "install.sh").read_text().replace("@VERSION@", of).replace("@RELEASES@", releases)
    write(out / "install.sh", script.encode())
    write(out / "server.json", manifests.server_json(of, releases, out))
    # Homebrew brings a C library of its own.
    brewed = [target for target in TARGETS if target.node_libc != "musl" and (out / archive_name(target, of)).exists()]
    if brewed:
        archives = {(target.node_os, target.node_cpu): out / archive_name(target, of) for target in brewed}
        write(out / "tabwire.rb", manifests.brew_formula(of, releases, archives))
    sums = [f"{sha256(path.read_bytes())}  {path.name}\n" for path in sorted(out.iterdir()) if path.name != "SHA256SUMS"]
    write(out / "SHA256SUMS", "".join(sums).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the packages")
    parser.add_argument("--program", type=Path, action="append", default=[], help="a built program (repeatable)")
    parser.add_argument("--target", action="append", default=[], help="its target [default: this computer's]")
    given = parser.parse_args()
    if given.target and len(given.target) != len(given.program):
        parser.error("name a --target for each --program")
    targets = [target_named(name) for name in given.target] or [host_target()] * len(given.program)
    of = version()
    print(f"Tabwire {of} → {given.out}")
    for target, path in zip(targets, given.program, strict=True):
        pack_target(given.out, Program.read(target, path), of)
    pack_common(given.out, targets, of)


if __name__ == "__main__":
    main()
