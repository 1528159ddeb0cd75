"""The program for Windows, run by Wine: daemon, bridge, command line, installation, and a Chromium of Linux with the
extension. `make windows`."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

WINE = os.environ["TABWIRE_WINE"]
PROGRAM = Path(os.environ["TABWIRE_PROGRAM"])
PREFIX = Path(subprocess.run([WINE, "--path"], check=True, capture_output=True, text=True).stdout.strip())
ROOT = Path(__file__).resolve().parent.parent.parent

# How long a program may take that starts while others are at work, in seconds.
LONG = 60

HOST_KEY = r"HKCU\Software\{browser}\NativeMessagingHosts\dev.tabwire.host"

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
HEALTH = {
    "jsonrpc": "2.0", "id": 3, "method": "tools/call",
    "params": {"name": "configure", "arguments": {"action": "health"}},
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def unix_path(path: str) -> Path:
    """The file behind a path of Windows."""
    assert path[1:3] == ":\\", path
    return PREFIX / "dosdevices" / path[:2].lower() / path[3:].replace("\\", "/")


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


def end(process: subprocess.Popen) -> None:
    """Ends a process that may have ended."""
    process.kill()
    process.wait()
    for pipe in [process.stdin, process.stdout, process.stderr]:
        if pipe is not None:
            pipe.close()


def wait_for(what, seconds: float = LONG):
    """Looks until there is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come about within {seconds} s")


def user_folder() -> Path:
    """The home directory of Wine's user: Wine takes it from no variable."""
    [home] = [path for path in (PREFIX / "drive_c" / "users").iterdir() if path.name != "Public"]
    return home


