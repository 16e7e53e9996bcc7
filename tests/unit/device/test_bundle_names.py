"""Packing refuses, by name, what no reader of bundles would accept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from etconfig.device.bundle.bundle_writer import fits_file, write_tables
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledModel, BundledProfile, BundledVariant
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import OptionError
from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, OptionTable, option
from etconfig.profile.library import Provider
from etconfig.resolver.compiling.resolver import Resolver, Target


class Cores(OptionTable):
    first: int = option(0, applies="load", doc="The first core.")


def content(
    *,
    method: str = "forward",
    instance: str = "left",
    profile: str = "p",
    name: str = "core",
    fact: str = "acme.rev",
    model: str = "m",
) -> BundleContent:
    """Return the content of a small bundle with these names."""
    registry = BUILTIN_FACTS.extended(
        [FactInfo(name=fact, type=FactType.INT, doc="A fact.", volatility=Volatility.STATIC)]
    )
    fields = {
        "__annotations__": {name: Cores},
        "__module__": __name__,
        name: option(Cores(), applies="load", doc="Cores."),
    }
    options = type("Options", (BackendOptions,), fields)
    spec = BackendSpec(id="Acme", doc="Acme.", options=options, api=ApiRange(1, 1))
    target = Target(method=method, backends=("Acme",), instances=(instance,))
    resolver = Resolver.compile({"Acme": spec}, [], [target])
    return BundleContent(
        producer="test",
        registry=registry,
        profiles=(
            BundledProfile(
                name=profile,
                bases=(),
                match=parse_expression(f"{fact} > 1", registry, expect=ExpressionType.BOOL),
                provider=Provider.USER,
                facts={},
                instances=resolver.instances,
            ),
        ),
        project_facts={},
        models=(
            BundledModel(
                name=model, fallback=False, variants=(BundledVariant(file="m.pte", when=None, needs=()),)
            ),
        ),
    )


KINDS = {
    "method": "method",
    "instance": "instance",
    "profile": "profile",
    "name": "option of Acme",
    "fact": "fact",
    "model": "model",
}


class TestNames:
    """A name has 256 bytes at most, in UTF-8."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_longest_is_packed_and_read(self, kind: str) -> None:
        prefix = "acme." if kind == "fact" else ""
        packed = DeviceBundle(compile_bundle(content(**{kind: prefix + "n" * (256 - len(prefix))})))
        assert DeviceBundle.from_bytes(packed.to_bytes()).fingerprint == packed.fingerprint

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_longer_one_is_refused_by_name(self, kind: str) -> None:
        name = ("acme." if kind == "fact" else "").ljust(257, "n")
        with pytest.raises(OptionError) as caught:
            compile_bundle(content(**{kind: name}))
        assert [str(problem) for problem in caught.value.diagnostics] == [
            f"a bundle cannot carry the {KINDS[kind]} '{name[:40]}...': its name has 257 bytes, "
            "and names in a bundle have 256 at most"
        ]
        assert caught.value.diagnostics[0].help == "give it a shorter name"

    def test_bytes_count_and_all_names_are_reported(self) -> None:
        long = "\u00e9" * 129
        with pytest.raises(OptionError) as caught:
            compile_bundle(content(instance=long, model=long))
        assert [problem.message.split("'")[0] for problem in caught.value.diagnostics] == [
            "a bundle cannot carry the instance ",
            "a bundle cannot carry the model ",
        ]


class TestSize:
    """A bundle that is too large is refused before anything is written."""

    def test_a_bundle_that_is_too_large_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        size_bytes = len(write_tables(compile_bundle(content())))
        for module in ("etconfig.device.bundle.bundle_writer", "etconfig.device.compiling.compilation"):
            monkeypatch.setattr(f"{module}.MAX_BYTES", size_bytes)
        compile_bundle(content())
        monkeypatch.setattr("etconfig.device.bundle.bundle_writer.MAX_BYTES", size_bytes - 1)
        with pytest.raises(OptionError, match="the most that a device reads"):
            compile_bundle(content())

    def test_the_estimate_never_refuses_what_fits(self) -> None:
        tables = compile_bundle(content())
        for count in (0, 1, 5, 1000):
            grown = replace(tables, texts=(*tables.texts, *("x" * (n % 9) for n in range(count))))
            assert fits_file(grown)

    def test_ranges_that_readers_would_not_walk_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("etconfig.device.bundle.table_checks.MAX_VISITED", 1)
        with pytest.raises(OptionError, match="its ranges overlap"):
            compile_bundle(content())
