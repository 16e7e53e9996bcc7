from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from profile_texts import problems_of, said

from etconfig.errors import DocumentError
from etconfig.profile.document import load_document, parse_document


class TestReading:
    """A document is UTF-8 text, read once, whose line ends may be CRLF."""

    def test_a_file_is_read_with_its_path_as_its_name(self, tmp_path: Path) -> None:
        path = tmp_path / "a.toml"
        path.write_bytes(b'a = "\xc3\xa9"\r\nb = """x\r\ny"""\r\n')
        document = load_document(path)
        assert document.data == {"a": "é", "b": "x\ny"}
        assert document.name == str(path)
        assert document.path == path

    @pytest.mark.parametrize(
        ("text", "data"),
        [
            ("a = {\n  b = 1, # first\n  c = 2,\n}\n", {"a": {"b": 1, "c": 2}}),
            (r'a = "\e\x41"', {"a": "\x1bA"}),
        ],
    )
    def test_toml_1_1_is_read_on_every_python(self, text: str, data: object) -> None:
        """Python's own `tomllib` reads TOML 1.0, and refuses these."""
        document = parse_document(text, "a.toml")
        assert document.data == data
        assert ("a",) in document.positions

    @pytest.mark.parametrize("size_bytes", [0, 3, 1 << 30])
    def test_a_file_is_read_whole_whatever_size_the_system_reports(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int
    ) -> None:
        path = tmp_path / "a.toml"
        path.write_text("a = 1\nb = 2\n")
        times = {"st_mtime_ns": 0, "st_ctime_ns": 0}
        told = os.stat_result((*path.stat()[:6], size_bytes, 0, 0, 0), times)
        monkeypatch.setattr(os, "fstat", lambda descriptor: told)
        assert load_document(path).data == {"a": 1, "b": 2}

    def test_a_missing_file_is_unreadable(self, tmp_path: Path) -> None:
        path = tmp_path / "absent.toml"
        (problem,) = problems_of(lambda: load_document(path))
        assert said(problem) == (
            f"1:1-1 unreadable-file: cannot read {path}: No such file or directory; None"
        )

    def test_a_directory_is_unreadable(self, tmp_path: Path) -> None:
        (problem,) = problems_of(lambda: load_document(tmp_path))
        assert problem.message == f"cannot read {tmp_path}: not a regular file"

    @pytest.mark.posix
    def test_a_pipe_is_refused_rather_than_waited_for(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe.toml"
        os.mkfifo(pipe)
        (problem,) = problems_of(lambda: load_document(pipe))
        assert problem.message == f"cannot read {pipe}: not a regular file"

    def test_a_program_is_recognized(self, tmp_path: Path) -> None:
        path = tmp_path / "model.pte"
        path.write_bytes(b"\x3c\0\0\0ET12eh00")
        (problem,) = problems_of(lambda: load_document(path))
        assert problem.message == f"{path} is an ExecuTorch program, not TOML"
        advice = "give it where a program is expected: to `etconfig validate`, as --program"
        assert problem.help == advice

    def test_bytes_that_are_not_utf8_are_named_with_their_place(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.toml"
        path.write_bytes(b'a = 1\nb = "\xe9"\n')
        (problem,) = problems_of(lambda: load_document(path))
        assert said(problem) == "2:6-6 invalid-toml: byte 11 (0xe9) is not UTF-8; save the file as UTF-8"

    def test_a_byte_order_mark_is_refused(self) -> None:
        (problem,) = problems_of(lambda: parse_document("\ufeffa = 1", "a.toml"))
        assert said(problem) == (
            "1:1-1 invalid-toml: the file starts with a byte order mark; save it as UTF-8 without one"
        )


class TestSyntaxErrors:
    """A syntax error has the line, the column and the text of the line."""

    def test_the_place_is_the_wrong_text(self) -> None:
        (problem,) = problems_of(lambda: parse_document("a = 1\r\nb = 5 5\r\n", "a.toml"))
        assert said(problem) == (
            "2:7-7 invalid-toml: invalid TOML: text follows a value or a header; "
            'write one key a line, text in quotes, arrays as [1, 2], expressions as { expr = "..." }, '
            "and comments after #"
        )
        assert problem.spans[0].text == "b = 5 5"

    def test_an_error_at_the_end_points_behind_the_last_character(self) -> None:
        (problem,) = problems_of(lambda: parse_document("a = 1\nb = [1,\n", "a.toml"))
        assert (problem.spans[0].line, problem.spans[0].column) == (2, 8)
        assert problem.spans[0].text == "b = [1,"

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("[a]\nb = 1\n[a.b]\n", "3:1-5"),
            ('executor = "x"\n\n[executor.x]\n', "3:1-12"),
            ('executor.x.libraries = []\nexecutor = "x"\n', "2:1-8"),
        ],
    )
    def test_a_key_with_a_value_that_is_a_table_too_gets_help(self, text: str, place: str) -> None:
        (problem,) = problems_of(lambda: parse_document(text, "etconfig.toml"))
        assert said(problem).startswith(f"{place} invalid-toml: ")
        assert said(problem).endswith("write each key once, as a value or as a table")

    def test_a_key_that_is_set_twice_gets_help(self) -> None:
        (problem,) = problems_of(lambda: parse_document("a = 1\na = 2\n", "a.toml"))
        assert said(problem) == (
            "2:1-1 invalid-toml: invalid TOML: a is written twice, first in line 1; remove one of the two"
        )

    def test_a_carriage_return_alone_does_not_end_a_line(self) -> None:
        (problem,) = problems_of(lambda: parse_document("a = 1\r\r\n", "a.toml"))
        assert (problem.code, problem.spans[0].line, problem.spans[0].column) == ("invalid-toml", 1, 6)

    def test_toml_1_1_is_accepted(self) -> None:
        document = parse_document('a = {\n  b = 1,\n  c = "\\e\\x41",\n}\n', "a.toml")
        assert document.data == {"a": {"b": 1, "c": "\x1bA"}}

    @pytest.mark.parametrize("error", [ValueError("odd number"), RecursionError("too deep")])
    def test_whatever_else_the_parser_raises_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        def loads(_text: str) -> None:
            raise error

        monkeypatch.setattr("tomli.loads", loads)
        (problem,) = problems_of(lambda: parse_document("a = 1", "a.toml"))
        assert said(problem) == f"1:1-1 invalid-toml: invalid TOML: {error}; None"

    def test_a_lone_surrogate_in_a_text_does_not_escape_as_another_error(self) -> None:
        parse_document('a = "\ud800"', "a.toml")


