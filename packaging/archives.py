"""Archives whose bytes depend on their content alone: fixed times, owners and order."""

import hashlib
import io
import lzma
import os
import struct
import tarfile
import time
import zlib
from dataclasses import dataclass

try:
    import deflate
except ImportError:
    raise SystemExit("the Python package `deflate` is missing. `make packages` fetches it, and starts this script with it") from None

# 1980-01-01, the first time that a zip can hold. SOURCE_DATE_EPOCH replaces it.
EARLIEST = 315_532_800


@dataclass(frozen=True)
class Entry:
    """A file in an archive."""

    name: str
    content: bytes
    mode: int = 0o644


def moment() -> int:
    """The time of every entry, in seconds since 1970."""
    return max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)))


def tar_bytes(entries: list[Entry], with_folders: bool = False) -> bytes:
    """The entries as a tar. `with_folders`: the folders have entries of their own, as dpkg wants."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for folder in folders_of(entries) if with_folders else []:
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, moment()
            info.uname = info.gname = "root"
            archive.addfile(info)
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.size, info.mode, info.mtime = len(entry.content), entry.mode, moment()
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(entry.content))
    return out.getvalue()


def folders_of(entries: list[Entry]) -> list[str]:
    """The folders of the entries, each after the one that it is in."""
    folders: list[str] = []
    for entry in entries:
        parts = entry.name.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            folder = "/".join(parts[:end])
            if folder not in folders:
                folders.append(folder)
    return folders


def gzip_bytes(content: bytes) -> bytes:
    """The content as a gzip file without a name and a time. The library is one of our own choice: what the system's zlib makes
    of the same content depends on the system, and is larger."""
    return bytes(deflate.gzip_compress(content, SMALLEST))


# The level of `deflate` that looks longest for repetitions.
SMALLEST = 12


def tar_gz(entries: list[Entry]) -> bytes:
    """The entries as a compressed tar."""
    return gzip_bytes(tar_bytes(entries))


# What a zip's headers have in common: version 2.0 of the format, no flags.
ZIP_VERSION, ZIP_FLAGS, ZIP_OF_UNIX = 20, 0, 3 << 8
ZIP_STORED, ZIP_DEFLATED = 0, 8


def zip_bytes(entries: list[Entry]) -> bytes:
    """The entries as a zip, executable where their mode says so."""
    year, month, day, hour, minute, second = time.gmtime(moment())[:6]
    when = struct.pack("<HH", hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day)
    files, listed = bytearray(), bytearray()
    for entry in entries:
        name = entry.name.encode("ascii")
        packed, method = bytes(deflate.deflate_compress(entry.content, SMALLEST)), ZIP_DEFLATED
        if len(packed) >= len(entry.content):
            packed, method = entry.content, ZIP_STORED
        about = struct.pack("<HHH", ZIP_VERSION, ZIP_FLAGS, method) + when + struct.pack(
            "<IIIHH", zlib.crc32(entry.content), len(packed), len(entry.content), len(name), 0)
        rights = (0o100000 | entry.mode) << 16
        listed += b"PK\x01\x02" + struct.pack("<H", ZIP_OF_UNIX | ZIP_VERSION) + about
        listed += struct.pack("<HHHII", 0, 0, 0, rights, len(files)) + name
        files += b"PK\x03\x04" + about + name + packed
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(listed), len(files), 0)
    return bytes(files + listed + end)


def xz_bytes(content: bytes, x86: bool = False) -> bytes:
    """The content as an xz file. `x86`: it is mostly a program for such a processor, whose calls are made alike first."""
    # As large as a program, so that one half finds what the other half repeats. A reader needs as much memory.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 32 << 20}]
    return lzma.compress(content, filters=[{"id": lzma.FILTER_X86}, *filters] if x86 else filters)


def deb_bytes(control: list[Entry], data: list[Entry], x86: bool) -> bytes:
    """A package of Debian: an `ar` of two tars, deb(5)."""
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", xz_bytes(tar_bytes(control))),
        ("data.tar.xz", xz_bytes(tar_bytes(data, with_folders=True), x86)),
    ]
    out = bytearray(b"!<arch>\n")
    for name, content in members:
        out += f"{name:<16}{moment():<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return bytes(out)


def sha256(content: bytes) -> str:
    """The sum of a file, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
