"""The bounds of sizes. A person waits for each byte of a package, so growth is noticed before it is published."""

# What a program may have on disk, and what a package may have on the wire, in bytes.
PROGRAM = 19_000_000
PACKAGE = 8_200_000


def check(name: str, size: int, bound: int) -> None:
    """Refuses a file above its bound."""
    if size > bound:
        raise SystemExit(
            f"{name} has {size:,} bytes, {size - bound:,} above the bound of {bound:,}. Nothing was written for it. "
            "Take bytes out (packaging/README.md, Sizes). For tests, a build of any size: make packages PROFILE=release"
        )
