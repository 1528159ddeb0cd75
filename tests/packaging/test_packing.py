"""What the scripts of packaging/ make of a program, whatever the program does: a small script takes its place, so
nothing has to be built.

`make packing`. The formats are read by others' code where there is some."""

import base64
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import jsonschema
import tree_sitter
import tree_sitter_powershell
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import get_spdx_licensing

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tests" / "packaging")]

import archives
import floors
import formats
import manifests
import sizes
import targets
from program import MCP_ARGUMENTS, version

VERSION = version()
HOST = targets.host_target().name
ALL = [target.name for target in targets.TARGETS]

PROGRAM = """#!/bin/sh
case $1 in
    man) echo '.TH tabwire 1' >"$2/tabwire.1" ;;
    completions) echo "complete tabwire in $2" ;;
esac
# GLIBC_2.17
"""
# Folders that are large, made anew, or one computer's own.
NOT_COPIED = shutil.ignore_patterns("target", "node_modules", ".git", "__pycache__", "config.json")


class Folder:
    """A folder with a program in it, and packages made of that."""

    def __init__(self, program: bytes = PROGRAM.encode()) -> None:
        self.aside = tempfile.TemporaryDirectory(prefix="tabwire-packing-")
        self.path = Path(self.aside.name)
        self.program = self.path / "tabwire"
        self.program.write_bytes(program)
        self.program.chmod(0o755)
        self.out = self.path / "packages"

    def pack(self, names: list[str], *flags: str, source: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
        given = [word for name in names for word in ("--program", str(self.program), "--target", name)]
        command = [sys.executable, str(source / "packaging" / "pack.py"), "--out", str(self.out), *given, *flags]
        kept = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        return subprocess.run(command, env=kept | environment, capture_output=True, text=True, timeout=300, check=False)

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}


class SameBytes(unittest.TestCase):
    def packed_in(self, name: str, order: int, **environment: str) -> dict[str, bytes]:
        """The packages of a copy of the source in a folder of this name, whose files were made in this order."""
        folder = Folder()
        self.addCleanup(folder.aside.cleanup)
        source = folder.path / name
        shutil.copytree(ROOT, source, ignore=NOT_COPIED)
        files = sorted(source.rglob("*"))[::order]
        for age, path in enumerate(files):
            os.utime(path, (1_600_000_000 + age, 1_600_000_000 + age))
        before = os.umask(0o022 if order == 1 else 0o077)
        try:
            ran = folder.pack(ALL, source=source, PYTHONDONTWRITEBYTECODE="1", **environment)
        finally:
            os.umask(before)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return folder.contents()

    def test_two_folders_times_and_languages_give_the_same_bytes(self) -> None:
        one = self.packed_in("a", 1, TZ="UTC", LANG="C", PYTHONHASHSEED="1")
        two = self.packed_in("another folder", -1, TZ="Pacific/Auckland", LANG="C.UTF-8", PYTHONHASHSEED="2")
        self.assertEqual(sorted(one), sorted(two))
        self.assertEqual([name for name in one if one[name] != two[name]], [])

    def test_the_time_of_the_source_is_the_only_time_in_a_package(self) -> None:
        dated = self.packed_in("a", 1, SOURCE_DATE_EPOCH="1790000000")
        self.assertEqual(dated, self.packed_in("b", 1, SOURCE_DATE_EPOCH="1790000000"))
        undated = self.packed_in("a", 1)
        self.assertNotEqual(dated[f"tabwire-{VERSION}-{HOST}.tar.gz"], undated[f"tabwire-{VERSION}-{HOST}.tar.gz"])
        self.assertIn(b'"timestamp": "2026-09-21T14:13:20Z"', dated[f"tabwire-{VERSION}.cdx.json"])
        self.assertNotIn(b"timestamp", undated[f"tabwire-{VERSION}.cdx.json"])


