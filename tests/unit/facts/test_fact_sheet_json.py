from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.diagnostics import Diagnostic
from etconfig.errors import FactError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactType, meant_value
from etconfig.facts.sheet import FactSheet, load_fact_sheet

SOURCE = "sheet.json"


def read(text: str) -> FactSheet:
    return FactSheet.from_json(text, SOURCE)


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(FactError) as caught:
        read(text)
    return caught.value.diagnostics


def problem_of(text: str) -> Diagnostic:
    (problem,) = problems_of(text)
    return problem


def with_facts(*facts: str) -> str:
    lines = ",\n    ".join(facts)
    return f'{{\n  "etconfig_fact_sheet": 1,\n  "facts": {{\n    {lines}\n  }}\n}}\n'


def underlined(problem: Diagnostic) -> str:
    span = problem.spans[0]
    assert span.text is not None
    return span.text[span.column - 1 :][: span.length]


class TestWriting:
    """A sheet is written as JSON, one fact a line."""

    def test_a_fact_is_a_line_with_value_unit_and_origin(self):
        origin = Origin(OriginKind.DETECTED, "/proc/meminfo")
        sheet = FactSheet.empty().with_overrides({"memory.total": Sourced(1024, origin)})
        lines = sheet.to_json().splitlines()
        assert lines[:3] == ["{", '  "etconfig_fact_sheet": 1,', '  "facts": {']
        assert (
            '    "memory.total": {"value": 1024, "unit": "bytes", "origin": "detected /proc/meminfo"},'
            in lines
        )
        assert (
            '    "os.name": {"unknown": "it was not looked for", "origin": "default empty fact sheet"},'
            in lines
        )
        assert len(lines) == len(sheet) + 5
        assert json.loads(sheet.to_json())["etconfig_fact_sheet"] == 1

    def test_text_that_the_reader_would_refuse_is_not_written(self):
        origin = Origin(OriginKind.DETECTED, "a\nb")
        sheet = FactSheet.empty(reason="c\td").with_overrides({"os.name": Sourced("linux", origin)})
        again = read(sheet.to_json())
        assert again["os.name"].origin.detail == "detected a\N{REPLACEMENT CHARACTER}b"
        assert again["os.kernel"].reason == "c\N{REPLACEMENT CHARACTER}d"


