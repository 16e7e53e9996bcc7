"""Levels of findings, patterns of paths, and comments that allow findings."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from etconfig.diagnostics import CODES, Diagnostic, Severity, Span, on_devices
from etconfig.diagnostics.allow_comments import Allowances, allow_comments
from etconfig.diagnostics.rules import ALWAYS_ERRORS, LEVELS, FileRules, Rules
from etconfig.diagnostics.source_text import SourceText
from etconfig.errors import ProfileError
from etconfig.profile.document import parse_document
from etconfig.profile.project import parse_part, read_rules


def finding(
    code: str = "unusual-value", file: str = "a/b.toml", line: int = 1, severity: Severity = Severity.WARNING
) -> Diagnostic:
    return Diagnostic(
        code=code, message="m", spans=(Span(file=file, line=line, text="x"),), severity=severity
    )


def matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """The documented rule, written with recursion: a pattern names a path, or a directory above it."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(matches(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and matches(pattern[1:], path[1:])


class TestRules:
    """`[rules]` gives levels to codes, and `[[rules.files]]` in some files."""

    def test_a_code_without_a_rule_keeps_its_level(self) -> None:
        problem = finding()
        assert Rules().applied(problem) is problem

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_level_replaces_that_of_the_finding(self, level: str) -> None:
        applied = Rules(levels={"unusual-value": LEVELS[level]}).applied(finding())
        assert (None if applied is None else applied.severity) is LEVELS[level]

    def test_the_last_table_of_a_file_counts(self) -> None:
        note, error = FileRules(("a",), {"unusual-value": Severity.NOTE}), {"unusual-value": Severity.ERROR}
        rules = Rules(of_files=(note, FileRules(("a/b.toml",), error)), directory=Path())
        assert rules.level(finding()) is Severity.ERROR
        assert rules.level(finding(file="a/c.toml")) is Severity.NOTE
        assert rules.level(finding(file="c/b.toml")) is Severity.WARNING

    def test_paths_are_relative_to_the_project_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "profiles").mkdir()
        monkeypatch.chdir(tmp_path / "profiles")
        rules = Rules(of_files=(FileRules(("profiles/*",), {"unusual-value": None}),), directory=tmp_path)
        assert rules.level(finding(file="b.toml")) is None
        assert rules.level(finding(file=str(tmp_path / "profiles" / "b.toml"))) is None
        assert rules.level(finding(file="../b.toml")) is Severity.WARNING

    def test_patterns_match_as_an_independent_model_says(self) -> None:
        source = random.Random(4)
        names = ("a", "ab", "b", "*", "?", "**", "a*")
        for _ in range(5_000):
            pattern = [source.choice(names) for _ in range(source.randint(1, 5))]
            path = [source.choice(("a", "ab", "b")) for _ in range(source.randint(1, 6))]
            rules = Rules(of_files=(FileRules(("/".join(pattern),), {"unusual-value": None}),))
            level = rules.level(finding(file="/".join(path)))
            assert (level is None) == matches(pattern, path), (pattern, path)

    @pytest.mark.parametrize(
        "parts", [["**", "*a*a*a*"] * 400, ["**"] * 100_000 + ["x"]], ids=["both", "stars"]
    )
    def test_no_pattern_takes_long(self, parts: list[str]) -> None:
        pattern = "/".join(parts)
        rules = Rules(of_files=(FileRules((pattern,), {"unusual-value": None}),))
        assert rules.level(finding(file="/".join(["a" * 100] * 300))) is Severity.WARNING

    def test_a_file_without_a_path_has_only_general_levels(self) -> None:
        rules = Rules(of_files=(FileRules(("**",), {"unusual-value": None}),))
        assert rules.level(Diagnostic(code="unusual-value", message="m")) is Severity.ERROR


