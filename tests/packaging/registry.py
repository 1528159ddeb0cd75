"""Registries of npm and of Python on the loopback: they serve the packages of a folder; npm's notes which were fetched."""

import base64
import hashlib
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class Registry:
    """Serves until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.fetched: list[str] = []
        self.packages: dict[str, dict] = {}
        self.archives: dict[str, bytes] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        for path in sorted(folder.glob("*.tgz")):
            self.add(path)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def add(self, path: Path) -> None:
        content = path.read_bytes()
        with tarfile.open(path) as archive:
            about = json.load(archive.extractfile("package/package.json"))
        sum512 = base64.b64encode(hashlib.sha512(content).digest()).decode()
        about["dist"] = {"tarball": f"{self.url}/files/{path.name}", "integrity": f"sha512-{sum512}"}
        self.archives[path.name] = content
        self.packages[about["name"]] = {
            "name": about["name"],
            "dist-tags": {"latest": about["version"]},
            "versions": {about["version"]: about},
        }

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(request.path).lstrip("/")
        if path.startswith("files/"):
            name = path.removeprefix("files/")
            self.fetched.append(name)
            body, kind = self.archives.get(name), "application/octet-stream"
        else:
            known = self.packages.get(path)
            body, kind = json.dumps(known).encode() if known else None, "application/json"
        request.send_response(404 if body is None else 200)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body or b"")))
        request.end_headers()
        request.wfile.write(body or b"")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class PythonIndex:
    """The wheels of a folder as pip and uv look for them (PEP 503), until it is closed."""

    def __init__(self, folder: Path) -> None:
        wheels = {path.name: path.read_bytes() for path in folder.glob("*.whl")}
        lines = (f'<a href="/files/{name}#sha256={hashlib.sha256(content).hexdigest()}">{name}</a>'
                 for name, content in sorted(wheels.items()))
        listing = "<!DOCTYPE html><html><body>" + "".join(lines) + "</body></html>"

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def answer(self, *, with_body: bool) -> None:
                is_listing = self.path == "/simple/tabwire/"
                body = listing.encode() if is_listing else wheels.get(unquote(self.path).removeprefix("/files/"))
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html" if is_listing else "application/octet-stream")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                if with_body:
                    self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
