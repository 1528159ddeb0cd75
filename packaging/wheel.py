"""A wheel with the finished program: the same bytes as in every other channel."""

import base64
import hashlib

from archives import Entry, zip_bytes
from program import DESCRIPTION, ROOT, Program
from publisher import HOMEPAGE, MCP_NAME


def tags(program: Program) -> list[str]:
    """The platforms on which the program runs (PEP 600, PEP 656)."""
    target = program.target
    if target.is_windows:
        return [f"win_{target.wheel}"]
    if target.is_mac:
        major, minor = target.floor.split(".")
        return [f"macosx_{major}_{minor}_{target.wheel}"]
    if target.node_libc == "musl":
        # It is static, so it runs beside either library.
        return [f"manylinux_2_17_{target.wheel}", f"manylinux2014_{target.wheel}", f"musllinux_1_2_{target.wheel}"]
    major, minor = program.glibc() or (2, 17)
    old = [f"manylinux2014_{target.wheel}"] if (major, minor) <= (2, 17) else []
    return [f"manylinux_{major}_{minor}_{target.wheel}", *old]


def wheel(program: Program, version: str) -> tuple[str, bytes]:
    """The wheel's file name and content."""
    info, platforms = f"tabwire-{version}.dist-info", tags(program)
    metadata = (
        f"Metadata-Version: 2.4\nName: tabwire\nVersion: {version}\nSummary: {DESCRIPTION}\n"
        f"Project-URL: Homepage, {HOMEPAGE}\nLicense-Expression: MIT\nLicense-File: LICENSE\nRequires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n"
        f"<!-- mcp-name: {MCP_NAME} -->\n\n" + (ROOT / "README.md").read_text()
    )
    lines = [f"Tag: py3-none-{platform}" for platform in platforms]
    about = "\n".join(["Wheel-Version: 1.0", "Generator: tabwire", "Root-Is-Purelib: false", *lines]) + "\n"
    entries = [
        Entry(f"tabwire-{version}.data/scripts/{program.target.program}", program.content, 0o755),
        Entry(f"{info}/METADATA", metadata.encode()),
        Entry(f"{info}/WHEEL", about.encode()),
        Entry(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes()),
    ]
    record = "".join(f"{entry.name},sha256={digest(entry.content)},{len(entry.content)}\n" for entry in entries)
    entries.append(Entry(f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    return f"tabwire-{version}-py3-none-{'.'.join(platforms)}.whl", zip_bytes(entries)


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