class TestTable:
    """`[rules]` of a project file is checked."""

    def test_levels_are_read(self) -> None:
        text = '[rules]\nunusual-value = "off"\n[[rules.files]]\npaths = ["a"]\nunknown-fact = "note"\n'
        rules = parse_part(parse_document(text, "etconfig.toml"), read_rules, Rules())
        assert rules.levels == {"unusual-value": None}
        assert rules.of_files == [FileRules(("a",), {"unknown-fact": Severity.NOTE})]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('unusual-valu = "off"', "no finding has the code 'unusual-valu'"),
            ('unusual-value = "of"', "unusual-value has no level 'of'"),
            ("unusual-value = false", "unusual-value has no level false"),
            ('untrusted-file = "off"', "untrusted-file is always an error"),
            ('invalid-toml = "off"', "invalid-toml is always an error"),
            ('untrusted-file = "note"', "untrusted-file is always an error"),
            ('files = ["a"]', "must be an array of tables"),
            ('[[rules.files]]\nunusual-value = "off"', "has no 'paths'"),
            ('[[rules.files]]\npaths = "a"', "must be an array of strings"),
        ],
    )
    def test_what_is_wrong_is_an_error(self, text: str, message: str) -> None:
        with pytest.raises(ProfileError, match=message):
            parse_part(parse_document(f"[rules]\n{text}\n", "etconfig.toml"), read_rules, Rules())

    @pytest.mark.parametrize(
        ("text", "help", "replacement"),
        [
            ('unusual-valu = "off"', "did you mean 'unusual-value'?", "unusual-value"),
            ('unusual-value = "eror"', "did you mean 'error'?", '"error"'),
            ('unusual-value = "warn"', "did you mean 'warning'?", '"warning"'),
        ],
    )
    def test_guesses_are_fixes(self, text: str, help: str, replacement: str) -> None:
        with pytest.raises(ProfileError) as caught:
            parse_part(parse_document(f"[rules]\n{text}\n", "etconfig.toml"), read_rules, Rules())
        (problem,) = caught.value.diagnostics
        assert problem.help == help
        assert (problem.fix and problem.fix.replacement) == replacement

    @pytest.mark.parametrize("code", sorted(ALWAYS_ERRORS))
    def test_a_guard_may_be_called_an_error(self, code: str) -> None:
        rules = parse_part(
            parse_document(f'[rules]\n{code} = "error"\n', "etconfig.toml"), read_rules, Rules()
        )
        assert rules.levels == {code: Severity.ERROR}


def allowed(text: str) -> list[tuple[str, int]]:
    found, problems = allow_comments(SourceText("a.toml", text))
    assert problems == []
    return [(each.code, each.line) for each in found]


