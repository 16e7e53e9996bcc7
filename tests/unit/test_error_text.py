"""Errors of plugins whose `__str__` raises are reported by their type, wherever they come from."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import etconfig
from etconfig.cli.startup.main import _is_short_of_memory
from etconfig.conformance.kit.outcomes import Outcome
from etconfig.conformance.runner.runner import _ending
from etconfig.diagnostics.error_text import error_text
from etconfig.errors import PluginLoadError
from etconfig.plugin.entry_points import BACKENDS, EntryPoint
from etconfig.plugin.loader import guarded


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class MissingError(ImportError):
    __str__ = WordlessError.__str__


class TypedError(TypeError):
    __str__ = WordlessError.__str__


ENTRY = EntryPoint(
    group=BACKENDS, name="A", value="acme", distribution="acme", version="1.0", location=str(Path())
)


def test_its_text_is_replaced_and_a_long_one_is_cut() -> None:
    assert error_text(ValueError("no core")) == "ValueError: no core"
    assert error_text(WordlessError()) == "WordlessError: (its text cannot be read: RuntimeError)"
    assert len(error_text(ValueError("x" * 10**6))) < 3000


@pytest.mark.parametrize("error", [WordlessError, MissingError, TypedError])
@pytest.mark.parametrize("symbol", ["its import", "etconfig_backend", "its factory"])
def test_a_plugin_that_raises_it_is_a_broken_plugin(error: type[Exception], symbol: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(PluginLoadError) as caught:
        guarded(ENTRY, symbol, fail)
    assert f"{symbol} raised {error.__name__}: (its text cannot be read: RuntimeError)" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_other_place_writes_the_type_and_the_text_of_an_exception() -> None:
    """It would end with the exception that such a text raises."""
    written = re.compile(r"\{type\(error\)\.__name__\}: \{error\}")
    sources = sorted(Path(etconfig.__file__).parent.rglob("*.py"))
    places = [
        path.name
        for path in sources
        if "templates" not in path.parts and written.search(path.read_text("utf-8"))
    ]
    assert places == []


def test_a_backend_that_ends_with_such_an_exception_is_a_crash() -> None:
    class Unreadable(BaseException):
        def __str__(self) -> str:
            raise ValueError("no text")

    outcome, message = _ending(Unreadable())
    assert outcome is Outcome.CRASHED
    assert (
        message == "it raised Unreadable: (its text cannot be read: ValueError); raise another error instead"
    )


def test_a_lack_of_memory_is_found_behind_such_an_exception() -> None:
    class Unreadable(RuntimeError):
        def __str__(self) -> str:
            raise ValueError("no text")

    error = Unreadable()
    assert not _is_short_of_memory(error)
    error.__cause__ = MemoryError()
    assert _is_short_of_memory(error)
