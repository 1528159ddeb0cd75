"""Each package is installed by the program that people install it with, and runs.

`make test-packages`. Nothing is fetched but from the loopback."""

import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tests" / "packaging")]

import floors
import mcpb
import npm
import targets
from program import Program, version
from registry import PythonIndex, Registry

PACKAGES = Path(os.environ.get("TABWIRE_PACKAGES", ROOT / "target" / "packages"))
HOST = targets.host_target()
VERSION = version()

INITIALIZE = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
})


class Place:
    """An empty home directory, and the environment of a person in it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tabwire-packages-")
        self.home = Path(self.folder.name)
        kept = {name: os.environ[name] for name in ["PATH", "LANG"] if name in os.environ}
        self.environment = kept | {"HOME": str(self.home), "TABWIRE_PORT": str(free_port())}

    def run(self, *command: object, check: bool = True, **more: object) -> subprocess.CompletedProcess:
        ran = subprocess.run([str(part) for part in command], env=self.environment, capture_output=True, text=True,
                             timeout=120, cwd=self.home, **more)
        if check and ran.returncode != 0:
            raise AssertionError(f"{command} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return ran

    def close(self) -> None:
        # A bridge has started a daemon; without one this does nothing.
        for program in self.home.rglob("bin/tabwire"):
            if program.is_file() and os.access(program, os.X_OK):
                self.run(program, "stop", check=False)
                break
        self.folder.cleanup()


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class PackageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Place()
        self.addCleanup(self.place.close)

    def package(self, pattern: str) -> Path:
        found = sorted(PACKAGES.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern} in {PACKAGES}: {found}")
        return found[0]

    def host_wheel(self) -> Path:
        """The wheel with this computer's program."""
        def is_it(path: Path) -> bool:
            return ("linux" in path.name, "musllinux" in path.name) == (HOST.node_os == "linux", HOST.node_libc == "musl")

        [found] = filter(is_it, PACKAGES.glob(f"*_{HOST.wheel}.whl"))
        return found

    def npm_registry(self) -> Registry:
        """The registry that npm asks in this test."""
        registry = Registry(PACKAGES)
        self.addCleanup(registry.close)
        self.place.environment |= {
            "npm_config_registry": registry.url,
            "npm_config_cache": str(self.place.home / ".npm"),
            "npm_config_update_notifier": "false",
            "npm_config_audit": "false",
            "npm_config_fund": "false",
        }
        return registry

    def speaks_mcp(self, *command: object) -> None:
        """A client's first message is answered."""
        ran = self.place.run(*command, "mcp", input=INITIALIZE + "\n")
        answer = json.loads(ran.stdout.splitlines()[0])
        self.assertEqual(answer["result"]["serverInfo"]["name"], "tabwire", answer)

    def lasts_without_its_cache(self, once: list[object], caches: list[Path], update: str) -> None:
        """A program that is run from a cache leaves settings that name one which stays."""
        (self.place.home / ".cursor").mkdir()
        settings = self.place.home / ".cursor" / "mcp.json"
        settings.write_text("{}")
        self.place.run(*once, "install", "--client", "cursor", "--json")
        for cache in caches:
            shutil.rmtree(cache)
        entry = json.loads(settings.read_text())["mcpServers"]["tabwire"]
        self.assertTrue(Path(entry["command"]).is_relative_to(self.place.home / ".local" / "state" / "tabwire"), entry)
        self.is_version(entry["command"])
        ran = self.place.run(entry["command"], *entry["args"], input=INITIALIZE + "\n")
        self.assertIn('"serverInfo"', ran.stdout)
        told = json.loads(self.place.run(entry["command"], "update", "--json").stdout)
        self.assertEqual(told["command"], update)

    def is_version(self, *command: object) -> None:
        self.assertEqual(self.place.run(*command, "--version").stdout, f"tabwire {VERSION}\n")