class TestComments:
    """`# etconfig: allow CODE, CODE because REASON`."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("x = 1 # etconfig: allow unusual-value because of us", [("unusual-value", 1)]),
            ("x = 1 #etconfig:allow unusual-value", [("unusual-value", 1)]),
            ("# etconfig: allow unusual-value\nx = 1", [("unusual-value", 2)]),
            ("# etconfig: allow unusual-value, unknown-fact\n\n# why\nx = 1", 2 * [4]),
            ("  # etconfig: allow unusual-value because unknown-fact\nx = 1", [("unusual-value", 2)]),
            ("x = '# etconfig: allow unusual-value'", []),
            ('x = "\\"# etconfig: allow unusual-value"', []),
            ('x = """\n# etconfig: allow unusual-value\n"""', []),
            ("x = '''\n# etconfig: allow unusual-value\n'''", []),
            ('x = """a""""" # etconfig: allow unusual-value', [("unusual-value", 1)]),
            ("# it's\nx = 'a' # etconfig: allow unusual-value", [("unusual-value", 2)]),
            ("x = [ # etconfig: allow unusual-value\n1]", [("unusual-value", 1)]),
            ("x = 'a\ny = 1 # etconfig: allow unusual-value", [("unusual-value", 2)]),
            ("# etconfig: see the page\n# etconfig is a tool: allow me", []),
            ("# etconfig: allow unusual-value", [("unusual-value", 1)]),
        ],
    )
    def test_they_are_found_outside_of_strings(self, text: str, expected: Sequence[object]) -> None:
        found = allowed(text)
        assert found == expected or [line for _, line in found] == expected

    @pytest.mark.parametrize(
        ("text", "message", "column"),
        [
            ("x = 1 # etconfig: allow", "a comment allows no code", 7),
            ("x = 1 # etconfig: allow because of us", "a comment allows no code", 7),
            ("x = 1 # etconfig: alow unusual-value", "a comment of etconfig says 'alow'", 19),
            ("x = 1 # etconfig: ignore unusual-value", "a comment of etconfig says 'ignore'", 19),
            ("x = 1 # etconfig: allow unusual-valu", "no finding has the code 'unusual-valu'", 25),
            ("x = 1 # etconfig: allow untrusted-file", "untrusted-file is always an error", 25),
        ],
    )
    def test_wrong_ones_are_errors(self, text: str, message: str, column: int) -> None:
        found, problems = allow_comments(SourceText("a.toml", text))
        assert found == []
        assert [(each.code, each.message, each.spans[0].column) for each in problems] == [
            ("invalid-rule", message, column)
        ]

    def test_unused_ones_are_reported_once_all_findings_are_known(self) -> None:
        allowances = Allowances(
            lambda _: "x = 1 # etconfig: allow unusual-value, unknown-fact, undecided-condition"
        )
        assert allowances.allows(finding())
        assert not allowances.allows(finding(line=2))
        assert not allowances.allows(finding("wrong-type"))
        unused = [*allowances.unused("a/b.toml", {"undecided-condition"})]
        assert [each.message for each in unused] == [
            "the comment allows unknown-fact, which is not found in line 1"
        ]

    def test_no_comment_allows_a_guard(self) -> None:
        allowances = Allowances(lambda _: pytest.fail("read"))
        assert not any(allowances.allows(finding(code)) for code in ALWAYS_ERRORS)

    def test_only_toml_is_read_and_what_cannot_be_read_allows_nothing(self, tmp_path: Path) -> None:
        sheet = tmp_path / "sheet.json"
        sheet.write_text("# etconfig: allow unusual-value")
        assert not Allowances().allows(finding(file=str(sheet)))
        assert not Allowances().allows(finding(file=str(tmp_path / "none.toml")))
        assert not Allowances().allows(finding(file=f"{os.sep}a\0.toml"))

    @pytest.mark.parametrize("separator", [",", "\n# etconfig: allow "])
    def test_only_so_many_wrong_and_unused_codes_are_reported(self, separator: str) -> None:
        wrong = "# etconfig: allow " + separator.join(["nothing"] * 20_000)
        _, problems = allow_comments(SourceText("a.toml", wrong))
        assert len(problems) == 4_002
        assert problems[-1].message == "comments allow more than 4000 wrong codes; the rest was not read"
        unused = wrong.replace("nothing", "unusual-value")
        assert len([*Allowances(lambda _: unused).unused("a.toml")]) == 4_000

    def test_many_comments_and_findings_take_no_square_of_time(self) -> None:
        text = "x = 1 # etconfig: allow unusual-value\n" * 20_000
        allowances = Allowances(lambda _: text)
        assert all(allowances.allows(finding(line=line)) for line in range(1, 20_001))
        assert [*allowances.unused("a/b.toml")] == []

    @pytest.mark.parametrize("line", ["# etconfig: allow unusual-value", "#", ""])
    def test_lines_above_one_take_no_square_of_time(self, line: str) -> None:
        text = f"# etconfig: allow unusual-value\n{line}\n" * 20_000 + "x = 1"
        found, _ = allow_comments(SourceText("a/b.toml", text))
        assert {each.line for each in found} == {40_001}


class TestDevices:
    """A finding of several devices is one."""

    def test_other_values_become_notes(self) -> None:
        one, other = finding(), Diagnostic(**{**vars_of(finding()), "message": "n"})
        (joined,) = on_devices({one: ["a", "b"], other: ["c"]}, 4)
        assert (joined.message, joined.notes, joined.devices) == ("m", ("on c: n",), ("a", "b", "c"))
        assert joined.all_notes == ("on c: n", "on a, b, c")

    def test_two_of_one_device_stay_two(self) -> None:
        one, other = finding(), Diagnostic(**{**vars_of(finding()), "message": "n"})
        assert len(on_devices({one: ["a"], other: ["a"]}, 2)) == 2

    def test_one_of_all_devices_names_none(self) -> None:
        assert on_devices({finding(): ["a", "b"]}, 2) == [finding()]
        (noted,) = on_devices({finding(): ["a", "b"]}, 2, "everywhere")
        assert noted.notes == ("everywhere",)


def vars_of(problem: Diagnostic) -> dict[str, object]:
    return {name: getattr(problem, name) for name in ("code", "message", "spans", "severity")}


def test_every_level_of_a_code_is_known() -> None:
    for each in CODES.values():
        assert {*each.levels.split(", ")} <= {severity.value for severity in Severity}
        assert each.fix in ("", "safe", "guess", "safe, guess")
