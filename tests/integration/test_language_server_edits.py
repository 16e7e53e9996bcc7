"""`etconfig lsp` under very many edits, hostile messages and broken documents."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from editor_client import Editor, editing
from effort import EFFORT

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import Validator
from etconfig.lsp.protocol_positions import EditorColumns

EDITS = min(500 * EFFORT, 10_000)
HEAD = '[profile]\nname = "acme/board"\nextends = ["generic/any"]\nmatch = \'cpu.logical_cores > 2\'\n'
TEXT = (
    HEAD
    + "# 日本😀\n[options.ReferenceNpuBackend]\ncore = 1 # é\npower_mode = 'low'\n"
    + "".join(
        f"[[when]]\nif = 'cpu.logical_cores > {n}'\n[when.options.ReferenceCpuBackend]\n"
        f"num_threads = {{ expr = 'min(cpu.logical_cores, {n + 1})' }}\n"
        for n in range(4)
    )
)
PIECES = (
    *(
        "a",
        "1",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "=",
        ".",
        "\n",
        "\r\n",
        "#",
        "😀",
        "日",
        "\u2028",
        " ",
        "é",
        ",",
    ),
    *("[options.", "expr = '", "cpu.", "core = 2\n", "\x0c"),
)
QUESTIONS = ("completion", "hover", "definition", "inlayHint", "codeAction")


def position(text: str, offset: int) -> dict[str, int]:
    found = EditorColumns().position(text, offset)
    return {"line": found.line, "character": found.character}


def edit(editor: Editor, rng: random.Random, name: str) -> None:
    """Replace a random piece by another, as one message with one or two changes."""
    text = editor.texts[name]
    changes = []
    for _ in range(rng.choice((1, 1, 2))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 0, 1, 2, 30)))
        new = "".join(rng.choices(PIECES, k=rng.choice((0, 1, 1, 2))))
        if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
            continue  # a position is not between the two
        changes.append({"range": {"start": position(text, start), "end": position(text, end)}, "text": new})
        text = text[:start] + new + text[end:]
    if rng.random() < 0.05 or len(text) > 4000:
        changes, text = [{"text": TEXT}], TEXT
    editor.texts[name] = text
    editor.change(name, *changes)


def ask(editor: Editor, rng: random.Random, name: str) -> None:
    """Ask something about a random place, also beyond the end, without waiting for the answer."""
    kind = rng.choice(QUESTIONS)
    place = {"line": rng.randrange(60), "character": rng.randrange(60)}
    params: dict[str, Any] = {"textDocument": {"uri": editor.uri(name)}, "position": place}
    if kind in ("inlayHint", "codeAction"):
        params = editor.everywhere(name, context={"diagnostics": []})
    number = editor.begin(f"textDocument/{kind}", params)
    if rng.random() < 0.2:
        editor.tell("$/cancelRequest", {"id": number})


def test_no_diagnostic_is_stale_after_random_edits(tmp_path: Path) -> None:
    rng = random.Random(5)
    with editing(tmp_path) as editor:
        names = ("board.toml", "etconfig.toml")
        for name in names:
            editor.open(name, TEXT)
        for number in range(EDITS):
            name = names[0] if number % 10 else names[1]
            edit(editor, rng, name)
            if rng.random() < 0.3:
                ask(editor, rng, name)
            if number % 50 == 0:
                editor.ask(
                    "textDocument/hover", editor.everywhere(name, position={"line": 1, "character": 1})
                )
        editor.replace(names[1], "")
        found = editor.diagnostics(names[0])
        assert editor.errors == ""
        text = editor.texts[names[0]].replace("\r\n", "\n")
        editor.leave()
    texts = {os.path.realpath(tmp_path / name): "" for name in names[1:]} | {
        os.path.realpath(tmp_path / names[0]): text
    }
    validator = Validator(installation=Installation(tmp_path).with_texts(texts))
    expected = (*validator.problems(tmp_path / names[0]), *validator.selection_problems())
    assert [each["code"] for each in found] == [each.code for each in expected]
    assert [each["message"].partition("\n")[0] for each in found] == [each.message for each in expected]
    versions: dict[str, int] = {}
    for message in editor.other:
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            assert params["version"] >= versions.get(params["uri"], 0)
            versions[params["uri"]] = params["version"]
    failed = [
        message for message in editor.other if message.get("error", {}).get("code") not in (None, -32800)
    ]
    assert failed == []


class TestHostileMessages:
    """Messages that no client should send end neither the server nor its answers."""

    @pytest.mark.parametrize(
        "content",
        [
            b"garbage\r\n",
            b"Content-Length: 3\r\n\r\n{}}",
            b"Content-Length: 9\r\n\r\n[1, 2, 3]",
            b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x00",
            b'Content-Length: 31\r\n\r\n{"jsonrpc":"2.0","method":"no"}\n'[:-1],
            b'Content-Length: 63\r\n\r\n{"jsonrpc":"2.0","method":"textDocument/didOpen","params":null}',
        ],
    )
    def test_garbage(self, tmp_path: Path, content: bytes) -> None:
        with editing(tmp_path) as editor:
            editor.send_bytes(content)
            editor.open("board.toml", HEAD)
            assert editor.diagnostics("board.toml") == []
            assert editor.leave() == 0

    def test_ranges_out_of_bounds_and_unknown_documents(self, tmp_path: Path) -> None:
        with editing(tmp_path) as editor:
            editor.versions["none.toml"], editor.texts["none.toml"] = 1, ""
            editor.change("none.toml", {"text": HEAD})
            editor.close("none.toml")
            editor.open("board.toml", HEAD)
            wild = {
                "start": {"line": 999_999, "character": 5},
                "end": {"line": 2**31 - 1, "character": 2**31 - 1},
            }
            editor.change("board.toml", {"range": wild, "text": "# end"})
            reversed_range = {"start": {"line": 2, "character": 0}, "end": {"line": 0, "character": 0}}
            editor.change("board.toml", {"range": reversed_range, "text": ""})
            assert editor.diagnostics("board.toml") == []

    def test_a_deleted_file_keeps_its_text(self, tmp_path: Path) -> None:
        with editing(tmp_path) as editor:
            (tmp_path / "board.toml").write_text(HEAD)
            editor.open("board.toml", HEAD)
            editor.diagnostics("board.toml")
            (tmp_path / "board.toml").unlink()
            editor.replace("board.toml", HEAD.replace("2'", "'"))
            assert len(editor.diagnostics("board.toml")) == 1

    def test_names_with_quotes_and_line_breaks(self, tmp_path: Path) -> None:
        directory = tmp_path / "a \"b\"\n'c' é😀 %41#?"
        directory.mkdir()
        with editing(directory) as editor:
            editor.open("bo ard.toml", HEAD + "[options.ReferenceNpuBackend]\ncore = 9\n")
            (found,) = editor.diagnostics("bo ard.toml")
            assert found["code"] == "invalid-value"

    def test_a_huge_document(self, tmp_path: Path) -> None:
        with editing(tmp_path) as editor:
            editor.open("board.toml", HEAD + "#" * (2 << 20))
            (found,) = editor.diagnostics("board.toml")
            assert found["code"] == "document-too-large" or "large" in found["message"]
            editor.replace("board.toml", HEAD + "# x\n" * 200_000)
            assert editor.diagnostics("board.toml") == []

    def test_two_clients_do_not_meet(self, tmp_path: Path) -> None:
        with editing(tmp_path) as first, editing(tmp_path) as second:
            first.open("board.toml", "[profile]\n")
            second.open("board.toml", HEAD)
            assert first.diagnostics("board.toml")
            assert second.diagnostics("board.toml") == []

    def test_a_shutdown_while_it_checks(self, tmp_path: Path) -> None:
        conditions = "".join(
            f"[[when]]\nif = 'cpu.logical_cores > {n} && device.model == \"x{n}\"'\n"
            "[when.options.ReferenceCpuBackend]\nnum_threads = 1\n"
            for n in range(300)
        )
        with editing(tmp_path) as editor:
            editor.open("board.toml", HEAD + conditions)
            editor.diagnostics("board.toml", times=1)
            begin = time.monotonic()
            time.sleep(0.5)  # into the slow check
            assert editor.leave() == 0
            assert time.monotonic() - begin < 30

    def test_a_client_that_goes_away(self, tmp_path: Path) -> None:
        with editing(tmp_path) as editor:
            editor.open("board.toml", HEAD)
            assert editor.process.stdin is not None
            editor.process.stdin.close()
            assert editor.process.wait(30) in (0, 1)

    def test_what_plugins_print_does_not_reach_the_client(self, tmp_path: Path) -> None:
        source = (
            "import subprocess, sys\nprint('loud')\nsubprocess.run(['echo', 'louder'])\nsys.stdin.read()\n"
        )
        (tmp_path / "loud.py").write_text(source)
        info = tmp_path / "loud-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[etconfig.backends]\nLoudBackend = loud\n")
        with editing(tmp_path, environ={"PYTHONPATH": str(tmp_path)}) as editor:
            editor.open("board.toml", f"{HEAD}[options.LoudBackend]\na = 1\n")
            codes = [each["code"] for each in editor.diagnostics("board.toml")]
            assert "broken-plugin" in codes
            assert "loud" in editor.errors


@pytest.mark.parametrize("encoding", ["utf-8", "utf-32"])
def test_another_encoding_of_positions(tmp_path: Path, encoding: str) -> None:
    with editing(tmp_path, encodings=(encoding,)) as editor:
        assert editor.capabilities["positionEncoding"] == encoding
        editor.open("board.toml", f'methods."日😀".options.ReferenceNpuBackend.coer = 1\n{HEAD}')
        (found,) = editor.diagnostics("board.toml")
        assert found["range"]["start"]["character"] == {"utf-8": 46, "utf-32": 41}[encoding]
