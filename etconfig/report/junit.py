"""`junit_xml`: results of checks as JUnit XML, in the form that pytest writes and CI services read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias
from xml.etree import ElementTree  # it only writes here

from etconfig.base.records import record

JunitOutcome: TypeAlias = Literal["passed", "failure", "error", "skipped"]


@record(frozen=True, kw_only=True)
class JunitCase:
    """One check.

    Attributes:
        name: Its name.
        group: What it belongs to, which services show as a class.
        outcome: How it ended.
        message: Why it did not pass, in a line.
        text: Further lines.
        seconds: How long it took.
    """

    name: str
    group: str
    outcome: JunitOutcome = "passed"
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def junit_xml(name: str, cases: Iterable[JunitCase], properties: Mapping[str, str] | None = None) -> bytes:
    """Return one test suite with its cases."""
    cases = list(cases)
    root = _added(None, "testsuites", name=name)
    counts = Counter(case.outcome for case in cases)
    numbers = {"errors": counts["error"], "failures": counts["failure"], "skipped": counts["skipped"]}
    seconds = sum(case.seconds for case in cases)
    suite = _added(root, "testsuite", name=name, **numbers, tests=len(cases), time=f"{seconds:.3f}")
    if properties:
        listed = _added(suite, "properties")
        for key, value in properties.items():
            _added(listed, "property", name=key, value=value)
    for case in cases:
        element = _added(suite, "testcase", classname=case.group, name=case.name, time=f"{case.seconds:.3f}")
        if case.outcome != "passed":
            _added(element, case.outcome, message=case.message).text = _printable(case.text) or None
        elif case.text:
            _added(element, "system-out").text = _printable(case.text)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _added(parent: ElementTree.Element | None, tag: str, **attributes: object) -> ElementTree.Element:
    texts = {name: _printable(str(value)) for name, value in attributes.items()}
    return ElementTree.Element(tag, texts) if parent is None else ElementTree.SubElement(parent, tag, texts)


def _printable(text: str) -> str:
    """Replace the characters that XML 1.0 does not allow."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