class Archives(unittest.TestCase):
    """Archives are written by ourselves, and read by Python's own code."""

    def test_a_zip_keeps_content_rights_and_time_and_stores_what_does_not_get_smaller(self) -> None:
        content = {"a/program": (b"again and again " * 100, 0o755), "noise": (os.urandom(100), 0o644), "empty": (b"", 0o644)}
        entries = [archives.Entry(name, text, mode) for name, (text, mode) in content.items()]
        with zipfile.ZipFile(io.BytesIO(archives.zip_bytes(entries))) as found:
            self.assertIsNone(found.testzip())
            for about in found.infolist():
                text, mode = content[about.filename]
                self.assertEqual(found.read(about), text)
                self.assertEqual(about.external_attr >> 16, 0o100000 | mode)
                self.assertEqual(about.date_time, (1980, 1, 1, 0, 0, 0))
            kinds = {about.filename: about.compress_type for about in found.infolist()}
        self.assertEqual(kinds, {"a/program": zipfile.ZIP_DEFLATED, "noise": zipfile.ZIP_STORED, "empty": zipfile.ZIP_STORED})

    def test_a_gzip_is_smaller_than_pythons_and_unpacks_to_the_same_as_does_an_xz(self) -> None:
        content = (ROOT / "Cargo.lock").read_bytes()
        packed = archives.gzip_bytes(content)
        self.assertEqual(gzip.decompress(packed), content)
        self.assertLess(len(packed), len(gzip.compress(content, 9)))
        self.assertEqual(packed[4:8], bytes(4), "no time")
        for x86 in [False, True]:
            self.assertEqual(lzma.decompress(archives.xz_bytes(content, x86)), content)


class Sizes(unittest.TestCase):
    def refused(self, program: bytes) -> str:
        """What is said of a program that is too large, or whose packages are. None of them is written."""
        folder = Folder(program)
        self.addCleanup(folder.aside.cleanup)
        ran = folder.pack(["darwin-arm64"])
        self.assertEqual(ran.returncode, 1, ran)
        self.assertFalse((folder.out / "SHA256SUMS").exists(), "a folder without sums is no release")
        written = folder.contents().items() if folder.out.exists() else []
        self.assertEqual([name for name, content in written if len(content) > sizes.PACKAGE], [])
        again = folder.pack(["darwin-arm64"], "--any-size")
        self.assertEqual(again.returncode, 0, again.stderr)
        return ran.stderr

    def test_a_program_above_its_bound_is_refused_with_its_size(self) -> None:
        said = self.refused(bytes(sizes.PROGRAM + 1))
        size, bound = f"{sizes.PROGRAM + 1:,}", f"{sizes.PROGRAM:,}"
        self.assertIn(f"the program for darwin-arm64 has {size} bytes, 1 above the bound of {bound}. ", said)

    def test_a_package_above_its_bound_is_refused_with_its_size(self) -> None:
        # Bytes that no archive makes smaller.
        said = self.refused(os.urandom(sizes.PACKAGE))
        self.assertRegex(said, rf"tabwire-{VERSION}-darwin-arm64.tar.gz has [\d,]+ bytes, .* the bound of {sizes.PACKAGE:,}\.")
        self.assertIn("packaging/README.md", said)

    def test_the_size_of_each_file_and_its_part_of_the_program_are_printed(self) -> None:
        folder = Folder(PROGRAM.encode() + bytes(1_000_000))
        self.addCleanup(folder.aside.cleanup)
        said = folder.pack([HOST]).stdout
        for name, content in folder.contents().items():
            line = re.search(rf"^ +{re.escape(name)} +([\d,]+)(?: +(\d+)%)?$", said, re.MULTILINE)
            self.assertIsNotNone(line, f"{name} in {said}")
            self.assertEqual(line[1], f"{len(content):,}")
            self.assertEqual(line[2] is not None, HOST in name or "linux_" in name or name.endswith(".deb"), name)
        self.assertIn(f"the program for {HOST} ", said)

    def test_the_bounds_themselves_are_allowed(self) -> None:
        sizes.check("a package", sizes.PACKAGE, sizes.PACKAGE)
        with self.assertRaises(SystemExit):
            sizes.check("a package", sizes.PACKAGE + 1, sizes.PACKAGE)


