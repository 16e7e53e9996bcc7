"""Names that look like others, names of Python's inside, conditions that try to cost much."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from profile_texts import expression, problems_of, profile

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import validate_file
from etconfig.profile.document import parse_document

HEAD = '[profile]\nname = "p"\n'
INVISIBLE = (
    *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e"),  # zero width
    *("\u200e", "\u200f", "\u061c", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e"),  # direction
    *("\u2066", "\u2067", "\u2068", "\u2069", "\u206a"),  # isolates, and old controls
    *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u3164", "\uffa0"),  # blank
    *("\u180b", "\ufe00", "\ufe0f", "\U000e0100", "\U000e01ef"),  # variation selectors
    *("\u2028", "\u2029", "\u2061", "\U000e0001", "\U000e0041", "\U0001d173"),  # separators, tags, music
)
CONFUSABLE = {"c": "\u0441", "o": "\u043e", "r": "\u0433", "e": "\u0435"}
"""Letters, and Cyrillic ones that look like them."""


class TestInvisibleCharacters:
    """A character that is invisible or reorders others is refused in keys and conditions."""

    @pytest.mark.parametrize("character", INVISIBLE, ids=lambda c: f"U+{ord(c):04X}")
    def test_they_are_refused_in_a_key_and_in_a_condition(self, character: str) -> None:
        name = f"na{character}me"
        for read in (
            lambda: parse_document(f'{HEAD}[options.B]\n"{name}" = 1\n', "p.toml"),
            lambda: parse_document(f'{HEAD}[options.B]\n"na\\U{ord(character):08x}me" = 1\n', "p.toml"),
            lambda: parse_document(f'{HEAD}[options."{name}"]\n', "p.toml"),
            lambda: expression(f"os.name == '{name}'"),
            lambda: profile(f"{HEAD}match = \"os.name == '{name}'\"\n"),
        ):
            (problem,) = problems_of(read)
            assert problem.code == "invisible-character"
            assert f"U+{ord(character):04X}" in problem.message
            assert character not in problem.message

    @pytest.mark.parametrize("character", INVISIBLE, ids=lambda c: f"U+{ord(c):04X}")
    def test_they_are_refused_in_the_name_of_a_profile(self, character: str) -> None:
        (problem,) = problems_of(lambda: profile(f'[profile]\nname = "a{character}"\n'))
        assert problem.code == "invalid-name"


class TestConfusables:
    """A name with letters of another script is unknown, even if it looks like a known one."""

    @pytest.mark.parametrize("letter", CONFUSABLE)
    def test_they_are_unknown_in_an_option(self, tmp_path: Path, letter: str) -> None:
        name = "core".replace(letter, CONFUSABLE[letter])
        path = tmp_path / "p.toml"
        path.write_text(f'{HEAD}[options.ReferenceNpuBackend]\n"{name}" = 1\n', encoding="utf-8")
        *_, problem = validate_file(path, Installation(environ={}))
        assert problem.code == "unknown-option"
        assert problem.help == "did you mean 'core'?"

    @pytest.mark.parametrize("text", ["\u043es.name == 'a'", "has(\u0441pu.cores)", "cpu.\u0441ores > 1"])
    def test_in_a_condition(self, text: str) -> None:
        (problem,) = problems_of(lambda: expression(text))
        assert problem.code == "invalid-expression"


class TestPythonsInside:
    """Names of Python's internals are refused like any other unknown name."""

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (f"{HEAD}__class__ = 1\n", "unknown-key"),
            (f"__class__ = 1\n{HEAD}", "unknown-key"),
            (f"{HEAD}__init__.__globals__ = 1\n", "unknown-key"),
            (f"{HEAD}[__proto__]\n", "unknown-key"),
            (f'{HEAD}_target_ = "os.system"\n', "unknown-key"),
            (f'{HEAD}[[when]]\nif = "true"\n__class__ = 1\n', "unknown-key"),
            (f"{HEAD}[options.ReferenceNpuBackend]\n__class__ = 1\n", "unknown-option"),
            (f"{HEAD}[options.ReferenceNpuBackend]\n__dict__ = {{}}\n", "unknown-option"),
            (f'{HEAD}[options.B]\n"core.__class__" = 1\n', "invalid-name"),
            (f"{HEAD}[options.ReferenceNpuBackend]\ncore = {{ __reduce__ = 1 }}\n", "invalid-value"),
            (f"{HEAD}[options.__class__]\na = 1\n", "backend-not-installed"),
            (f"{HEAD}[facts]\n__class__ = 1\n", "unknown-fact"),
            (f"{HEAD}match = \"os.__class__ == 'a'\"\n", "unknown-fact"),
            (f"{HEAD}match = \"os.name.__class__ == 'a'\"\n", "unknown-fact"),
            (f"{HEAD}match = \"__import__('os') == 'a'\"\n", "invalid-expression"),
            (f'{HEAD}extends = ["__class__"]\n', "unknown-profile"),
            ('[profile]\nname = "__class__"\n', "invalid-name"),
        ],
    )
    def test_they_are_refused(self, tmp_path: Path, text: str, code: str) -> None:
        path = tmp_path / "p.toml"
        path.write_text(text)
        assert code in [problem.code for problem in validate_file(path, Installation(environ={}))]


class TestConditions:
    """A condition ends after few steps; it has no loops and no regular expressions."""

    @pytest.mark.parametrize(
        "text",
        [
            "||".join(["net.is_up"] * 30),
            " + ".join(["cpu.cores"] * 30) + " > 1",
            "size('" + "x" * 4000 + "') > 1",
            "os.name in [" + ", ".join(["'x'"] * 600) + "]",
            " + ".join([repr("x" * 100)] * 30) + " == 'y'",
        ],
        ids=["or", "sum", "string", "list", "joined strings"],
    )
    def test_the_longest_take_few_steps(self, text: str) -> None:
        condition = expression(text)
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            condition.evaluate({"net.is_up": False, "cpu.cores": 4, "os.name": "linux"})
        finally:
            sys.setprofile(None)
        assert 0 < calls < 10_000

    @pytest.mark.parametrize("text", ["os.name.matches('(a+)+$')", "matches(os.name, '(a+)+$')"])
    def test_there_are_no_regular_expressions(self, text: str) -> None:
        (problem,) = problems_of(lambda: expression(text))
        assert problem.code == "invalid-expression"
        assert "function 'matches'" in problem.message

    @pytest.mark.parametrize("key", ["match", "options.B.o.expr"])
    @pytest.mark.parametrize("unit", ["(", "!", "-", "[", "true?", "os.name."])
    def test_a_hundred_thousand_of_anything_is_too_large(self, key: str, unit: str) -> None:
        head = HEAD if key == "match" else f"{HEAD}[options.B]\n"
        key = key.replace("options.B.", "")
        (problem,) = problems_of(lambda: profile(f'{head}{key} = "{unit * 100_000}"\n'))
        assert problem.code == "expression-too-large"
