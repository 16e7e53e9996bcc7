"""A plugin's reading or exception whose text raises, or is huge, makes one fact unknown and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from etconfig.facts.detecting.detection import detect
from etconfig.facts.detecting.detector import FunctionDetector, Reading
from etconfig.facts.registry import MAX_CHARACTERS, FactInfo, FactRegistry, FactType, Volatility
from etconfig.facts.sheet import FactSheet


class NoText:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __format__ = __str__  # type: ignore[assignment]


class StrangeText(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __format__ = __str__  # type: ignore[assignment]


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class EndingError(BaseException):
    def __str__(self) -> str:
        raise SystemExit(0)


LONG = "x" * (MAX_CHARACTERS + 1)
INFOS = tuple(
    FactInfo(name=f"acme.{name}", type=kind, doc="A fact.", volatility=Volatility.STATIC)
    for name, kind in (("text", FactType.STRING), ("list", FactType.STRING_LIST), ("good", FactType.INT))
)


def found(*readings: Callable[[], Reading]) -> FactSheet:
    def read(_: object) -> Iterable[Reading]:
        yield Reading("acme.good", 1, "the device")
        for each in readings:
            yield each()

    names = tuple(info.name for info in INFOS)
    detector = FunctionDetector("acme", names, read)
    sheet = detect(registry=FactRegistry(INFOS), detectors=[detector])
    assert sheet["acme.good"].value == 1
    str(sheet), sheet.to_json(), repr(sheet), [str(fact.origin) for fact in sheet.facts.values()]
    return sheet


READINGS: dict[str, tuple[Any, ...]] = {
    "found str|found NoText": ("acme.text", "a", NoText()),
    "expected a str as its source, found StrangeText": ("acme.text", "a", StrangeText("driver")),
    "expected a str as its detail, found NoText": ("acme.text", "a", "driver", NoText()),
    "expected a str as its reason, found NoText": ("acme.text", None, "driver", None, NoText()),
    "a NoText whose text raises RuntimeError": ("acme.text", NoText(), "driver"),
    "expected at most 1,048,576 characters, found 1,048,577": ("acme.text", LONG, "driver"),
    "expected at most 1,048,576 characters, found 2,098,176": ("acme.list", ["x" * 1023] * 2049, "driver"),
    "its source has 1,048,577 characters": ("acme.text", "a", LONG),
    "its detail has 1,048,577 characters": ("acme.text", "a", "driver", LONG),
}


def test_a_reading_without_a_usable_text_makes_its_fact_unknown() -> None:
    wrong = []
    for expected, arguments in READINGS.items():
        reason = found(lambda arguments=arguments: Reading(*arguments))[arguments[0]].reason or ""  # type: ignore[misc]
        if not any(each in reason for each in expected.split("|")) or "'acme' failed" not in reason:
            wrong.append((expected, reason))
    assert wrong == []


def test_a_text_of_a_class_of_its_own_becomes_an_ordinary_one() -> None:
    value = found(lambda: Reading("acme.text", StrangeText("plain"), "driver"))["acme.text"].value
    assert (type(value), value) == (str, "plain")


@pytest.mark.parametrize("error", [WordlessError, EndingError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_without_a_text_is_named_by_its_type(error: type[BaseException]) -> None:
    def fail() -> Reading:
        raise error

    reason = found(fail)["acme.text"].reason or ""
    assert reason.startswith(f"detector 'acme' failed: {error.__name__}: ")