class TestReading:
    """A sheet that was written can be read back."""

    def test_it_comes_back_equal_and_is_written_the_same_again(self):
        sheet = FactSheet.empty().with_overrides(
            {
                "cpu.features": Sourced(["a", "b"], Origin(OriginKind.DETECTED, "/proc/cpuinfo")),
                "gpu.0.name": Sourced("Mali", Origin(OriginKind.OVERRIDE, "--fact")),
                "power.battery_level": Sourced(0.5, Origin(OriginKind.PROFILE, "p.toml", 3, 4, "why")),
            }
        )
        again = read(sheet.to_json())
        assert again == sheet
        assert again.to_json() == sheet.to_json()
        assert list(again) == list(sheet)

    def test_the_origin_is_the_place_in_the_sheet_and_the_origin_written_there(self):
        sheet = read(with_facts('"os.name": {"value": "linux", "origin": "detected uname"}'))
        assert sheet["os.name"].origin == Origin(OriginKind.SHEET, SOURCE, 4, 5, "detected uname")
        assert str(sheet["os.name"].origin) == "sheet sheet.json:4:5 (detected uname)"

    def test_unit_and_origin_may_be_left_out(self):
        sheet = read(with_facts('"memory.total": {"value": 1024}', '"gpu.count": {"unknown": "no driver"}'))
        assert sheet.values == {"memory.total": 1024}
        assert sheet["memory.total"].origin == Origin(OriginKind.SHEET, SOURCE, 4, 5)
        assert sheet["gpu.count"].reason == "no driver"

    def test_a_fact_that_the_sheet_lacks_is_unknown(self):
        fact = read('{"etconfig_fact_sheet": 1, "facts": {}}')["os.name"]
        assert (fact.value, fact.reason) == (None, "the sheet does not contain it")
        assert fact.origin == Origin(OriginKind.SHEET, SOURCE)

    @settings(max_examples=scaled(40), deadline=None)
    @given(st.data())
    def test_any_values_survive_the_round_trip(self, data):
        overrides = {}
        for info in BUILTIN_FACTS.infos:
            if info.is_family or not data.draw(st.booleans()):
                continue
            printable = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=8)
            right = printable.filter(lambda text, name=info.name: meant_value(name, text) is None)
            low, high = int(info.minimum or 0), int(min(info.maximum or 2**62, 2**62))
            values = {
                FactType.BOOL: st.booleans(),
                FactType.INT: st.integers(low, high),
                FactType.FLOAT: st.floats(low, high),
                FactType.STRING: st.sampled_from(info.choices) if info.choices else right,
                FactType.STRING_LIST: st.lists(printable, max_size=3),
            }[info.type]
            overrides[info.name] = Sourced(data.draw(values), Origin(OriginKind.DETECTED, "a test"))
        sheet = FactSheet.empty().with_overrides(overrides)
        again = read(sheet.to_json())
        assert again.values == sheet.values
        assert again.fingerprint() == sheet.fingerprint()

    @settings(max_examples=scaled(100), deadline=None)
    @given(st.data())
    def test_a_damaged_sheet_is_read_or_refused_but_never_crashes(self, data):
        text = with_facts('"os.name": {"value": "linux"}', '"memory.total": {"value": 1, "unit": "bytes"}')
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        damaged = (
            text[:start] + data.draw(st.text(alphabet='{}[]",:0123e-\n\u00e9a', max_size=4)) + text[end:]
        )
        with contextlib.suppress(FactError):
            read(damaged)


class TestFormat:
    """A sheet that is malformed is refused, each problem with its line and column."""

    @pytest.mark.parametrize(
        ("text", "message", "part"),
        [
            ("", "sheet.json:1:1: the text is not valid JSON: Expecting value", ""),
            ('{\n  "a": }', "sheet.json:2:8: the text is not valid JSON: Expecting value", "}"),
            ("[1]", "sheet.json:1:1: expected a JSON object", "["),
            (
                '{"facts": {}}',
                "sheet.json:1:1: the key 'etconfig_fact_sheet' with the format's version is missing",
                "{",
            ),
            ('{"etconfig_fact_sheet": 1}', "sheet.json:1:1: the key 'facts' is missing", "{"),
            (
                '{"etconfig_fact_sheet": 1, "facts": []}',
                "sheet.json:1:37: expected an object under the key 'facts'",
                "[]",
            ),
            (
                with_facts('"os.name": "linux"'),
                "sheet.json:4:16: fact 'os.name': expected an object such as {\"value\": ...}",
                '"linux"',
            ),
            (
                with_facts('"os.name": {}'),
                "sheet.json:4:5: fact 'os.name': expected either 'value' or 'unknown'",
                '"os.name"',
            ),
            (
                with_facts('"os.name": {"value": "linux", "unknown": "why"}'),
                "sheet.json:4:5: fact 'os.name': expected either 'value' or 'unknown'",
                '"os.name"',
            ),
            (
                with_facts('"os.name": {"unknown": 3}'),
                "sheet.json:4:28: expected a string of printable characters under the key 'unknown'",
                "3",
            ),
            (
                with_facts('"os.name": {"value": "linux", "origin": "\\u001b"}'),
                "sheet.json:4:45: expected a string of printable characters under the key 'origin'",
                '"\\u001b"',
            ),
            (
                with_facts('"os.name": {"value": "linux"}', '"os.name": {"value": "macos"}'),
                "sheet.json:5:5: the facts: the key 'os.name' appears twice",
                '"os.name"',
            ),
            (
                with_facts('"os.name": {"value": "a", "value": "b"}'),
                "sheet.json:4:31: fact 'os.name': the key 'value' appears twice",
                '"value"',
            ),
        ],
    )
    def test_it_is_refused_with_its_place(self, text, message, part):
        problem = problem_of(text)
        assert problem.code == "invalid-fact-sheet"
        assert str(problem) == message
        assert underlined(problem) == part
        assert problem.help in ("write the sheet as `etconfig facts --save` does", "keep one of the two")

    def test_a_mistyped_key_gets_a_suggestion(self):
        problem = problem_of('{"etconfig_fact_sheet": 1, "facts": {}, "fact": {}}')
        assert str(problem) == "sheet.json:1:41: the fact sheet: unknown key 'fact'"
        assert problem.help == "did you mean 'facts'?"

    def test_a_key_that_resembles_none_gets_the_list(self):
        problem = problem_of(with_facts('"os.name": {"value": "linux", "x": 1}'))
        assert str(problem) == "sheet.json:4:35: fact 'os.name': unknown key 'x'"
        assert problem.help == "the keys are 'value', 'unit', 'unknown', 'origin'"

    def test_all_problems_are_reported(self):
        text = with_facts('"os.nam": {"value": 1}', '"gpu.count": {"value": -1}', '"os.name": 3')
        assert [problem.spans[0].line for problem in problems_of(text)] == [4, 5, 6]


