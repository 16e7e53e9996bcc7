"""Packing a bundle refuses whatever may fail on a device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pytest

import etconfig
from etconfig.app.packing.profile_bundle import make_bundle
from etconfig.errors import ConfigError
from etconfig.plugin.v1 import (
    Advice,
    ApiRange,
    BackendOptions,
    BackendSpec,
    Ge,
    Le,
    MultipleOf,
    model_validator,
    option,
)


class Options(BackendOptions):
    threads: Annotated[int, Ge(1), Le(8)] = option(1, applies="execute", doc="D.")
    share: Annotated[float, MultipleOf(0.25)] = option(0.5, applies="load", doc="D.")
    cache_bytes: int = option("1 MiB", applies="load", unit="bytes", doc="D.")
    log: int = option(0, applies="load", scope="process", doc="D.")

    @model_validator(mode="after")
    def check(self) -> Options:
        if self.threads > 4 and self.log > 1:
            raise ValueError("more than 4 threads log too much")
        return self


class FollowingOptions(BackendOptions):
    threads: Annotated[int, Ge(1), Le(8)] = option(
        1, from_fact="cpu.available_cores", applies="execute", doc="D."
    )


class RequiredOptions(BackendOptions):
    mode: str = option(applies="load", doc="D.")


def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
    return {"threads": 2} if facts.get("cpu.available_cores") else {"log": 1}


def packed(place: Path, text: str, **fields: object) -> tuple[str, ...]:
    """The problems of packing one profile, errors and warnings alike."""
    spec = BackendSpec(**{"id": "B", "doc": "D.", "options": Options, "api": ApiRange(1, 1), **fields})  # type: ignore[arg-type]
    (place / "x.toml").write_text(f'[profile]\nname = "acme/x"\n{text}')
    installation = etconfig.Installation().with_backends({"B": spec})
    try:
        return tuple(map(str, make_bundle(profiles=[place / "x.toml"], installation=installation).warnings))
    except ConfigError as error:
        return tuple(map(str, error.diagnostics))


class TestValues:
    """A computed value is proven to be one that its option accepts."""

    def test_a_proven_value_is_packed(self, tmp_path: Path) -> None:
        text = '[options.B]\nthreads = { expr = "min(cpu.available_cores, 8)" }\nlog = 1\n'
        assert packed(tmp_path, text) == ()

    def test_a_value_that_may_leave_its_bounds_is_refused(self, tmp_path: Path) -> None:
        (problem,) = packed(tmp_path, '[options.B]\nthreads = { expr = "cpu.available_cores" }\n')
        assert "x.toml:4" in problem
        assert "may be more than 8" in problem

    def test_a_default_that_follows_a_fact_is_proven_too(self, tmp_path: Path) -> None:
        (problem,) = packed(tmp_path, "", options=FollowingOptions)
        assert "B.threads: 'cpu.available_cores' may be more than 8" in problem
        fixed = "[options.B]\nthreads = 4\n"
        assert packed(tmp_path, fixed, options=FollowingOptions) == ()
        conditional = "[[when]]\nif = 'has(cpu.arch)'\n[when.options.B]\nthreads = 4\n"
        assert packed(tmp_path, conditional, options=FollowingOptions)

    def test_a_recommendation_is_proven_too(self, tmp_path: Path) -> None:
        (problem,) = packed(tmp_path, "", advice=(Advice("threads", expr="cpu.available_cores"),))
        assert "may be more than 8" in problem
        assert packed(tmp_path, "", advice=(Advice("threads", expr="min(cpu.available_cores, 8)"),)) == ()

    @pytest.mark.parametrize(
        ("setting", "reason"),
        [
            ('share = { expr = "0.5" }', "does not check for multiples of 0.25"),
            ("cache_bytes = { expr = \"'1 MiB'\" }", "does not read quantities in text"),
        ],
    )
    def test_what_a_device_cannot_check_is_refused(self, tmp_path: Path, setting: str, reason: str) -> None:
        problems = packed(tmp_path, f"[options.B]\n{setting}\n")
        assert any("a bundle cannot carry B." in each and reason in each for each in problems)


class TestCombinations:
    """Conditions that combine to something that a backend refuses are found."""

    TEXT = """\
    [[when]]
    if = 'cpu.arch == "arm64"'
    [when.options.B]
    threads = 8
    [[when]]
    if = '{second}'
    [when.options.B]
    log = 2
    """

    def test_a_conflict_of_two_conditions_is_refused(self, tmp_path: Path) -> None:
        text = self.TEXT.replace("{second}", "cpu.available_cores > 2")
        assert any("more than 4 threads log too much" in each for each in packed(tmp_path, text))

    def test_conditions_that_exclude_each_other_may_conflict(self, tmp_path: Path) -> None:
        text = self.TEXT.replace("{second}", 'cpu.arch == "x86_64"')
        assert packed(tmp_path, text) == ()

    def test_methods_agree_on_options_of_the_process(self, tmp_path: Path) -> None:
        text = "[methods.f.options.B]\nlog = 1\n[methods.g.options.B]\nlog = 0\n"
        assert any("applies to the whole process" in each for each in packed(tmp_path, text))


class TestRequired:
    """A required option without a value on some device is a warning."""

    WHEN = "[[when]]\nif = 'cpu.arch == \"arm64\"'\n[when.options.B]\nmode = {value}\n"
    INSTANCE = "[instances.a]\nmethod = 'f'\n[instances.a.options.B]\nmode = 'x'\n"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            WHEN.replace("{value}", "'x'"),
            "[options.B]\nmode = 'x'\n" + WHEN.replace("{value}", "{ unset = true }"),
        ],
    )
    def test_it_may_be_missing(self, tmp_path: Path, text: str) -> None:
        (problem,) = packed(tmp_path, text, options=RequiredOptions)
        assert "B.mode is required, and no value of it counts on every device" in problem
        assert ("x.toml" in problem) == bool(text)

    @pytest.mark.parametrize("text", ["[options.B]\nmode = 'x'\n" + WHEN.replace("{value}", "'y'")])
    def test_it_has_a_value_everywhere(self, tmp_path: Path, text: str) -> None:
        assert packed(tmp_path, text, options=RequiredOptions) == ()

    def test_a_recommendation_is_a_value(self, tmp_path: Path) -> None:
        advice = (Advice("mode", expr="'x'"),)
        assert packed(tmp_path, "", options=RequiredOptions, advice=advice) == ()


class TestFunctions:
    """The recommendations of functions do not travel, and are named."""

    def test_each_option_is_named_with_what_becomes_of_it(self, tmp_path: Path) -> None:
        problems = packed(tmp_path, "", recommend=recommend)
        assert [each.partition(": a function")[0] for each in problems] == [
            "a bundle cannot carry what B recommends for log, and maybe for others on other devices",
            "a bundle cannot carry what B recommends for threads, and maybe for others on other devices",
        ]

    def test_options_of_other_devices_are_not_denied(self, tmp_path: Path) -> None:
        def of_few(facts: Mapping[str, object]) -> Mapping[str, object]:
            return {"threads": 2} if facts.get("cpu.vendor") == "Rare" else {"log": 1}

        (problem,) = packed(tmp_path, "", recommend=of_few)
        assert "recommends for log, and maybe for others on other devices: a function" in problem

    def test_a_function_that_recommends_nothing_on_a_typical_device(self, tmp_path: Path) -> None:
        def of_few(facts: Mapping[str, object]) -> Mapping[str, object]:
            return {"threads": 2} if facts.get("cpu.vendor") == "Rare" else {}

        spec = BackendSpec(id="B", doc="D.", options=Options, api=ApiRange(1, 1), recommend=of_few)
        installation = etconfig.Installation().with_backends({"B": spec})
        with pytest.raises(ConfigError) as caught:
            etconfig.pack_bundle(profiles=["generic/any"], strict=True, installation=installation)
        (problem,) = caught.value.diagnostics
        assert "recommends for its options: a function" in problem.message
        assert problem.help == (
            "set the options of B in a profile, or ask the vendor for recommendations as data"
        )

    def test_strict_refuses_them(self, tmp_path: Path) -> None:
        spec = BackendSpec(id="B", doc="D.", options=Options, api=ApiRange(1, 1), recommend=recommend)
        installation = etconfig.Installation().with_backends({"B": spec})
        with pytest.raises(ConfigError, match="a function computes it"):
            etconfig.pack_bundle(profiles=["generic/any"], strict=True, installation=installation)
