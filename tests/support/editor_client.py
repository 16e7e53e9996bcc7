"""An editor that talks to `etconfig lsp`: it edits documents and keeps what the server publishes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

TIMEOUT_S = 60


class Editor:
    """One client with its server process."""

    def __init__(
        self,
        directory: Path,
        *arguments: str,
        encodings: tuple[str, ...] = (),
        environ: Mapping[str, str] | None = None,
        **settings: str,
    ) -> None:
        command = [sys.executable, "-m", "etconfig", "lsp", *arguments]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = {**os.environ, **(environ or {})}
        self.process = subprocess.Popen(command, cwd=directory, env=environment, **pipes)  # type: ignore[call-overload]
        self.directory = directory
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.errors = ""
        self.other: list[dict[str, Any]] = []
        self._number = 0
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.threads = [threading.Thread(target=each) for each in (self._read, self._read_errors)]
        for each in self.threads:
            each.daemon = True
            each.start()
        general = {"positionEncodings": list(encodings)} if encodings else {}
        self.capabilities = self.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": {"general": general},
             "initializationOptions": settings},
        )["capabilities"]  # fmt: skip
        self.tell("initialized", {})

    # --- messages ------------------------------------------------------------------------

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                assert name in (b"Content-Length", b"Content-Type"), header
                length = int(value) if name == b"Content-Length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line.decode()

    def send_bytes(self, content: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any) -> int:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def ask(self, method: str, params: Any) -> Any:
        number = self.begin(method, params)
        reply = self._wait(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in reply, (reply["error"], self.errors)
        return reply["result"]

    def _wait(self, is_wanted: Any) -> dict[str, Any]:
        for index, message in enumerate(self.other):
            if is_wanted(message):
                return self.other.pop(index)
        while True:
            message = self._messages.get(timeout=TIMEOUT_S)
            assert message is not None, f"the server has ended: {self.errors}"
            if is_wanted(message):
                return message
            self.other.append(message)

    # --- documents -----------------------------------------------------------------------

    def uri(self, name: str) -> str:
        return (self.directory / name).as_uri()

    def open(self, name: str, text: str) -> None:
        self.texts[name], self.versions[name] = text, 1
        document = {"uri": self.uri(name), "languageId": "toml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, *changes: Mapping[str, Any]) -> None:
        self.versions[name] += 1
        document = {"uri": self.uri(name), "version": self.versions[name]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def replace(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.change(name, {"text": text})

    def close(self, name: str) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})
        del self.versions[name]

    def diagnostics(self, name: str, *, times: int = 2) -> list[dict[str, Any]]:
        """Wait for what is published about the current version: quick problems, and then all."""
        found: dict[str, Any] = {}
        for _ in range(times):
            found = self._wait(lambda message: self._is_about(message, name))["params"]
        return list(found["diagnostics"])

    def _is_about(self, message: Mapping[str, Any], name: str) -> bool:
        if message.get("method") != "textDocument/publishDiagnostics":
            return False
        params = message["params"]
        return bool(params["uri"] == self.uri(name) and params.get("version") == self.versions[name])

    def place(self, name: str, mark: str, column: int = 0) -> dict[str, Any]:
        """Return the parameters of a question about the end of the first `mark` in a document."""
        before = self.texts[name][: self.texts[name].index(mark) + len(mark) + column]
        line = before.rpartition("\n")[2]
        character = len(line.encode("utf-16-le")) // 2
        position = {"line": before.count("\n"), "character": character}
        return {"textDocument": {"uri": self.uri(name)}, "position": position}

    def everywhere(self, name: str, **more: Any) -> dict[str, Any]:
        """Return the parameters of a question about a whole document."""
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
        return {"textDocument": {"uri": self.uri(name)}, "range": whole, **more}

    def leave(self) -> int:
        """Shut the server down; return its exit status."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def editing(directory: Path, *arguments: str, **settings: Any) -> Iterator[Editor]:
    """Start a server, and end it."""
    editor = Editor(directory, *arguments, **settings)
    try:
        yield editor
    finally:
        editor.process.kill()
        editor.process.wait()
        for thread in editor.threads:
            thread.join()
        for stream in (editor.process.stdin, editor.process.stdout, editor.process.stderr):
            with suppress(OSError):  # what is not written yet
                assert stream is not None
                stream.close()
