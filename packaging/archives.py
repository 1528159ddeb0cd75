"""Archives whose bytes depend on their content alone: fixed times, owners and order."""

import gzip
import hashlib
import io
import lzma
import os
import tarfile
import zipfile
from dataclasses import dataclass

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


def tar_gz(entries: list[Entry]) -> bytes:
    """The entries as a compressed tar."""
    out = io.BytesIO()
    # Without a name and a time of its own.
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as packed:
        packed.write(tar_bytes(entries))
    return out.getvalue()


def zip_bytes(entries: list[Entry]) -> bytes:
    """The entries as a zip, executable where their mode says so."""
    import time

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time.gmtime(moment())[:6])
            info.create_system = 3
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.content)
    return out.getvalue()


def deb_bytes(control: list[Entry], data: list[Entry]) -> bytes:
    """A package of Debian: an `ar` of two tars, deb(5)."""
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", lzma.compress(tar_bytes(control), preset=9)),
        ("data.tar.xz", lzma.compress(tar_bytes(data, with_folders=True), preset=9)),
    ]
    out = bytearray(b"!<arch>\n")
    for name, content in members:
        out += f"{name:<16}{moment():<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return bytes(out)


def sha256(content: bytes) -> str:
    """The sum of a file, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
