from __future__ import annotations

import enum
from typing import Annotated, Any

import pytest

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, Wire, option
from etconfig.schema.declaration import Scope
from etconfig.schema.jsonschema import json_schema
from etconfig.wire.runtime_limits import ANDROID, EXECUTORCH
from etconfig.wire.wired_values import WireOption, wire_options


class Mode(enum.Enum):
    OFF = "off"
    ON = "on"


class AcmeOptions(BackendOptions):
    threads: Annotated[int, Ge(1)] = option(1, applies="load", doc="Threads.")
    mode: Mode = option(
        "off", applies="load", scope="process", wire=Wire(key="m", values={"off": 0, "on": 1}), doc="Mode."
    )
    methods: tuple[str, ...] = option(
        (), applies="load", wire=Wire(key="methods", separator=","), doc="Names."
    )
    cache: str | None = option(None, applies="load", doc="Where.")
    ratio: float = option(0.5, applies="load", wire=Wire(key=None), doc="A share.")


def problems_of(carrier: Any = EXECUTORCH, handled: tuple[str, ...] = (), **values: Any) -> list[str]:
    _, problems = wire_options("Acme", AcmeOptions(**values), carrier, handled)
    return [problem.message for problem in problems]


class TestWireOptions:
    """Options travel under their wire keys, as bool, 32-bit int or short text."""

    def test_values_have_the_form_that_the_runtime_reads(self) -> None:
        options = AcmeOptions(threads=4, mode=Mode.ON, methods=("a", "b"), cache="/c")
        wired, problems = wire_options("Acme", options, EXECUTORCH)
        assert not problems
        assert wired == [
            WireOption("threads", "threads", 4, Scope.METHOD),
            WireOption("mode", "m", 1, Scope.PROCESS),
            WireOption("methods", "methods", "a,b", Scope.METHOD),
            WireOption("cache", "cache", "/c", Scope.METHOD),
        ]

    def test_none_and_options_handled_elsewhere_are_left_out(self) -> None:
        wired, _ = wire_options("Acme", AcmeOptions(), EXECUTORCH, handled={"mode", "methods"})
        assert [each.name for each in wired] == ["threads"]

    def test_an_option_without_a_key_is_refused_unless_it_has_its_default(self) -> None:
        assert problems_of(ratio=0.5) == []
        assert problems_of(ratio=0.25, handled=("ratio",)) == []
        assert problems_of(ratio=0.25) == [
            "ExecuTorch's option map cannot carry Acme.ratio: the runtime has no key for it"
        ]

    def test_every_problem_is_reported(self) -> None:
        assert problems_of(threads=2**31, cache="c" * 256, ratio=1.0) == [
            "ExecuTorch's option map cannot carry Acme.threads: its integers have 32 bits, and 2147483648 "
            "needs more",
            "ExecuTorch's option map cannot carry Acme.cache: its texts have at most 255 bytes, "
            "and this one 256",
            "ExecuTorch's option map cannot carry Acme.ratio: the runtime has no key for it",
        ]

    @pytest.mark.parametrize(
        ("value", "fits"), [("é" * 127, True), ("é" * 128, False), ("a\0b", False), ("c" * 255, True)]
    )
    def test_texts_are_measured_in_bytes(self, value: str, fits: bool) -> None:
        assert (problems_of(cache=value) == []) is fits

    @pytest.mark.parametrize(("value", "fits"), [(2**31 - 1, True), (2**31, False)])
    def test_integers_have_32_bits(self, value: int, fits: bool) -> None:
        assert (problems_of(threads=value) == []) is fits

    def test_an_integer_that_is_sent_as_text_may_have_64_bits(self) -> None:
        class Options(BackendOptions):
            budget: int | None = option(None, applies="load", wire=Wire(key="b", as_text=True), doc="Bytes.")

        wired, problems = wire_options("Acme", Options(budget=2**40), EXECUTORCH)
        assert (wired, problems) == ([WireOption("budget", "b", "1099511627776", Scope.METHOD)], [])
        assert wire_options("Acme", Options(), EXECUTORCH) == ([], [])
        assert json_schema(BackendSpec(id="A", doc="A.", options=Options, api=ApiRange(min=1, built=1)))[
            "properties"
        ]["budget"]["x-etconfig-wire"] == {"key": "b", "asText": True}

    def test_android_carries_integers_only(self) -> None:
        assert problems_of(ANDROID, methods=("a",)) == [
            "ExecuTorch's Android binding cannot carry Acme.methods: it carries int, not str"
        ]