def windows_program(*libraries: str) -> bytes:
    """The beginning of a program for Windows that imports these."""
    names = b"".join(name.encode() + b"\0" for name in libraries)
    table_size = 20 * (len(libraries) + 1)
    at, table = 0x1000 + table_size, b""
    for name in libraries:
        table += struct.pack("<IIIII", 0, 0, 0, at, 0)
        at += len(name) + 1
    content = table + bytes(20) + names
    options = struct.pack("<H", 0x20B) + bytes(110) + bytes(8) + struct.pack("<II", 0x1000, table_size)
    header = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(options), 0)
    begin = 64 + len(header) + len(options) + 40
    section = struct.pack("<8sIIII", b".idata", len(content), 0x1000, len(content), begin) + bytes(16)
    return b"MZ" + bytes(58) + struct.pack("<I", 64) + header + options + section + content


def linux_program(kind: int = 3, *, has_interpreter: bool = True, text: bytes = b"GLIBC_2.2.5 GLIBC_2.17") -> bytes:
    header = b"\x7fELF\x02" + bytes(11) + struct.pack("<HHIQQQIHHH", kind, 62, 1, 0, 64, 0, 0, 64, 56, 1)
    return header.ljust(64, b"\0") + struct.pack("<I", 3 if has_interpreter else 1).ljust(56, b"\0") + text


def mac_program(library: str = "/usr/lib/libSystem.B.dylib", oldest: int = 11 << 16) -> bytes:
    """The beginning of a program for macOS with a signature of its one page."""
    name = library.encode().ljust(64, b"\0")
    commands = struct.pack("<IIIIII", 0xC, 24 + len(name), 24, 0, 0, 0) + name
    commands += struct.pack("<IIIIII", 0x32, 24, 1, oldest, oldest, 0)
    end = 32 + len(commands) + 16
    commands += struct.pack("<IIII", 0x1D, 16, end, 0)
    page = struct.pack("<IIIIIIII", 0xFEEDFACF, 0, 0, 2, 3, len(commands), 0, 0) + commands
    directory = struct.pack(">IIIIIIIII4B", 0xFADE0C02, 0, 0, 0, 40, 0, 0, 1, end, 32, 2, 0, 12) + hashlib.sha256(page).digest()
    return page + struct.pack(">IIIII", 0xFADE0CC0, 0, 1, 0, 20) + directory