class TestVersion:
    """The format has a version."""

    @pytest.mark.parametrize(("version", "is_shown_as"), [("2", "2"), ("true", "true"), ('"1"', "'1'")])
    def test_another_version_is_refused(self, version, is_shown_as):
        problem = problem_of(f'{{"etconfig_fact_sheet": {version}, "anything": "else"}}')
        assert problem.code == "unsupported-fact-sheet"
        assert problem.message == (
            f"the fact sheet has format version {is_shown_as}, but this etconfig reads version 1"
        )
        assert underlined(problem) == version
        assert problem.help == (
            "save the sheet again with this version of etconfig, or install a newer etconfig"
        )


class TestFacts:
    """A sheet contains known facts with values of their types."""

    def test_an_unknown_fact_gets_a_suggestion(self):
        problem = problem_of(with_facts('"cpu.arc": {"value": "arm64"}'))
        assert problem.code == "unknown-fact"
        assert str(problem) == "sheet.json:4:5: no fact is called 'cpu.arc'"
        assert problem.help == "did you mean 'cpu.arch'?"
        assert underlined(problem) == '"cpu.arc"'

    def test_a_family_is_not_a_fact(self):
        assert problem_of(with_facts('"gpu.<n>.name": {"value": "Mali"}')).code == "unknown-fact"

    @pytest.mark.parametrize(
        ("fact", "message", "part"),
        [
            (
                '"gpu.count": {"value": "1"}',
                "sheet.json:4:28: fact 'gpu.count': expected an int of at most 64 bits, found '1'",
                '"1"',
            ),
            (
                '"os.name": {"value": null}',
                "sheet.json:4:26: fact 'os.name': expected a string of printable characters, found None",
                "null",
            ),
            (
                '"cpu.quota_cores": {"value": NaN}',
                "sheet.json:4:34: fact 'cpu.quota_cores': expected a finite number, found nan",
                "NaN",
            ),
            (
                f'"gpu.count": {{"value": {"9" * 50}}}',
                "sheet.json:4:28: fact 'gpu.count': expected an int of at most 64 bits, found 1e+50",
                "9" * 50,
            ),
            (
                '"os.name": {"value": "\\ud800"}',
                "sheet.json:4:26: fact 'os.name': expected a string of printable characters, found '\\ud800'",
                '"\\ud800"',
            ),
        ],
    )
    def test_a_value_of_another_type_is_underlined(self, fact, message, part):
        problem = problem_of(with_facts(fact))
        assert problem.code == "invalid-fact-value"
        assert str(problem) == message
        assert underlined(problem) == part

    @pytest.mark.parametrize(
        ("fact", "message", "guide"),
        [
            (
                '"memory.total": {"value": 8, "unit": "GiB"}',
                "sheet.json:4:42: fact 'memory.total': expected the unit 'bytes', found 'GiB'",
                "give the value in bytes",
            ),
            (
                '"os.name": {"value": "linux", "unit": "bytes"}',
                "sheet.json:4:43: fact 'os.name': expected no unit, found 'bytes'",
                "leave the unit out",
            ),
        ],
    )
    def test_another_unit_is_refused(self, fact, message, guide):
        problem = problem_of(with_facts(fact))
        assert (problem.code, str(problem), problem.help) == ("invalid-fact-sheet", message, guide)