class TestBounds:
    """1 MiB, 64 key parts, nesting 32, 64 digits: checked before the parser sees the text."""

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("#" * (1 << 20) + "\n", "1:1-1 document-too-large: the document is larger than 1 MiB; None"),
            (
                ".".join("a" * 65) + " = 1",
                "1:128-128 document-too-large: a key has more than 64 parts; None",
            ),
            (
                "[" + " . ".join(["'a'"] * 65) + "]",
                "1:384-384 document-too-large: a key has more than 64 parts; None",
            ),
            (
                "a = " + "[" * 33 + "]" * 33,
                "1:37-37 document-too-large: arrays and inline tables are nested more than 32 deep; None",
            ),
            (
                "a = " + "{b=" * 33 + "1" + "}" * 33,
                "1:101-101 document-too-large: arrays and inline tables are nested more than 32 deep; None",
            ),
            (
                "a = -" + "1" * 65,
                "1:6-70 document-too-large: a number has more than 64 digits; None",
            ),
            (
                "a = [0x" + "f_f" * 33 + "]",
                "1:6-106 document-too-large: a number has more than 64 digits; None",
            ),
        ],
        ids=["size", "key parts", "header parts", "arrays", "inline tables", "digits", "hex digits"],
    )
    def test_a_document_beyond_a_bound_is_refused(self, text: str, problem: str) -> None:
        assert [said(p) for p in problems_of(lambda: parse_document(text, "a.toml"))] == [problem]

    @pytest.mark.parametrize(
        "text",
        [
            "a=1#".ljust(1 << 20, "x"),
            ".".join("a" * 64) + " = 1",
            "a = " + "[" * 32 + "]" * 32,
            "a = 0x" + "f" * 64,
            "a = '''" + "[" * 99 + "." * 99 + "1" * 99 + "'''",
            'a = "' + '\\"' + "[" * 99 + '" # ' + "{" * 99 + "." * 99 + "1" * 99,
            "\n".join(f"a{n} = [1.5, '1.5']" for n in range(99)),
            "\n".join(f"[t{n}]" for n in range(99)),
            "a = " + '"' + "x" * 99 + '"',
            "sha = 'd" + "0" * 99 + "'",
        ],
        ids=["size", "key parts", "depth", "digits", "literal", "basic", "dots", "headers", "word", "hash"],
    )
    def test_a_document_within_the_bounds_is_read(self, text: str) -> None:
        assert parse_document(text, "a.toml").data

    def test_a_long_dotted_key_takes_little_memory(self) -> None:
        text = ".".join("a" * 20_000) + " = 1"
        tracemalloc.start()
        with pytest.raises(DocumentError):
            parse_document(text, "a.toml")
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 1 << 20

    def test_a_file_is_read_no_further_than_the_bound(self, tmp_path: Path) -> None:
        path = tmp_path / "sparse.toml"
        with path.open("wb") as file:
            file.truncate(1 << 40)
        tracemalloc.start()
        (problem,) = problems_of(lambda: load_document(path))
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert problem.message == "the document is larger than 1 MiB"
        assert peak_bytes < 8 << 20

    @pytest.mark.parametrize(
        "text", ["[[" * 40, '"""', "a = '", '"\\', "#" * 99 + "[" * 99, "a = [1.", "}" * 99]
    )
    def test_the_bounds_are_checked_on_broken_text_too(self, text: str) -> None:
        with pytest.raises(DocumentError):
            parse_document("[" * 20 + text + "." * 64, "a.toml")


class TestInvisibleCharacters:
    """A key that looks like another one is refused."""

    @pytest.mark.parametrize(
        "character", ["\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u3164", "\ufe0f"]
    )
    def test_a_key_with_an_invisible_character_is_refused(self, character: str) -> None:
        (problem,) = problems_of(lambda: parse_document(f'[t]\n"na{character}me" = 1', "a.toml"))
        code_point = ord(character)
        assert said(problem) == (
            f"2:1-7 invisible-character: the key {f'na{character}me'!a} "
            f"contains the invisible character U+{code_point:04X}; retype the key"
        )

    def test_an_escape_does_not_hide_it(self) -> None:
        (problem,) = problems_of(lambda: parse_document('a = {"x\\u202e" = 1}', "a.toml"))
        assert said(problem) == (
            "1:6-14 invisible-character: the key 'x\\u202e' "
            "contains the invisible character U+202E; retype the key"
        )

    def test_values_may_contain_any_character(self) -> None:
        assert parse_document('"é" = "\u202ex"', "a.toml").data == {"é": "\u202ex"}