class Floors(unittest.TestCase):
    """A program that asks its system for more than was promised is refused before it is packed."""

    def refused(self, name: str, program: bytes, reason: str) -> None:
        with self.assertRaises(floors.FloorError) as refused:
            floors.check(targets.target_named(name), program)
        self.assertIn(reason, str(refused.exception))

    def test_a_program_for_windows_needs_libraries_of_windows_alone(self) -> None:
        of_windows = windows_program("KERNEL32.dll", "ws2_32.dll", "api-ms-win-core-synch-l1-2-0.dll")
        self.assertIn("3 libraries", floors.check(targets.target_named("windows-x64"), of_windows))
        self.refused("windows-x64", windows_program("KERNEL32.dll", "libgcc_s_seh-1.dll"), "it needs libgcc_s_seh-1.dll,")
        self.refused("windows-x64", linux_program(), "no program for Windows")

    def test_a_program_for_linux_runs_with_the_oldest_library_and_moves_in_memory(self) -> None:
        self.assertIn("from 2.17 on", floors.check(targets.target_named("linux-x64"), linux_program()))
        self.refused("linux-arm64", linux_program(text=b"GLIBC_2.18"), "version 2.18 of the GNU C library, above 2.17")
        self.refused("linux-x64", linux_program(text=b"libgcc_s.so.1"), "libgcc_s.so.1")
        self.refused("linux-x64", linux_program(kind=2), "no PIE")
        self.refused("linux-x64", windows_program(), "no program of 64 bits for Linux")

    def test_a_program_for_musl_needs_nothing(self) -> None:
        self.assertIn("static", floors.check(targets.target_named("linux-x64-musl"), linux_program(has_interpreter=False)))
        self.refused("linux-x64-musl", linux_program(), "needs a C library")
        self.refused("linux-x64-musl", linux_program(kind=2, has_interpreter=False), "no PIE")
        self.assertIn("static", floors.check(targets.target_named("linux-arm64-musl"), linux_program(kind=2, has_interpreter=False)))

    def test_a_program_for_macos_is_signed_and_runs_on_the_oldest_one(self) -> None:
        signed = mac_program()
        self.assertIn("11.0 on, 1 signed pages", floors.check(targets.target_named("darwin-arm64"), signed))
        self.refused("darwin-arm64", mac_program(oldest=15 << 16), "its oldest macOS is 15.0, and not 11.0")
        self.refused("darwin-x64", signed, "and not 10.12")
        self.refused("darwin-arm64", mac_program("/opt/homebrew/lib/libz.dylib"), "it needs /opt/homebrew/lib/libz.dylib,")
        self.refused("darwin-arm64", signed[:110] + b"X" + signed[111:], "page 0")

    def test_what_was_built_for_another_system_is_not_packed(self) -> None:
        folder = Folder()
        self.addCleanup(folder.aside.cleanup)
        source = folder.path / "source"
        shutil.copytree(ROOT, source, ignore=NOT_COPIED)
        ran = folder.pack([], "--built", "windows-x64", source=source)
        self.assertIn("packaging/build.sh --target windows-x64", ran.stderr)
        built = source / "target" / "x86_64-pc-windows-gnu" / "dist" / "tabwire.exe"
        built.parent.mkdir(parents=True)
        built.write_bytes(linux_program())
        ran = folder.pack([], "--built", "windows-x64", source=source)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("tabwire.exe is no program for windows-x64", ran.stderr)
        self.assertFalse(folder.out.exists())
        built.write_bytes(windows_program("kernel32.dll"))
        ran = folder.pack([], "--built", "windows-x64", source=source)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"tabwire-{VERSION}-windows-x64.zip", folder.contents())


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Folder()
        cls.addClassCleanup(cls.folder.aside.cleanup)
        ran = cls.folder.pack(ALL)
        if ran.returncode != 0:
            raise AssertionError(ran.stderr)
        cls.out = cls.folder.out

    def read(self, name: str) -> dict:
        return json.loads((self.out / name).read_text())

    def bill(self) -> dict:
        return self.read(f"tabwire-{VERSION}.cdx.json")

    def sum_of(self, address: str) -> str:
        return hashlib.sha256((self.out / address.rsplit("/", 1)[1]).read_bytes()).hexdigest()

    def test_the_bill_of_materials_is_valid_cyclonedx(self) -> None:
        valid = JsonStrictValidator(SchemaVersion.V1_6)
        self.assertIsNone(valid.validate_str(json.dumps(self.bill())))
        # The validator does look.
        self.assertIsNotNone(valid.validate_str(json.dumps(self.bill() | {"serialNumber": "1"})))

    def test_the_bill_names_each_library_once_with_its_sum_and_a_licence_of_spdx(self) -> None:
        components = self.bill()["components"]
        refs = [component["bom-ref"] for component in components]
        self.assertEqual(len(refs), len(set(refs)))
        licences = get_spdx_licensing()
        for component in components:
            [licence] = component["licenses"]
            self.assertEqual(licences.validate(licence["expression"]).errors, [], component["name"])
            if not component["purl"].startswith("pkg:generic/"):
                self.assertIn("hashes", component, component["name"])
        lock = (ROOT / "Cargo.lock").read_text()
        [tokio] = [component for component in components if component["name"] == "tokio"]
        self.assertIn(f'name = "tokio"\nversion = "{tokio["version"]}"', lock)
        self.assertIn(f'checksum = "{tokio["hashes"][0]["content"]}"', lock)

    def test_the_bill_has_all_that_is_in_a_program_and_nothing_that_only_builds_or_tests_it(self) -> None:
        names = {component["name"] for component in self.bill()["components"]}
        self.assertLessEqual({"axum", "clap", "rusqlite", "sqlite", "mimalloc", "axe-core"}, names)
        self.assertEqual(names & {"proptest", "stateright", "jsonschema", "testkit", "rmcp", "serde_derive", "cc"}, set())
        # A library of one system only.
        self.assertIn("windows-sys", names)

    def test_the_bill_says_which_library_brings_which(self) -> None:
        bill = self.bill()
        itself = bill["metadata"]["component"]["bom-ref"]
        known = {component["bom-ref"] for component in bill["components"]} | {itself}
        needs = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
        self.assertEqual(set(needs), known)
        reached, ahead = set(), [itself]
        while ahead:
            ref = ahead.pop()
            if ref not in reached:
                reached.add(ref)
                ahead += needs[ref]
        self.assertEqual(reached, known, "each library is there because the program needs it")

    def test_the_registrys_entry_has_its_form_and_starts_what_install_writes(self) -> None:
        server = self.read("server.json")
        jsonschema.validate(server, formats.MCP_SERVER)
        for package in server["packages"]:
            if package["registryType"] == "mcpb":
                self.assertEqual(package["fileSha256"], self.sum_of(package["identifier"]))
                continue
            words = [word for argument in package["packageArguments"]
                     for word in (argument.get("name"), argument["value"]) if word]
            self.assertEqual(words, MCP_ARGUMENTS)
        bundles = [package for package in server["packages"] if package["registryType"] == "mcpb"]
        self.assertEqual(len(bundles), len(list(self.out.glob("*.mcpb"))))

    def test_scoop_gets_a_manifest_of_its_form(self) -> None:
        scoop = self.read("tabwire.json")
        jsonschema.validate(scoop, formats.SCOOP)
        [(processor, now)] = scoop["architecture"].items()
        self.assertEqual(now["hash"], self.sum_of(now["url"]))
        with zipfile.ZipFile(self.out / now["url"].rsplit("/", 1)[1]) as archive:
            self.assertIn(f"{now['extract_dir']}/{scoop['bin']}", archive.namelist())
        # Scoop makes the next version's address, and finds the sum, in this way.
        later = scoop["autoupdate"]["architecture"][processor]
        self.assertEqual({name: value.replace("$version", VERSION) for name, value in later.items()},
                         {name: now[name] for name in later})
        sums = scoop["autoupdate"]["hash"]["url"].replace("$baseurl/", "")
        self.assertIn(f"{now['hash']}  {now['url'].rsplit('/', 1)[1]}\n", (self.out / sums).read_text())

    def test_winget_gets_three_files_of_their_forms(self) -> None:
        files = {path.name: yaml.safe_load(path.read_text()) for path in self.out.glob("*.yaml")}
        self.assertEqual({file["ManifestType"] for file in files.values()}, set(formats.WINGET))
        for name, file in files.items():
            jsonschema.validate(file, formats.WINGET[file["ManifestType"]])
            self.assertTrue(name.startswith(file["PackageIdentifier"]), name)
            self.assertEqual(file["PackageVersion"], VERSION)
        [installer] = files["Tabwire.Tabwire.installer.yaml"]["Installers"]
        self.assertEqual(installer["InstallerSha256"], self.sum_of(installer["InstallerUrl"]).upper())
        [nested] = installer["NestedInstallerFiles"]
        with zipfile.ZipFile(self.out / installer["InstallerUrl"].rsplit("/", 1)[1]) as archive:
            self.assertIn(nested["RelativeFilePath"].replace("\\", "/"), archive.namelist())

    def test_no_manifest_is_written_for_a_system_without_a_program(self) -> None:
        self.assertEqual(manifests.package_managers(VERSION, "https://example.com", {}), {})

    def test_the_launcher_finds_the_package_of_each_target(self) -> None:
        launcher = (ROOT / "packaging" / "npm" / "tabwire.js").read_text()
        self.assertIn("@tabwire/cli-${name}/bin/${", launcher)
        for target in targets.TARGETS:
            named = f"@tabwire/cli-{target.node_os}-{target.node_cpu}"
            self.assertEqual(target.npm_package, named + ("-musl" if target.node_libc == "musl" else ""))

    def test_a_wheels_record_has_the_sum_of_each_file(self) -> None:
        for path in self.out.glob("*.whl"):
            with zipfile.ZipFile(path) as wheel:
                [record] = [name for name in wheel.namelist() if name.endswith("/RECORD")]
                for line in wheel.read(record).decode().splitlines():
                    name, value, size = line.split(",")
                    if name != record:
                        content = wheel.read(name)
                        own = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                        self.assertEqual((value, size), (f"sha256={own}", str(len(content))), f"{path.name}: {name}")

    def test_the_same_arguments_are_written_by_install(self) -> None:
        install = (ROOT / "src" / "cli" / "install" / "mod.rs").read_text()
        words = re.findall(r'"([^"]+)"', re.search(r"const MCP_ARGUMENTS[^=]*= *\[([^\]]*)\]", install)[1])
        self.assertEqual(words, MCP_ARGUMENTS)