class TestBounds:
    """A sheet may be hostile: its size and depth are bounded."""

    def test_a_text_that_is_too_large_is_not_parsed(self):
        problem = problem_of("[" * ((256 << 10) + 1))
        assert problem.code == "document-too-large"
        assert str(problem) == "sheet.json:1:1: the fact sheet is larger than 262144 bytes"
        assert problem.help == "a sheet takes a few kilobytes; check that this is the right file"

    @pytest.mark.parametrize("depth", [900, 980, 990, 995, 100_000])
    def test_a_text_that_nests_too_deeply_is_refused(self, depth):
        nested = "[" * depth + "]" * depth
        problem = problem_of(with_facts(f'"os.name": {{"value": {nested}}}'))
        assert problem.message in (
            "the text nests too deeply for a fact sheet",
            f"fact 'os.name': expected a string of printable characters, found {'[' * 60}...",
        )

    def test_too_many_facts_are_not_checked_one_by_one(self):
        problem = problem_of(with_facts(*(f'"a{number}": 1' for number in range(1001))))
        assert str(problem) == "sheet.json:3:3: the sheet has more than 1000 facts"

    def test_many_problems_in_one_long_line_share_its_text(self):
        facts = ",".join(f'"a{number}": 1' for number in range(1000))
        problems = problems_of(f'{{"etconfig_fact_sheet": 1, "facts": {{{facts}}}}}')
        assert len({id(problem.spans[0].text) for problem in problems}) == 1


class TestFiles:
    """A sheet is loaded from a file."""

    def test_a_saved_sheet_is_loaded(self, tmp_path: Path):
        path = tmp_path / "pi.json"
        path.write_text("\ufeff" + with_facts('"os.name": {"value": "linux"}'), encoding="utf-8")
        sheet = load_fact_sheet(path)
        assert sheet.values == {"os.name": "linux"}
        assert sheet["os.name"].origin.source == str(path)

    def test_a_missing_file_is_named(self, tmp_path: Path):
        path = tmp_path / "none.json"
        with pytest.raises(FactError) as caught:
            load_fact_sheet(path)
        (problem,) = caught.value.diagnostics
        assert problem.code == "unreadable-file"
        assert problem.message == f"cannot read {path}: No such file or directory"
        assert problem.help == "give the path of a file that `etconfig facts --save` wrote"

    def test_a_file_that_is_too_large_is_not_read_to_its_end(self, tmp_path: Path):
        path = tmp_path / "large.json"
        with path.open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(FactError) as caught:
            load_fact_sheet(path)
        assert caught.value.diagnostics[0].code == "document-too-large"

    def test_text_that_is_not_utf_8_is_refused_where_it_stands(self, tmp_path: Path):
        path = tmp_path / "latin.json"
        path.write_bytes(with_facts('"os.name": {"value": "caf\u00e9"}').encode("latin-1"))
        with pytest.raises(FactError) as caught:
            load_fact_sheet(path)
        (problem,) = caught.value.diagnostics
        assert str(problem) == (
            f"{path}:4:26: fact 'os.name': expected a string of printable characters, found 'caf\\udce9'"
        )
