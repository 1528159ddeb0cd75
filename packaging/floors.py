#!/usr/bin/env python3
"""What a program asks of the system that it runs on, read from its file: `floors.py TARGET PROGRAM`.

A program that asks for more than its target promises is refused, and does not fail on a person's computer."""

import hashlib
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from targets import Target, target_named

# Libraries that each Windows has since version 10; with any other one the program would start on the builder's
# computer alone.
WINDOWS_LIBRARIES = {
    "advapi32", "bcryptprimitives", "combase", "iphlpapi", "kernel32", "ktmw32", "msvcrt", "ntdll", "oleaut32", "shell32",
    "userenv", "ws2_32",
}
# A set of interfaces of Windows under names of its own.
WINDOWS_SETS = re.compile(r"api-ms-win-[a-z0-9-]+")
# Libraries that each macOS has.
MAC_LIBRARIES = {"/usr/lib/libSystem.B.dylib", "/usr/lib/libiconv.2.dylib", "/usr/lib/libcharset.1.dylib"}


class FloorError(Exception):
    """The program asks for more than its target promises."""


def imported_libraries(program: bytes) -> set[str]:
    """The libraries that a program for Windows imports, without `.dll`, in small letters."""
    header = struct.unpack_from("<I", program, 0x3C)[0]
    if program[:2] != b"MZ" or program[header:header + 4] != b"PE\0\0":
        raise FloorError("it is no program for Windows")
    sections, options = struct.unpack_from("<H", program, header + 6)[0], struct.unpack_from("<H", program, header + 20)[0]
    if struct.unpack_from("<H", program, header + 24)[0] != 0x20B:
        raise FloorError("it is no program of 64 bits")
    imports = struct.unpack_from("<I", program, header + 24 + 112 + 8)[0]
    table = [struct.unpack_from("<III", program, header + 24 + options + 40 * number + 12) for number in range(sections)]

    def at(address: int) -> int:
        """The place in the file of an address in memory."""
        for begin, size, place in table:
            if begin <= address < begin + size:
                return address - begin + place
        raise FloorError(f"no section has the address {address:#x}")

    found, entry = set(), at(imports)
    while name := struct.unpack_from("<I", program, entry + 12)[0]:
        begin = at(name)
        found.add(program[begin:program.index(b"\0", begin)].decode().lower().removesuffix(".dll"))
        entry += 20
    return found


def check_windows(program: bytes) -> str:
    needed = imported_libraries(program)
    unknown = sorted(name for name in needed - WINDOWS_LIBRARIES if not WINDOWS_SETS.fullmatch(name))
    if unknown:
        raise FloorError(f"it needs {', '.join(name + '.dll' for name in unknown)}, which not every Windows has")
    return f"{len(needed)} libraries, all of Windows itself"


ELF_DYNAMIC, ELF_INTERPRETER = 3, 3


def check_linux(program: bytes, floor: str | None, moves: bool) -> str:
    if program[:5] != b"\x7fELF\x02":
        raise FloorError("it is no program of 64 bits for Linux")
    if moves and struct.unpack_from("<H", program, 16)[0] != ELF_DYNAMIC:
        raise FloorError("it is always at one place in memory (no PIE), which makes an attack on it easier")
    headers = struct.unpack_from("<Q", program, 32)[0]
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, headers + size * number)[0] for number in range(count)]
    if floor is None:
        if ELF_INTERPRETER in kinds:
            raise FloorError("it needs a C library of the system, and a program for musl brings its own")
        return "static, needs nothing of the system"
    found = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", program)}
    newest = max(found, default=(0, 0))
    if newest > tuple(int(part) for part in floor.split(".")):
        raise FloorError(f"it needs version {newest[0]}.{newest[1]} of the GNU C library, above {floor}")
    if b"libgcc_s.so.1" in program:
        raise FloorError("it needs libgcc_s.so.1, which not every Linux has")
    return f"the GNU C library from {newest[0]}.{newest[1]} on"


# The words of Mach-O: loader commands with a library, with the oldest system, and with the place of the signature.
MAC_PROGRAM, MAC_LIBRARY, MAC_OLDEST, MAC_BUILD, MAC_SIGNATURE = 0xFEEDFACF, 0xC, 0x24, 0x32, 0x1D
SIGNATURES, CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02


def check_mac(program: bytes, floor: str, must_be_signed: bool) -> str:
    if struct.unpack_from("<I", program)[0] != MAC_PROGRAM:
        raise FloorError("it is no program of 64 bits for macOS")
    libraries, oldest, signature, place = set(), None, None, 32
    for _ in range(struct.unpack_from("<I", program, 16)[0]):
        command, size = struct.unpack_from("<II", program, place)
        if command == MAC_LIBRARY:
            begin = place + struct.unpack_from("<I", program, place + 8)[0]
            libraries.add(program[begin:program.index(b"\0", begin)].decode())
        elif command in (MAC_OLDEST, MAC_BUILD):
            version = struct.unpack_from("<I", program, place + (8 if command == MAC_OLDEST else 12))[0]
            oldest = f"{version >> 16}.{version >> 8 & 0xFF}"
        elif command == MAC_SIGNATURE:
            signature = struct.unpack_from("<I", program, place + 8)[0]
        place += size
    if unknown := sorted(libraries - MAC_LIBRARIES):
        raise FloorError(f"it needs {', '.join(unknown)}, which not every macOS has")
    if oldest != floor:
        raise FloorError(f"its oldest macOS is {oldest}, and not {floor}")
    if signature is None and must_be_signed:
        raise FloorError("it has no signature, so macOS would not start it")
    if signature is None:
        return f"macOS from {oldest} on, not signed"
    return f"macOS from {oldest} on, {pages_signed(program, signature)} signed pages"


def pages_signed(program: bytes, signature: int) -> int:
    """How many pages have the sum that the signature has for them: all, or an error."""
    kind, _, count = struct.unpack_from(">III", program, signature)
    blobs = [struct.unpack_from(">II", program, signature + 12 + 8 * number)[1] for number in range(count)]
    for blob in blobs if kind == SIGNATURES else []:
        begin = signature + blob
        if struct.unpack_from(">I", program, begin)[0] != CODE_DIRECTORY:
            continue
        sums, _, _, pages, end = struct.unpack_from(">IIIII", program, begin + 16)
        length, page = program[begin + 36], 1 << program[begin + 39]
        for number in range(pages):
            content = program[number * page:min((number + 1) * page, end)]
            place = begin + sums + number * length
            if hashlib.sha256(content).digest()[:length] != program[place:place + length]:
                raise FloorError(f"page {number} is not the one that was signed")
        return pages
    raise FloorError("its signature has no sums of pages")


def check(target: Target, program: bytes) -> str:
    """What the program asks for, in words.

    Raises FloorError if that is more than its target promises."""
    if target.is_windows:
        return check_windows(program)
    if target.is_mac:
        # macOS starts a program without a signature on the processors of Intel only.
        return check_mac(program, target.floor, must_be_signed=target.node_cpu == "arm64")
    # Rust makes static programs for ARM that stay at one place in memory, and no others.
    return check_linux(program, target.floor, moves=target.name != "linux-arm64-musl")


def main() -> None:
    name, path = sys.argv[1:]
    try:
        print(f"{path}: {check(target_named(name), Path(path).read_bytes())}")
    except FloorError as error:
        raise SystemExit(f"{path} is no program for {name}: {error}") from None


if __name__ == "__main__":
    main()