class WindowsTest(unittest.TestCase):
    """A user of Windows with nothing installed."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tabwire-windows-")
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)
        self.home = user_folder()
        self.local = self.home / "AppData" / "Local"
        self.roaming = self.home / "AppData" / "Roaming"
        self.state = self.local / "Tabwire"
        self.made = [self.state, self.local / "Google", self.home / "Tabwire", self.home / ".cursor"]
        self.remove_made()
        self.addCleanup(self.remove_made)
        self.port = free_port()
        self.environment = os.environ | {"TABWIRE_PORT": str(self.port)}
        self.environment.pop("TABWIRE_HOME", None)
        self.addCleanup(lambda: self.run_program("stop", check=False))

    def remove_made(self) -> None:
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)

    def run_program(self, *words: str, check: bool = True, **more) -> subprocess.CompletedProcess:
        ran = subprocess.run([WINE, str(PROGRAM), *words], env=self.environment, capture_output=True, timeout=LONG,
                             encoding="utf-8", **more)
        if check and ran.returncode != 0:
            raise AssertionError(f"{words} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return ran

    def json_of(self, *words: str, check: bool = True) -> dict:
        return json.loads(self.run_program(*words, "--json", check=check).stdout)

    def serve(self, *more: str) -> subprocess.Popen:
        """A daemon in the foreground, which listens."""
        daemon = subprocess.Popen([WINE, str(PROGRAM), "serve", "--json", *more], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  encoding="utf-8")
        self.addCleanup(end, daemon)
        self.record = json.loads(daemon.stdout.readline())
        return daemon

    def token(self) -> str:
        return self.run_program("token").stdout.strip()

    def call(self, name: str, arguments: dict) -> dict:
        """The answer of a tool, over HTTP from Linux."""
        request = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/mcp", json.dumps(request).encode(), {
            "Authorization": f"Bearer {self.token()}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18",
        })
        with urllib.request.urlopen(asked, timeout=LONG) as answered:
            text = answered.read().decode()
        if text.startswith("event:") or text.startswith("data:") or text.startswith(":"):
            text = next(line[5:] for line in text.splitlines() if line.startswith("data:") and '"result"' in line)
        result = json.loads(text)["result"]
        return json.loads(result["content"][0]["text"].split("\n")[-1]) if "structuredContent" not in result else result["structuredContent"]

    def speak(self, messages: list[dict], *words: str) -> tuple[subprocess.Popen, list[dict]]:
        bridge = subprocess.Popen([WINE, str(PROGRAM), "mcp", *words], env=self.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        self.addCleanup(end, bridge)
        answers = []
        for message in messages:
            bridge.stdin.write(json.dumps(message) + "\n")
            bridge.stdin.flush()
            answers.append(json.loads(bridge.stdout.readline()))
        return bridge, answers


class Daemon(WindowsTest):
    def test_it_starts_says_so_and_ends_when_it_is_asked(self) -> None:
        daemon = self.serve()
        self.assertEqual(self.record["port"], self.port)
        self.assertEqual(self.json_of("status")["pid"], self.record["pid"])
        self.assertEqual(self.run_program("serve").stdout.count("no second one is needed"), 1)
        self.assertEqual(self.json_of("stop"), {"stopped": True, "pid": self.record["pid"]})
        self.assertEqual(daemon.wait(LONG), 0)
        self.assertEqual(self.json_of("stop"), {"stopped": False})
        self.assertFalse((self.state / "daemon.json").exists())

    def test_the_state_is_in_the_local_folder_and_closed_to_others(self) -> None:
        self.serve()
        key = self.state / "auth.key"
        self.assertEqual(key.stat().st_mode & 0o077, 0)
        self.assertEqual(self.state.stat().st_mode & 0o077, 0)
        self.assertFalse(any(path.name.lower() == "tabwire" for path in self.roaming.iterdir()))

    def test_a_person_opens_a_folder_of_local_pages_on_a_drive_and_none_of_the_state(self) -> None:
        self.serve()
        folder = self.scratch / "Zoë's site"
        folder.mkdir()
        path = windows_path(folder)
        self.assertEqual(self.json_of("sites", "files", "allow", path, "--unattended")["folders"], [path])
        self.assertEqual(self.json_of("sites", "files")["folders"], [path])
        closed = self.run_program("sites", "files", "allow", windows_path(self.state), "--unattended", check=False)
        self.assertIn("stays closed", closed.stderr)
        self.assertEqual(self.json_of("sites", "files", "remove", path)["folders"], [])

    def test_a_state_directory_can_have_any_letters_and_a_path_of_more_than_260(self) -> None:
        home = self.scratch / "Zoë 音" / "/".join(["folder"] * 40)
        self.environment["TABWIRE_HOME"] = windows_path(home)
        daemon = self.serve()
        self.assertTrue((home / "auth.key").is_file())
        self.assertEqual(self.json_of("status")["pid"], self.record["pid"])
        self.assertTrue(self.json_of("stop")["stopped"])
        self.assertEqual(daemon.wait(LONG), 0)

    def test_a_state_directory_that_others_can_read_is_refused_with_the_command_that_closes_it(self) -> None:
        self.token()
        self.state.chmod(0o755)
        ran = self.run_program("token", check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("is open to others", ran.stderr)
        self.assertIn("icacls", ran.stderr)

    def test_after_a_kill_a_command_that_was_queued_is_still_queued(self) -> None:
        daemon = self.serve()
        answer = self.call("interact", {"action": "navigate", "url": "https://example.com/", "wait_ms": 0})
        command = answer["correlation_id"]
        daemon.send_signal(signal.SIGKILL)
        daemon.wait(LONG)
        self.serve()
        found = self.call("observe", {"what": "command_result", "correlation_id": command})
        self.assertEqual(found["status"], "pending", found)
        self.assertNotIn("machine_rebooted", json.dumps(found))

    def test_another_program_on_the_port_is_named(self) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", self.port))
            other.listen()
            ran = self.run_program("serve", check=False)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(str(self.port), ran.stderr)

    def test_two_daemons_never_have_one_port(self) -> None:
        # Windows would share it, unless a program says that it wants it alone. Wine does not tell whose it is.
        self.serve()
        other = self.environment | {"TABWIRE_HOME": windows_path(self.scratch / "other")}
        ran = subprocess.run([WINE, str(PROGRAM), "serve"], env=other, capture_output=True, timeout=LONG, encoding="utf-8")
        self.assertEqual(ran.returncode, 69, ran)
        self.assertIn(f"port {self.port} is in use by another program", ran.stderr)


class FarMachine(WindowsTest):
    def test_carry_says_that_there_are_no_sockets_and_where_to_run_it(self) -> None:
        ran = self.run_program("carry", "box", check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("has no sockets in a folder. Run the command in WSL2", ran.stderr)

    def test_a_bridge_to_another_machine_tells_its_client_that_there_is_no_socket(self) -> None:
        bridge, [answer] = self.speak([HEALTH], "--connect", "box")
        said = json.dumps(answer)
        self.assertIn("`box` does not reach the browser: there is no socket", said)
        bridge.stdin.close()
        self.assertEqual(bridge.wait(LONG), 0)


class Bridge(WindowsTest):
    def test_it_answers_a_client_and_starts_a_daemon_that_outlives_it_and_holds_no_pipe_of_the_client(self) -> None:
        bridge, (initialized, listed, asked) = self.speak([INITIALIZE, LIST_TOOLS, HEALTH])
        self.assertIn("result", asked)
        self.assertEqual(initialized["result"]["serverInfo"]["name"], "tabwire")
        names = [tool["name"] for tool in listed["result"]["tools"]]
        self.assertIn("interact", names)
        # To the end of the output: a daemon that had inherited it would keep it open. Wine hands the standard error of
        # Linux to every process that it starts, so that is not looked at.
        self.assertEqual(bridge.communicate(timeout=LONG)[0], "")
        self.assertEqual(bridge.returncode, 0)
        self.assertEqual(self.json_of("status")["port"], self.port)

    def test_it_is_not_ended_by_the_end_of_another_bridge(self) -> None:
        first, _ = self.speak([INITIALIZE])
        second, _ = self.speak([INITIALIZE])
        first.stdin.close()
        first.wait(LONG)
        second.stdin.write(json.dumps(LIST_TOOLS) + "\n")
        second.stdin.flush()
        self.assertIn("result", json.loads(second.stdout.readline()))
        second.stdin.close()
        self.assertEqual(second.wait(LONG), 0)


class Installation(WindowsTest):
    def setUp(self) -> None:
        super().setUp()
        profiles = self.local / "Google" / "Chrome" / "User Data"
        profiles.mkdir(parents=True)
        # A browser that has run here has written it.
        (profiles / "Local State").write_text("{}")
        self.settings = self.home / ".cursor" / "mcp.json"
        self.settings.parent.mkdir()
        self.settings.write_text('{"mcpServers": {"a": {"command": "a"}}}')
        self.before = self.settings.read_bytes()

    def registered(self, browser: str) -> str | None:
        """The manifest that the registry names for a browser."""
        key = HOST_KEY.format(browser=browser)
        ran = subprocess.run([WINE, "reg", "query", key, "/ve"], env=self.environment, capture_output=True,
                             timeout=LONG, encoding="utf-8")
        if ran.returncode != 0:
            return None
        line = next(line for line in ran.stdout.splitlines() if "REG_SZ" in line)
        return line.split("REG_SZ")[1].strip()

    def test_it_registers_with_browsers_and_clients_and_takes_all_of_it_back(self) -> None:
        self.run_program("install", "--all")
        server = json.loads(self.settings.read_text())["mcpServers"]["tabwire"]
        program = unix_path(server["command"])
        self.assertTrue(program.is_file(), server)
        manifest = unix_path(self.registered("Google\\Chrome"))
        host = json.loads(manifest.read_text(encoding="utf-8"))
        self.assertEqual(unix_path(host["path"]).resolve(), program.resolve())
        self.assertIsNone(self.registered("Vivaldi"), "there is no such browser here")

        # As a browser starts it.
        asked = json.dumps({"type": "pair"}).encode()
        ran = subprocess.run([WINE, str(program), host["allowed_origins"][0], "--parent-window=0"],
                             env={name: value for name, value in self.environment.items() if name != "TABWIRE_PORT"}, timeout=LONG,
                             input=len(asked).to_bytes(4, "little") + asked, capture_output=True)
        told = json.loads(ran.stdout[4:])
        self.assertEqual(told["port"], self.port, told)
        self.assertTrue(told["ext_key"])

        self.run_program("uninstall")
        self.assertIsNone(self.registered("Google\\Chrome"))
        self.assertEqual(self.settings.read_bytes(), self.before)
        self.assertFalse(manifest.exists())

    def test_doctor_and_install_say_what_they_find(self) -> None:
        self.run_program("install", "--all")
        self.serve()
        findings = self.json_of("doctor", check=False)
        said = json.dumps(findings)
        self.assertIn("native host", said)
        self.assertIn("Chrome", said)
        again = self.json_of("install", "--all")
        self.assertEqual(again.get("changes", []), [], "a second installation changes nothing")


@unittest.skipUnless(shutil.which("chromium"), "there is no Chromium")
class Browser(WindowsTest):
    def test_a_browser_of_linux_connects_and_runs_a_script(self) -> None:
        extension = self.scratch / "extension"
        self.run_program("extension", "unpack", windows_path(extension))
        self.serve()
        profile = self.scratch / "profile"
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = subprocess.Popen(
            ["chromium", "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking", *sandbox,
             f"--user-data-dir={profile}", f"--load-extension={extension}", "about:blank"],
            env=os.environ | {"HOME": str(self.scratch)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(lambda: (os.killpg(browser.pid, signal.SIGKILL), browser.wait()))
        wait_for(lambda: self.json_of("status").get("browsers"))
        answer = self.call("interact", {"action": "execute_js", "script": "6 * 7", "wait_ms": 20000})
        self.assertEqual(answer.get("result"), 42, answer)


if __name__ == "__main__":
    unittest.main(verbosity=2)
