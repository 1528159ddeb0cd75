"""A package for Debian and its relatives."""

import hashlib

from archives import Entry, deb_bytes, gzip_bytes
from program import DESCRIPTION, ROOT, Program
from publisher import HOMEPAGE, MAINTAINER

# Where each shell looks for the completions of packages.
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/tabwire",
    "zsh": "usr/share/zsh/vendor-completions/_tabwire",
    "fish": "usr/share/fish/vendor_completions.d/tabwire.fish",
}


def files(program: Program) -> list[Entry]:
    """What the package puts on a computer."""
    found = [
        Entry("usr/bin/tabwire", program.content, 0o755),
        Entry("usr/share/doc/tabwire/copyright", (ROOT / "LICENSE").read_bytes()),
    ]
    for page in program.manual():
        found.append(Entry(f"usr/share/man/man1/{page.name}.gz", gzip_bytes(page.content)))
    for shell, script in program.completions().items():
        found.append(Entry(COMPLETIONS[shell], script))
    return sorted(found, key=lambda entry: entry.name)


def depends(program: Program) -> str:
    glibc = program.glibc()
    needs = [] if glibc is None else [f"libc6 (>= {glibc[0]}.{glibc[1]})"]
    return ", ".join(needs + (["libgcc-s1"] if program.needs_libgcc() else []))


def package(program: Program, version: str) -> tuple[str, bytes]:
    """The package's file name and content."""
    content, needs = files(program), depends(program)
    # A tilde sorts before the release: 0.2.0~rc.1 is older than 0.2.0.
    debian_version = version.replace("-", "~")
    size = sum(len(entry.content) for entry in content) // 1024 + 1
    control = (
        f"Package: tabwire\nVersion: {debian_version}\nArchitecture: {program.target.deb}\n"
        f"Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n"
        + (f"Depends: {needs}\n" if needs else "")
        + f"Section: utils\nPriority: optional\nHomepage: {HOMEPAGE}\nDescription: {DESCRIPTION}\n"
        " Run `tabwire install` after this package is installed: it sets up the browser\n"
        " extension and adds Tabwire to MCP clients.\n"
    )
    sums = "".join(f"{hashlib.md5(entry.content).hexdigest()}  {entry.name}\n" for entry in content)
    about = [Entry("control", control.encode()), Entry("md5sums", sums.encode())]
    return f"tabwire_{debian_version}_{program.target.deb}.deb", deb_bytes(about, content, x86=program.target.is_x86)
