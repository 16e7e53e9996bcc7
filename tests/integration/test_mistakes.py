"""Mistakes of people in conditions and values: each is found at its place, and the help says the way out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli
from command_line import DATA
from plugin_data import write_distribution

from etconfig import Diagnostic, Installation
from etconfig.app.validating.fixing import fix_files
from etconfig.app.validating.validation import validate_file

PLUGIN = """
from etconfig.plugin.v1 import ApiRange, BackendSpec, hookimpl
from npu import NpuOptions

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="An NPU.", options=NpuOptions, api=ApiRange(1, 1))
"""
HEAD = '[profile]\nname = "acme/board"\n'

Validate = Callable[[str], "tuple[Diagnostic, ...]"]


def mistakes(name: str) -> list[Any]:
    """Return the mistakes of a file with the document of each: the text, and what is around it."""
    document = tomli.loads((DATA / "mistakes" / f"{name}.toml").read_text("utf-8"))
    found = []
    for mistake in document["mistake"]:
        quote = mistake.get("quote", document.get("quote", ""))
        around = (HEAD + document["before"] + quote, quote + document["after"])
        found.append(pytest.param(mistake, *around, id=mistake["text"]))
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board.toml"


@pytest.fixture
def validate(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Validate]:
    """Validate a text where `NpuBackend` is installed, whose options are of every type."""
    site = path.parent / "site"
    write_distribution(site, "acme_npu-1.0.dist-info", "[etconfig.backends]\nNpuBackend = npu_of_mistakes\n")
    (site / "npu_of_mistakes.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(site))

    def check(text: str) -> tuple[Diagnostic, ...]:
        path.write_text(text, "utf-8")
        return validate_file(path, Installation(path.parent))

    yield check
    sys.modules.pop("npu_of_mistakes", None)


def _check(mistake: Mapping[str, Any], before: str, after: str, path: Path, validate: Validate) -> None:
    found = validate(before + mistake["text"] + after)
    errors = [each for each in found if each.is_error] or found
    assert list(dict.fromkeys(each.code for each in errors)) == mistake["codes"]
    assert list(dict.fromkeys(each.help for each in errors if each.help)) == mistake["help"]
    assert list(dict.fromkeys(each.spans[0].underlined for each in errors)) == mistake["marked"]
    fixed = mistake.get("fixed")
    made = [file.after for file in fix_files([path], found, with_unsafe=True)]
    assert made == ([] if fixed is None else [before + fixed + after])
    if fixed is not None:
        made_by_default = [file.after for file in fix_files([path], found)]
        assert (made_by_default == made) == mistake["is_safe"]
        assert not [each for each in validate(made[0]) if each.is_error]


class TestConditions:
    """Names, words, operators, numbers, brackets and functions as other languages have them."""

    @pytest.mark.parametrize(("mistake", "before", "after"), mistakes("conditions"))
    def test_the_mistake_is_explained_and_fixed(
        self, mistake: Mapping[str, Any], before: str, after: str, path: Path, validate: Validate
    ) -> None:
        _check(mistake, before, after, path, validate)


class TestValues:
    """Values of another type, in quotes, with foreign units, without a list; expressions as texts."""

    @pytest.mark.parametrize(("mistake", "before", "after"), mistakes("values"))
    def test_the_mistake_is_explained_and_fixed(
        self, mistake: Mapping[str, Any], before: str, after: str, path: Path, validate: Validate
    ) -> None:
        _check(mistake, before, after, path, validate)
