#!/usr/bin/env python3
"""The one table of targets: every script reads the names of a target here. `targets.py` prints the target of this
computer, `targets.py --all` all of them, `targets.py NAME FIELD` a field of one."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A system for which the program is published, with its name in each channel."""

    name: str
    """The name in file names."""
    rust: str
    """The name of the compiler."""
    node_os: str
    """`process.platform` of Node."""
    node_cpu: str
    """`process.arch` of Node."""
    node_libc: str | None
    """`libc` of an npm package; None: the system has one only."""
    wheel: str
    """The architecture in the tag of a wheel."""
    deb: str | None
    """The architecture of Debian; None: there is no package for it."""
    floor: str | None = None
    """The oldest macOS, or the oldest GNU C library, that the program runs with."""

    @property
    def is_windows(self) -> bool:
        return self.node_os == "win32"

    @property
    def is_mac(self) -> bool:
        return self.node_os == "darwin"

    @property
    def is_x86(self) -> bool:
        return self.node_cpu == "x64"

    @property
    def program(self) -> str:
        """The name of the program's file."""
        return "tabwire.exe" if self.is_windows else "tabwire"

    @property
    def npm_package(self) -> str:
        """The package with the program, by the names that the launcher reads from Node."""
        musl = "-musl" if self.node_libc == "musl" else ""
        return f"@tabwire/cli-{self.node_os}-{self.node_cpu}{musl}"


TARGETS = [
    Target("linux-x64", "x86_64-unknown-linux-gnu", "linux", "x64", "glibc", "x86_64", "amd64", "2.17"),
    Target("linux-arm64", "aarch64-unknown-linux-gnu", "linux", "arm64", "glibc", "aarch64", "arm64", "2.17"),
    Target("linux-x64-musl", "x86_64-unknown-linux-musl", "linux", "x64", "musl", "x86_64", None),
    Target("linux-arm64-musl", "aarch64-unknown-linux-musl", "linux", "arm64", "musl", "aarch64", None),
    Target("darwin-arm64", "aarch64-apple-darwin", "darwin", "arm64", None, "arm64", None, "11.0"),
    Target("darwin-x64", "x86_64-apple-darwin", "darwin", "x64", None, "x86_64", None, "10.12"),
    Target("windows-x64", "x86_64-pc-windows-gnu", "win32", "x64", None, "amd64", None),
]


def target_named(name: str) -> Target:
    """The target of this name."""
    for target in TARGETS:
        if target.name == name:
            return target
    known = ", ".join(target.name for target in TARGETS)
    raise SystemExit(f"no target is called {name}. There are: {known}")


def host_target() -> Target:
    """The target of this computer."""
    import platform

    cpu = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system())
    if cpu is None or system is None:
        raise SystemExit(f"there is no target for {platform.system()} on {platform.machine()}")
    return target_named(f"{system}-{cpu}")


def main() -> None:
    if len(sys.argv) == 1:
        print(host_target().name)
    elif sys.argv[1:] == ["--all"]:
        print(*(target.name for target in TARGETS))
    else:
        name, field = sys.argv[1:]
        print(getattr(target_named(name), field) or "")


if __name__ == "__main__":
    main()
