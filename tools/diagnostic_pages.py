"""The pages of diagnostic codes: texts from the catalog, examples and outputs from tested cases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from etconfig.diagnostics.codes import CODES

ROOT = Path(__file__).parents[1]
CATALOG = ROOT / "etconfig" / "diagnostics" / "catalog.toml"
CASES = ROOT / "tests" / "data" / "diagnostic_cases"
PAGES = ROOT / "docs" / "diagnostics"

_PARTS = re.compile(r"^## (?:Output|Fixed)\n\n", re.MULTILINE)
_SOURCES = " and ".join(path.relative_to(ROOT).as_posix() for path in (CATALOG, CASES))
_NOTE = f"<!-- Written by tools/generate_docs.py from {_SOURCES} -->"


@cache
def catalog() -> dict[str, Any]:
    """Return the keys `why` and `fix` by code."""
    return tomli.loads(CATALOG.read_text(encoding="utf-8"))


def case(code: str) -> tuple[str, str, str]:
    """Return the example of a code, its output and the repaired example, as Markdown."""
    wrong, output, fixed = _PARTS.split((CASES / f"{code}.md").read_text(encoding="utf-8"))
    return wrong, output, fixed


def diagnostic_pages() -> Iterator[tuple[Path, str]]:
    """Yield the page of each code."""
    for code in CODES:
        yield PAGES / f"{code}.md", diagnostic_page(code)


def diagnostic_page(code: str) -> str:
    """Return the text of the page of a code."""
    texts = catalog()[code]
    wrong, output, fixed = case(code)
    parts = [
        f"{_NOTE}\n\n# {code}\n\n{CODES[code].summary}",
        f"## Why\n\n{texts['why'].strip()}",
        f"## Example\n\n{wrong.strip()}",
        output.strip(),
        f"## Fix\n\n{texts['fix'].strip()}",
        fixed.strip(),
    ]
    return "\n\n".join(parts) + "\n"
