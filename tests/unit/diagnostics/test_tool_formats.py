"""SARIF and GitHub annotations: structure and escapes. Each code's output is in tests/data/diagnostics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import COMMAND, FORBIDDEN, hostile_texts

from etconfig import __version__
from etconfig.diagnostics import CODES, Diagnostic, Fix, Severity, Span
from etconfig.diagnostics.render import render

SPAN = Span(file="boards/my pi.toml", line=12, column=1, length=10, text="num_thread = 2")
TYPO = Diagnostic(
    code="unknown-option",
    message="XnnpackBackend has no option 'num_thread'",
    spans=(SPAN, Span(file="/srv/base.toml", line=3, column=5)),
    notes=("it has num_threads",),
    help="did you mean 'num_threads'?",
    fix=Fix(span=SPAN, replacement="num_threads"),
)
PLACELESS = Diagnostic(code="broken-plugin", message="50% broken", severity=Severity.WARNING)


def run_of(*diagnostics: Diagnostic) -> Any:
    log = json.loads(render(diagnostics, "sarif"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    return log["runs"][0]


class TestSarif:
    """A log that follows SARIF 2.1.0."""

    def test_the_log_names_the_tool_and_the_unit_of_columns(self) -> None:
        run = run_of()
        assert run["tool"]["driver"] == {"name": "etconfig", "semanticVersion": __version__, "rules": []}
        assert run["columnKind"] == "unicodeCodePoints"
        assert run["results"] == []

    def test_rules_are_the_codes_that_occur_each_once(self) -> None:
        run = run_of(TYPO, PLACELESS, TYPO)
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == ["unknown-option", "broken-plugin"]
        assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [
            result["ruleId"] for result in run["results"]
        ]
        for rule in rules:
            assert rule["shortDescription"]["text"] == CODES[rule["id"]].summary

    def test_the_help_of_a_rule_names_its_page(self) -> None:
        (rule,) = run_of(TYPO)["tool"]["driver"]["rules"]
        assert rule["help"] == {
            "text": "See the page diagnostics/unknown-option of etconfig's documentation."
        }
        assert (Path(__file__).parents[3] / "docs" / "diagnostics" / "unknown-option.md").is_file()

    def test_a_result_has_the_message_the_place_and_the_severity(self) -> None:
        (result,) = run_of(TYPO)["results"]
        assert result["level"] == "error"
        assert result["message"]["text"].splitlines() == [TYPO.message, *TYPO.notes, TYPO.help]
        (location,) = result["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": "boards/my%20pi.toml"},
            "region": {"startLine": 12, "startColumn": 1, "endLine": 12, "endColumn": 11},
        }
        (related,) = result["relatedLocations"]
        assert related["physicalLocation"]["artifactLocation"] == {"uri": "file:///srv/base.toml"}

    @pytest.mark.parametrize(
        ("file", "uri"),
        [("boards/\udcff.toml", "boards/%FF.toml"), ("/srv/\udcff.toml", "file:///srv/%FF.toml")],
    )
    def test_a_file_name_that_is_not_text_keeps_its_bytes(self, file: str, uri: str) -> None:
        (result,) = run_of(replace(TYPO, spans=(Span(file=file),)))["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}

    def test_a_fix_replaces_the_region(self) -> None:
        (fix,) = run_of(TYPO)["results"][0]["fixes"]
        assert fix["description"] == {"text": "Write num_threads."}
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"] == {"uri": "boards/my%20pi.toml"}
        assert change["replacements"] == [
            {
                "deletedRegion": {"startLine": 12, "startColumn": 1, "endLine": 12, "endColumn": 11},
                "insertedContent": {"text": "num_threads"},
            }
        ]

    def test_without_a_place_there_is_no_location(self) -> None:
        (result,) = run_of(PLACELESS)["results"]
        assert result == {
            "ruleId": "broken-plugin",
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": "50% broken"},
        }


class TestGithub:
    """There is one workflow command per problem, and its text cannot end it or begin another one."""

    def test_it_has_the_place_the_code_the_message_the_notes_and_the_help(self) -> None:
        assert render([TYPO], "github") == (
            "::error file=boards/my pi.toml,line=12,col=1,endColumn=11,title=unknown-option::"
            "XnnpackBackend has no option 'num_thread'%0Ait has num_threads%0Adid you mean 'num_threads'?\n"
        )

    def test_a_warning_without_place_has_only_its_code(self) -> None:
        assert render([PLACELESS], "github") == "::warning title=broken-plugin::50%25 broken\n"

    def test_a_note_is_a_notice(self) -> None:
        note = Diagnostic(code="broken-plugin", message="m", severity=Severity.NOTE)
        assert render([note], "github") == "::notice title=broken-plugin::m\n"

    def test_characters_with_a_meaning_in_a_command_are_escaped(self) -> None:
        span = Span(file="a,b:c%\n::error::.toml")
        hostile = Diagnostic(code="unknown-key", message="x\r\n::set-output name=a::b", spans=(span,))
        assert render([hostile], "github") == (
            "::error file=a%2Cb%3Ac%25%0A\\u003a%3Aerror%3A%3A.toml,line=1,col=1,endColumn=2,"
            "title=unknown-key::x\\u000d%0A\\u003a:set-output name=a::b\n"
        )

    def test_one_place_has_one_command_for_each_code(self) -> None:
        other = replace(TYPO, message="m", notes=("on b",))
        elsewhere = replace(TYPO, spans=(replace(TYPO.spans[0], line=13),))
        assert render([TYPO, other, TYPO, elsewhere, PLACELESS, PLACELESS], "github").count("\n") == 3
        assert "it has num_threads%0Am%0Aon b%0Adid you mean" in render([TYPO, other], "github")

    def test_no_text_is_a_command(self) -> None:
        wrong = []
        for text in hostile_texts(1_000):
            found = Diagnostic(
                code="unknown-key",
                message=text,
                notes=(text,),
                help=text,
                spans=(Span(file=text), Span(file=text)),
            )
            (line,) = render([found], "github").splitlines()
            body = line.removeprefix("::error ").replace("%0A", "\n")
            if not line.startswith("::error file=") or COMMAND.search(body) or FORBIDDEN.search(body):
                wrong.append(line)
        assert not wrong
