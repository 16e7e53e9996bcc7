"""The pages stay short: words by hand, and wordings that read like a translation, have ceilings.

Words in generated parts do not count; words of code and tables do. A page over its budget needs a cut, not a
higher budget.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from doc_pages import ROOT, Page
from language import prose

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
]
CATALOG = ROOT / "etconfig" / "diagnostics" / "catalog.toml"

ALL_PAGES = 49_000
FRONT_PAGE = 700
"""Words of README.md, generated ones included."""
PAGE = 1_000
LONGER = {
    "CONTRIBUTING.md": 2_000,
    "docs/ahead-of-time.md": 1_500,
    "docs/architecture.md": 1_400,
    "docs/configuration.md": 1_600,
    "docs/conformance.md": 1_600,
    "docs/fleet.md": 1_400,
    "docs/native-backend.md": 1_200,
    "docs/on-device.md": 1_700,
    "docs/options.md": 1_600,
    "docs/python.md": 1_600,
    "docs/runtime-contract.md": 1_350,
    "plugins/etconfig-executorch/README.md": 1_800,
    "plugins/etconfig-onnxruntime/README.md": 1_150,
}
"""Budgets of the pages that may have more than `PAGE` words."""

CEILINGS = {
    "pronoun chain: repeat the noun": (
        r"\b(that of|those (of|that|which|who|with|for|from|in|below)"
        r"|the ones? (that|of|which|with|without|for|in)|the (former|latter))\b",
        8,
    ),
    "'what' without a noun": (
        r"(^|[.:;,(] |\b(and|of|by|from|with|to|than|for|beside|on|about|in) )"
        r"[Ww]hat (?!you|to\b|is new)[a-z]",
        12,
    ),
    "fronted Of, Where, Among": (
        r"(^|[.:;] )(Of (?!each\b)|Where (?!to\b|the\b|a\b)|As far as|Beside |Among |Beyond )[^.,]{3,60}, ",
        2,
    ),
    "inverted verb": (
        r"(^|[.:;,] )(and |but )?([Ss]o|[Nn]or|[Nn]either|[Oo]nly then|[Mm]ust) (is|are|do|does|did|has|have"
        r"|can|must|may|was|were)\b|, as (is|are|do|does|did|was|has|have) \w+",
        3,
    ),
    "'else' as a conjunction": (r"(,|;| and| or) else\b", 3),
    "calque": (
        r"\bof (its|their|your|one's|our) own\b|\bof yours\b|\bat hand\b|\bbeside\b|\ball the same\b"
        r"|\bhowever many\b|\bdo(es)? so\b|\bas it is\b|\bgo(es)? on\b|\bcounts? for nothing\b|\bas far as\b",
        4,
    ),
}
"""Patterns of wordings, each with the most that all pages may have."""

_GENERATED = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def by_hand(path: Path) -> str:
    """Return the text of a page without its generated parts."""
    text = Page(path).text
    return "" if text.startswith("<!-- Written by") else _COMMENT.sub("", _GENERATED.sub("", text))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class TestWords:
    """Each page, and all of them together, have a budget of words by hand."""

    def test_no_page_is_over_its_budget(self) -> None:
        words = {name(path): len(by_hand(path).split()) for path in PAGES}
        assert {page: count for page, count in words.items() if count > LONGER.get(page, PAGE)} == {}
        assert LONGER.keys() <= words.keys()

    def test_all_pages_stay_within_the_whole_budget(self) -> None:
        texts = [*map(by_hand, PAGES), CATALOG.read_text(encoding="utf-8")]
        assert sum(len(text.split()) for text in texts) <= ALL_PAGES

    def test_the_front_page_fits_on_few_screens(self) -> None:
        assert len(_COMMENT.sub("", Page(ROOT / "README.md").text).split()) <= FRONT_PAGE


class TestWordings:
    """Wordings that a native speaker would not write stay rare."""

    def test_none_is_more_frequent_than_its_ceiling(self) -> None:
        counts = Counter(found for path in PAGES for found in wordings(path))
        over = {wording: counts[wording] for wording, (_, most) in CEILINGS.items() if counts[wording] > most}
        assert over == {}, "list the places with `wordings`"


def wordings(path: Path) -> Iterator[str]:
    """Yield each wording of a page that has a ceiling."""
    text = re.sub(r"\]\([^)\s]*\)", "]", re.sub(r"`[^`\n]*`", "code", prose(by_hand(path))))
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)|(?<!\\)\|", text):
        if not block.lstrip().startswith("#"):
            for wording, (pattern, _) in CEILINGS.items():
                yield from (wording for _ in re.finditer(pattern, " ".join(block.split())))
