"""Diagnostics as SARIF 2.1.0, the log format of static analysis that code hosts and editors read.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from etconfig.base.version import __version__
from etconfig.diagnostics.codes import CODES
from etconfig.diagnostics.diagnostic import Diagnostic
from etconfig.diagnostics.fix import Fix
from etconfig.diagnostics.span import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
"""The schema that a log follows."""


def sarif_log(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the log of one run as plain data. Its rules are the codes that occur."""
    found = list(diagnostics)
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in found))
    driver = {"name": "etconfig", "semanticVersion": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, codes) for diagnostic in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    # code hosts resolve links in the checked repository, which has no such page
    help = f"See the page diagnostics/{code} of etconfig's documentation."
    return {"id": code, "shortDescription": {"text": CODES[code].summary}, "help": {"text": help}}


def _result(diagnostic: Diagnostic, codes: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": diagnostic.severity.value,
        "message": {"text": diagnostic.full_text},
    }
    locations = [{"physicalLocation": _physical_location(span)} for span in diagnostic.spans]
    if locations:
        result["locations"] = locations[:1]
    if locations[1:]:
        result["relatedLocations"] = locations[1:]
    if diagnostic.fix:
        result["fixes"] = [_fix(diagnostic.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.replacement}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": f"Write {fix.replacement}."},
        "artifactChanges": [{"artifactLocation": _artifact_location(fix.span), "replacements": replacements}],
    }


def _physical_location(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact_location(span), "region": _region(span)}


def _artifact_location(span: Span) -> dict[str, str]:
    path = Path(span.file)
    return {"uri": path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.line,
        "endColumn": span.column + span.length,
    }
