"""One parser reads all TOML, so that no file is valid on one Python and invalid on another."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_python_s_own_parser_is_never_used() -> None:
    """`tomllib` reads TOML 1.0, is missing in Python 3.10, and changes with Python."""
    users = [
        path.relative_to(ROOT).as_posix()
        for folder in ("etconfig", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        if "tomllib" in path.read_text(encoding="utf-8")
    ]
    assert users == []


def test_every_parser_that_may_be_installed_reads_toml_1_1() -> None:
    """tomli reads TOML 1.1 since 2.4."""
    assert '"tomli>=2.4"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