class Scripts(unittest.TestCase):
    """The two scripts for downloads. `install.sh` runs in `make test-packages`; no PowerShell runs here."""

    # Commands that Windows PowerShell 5.1 has.
    COMMANDS = {
        "Copy-Item", "Expand-Archive", "Get-Content", "Get-FileHash", "Invoke-WebRequest", "Join-Path", "Move-Item", "New-Item",
        "Out-Null", "Remove-Item", "Test-Path", "Write-Output",
    }
    POWERSHELL = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))

    def setUp(self) -> None:
        self.shell = (ROOT / "packaging" / "install.sh").read_text()
        self.text = (ROOT / "packaging" / "install.ps1").read_text()

    def nodes(self, text: str) -> list[tree_sitter.Node]:
        found = [self.POWERSHELL.parse(text.encode()).root_node]
        for node in found:
            found += node.children
        return found

    def words(self, kind: str) -> set[str]:
        return {node.text.decode() for node in self.nodes(self.text) if node.type == kind}

    def test_the_script_for_windows_is_powershell(self) -> None:
        self.assertFalse(self.nodes(self.text)[0].has_error)
        # The parser does look.
        self.assertTrue(self.nodes(self.text.replace("try {", "try", 1))[0].has_error)
        # Windows PowerShell reads a file without a mark in the code page of the computer.
        self.assertTrue(self.text.isascii())

    def test_the_script_for_windows_needs_no_later_powershell(self) -> None:
        self.assertEqual(self.words("command_name") - self.words("function_name"), self.COMMANDS)
        kinds = {node.type for node in self.nodes(self.text)}
        self.assertEqual(kinds & {"pipeline_chain_tail", "ternary_expression", "null_coalesce_expression"}, set())
        self.assertIn("pipeline_chain_tail", {node.type for node in self.nodes("a && b")})

    def test_the_script_for_windows_does_not_close_the_persons_window(self) -> None:
        self.assertNotIn("exit", {node.text.decode() for node in self.nodes(self.text) if node.type != "comment"})

    def test_both_scripts_have_the_same_names_and_refusals(self) -> None:
        for part in ["@VERSION@", "@RELEASES@", "TABWIRE_RELEASES", "TABWIRE_BIN", "tabwire-$version-$target", "$releases/",
                     "SHA256SUMS", "there is no build for $", "cannot download $releases/", "SHA256SUMS does not name $archive",
                     "$archive is not the file that SHA256SUMS names. Nothing was installed; try again",
                     "is not in your PATH)", "Next: tabwire install"]:
            for name, script in [("install.sh", self.shell), ("install.ps1", self.text)]:
                self.assertIn(part, script, f"{name}: {part}")

    def test_both_scripts_check_the_sum_before_they_unpack_and_replace_last(self) -> None:
        for script, steps in [
            (self.shell, ["get \"$releases/$archive\"", "$releases/SHA256SUMS", "[ -n \"$wanted\" ]", "= \"$wanted\" ]", "tar \"$unpack\"",
                          "mv -f", "Next:"]),
            (self.text, ["Get-Release $archive", "Get-Release 'SHA256SUMS'", "if (-not $wanted)", "if ($sum -ne $wanted)",
                         "Expand-Archive", "Move-Item -Force -Path $new", "Next:"]),
        ]:
            places = [script.index(step) for step in steps]
            self.assertEqual(places, sorted(places))

    def test_each_target_has_a_script_that_names_its_archive(self) -> None:
        named = set()
        systems = re.findall(r"system=(\w+)", self.shell)
        processors = re.findall(r"cpu=(\w+)", self.shell)
        for name in [f"{system}-{cpu}" for system in systems for cpu in processors]:
            named |= {name, f"{name}-musl"} if name.startswith("linux") else {name}
        named |= {f"windows-{cpu}" for cpu in re.findall(r"\$cpu = '(\w+)'", self.text)}
        self.assertEqual(named, set(ALL))


if __name__ == "__main__":
    unittest.main()
