"""The bounds of sizes. A person waits for each byte of a package, so growth is noticed before it is published."""

from dataclasses import dataclass

# What a program may have on disk, and what a package may have on the wire, in bytes.
PROGRAM = 12_000_000
PACKAGE = 5_500_000


def check(name: str, size: int, bound: int) -> None:
    """Refuses a file above its bound."""
    if size > bound:
        raise SystemExit(
            f"{name} has {size:,} bytes, {size - bound:,} above the bound of {bound:,}. Nothing was written for it. "
            "Take bytes out (packaging/README.md, Sizes). For tests, a build of any size: make packages PROFILE=release"
        )


@dataclass(frozen=True)
class Row:
    """A file of a release, and what it holds."""

    name: str
    size: int
    program: int | None
    """The size of the program in it, in bytes; None: there is none."""


def table(rows: list[Row]) -> str:
    """The files with their bytes, and how much of its program's size each package has."""
    width = max(len(row.name) for row in rows)
    lines = [f"  {'':{width}}  {'bytes':>11}  of its program"]
    for row in rows:
        part = "" if row.program is None else f"{row.size / row.program:14.0%}"
        lines.append(f"  {row.name:{width}}  {row.size:11,}  {part}".rstrip())
    return "\n".join(lines)
