"""Finds wordings that CONTRIBUTING.md, "Language", advises against, in Python files and in pages.

A rule is a pattern and the better form. Docstrings, comments, messages and the prose of Markdown are
searched; code, inline or in fences, is not.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    """A wording to avoid.

    Attributes:
        pattern: The wording.
        better: The advice.
        is_opener: True if only the first words of a docstring count.
    """

    pattern: re.Pattern[str]
    better: str
    is_opener: bool = False


@dataclass(frozen=True)
class Finding:
    """A wording that a rule advises against, in a place."""

    path: Path
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r}; better: {self.better}"


@dataclass(frozen=True)
class Passage:
    """A piece of prose; `line` is where it begins."""

    text: str
    line: int
    is_docstring: bool = False


def _rule(pattern: str, better: str, *, is_opener: bool = False) -> Rule:
    return Rule(re.compile(pattern, re.MULTILINE), better, is_opener)


_BRITISH_STEMS = (
    "optim|normal|initial|serial|recogn|organ|summar|quant|token|vector|parallel|synchron|custom|minim|maxim|"
    "final|standard|general|special|util|visual|priorit|material|character|categor|local|real|memor|random"
)

RULES = (
    _rule(
        r"\A(?:What|Whether|Where|How|Who|Which)\b",
        "begin with a noun, or with a verb as in 'Return ...', 'Check ...'; for a predicate 'True if ...'",
        is_opener=True,
    ),
    _rule(
        r"(?<!\b[Tt]here )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|fewer|later|such)\b)",
        "'is not a ...', 'has no ...' or 'there is no ...'",
    ),
    _rule(r"\b(?:tells?|told)\b(?![^.]{0,60}\bapart\b)", "'reports', 'lists', 'explains', 'says' or 'shows'"),
    _rule(r"(?:\A|[.;:]\s+)[Ww]ho\s+\w+", "name the reader or the part: 'you', 'a plugin that ...'"),
    _rule(r"\b(?:Were|Had|Be) (?:it|that|there|they)\b", "'If ...'"),
    _rule(
        r"\b(?:is|are) held\b(?! (?:open|in memory))|\bholds? (?:that|this(?! lock)|it to)\b",
        "'verifies', 'ensures', 'keeps'; a test verifies",
    ),
    _rule(
        rf"\b(?:{_BRITISH_STEMS})is(?:e[ds]?|ing|ations?|ers?)\b"
        r"|\b\w*(?:colour|behaviour|neighbour|honour|favour)\w*|\blicence|\banalyse[ds]?\b|\bcentre[ds]?\b",
        "the American spelling",
    ),
)

_FENCE = re.compile(r"^(?P<mark>```+|~~~+).*?^(?P=mark)\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``[^`]+``|`[^`\n]+`")


def findings(path: Path, shown_as: Path, *, has_messages: bool = True) -> Iterator[Finding]:
    """Yield the findings in one file, `.py` or `.md`.

    Args:
        path: The file.
        shown_as: Its name in findings.
        has_messages: False to search only docstrings and comments: texts in tests are data.
    """
    text = path.read_text(encoding="utf-8")
    for passage in (
        python_passages(text, has_messages=has_messages)
        if path.suffix == ".py"
        else [Passage(prose(text), 1)]
    ):
        yield from findings_in(passage, shown_as)


def findings_in(passage: Passage, path: Path) -> Iterator[Finding]:
    """Yield the findings in a passage, each with its own line."""
    text = without_code(passage.text)
    for rule in RULES:
        if rule.is_opener and not passage.is_docstring:
            continue
        for match in rule.pattern.finditer(text):
            line = passage.line + text.count("\n", 0, match.end())
            yield Finding(path, line, " ".join(match[0].split()), rule.better)


def python_passages(text: str, *, has_messages: bool = True) -> Iterator[Passage]:
    """Yield docstrings, other texts with a blank in them unless they are data, and comments."""
    tree = ast.parse(text)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(id(first.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            is_docstring = id(node) in docstrings
            if has_messages or is_docstring:
                yield Passage(node.value, node.lineno, is_docstring)
    if "#" not in text:
        return  # tokenizing takes longer than everything else
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(token.string.lstrip("#: "), token.start[0])


def prose(page: str) -> str:
    """Return a page without its fenced blocks; lines keep their numbers."""
    return _FENCE.sub(lambda block: "\n" * block[0].count("\n"), page)


def without_code(text: str) -> str:
    """Return prose with a placeholder for each piece of inline code."""
    return _CODE.sub("`code`", text)
