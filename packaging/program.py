"""A built program: its version, what it needs, and what it says of itself."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import floors
from archives import Entry
from targets import Target, host_target

ROOT = Path(__file__).resolve().parent.parent

DESCRIPTION = "Lets AI agents use the browser that a person already has open"
# How an MCP client starts the program, as `tabwire install` writes it into the clients' settings.
MCP_ARGUMENTS = ["mcp", "--tools", "split"]

# What a program may import from the system beside the C library.
LIBGCC = b"libgcc_s.so.1"


def version() -> str:
    """The version in Cargo.toml, which all packages have."""
    found = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("Cargo.toml names no version")
    return found[1]


@dataclass(frozen=True)
class Program:
    """The program for a target."""

    target: Target
    path: Path
    content: bytes

    @classmethod
    def read(cls, target: Target, path: Path) -> "Program":
        if not path.is_file():
            raise SystemExit(f"there is no program at {path}. Build it first: make program")
        return cls(target, path, path.read_bytes())

    @classmethod
    def built(cls, target: Target, profile: str) -> "Program":
        """The one that `build.sh --target` has built, which asks for no more than its target promises."""
        path = ROOT / "target" / target.rust / profile / target.program
        if not path.is_file():
            raise SystemExit(f"there is no program at {path}. Build it first: packaging/build.sh --target {target.name}")
        program = cls.read(target, path)
        try:
            floors.check(target, program.content)
        except floors.FloorError as error:
            raise SystemExit(f"{path} is no program for {target.name}: {error}") from None
        return program

    def glibc(self) -> tuple[int, int] | None:
        """The oldest GNU C library that it runs with; None: it needs none."""
        if self.target.node_libc != "glibc":
            return None
        found = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", self.content)}
        return max(found, default=None)

    def needs_libgcc(self) -> bool:
        return LIBGCC in self.content

    def runs_here(self) -> bool:
        return self.target == host_target()

    def manual(self) -> list[Entry]:
        """Its manual pages, by its own words; none if it does not run here."""
        if not self.runs_here():
            return []
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.path, "man", folder], check=True, stdout=subprocess.DEVNULL)
            return [Entry(page.name, page.read_bytes()) for page in sorted(Path(folder).iterdir())]

    def completions(self) -> dict[str, bytes]:
        """Its completions by shell; none if it does not run here."""
        if not self.runs_here():
            return {}
        shells = ["bash", "zsh", "fish"]
        return {shell: subprocess.run([self.path, "completions", shell], check=True, capture_output=True).stdout for shell in shells}