class Npm(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.registry = self.npm_registry()

    def test_a_global_installation_runs_with_and_without_scripts(self) -> None:
        for flags in [[], ["--ignore-scripts"]]:
            with self.subTest(flags=flags):
                prefix = self.place.home / f"prefix{len(flags)}"
                self.place.run("npm", "install", "--global", "--prefix", prefix, *flags, "tabwire")
                self.is_version(prefix / "bin" / "tabwire")
        self.speaks_mcp(prefix / "bin" / "tabwire")

    def test_only_the_program_of_this_computer_is_fetched(self) -> None:
        self.place.run("npm", "install", "--global", "--prefix", self.place.home / "prefix", "tabwire")
        programs = [name for name in self.registry.fetched if "cli" in name]
        self.assertEqual(programs, [f"tabwire-cli-{HOST.name}-{VERSION}.tgz"])

    def test_a_missing_program_is_told_with_the_next_step(self) -> None:
        prefix = self.place.home / "prefix"
        self.place.run("npm", "install", "--global", "--prefix", prefix, "tabwire")
        # As npm leaves it that was told to leave out optional packages, or does not know this system.
        for programs in list(prefix.rglob("@tabwire")):
            shutil.rmtree(programs)
        ran = self.place.run(prefix / "bin" / "tabwire", "--version", check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("--include=optional", ran.stderr)

    def test_the_exit_code_and_the_output_are_the_programs(self) -> None:
        prefix = self.place.home / "prefix"
        self.place.run("npm", "install", "--global", "--prefix", prefix, "tabwire")
        ran = self.place.run(prefix / "bin" / "tabwire", "status", check=False)
        self.assertEqual(ran.returncode, 3, ran)
        self.assertIn("no daemon runs", ran.stdout + ran.stderr)

    def test_what_npx_installs_is_there_after_its_cache_was_deleted(self) -> None:
        self.lasts_without_its_cache(["npx", "-y", "tabwire"], [self.place.home / ".npm"], "npx -y tabwire@latest install")


class Wheel(PackageTest):
    def test_pip_installs_it_and_its_record_holds(self) -> None:
        python = self.place.home / "venv" / "bin" / "python"
        self.place.run(sys.executable, "-m", "venv", self.place.home / "venv")
        self.place.run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", self.host_wheel())
        self.place.run(python, "-m", "pip", "check", "--disable-pip-version-check")
        self.is_version(self.place.home / "venv" / "bin" / "tabwire")
        self.speaks_mcp(self.place.home / "venv" / "bin" / "tabwire")


class Uv(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.programs = Path(sys.executable).parent
        index = PythonIndex(PACKAGES)
        self.addCleanup(index.close)
        self.place.environment |= {
            "UV_DEFAULT_INDEX": index.url,
            "UV_CACHE_DIR": str(self.place.home / ".uv"),
            "UV_TOOL_DIR": str(self.place.home / "tools"),
            "UV_TOOL_BIN_DIR": str(self.place.home / "bin"),
            "UV_PYTHON": sys.executable,
            "UV_PYTHON_DOWNLOADS": "never",
        }

    def test_uv_installs_it_as_a_tool(self) -> None:
        self.place.run(self.programs / "uv", "tool", "install", "tabwire")
        self.is_version(self.place.home / "bin" / "tabwire")
        self.speaks_mcp(self.place.home / "bin" / "tabwire")

    def test_what_uvx_installs_is_there_after_its_cache_was_deleted(self) -> None:
        self.lasts_without_its_cache(
            [self.programs / "uvx", "tabwire"], [self.place.home / ".uv"], "uvx tabwire@latest install")


class Bundle(PackageTest):
    """Claude Desktop is on macOS and Windows only: here the bundle has this computer's program."""

    MCPB = ROOT / "tests" / "packaging" / "node_modules" / ".bin" / "mcpb"

    def test_the_bundle_unpacks_to_a_valid_manifest_and_a_program_that_answers(self) -> None:
        with zipfile.ZipFile(self.host_wheel()) as wheel:
            content = wheel.read(next(name for name in wheel.namelist() if name.endswith("/scripts/tabwire")))
        name, packed = mcpb.bundle(Program(HOST, Path("tabwire"), content), VERSION)
        (self.place.home / name).write_bytes(packed)
        folder = self.place.home / "bundle"
        self.place.run(self.MCPB, "unpack", name, folder)
        self.place.run(self.MCPB, "validate", folder / "manifest.json")
        manifest = json.loads((folder / "manifest.json").read_text())
        server = manifest["server"]["mcp_config"]
        command = Path(server["command"].replace("${__dirname}", str(folder)))
        # As Claude Desktop does: a zip may be unpacked without the rights of its files.
        command.chmod(0o755)
        ran = self.place.run(command, *server["args"], input=INITIALIZE + "\n")
        self.assertIn('"serverInfo"', ran.stdout)
        # The daemon that it has started is ended by the program in its home.
        (self.place.home / "bin").mkdir()
        shutil.copy(command, self.place.home / "bin" / "tabwire")


class Deb(PackageTest):
    @unittest.skipUnless(shutil.which("dpkg"), "this is no Debian")
    def test_dpkg_installs_and_removes_it(self) -> None:
        root, admin = self.place.home / "root", self.place.home / "dpkg"
        root.mkdir()
        for folder in ["info", "updates", "triggers"]:
            (admin / folder).mkdir(parents=True)
        (admin / "status").touch()
        dpkg = ["dpkg", f"--instdir={root}", f"--admindir={admin}", "--force-depends", "--force-not-root",
                f"--log={admin}/log", "--path-exclude=nothing"]
        self.place.environment["PATH"] += ":/sbin:/usr/sbin"
        self.place.run(*dpkg, "--install", self.package(f"*_{HOST.deb}.deb"))
        self.is_version(root / "usr" / "bin" / "tabwire")
        self.assertTrue((root / "usr/share/man/man1/tabwire.1.gz").is_file())
        self.assertTrue((root / "usr/share/bash-completion/completions/tabwire").is_file())
        listed = self.place.run("dpkg-query", f"--admindir={admin}", "-s", "tabwire").stdout
        self.assertIn(f"Version: {VERSION}\n", listed)
        self.assertIn("Depends: libc6 (>= 2.", listed)
        self.place.run(*dpkg, "--remove", "tabwire")
        self.assertFalse((root / "usr" / "bin" / "tabwire").exists())


class Download(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.releases = self.place.home / "releases"
        self.releases.mkdir()
        form = "tar.xz" if HOST.is_mac or shutil.which("xz") else "tar.gz"
        self.archive = self.releases / f"tabwire-{VERSION}-{HOST.name}.{form}"
        for name in [self.archive.name, "SHA256SUMS"]:
            shutil.copy(self.package(name), self.releases)

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=str(self.releases)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.place.environment["TABWIRE_RELEASES"] = f"http://127.0.0.1:{server.server_port}"

    def install(self) -> subprocess.CompletedProcess:
        return self.place.run("sh", self.package("install.sh"), check=False)

    def test_the_script_installs_what_the_sums_name(self) -> None:
        ran = self.install()
        self.assertEqual(ran.returncode, 0, ran)
        program = self.place.home / ".local" / "bin" / "tabwire"
        self.assertIn(f"{program} install", ran.stdout)
        self.is_version(program)
        self.assertEqual(self.install().returncode, 0, "once more, over the old one")

    def test_a_linux_without_xz_gets_what_each_tar_reads(self) -> None:
        programs = self.place.home / "programs"
        programs.mkdir()
        for name in ["sh", "uname", "ls", "curl", "wget", "sha256sum", "shasum", "cut", "mktemp", "rm", "awk", "tar", "gzip", "mkdir",
                     "cp", "chmod", "mv"]:
            found = shutil.which(name)
            if found is not None:
                (programs / name).symlink_to(found)
        self.archive.unlink()
        shutil.copy(self.package(f"tabwire-{VERSION}-{HOST.name}.tar.gz"), self.releases)
        self.place.environment["PATH"] = str(programs)
        ran = self.install()
        self.assertEqual(ran.returncode, 0, ran)
        self.is_version(self.place.home / ".local" / "bin" / "tabwire")

    def test_a_file_that_is_not_the_one_in_the_sums_is_refused(self) -> None:
        self.archive.write_bytes(self.archive.read_bytes() + b"\0")
        ran = self.install()
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("Nothing was installed", ran.stderr)
        self.assertFalse((self.place.home / ".local").exists())

    def test_a_download_that_is_missing_is_named(self) -> None:
        self.archive.unlink()
        ran = self.install()
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("cannot download", ran.stderr)


class Starts(PackageTest):
    """An MCP client starts what was installed, each time that it starts itself. npm's launcher is measured beside it: `install` names the
    program itself."""

    # How much later than the bare program an installed one may answer a client's first message, in seconds.
    LATER = 0.002
    RUNS = 21
    # On a computer with other work a least time takes more runs to show.
    RUNS_MAX = 400

    def answered_in(self, command: list[object]) -> float:
        """The time from a start of a command to its answer to a client, in seconds."""
        began = time.perf_counter()
        with subprocess.Popen([str(part) for part in command], env=self.place.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as program:
            program.stdin.write(INITIALIZE + "\n")
            program.stdin.flush()
            self.assertIn('"serverInfo"', program.stdout.readline())
            return time.perf_counter() - began

    def node_started_in(self) -> float:
        began = time.perf_counter()
        self.place.run("node", "--eval", "0")
        return time.perf_counter() - began

    def installed(self) -> dict[str, list[object]]:
        """The commands of each installation on this computer, as a client's settings have them."""
        home = self.place.home
        found = {}
        self.place.run(sys.executable, "-m", "venv", home / "venv")
        self.place.run(home / "venv" / "bin" / "python", "-m", "pip", "install", "--no-index", "--disable-pip-version-check", self.host_wheel())
        found["pip"] = [home / "venv" / "bin" / "tabwire", "mcp"]
        if shutil.which("dpkg-deb"):
            self.place.run("dpkg-deb", "--extract", self.package(f"*_{HOST.deb}.deb"), home / "deb")
            found["deb"] = [home / "deb" / "usr" / "bin" / "tabwire", "mcp"]
        self.npm_registry()
        self.place.run("npm", "install", "--global", "--prefix", home / "prefix", "tabwire")
        for client, once in [("cursor", [home / "prefix" / "bin" / "tabwire"]), ("windsurf", ["npx", "-y", "tabwire"])]:
            settings = home / {"cursor": ".cursor/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json"}[client]
            settings.parent.mkdir(parents=True)
            settings.write_text("{}")
            self.place.run(*once, "install", "--client", client, "--json")
            entry = json.loads(settings.read_text())["mcpServers"]["tabwire"]
            found[f"{once[0] if once[0] == 'npx' else 'npm'}, then install"] = [entry["command"], *entry["args"]]
        return found

    def test_what_was_installed_answers_a_client_as_soon_as_the_bare_program(self) -> None:
        with zipfile.ZipFile(self.host_wheel()) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith("/scripts/tabwire"))
            bare = self.place.home / "bin" / "tabwire"
            bare.parent.mkdir()
            bare.write_bytes(wheel.read(name))
        bare.chmod(0o755)
        launcher = [self.place.home / "prefix" / "bin" / "tabwire", "mcp"]
        commands = self.installed()
        # The daemon is there before the first measured start.
        self.answered_in([bare, "mcp"])
        times = {name: [] for name in ["the bare program", *commands, "npm's launcher", "Node alone"]}
        for run in range(self.RUNS_MAX):
            times["the bare program"].append(self.answered_in([bare, "mcp"]))
            for name, command in commands.items():
                times[name].append(self.answered_in(command))
            if run < self.RUNS:
                times["npm's launcher"].append(self.answered_in(launcher))
                times["Node alone"].append(self.node_started_in())
            elif all(min(times[name]) - min(times["the bare program"]) < self.LATER for name in commands):
                break
        told = {name: f"{min(runs) * 1000:.2f} ms at least, median {statistics.median(runs) * 1000:.2f}" for name, runs in times.items()}
        print("", *(f"  {name}: {text}" for name, text in told.items()), sep="\n")
        # The least of many runs: others on this computer make a run longer, and none makes it shorter.
        least = {name: min(runs) for name, runs in times.items()}
        for name in commands:
            self.assertLess(least[name] - least["the bare program"], self.LATER, told)


# What runs a program for another processor, and the C library that it needs.
QEMU = {
    targets.target_named("linux-arm64"): ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    targets.target_named("linux-arm64-musl"): ["qemu-aarch64"],
    targets.target_named("linux-x64-musl"): [],
}


class OtherLinux(PackageTest):
    """The archives for downloads of other kinds of Linux, those for another processor by QEMU."""

    def test_each_has_a_program_that_serves_says_how_it_is_and_stops(self) -> None:
        archives = {target: PACKAGES / f"tabwire-{VERSION}-{target.name}.tar.gz" for target in QEMU if target != HOST}
        packed = {target: archive for target, archive in archives.items() if archive.exists()}
        if not packed:
            self.skipTest("nothing was packed for another Linux")
        for target, archive in packed.items():
            by = QEMU[target]
            with self.subTest(target=target.name):
                self.assertTrue(not by or shutil.which(by[0]), "install qemu-user, and for the GNU C library libc6-arm64-cross")
                with tarfile.open(archive) as opened:
                    opened.extractall(self.place.home / "unpacked", filter="data")
                program = [*by, self.place.home / "unpacked" / f"tabwire-{VERSION}-{target.name}" / "tabwire"]
                self.is_version(*program)
                daemon = subprocess.Popen([*map(str, program), "serve", "--json"], env=self.place.environment,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                try:
                    record = json.loads(daemon.stdout.readline())
                    with urllib.request.urlopen(f"http://127.0.0.1:{record['port']}/health", timeout=60) as answer:
                        self.assertEqual(answer.status, 200)
                    self.assertTrue(json.loads(self.place.run(*program, "stop", "--json").stdout)["stopped"])
                    self.assertEqual(daemon.wait(60), 0)
                finally:
                    daemon.kill()
                    daemon.wait()
                    daemon.stdout.close()


WINDOWS = targets.target_named("windows-x64")


@unittest.skipUnless((PACKAGES / f"tabwire-{VERSION}-{WINDOWS.name}.zip").exists(), "nothing was packed for Windows")
class Windows(PackageTest):
    """What Windows gets, run by Wine."""

    WINE = ROOT / "scripts" / "by-wine.sh"

    def setUp(self) -> None:
        super().setUp()
        # The first start makes Wine's own folder.
        self.by_wine("cmd", "/c", "exit", timeout=300)
        prefix = Path(subprocess.run([self.WINE, "--path"], check=True, capture_output=True, text=True).stdout.strip())
        self.drive = prefix / "drive_c"
        # Wine takes the home directory from no variable.
        [self.user] = [path for path in (self.drive / "users").iterdir() if path.name != "Public"]
        self.made = [self.user / "AppData" / "Local" / "Tabwire", self.user / "Tabwire", self.user / ".cursor"]
        self.remove_made()
        self.addCleanup(subprocess.run, [self.WINE, "--end"], check=True, capture_output=True)
        self.addCleanup(self.remove_made)

    def remove_made(self) -> None:
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)

    def by_wine(self, *command: object, timeout: float = 120, **more: object) -> subprocess.CompletedProcess:
        ran = subprocess.run([str(self.WINE), *map(str, command)], env=self.place.environment, capture_output=True,
                             encoding="utf-8", timeout=timeout, cwd=self.place.home, **more)
        if ran.returncode != 0:
            raise AssertionError(f"{command} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return ran

    def unix_path(self, path: str) -> Path:
        """The file behind a path of Windows."""
        return self.drive.parent / "dosdevices" / path[:2].lower() / path[3:].replace("\\", "/")

    def unpacked(self) -> Path:
        """The program of the archive for downloads, where Explorer unpacks one that is started in it."""
        temporary = self.user / "AppData" / "Local" / "Temp"
        with zipfile.ZipFile(self.package(f"tabwire-{VERSION}-{WINDOWS.name}.zip")) as archive:
            archive.extractall(temporary)
        self.made.append(temporary / f"tabwire-{VERSION}-{WINDOWS.name}")
        return self.made[-1] / WINDOWS.program

    def test_every_package_has_the_same_program_which_asks_for_libraries_of_windows_alone(self) -> None:
        program = self.unpacked().read_bytes()
        floors.check(WINDOWS, program)
        with zipfile.ZipFile(self.package("*-win_amd64.whl")) as wheel:
            self.assertEqual(wheel.read(f"tabwire-{VERSION}.data/scripts/{WINDOWS.program}"), program)
        with tarfile.open(self.package(npm.file_name(WINDOWS.npm_package, VERSION))) as package:
            self.assertEqual(package.extractfile(f"package/bin/{WINDOWS.program}").read(), program)
            about = json.load(package.extractfile("package/package.json"))
        self.assertEqual((about["os"], about["cpu"]), (["win32"], ["x64"]))
        with zipfile.ZipFile(self.package(f"tabwire-{VERSION}-{WINDOWS.name}.mcpb")) as bundle:
            self.assertEqual(bundle.read(f"server/{WINDOWS.program}"), program)
        self.assertTrue((self.unpacked().parent / "LICENSE").is_file())

    def test_npm_and_pip_choose_it_for_a_computer_with_windows(self) -> None:
        registry = self.npm_registry()
        self.place.run("npm", "install", "--os", "win32", "--cpu", "x64", "--prefix", self.place.home / "npm", "tabwire")
        programs = [name for name in registry.fetched if "cli" in name]
        self.assertEqual(programs, [npm.file_name(WINDOWS.npm_package, VERSION)])
        self.place.run(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-index", "--find-links",
                       PACKAGES, "--platform", "win_amd64", "--only-binary", ":all:", "--dest", self.place.home / "pip", "tabwire")
        self.assertEqual([path.name for path in (self.place.home / "pip").iterdir()], [self.package("*-win_amd64.whl").name])

    def test_what_a_download_installs_is_there_after_it_was_deleted_and_answers_a_client(self) -> None:
        settings = self.user / ".cursor" / "mcp.json"
        settings.parent.mkdir()
        settings.write_text("{}")
        program = self.unpacked()
        self.assertEqual(self.by_wine(program, "--version").stdout, f"tabwire {VERSION}\n")
        self.by_wine(program, "install", "--client", "cursor", "--json")
        shutil.rmtree(program.parent)
        entry = json.loads(settings.read_text())["mcpServers"]["tabwire"]
        installed = self.unix_path(entry["command"])
        self.assertTrue(installed.is_file(), entry)
        ran = self.by_wine(installed, *entry["args"], input=INITIALIZE + "\n")
        self.assertEqual(json.loads(ran.stdout.splitlines()[0])["result"]["serverInfo"]["name"], "tabwire")
        self.by_wine(installed, "stop")
        self.by_wine(installed, "uninstall")
        self.assertEqual(json.loads(settings.read_text()).get("mcpServers", {}), {})


class Contents(PackageTest):
    def other_programs(self) -> dict[targets.Target, bytes]:
        """The programs for other systems that were packed, in the table's order."""
        found = {}
        for target in targets.TARGETS:
            name = PACKAGES / npm.file_name(target.npm_package, VERSION)
            if target != HOST and name.exists():
                with tarfile.open(name) as package:
                    found[target] = package.extractfile(f"package/bin/{target.program}").read()
        return found

    def test_every_package_has_its_sum(self) -> None:
        lines = self.package("SHA256SUMS").read_text().splitlines()
        sums = {name: value for value, name in (line.split("  ") for line in lines)}
        there = {path.name for path in PACKAGES.iterdir()} - {"SHA256SUMS"}
        self.assertEqual(set(sums), there)
        for name, value in sums.items():
            self.assertEqual(hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest(), value, name)

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        program = self.place.home / "elsewhere" / "tabwire"
        program.parent.mkdir()
        with zipfile.ZipFile(self.host_wheel()) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith("/scripts/tabwire"))
            program.write_bytes(wheel.read(name))
        program.chmod(0o755)
        again = self.place.home / "again"
        pack = [sys.executable, ROOT / "packaging" / "pack.py", "--out", again, "--any-size", "--program", program, "--target", HOST.name]
        for target, content in self.other_programs().items():
            other = program.parent / target.name / target.program
            other.parent.mkdir()
            other.write_bytes(content)
            pack += ["--program", other, "--target", target.name]
        # With the home of this run: cargo, which says what is in a program, has its crates there.
        subprocess.run(pack, check=True, capture_output=True, timeout=120)
        for path in PACKAGES.iterdir():
            self.assertEqual((again / path.name).read_bytes(), path.read_bytes(), path.name)

    def test_the_stores_extension_has_no_key_and_all_files(self) -> None:
        with zipfile.ZipFile(self.package("tabwire-extension-*.zip")) as found:
            names = set(found.namelist())
            manifest = json.loads(found.read("manifest.json"))
        self.assertNotIn("key", manifest)
        self.assertIn(manifest["icons"]["128"], names)
        self.assertIn(manifest["background"]["service_worker"], names)
        self.assertFalse([name for name in names if name.split("/")[0] in ["test", "types"]])
        # As the program itself unpacks it, but for the key and the settings of one computer.
        folder = self.place.home / "extension"
        with zipfile.ZipFile(self.host_wheel()) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith("/scripts/tabwire"))
            program = self.place.home / "tabwire"
            program.write_bytes(wheel.read(name))
            program.chmod(0o755)
        self.place.environment["TABWIRE_HOME"] = str(self.place.home / "state")
        self.place.run(program, "extension", "unpack", folder)
        unpacked = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        self.assertEqual(names, unpacked - {"config.json"})

    def test_all_versions_are_the_same(self) -> None:
        manifest = json.loads((ROOT / "extension-shim" / "manifest.json").read_text())
        self.assertEqual(manifest["version"], VERSION)
        unversioned = ["SHA256SUMS", "install.ps1", "install.sh", "server.json", "tabwire.json", "tabwire.rb"]
        names = [path.name for path in PACKAGES.iterdir() if path.name not in unversioned and path.suffix != ".yaml"]
        self.assertEqual([name for name in names if VERSION not in name], [])
        server = json.loads(self.package("server.json").read_text())
        versions = {server["version"], *(package["version"] for package in server["packages"])}
        self.assertEqual(versions, {VERSION})

    def test_the_registrys_entry_has_the_name_that_the_packages_have(self) -> None:
        server = json.loads(self.package("server.json").read_text())
        with tarfile.open(self.package(f"tabwire-{VERSION}.tgz")) as package:
            npm = json.load(package.extractfile("package/package.json"))
        with zipfile.ZipFile(self.host_wheel()) as wheel:
            metadata = wheel.read(f"tabwire-{VERSION}.dist-info/METADATA").decode()
        self.assertEqual(server["name"], npm["mcpName"])
        self.assertIn(f"<!-- mcp-name: {server['name']} -->", metadata)
        self.assertLessEqual(len(server["description"]), 100)
        named = [(package["registryType"], package["identifier"]) for package in server["packages"]
                 if package["registryType"] != "mcpb"]
        self.assertEqual(named, [("npm", npm["name"]), ("pypi", "tabwire")])

    def test_the_formula_names_each_archive_with_its_sum(self) -> None:
        formula = self.package("tabwire.rb").read_text()
        urls = re.findall(r'url "([^"]+)"\n +sha256 "([0-9a-f]{64})"', formula)
        archives = sorted(path.name for path in PACKAGES.glob("tabwire-*.tar.xz") if "-musl." not in path.name)
        self.assertEqual(sorted(url.rsplit("/", 1)[1] for url, _ in urls), archives)
        for url, value in urls:
            content = (PACKAGES / url.rsplit("/", 1)[1]).read_bytes()
            self.assertEqual(hashlib.sha256(content).hexdigest(), value, url)

    def test_the_stores_texts_give_a_reason_for_each_permission_and_fit_its_limits(self) -> None:
        manifest = json.loads((ROOT / "extension-shim" / "manifest.json").read_text())
        listing = (ROOT / "packaging" / "store" / "listing.md").read_text()
        optional = [f"`{name}` (optional)" for name in manifest["optional_permissions"]]
        asked = [f"`{name}`" for name in [*manifest["permissions"], *manifest["host_permissions"]]]
        rows = re.findall(r"^\| (`[^|]+?) \| [^|]{20,} \|$", listing, re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(asked + optional))
        self.assertLessEqual(len(manifest["description"]), 132)
        self.assertIn(f"\n{manifest['description']}\n", listing)


if __name__ == "__main__":
    unittest.main()
