"""Arguments that are resolved when packing: `pack_resolutions`, and what a bundle says of them."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from packed_options import configuration, packed
from resolving import make_facts, make_layer
from wired_options import WiredOptions

import etconfig
from etconfig.app.packing.resolution_bundle import notes_beside_the_map, packed_resolution
from etconfig.base.provenance import OriginKind
from etconfig.device.builders.language import CarriedMethod, Language
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted
from etconfig.device.deciding.configurations import (
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    PackedOption,
)
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import OptionError, ProfileError, SavedResultError
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.profile.layer import Layer
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.schema.declaration import Applies, Scope
from etconfig.wire.runtime_limits import EXECUTORCH


class TestNotes:
    """An option that a user set and the C++ headers do not pass on is noted: only the bundle has it."""

    def test_each_option_is_noted_once(self) -> None:
        options = (
            packed("budget", 2**40),
            packed("share", 0.5, key=None),
            packed("weights", {"x": 1}),
            packed("level", 3, scope=Scope.PROCESS),
        )
        method = PackedMethod("forward", None, (PackedBackend("Acme", options),))
        notes = notes_beside_the_map([configuration("one", method, method), configuration("two", method)])
        assert [note.message for note in notes] == [
            "ExecuTorch's option map cannot carry Acme.budget: its integers have 32 bits, and "
            "1099511627776 needs more",
            "ExecuTorch's option map cannot carry Acme.share: the runtime has no key for it",
            "ExecuTorch's option map cannot carry Acme.weights: it carries bool, int, str, not dict",
        ]
        assert not any(note.is_error for note in notes)
        assert {note.help for note in notes} == {
            "the bundle has it: let the application read it there and apply it"
        }

    def test_an_option_that_no_user_set_is_not_noted(self) -> None:
        unset = packed("share", 0.5, is_set=False)
        method = PackedMethod("forward", None, (PackedBackend("Acme", (unset,)),))
        assert notes_beside_the_map([configuration("one", method)]) == []

    def test_threads_of_xnnpack_are_not_noted(self) -> None:
        options = (packed("num_threads", 2, key=None), packed("single_threaded", True, key=None))
        method = PackedMethod("forward", None, (PackedBackend("XnnpackBackend", options),))
        assert notes_beside_the_map([configuration("one", method)]) == []


class AcmeOptions(WiredOptions):
    cache: str | None = option("/cache", applies="load", doc="Where.")
    note: str = option("", applies="load", doc="Recommended.")


class EmptyOptions(BackendOptions):
    pass


SPECS = {
    "Acme": BackendSpec(
        id="Acme",
        doc="Acme.",
        options=AcmeOptions,
        api=ApiRange(1, 1),
        recommend=lambda facts: {"note": "für Ünïcode 🦊"},
    ),
    "Empty": BackendSpec(id="Empty", doc="Empty.", options=EmptyOptions, api=ApiRange(1, 1)),
}


def resolved(*lines: tuple[str, object], cores: int = 4, layer: Layer | None = None) -> Resolution:
    target = Target(method="forward", backends=("Acme", "Empty"), instances=("left",))
    given = make_layer(*lines) if layer is None else layer
    return Resolver.compile(SPECS, [given], [target]).resolve(make_facts(cpu__available_cores=cores))


def by_name(configuration: PackedConfiguration) -> dict[str, PackedOption]:
    return {option.name: option for _, option in configuration.methods[0].options()}


class TestPacking:
    """Every value is in the bundle, with its origin, and as the runtime reads it."""

    def test_options_have_their_value_and_the_value_sent(self) -> None:
        lines = [("Acme.sharing", "all"), ("Acme.layers", ["a", "b"]), ("Acme.labels", {"x": [1, 2]})]
        bundle = etconfig.pack_resolutions({"board": resolved(*lines)})
        default = {"is_set": False, "origin": "default AcmeOptions"}
        assert by_name(bundle.configuration("board")) == {
            "sharing": packed("sharing", "all", key="share_mode", sent=2, origin="profile p.toml:1:1"),
            "layers": packed("layers", ("a", "b"), sent="a,b", origin="profile p.toml:2:1"),
            "threads": packed(
                "threads",
                4,
                key=None,
                scope=Scope.PROCESS,
                applies=Applies.EXECUTE,
                is_set=False,
                origin="default AcmeOptions (fact cpu.available_cores)",
            ),
            "labels": packed("labels", {"x": (1, 2)}, origin="profile p.toml:3:1"),
            "cache": packed("cache", "/cache", **default),
            "note": packed("note", "für Ünïcode 🦊", is_set=False, origin="recommendation Acme"),
        }

    def test_a_value_keeps_its_type(self) -> None:
        bundle = etconfig.pack_resolutions({"board": resolved()})
        shown = bundle.configuration("board").to_jsonable()
        assert (shown[0]["method"], shown[0]["instance"], shown[0]["backend"]) == ("forward", None, "Acme")
        assert shown[0]["options"]["threads"] == {
            "value": 4,
            "key": None,
            "sent": 4,
            "scope": "process",
            "applies": "execute",
            "is_set": False,
            "origin": "default AcmeOptions (fact cpu.available_cores)",
        }
        assert shown[1] == {"method": "forward", "instance": None, "backend": "Empty", "options": {}}
        assert shown[2]["instance"] == "left"

    def test_a_profile_that_comes_with_etconfig_sets_nothing(self) -> None:
        layer = replace(make_layer(("Acme.cache", "/x")), is_bundled=True)
        found = by_name(etconfig.pack_resolutions({"b": resolved(layer=layer)}).configuration("b"))["cache"]
        assert (found.value, found.is_set, found.origin) == ("/x", False, "profile p.toml:1:1")

    @pytest.mark.parametrize("kind", [OriginKind.PROJECT, OriginKind.ENVIRONMENT, OriginKind.OVERRIDE])
    def test_other_sources_set_it(self, kind: OriginKind) -> None:
        layer = make_layer(("Acme.cache", "/x"), kind=kind)
        found = by_name(etconfig.pack_resolutions({"b": resolved(layer=layer)}).configuration("b"))["cache"]
        assert (found.value, found.is_set) == ("/x", True)

    def test_it_has_the_fingerprint_of_the_resolution(self) -> None:
        resolution = resolved(("Acme.labels", {"x": [1, 2]}))
        bundle = etconfig.pack_resolutions({"board": resolution})
        read = DeviceBundle.from_bytes(bundle.to_bytes())
        assert read.configuration("board").fingerprint == resolution.fingerprint()
        assert read.configuration("board") == bundle.configuration("board")
        read.check_fingerprints()

    def test_code_is_written_of_the_same_values(self) -> None:
        resolution = resolved(("Acme.sharing", "all"))
        alone = packed_resolution("board", resolution, etconfig.Installation())
        assert alone == etconfig.pack_resolutions({"board": resolution}).configuration("board")
        language = Language(EXECUTORCH, lambda head, methods: "")
        entries = CarriedMethod.split(alone.methods[0], language).of_method["Acme"]
        assert ("share_mode", 2) in [(each.key, each.value) for each in entries]

    def test_an_integer_of_more_than_64_bits_is_refused(self) -> None:
        class BigOptions(BackendOptions):
            big: tuple[int, ...] = option((), applies="load", doc="Numbers.")

        spec = BackendSpec(id="Acme", doc="Acme.", options=BigOptions, api=ApiRange(1, 1))
        layer = make_layer(("Acme.big", [2**62]))
        target = Target(method="forward", backends=("Acme",))
        resolution = Resolver.compile({"Acme": spec}, [layer], [target]).resolve(make_facts())
        arguments = resolution.arguments("forward")
        object.__setattr__(arguments["Acme"], "big", (2**63,))
        with pytest.raises(OptionError, match=r"a bundle cannot carry Acme\.big: its integers have 64 bits"):
            etconfig.pack_resolutions({"board": resolution})


class TestReading:
    """A device takes one configuration by name, and needs no facts."""

    def test_the_only_one_needs_no_name(self) -> None:
        bundle = etconfig.pack_resolutions({"board": resolved(cores=2)})
        resolution = bundle.resolve()
        assert (resolution.profile, resolution.value("forward", "Acme", "threads")) == ("board", 2)
        assert bundle.facts_read == ()

    def test_one_of_several_is_named(self) -> None:
        bundle = etconfig.pack_resolutions({"b": resolved(cores=2), "a": resolved(cores=3)})
        assert bundle.profile_names == ("a", "b")
        for name, threads in (("a", 3), ("b", 2)):
            assert bundle.resolve(profile=name).value("forward", "Acme", "threads") == threads
        with pytest.raises(ProfileError) as caught:
            bundle.resolve()
        (problem,) = caught.value.diagnostics
        assert problem.message == (
            "the configurations of the bundle were resolved when packing, and no device selects one"
        )
        assert problem.help == "name one: a, b"

    def test_facts_change_nothing(self) -> None:
        bundle = etconfig.pack_resolutions({"board": resolved(cores=2)})
        facts = make_facts(cpu__available_cores=8)
        assert bundle.resolve(facts).value("forward", "Acme", "threads") == 2

    def test_a_profile_with_conditions_needs_facts(self) -> None:
        bundle = etconfig.pack_bundle(profiles=["generic/any"])
        with pytest.raises(TypeError, match="given None; the bundle depends on facts"):
            bundle.resolve()
        with pytest.raises(TypeError, match="given None; the bundle depends on facts"):
            bundle.resolve(profile="generic/any")
        with pytest.raises(ProfileError, match="'generic/any' of the bundle was not resolved when packing"):
            bundle.configuration("generic/any")

    def test_a_changed_value_is_found_by_the_fingerprints(self) -> None:
        tables = etconfig.pack_resolutions({"board": resolved(("Acme.cache", "/x"))}).tables
        bundle = DeviceBundle(replace(tables, texts=["/y" if t == "/x" else t for t in tables.texts]))
        with pytest.raises(SavedResultError) as caught:
            DeviceBundle.from_bytes(bundle.to_bytes()).check_fingerprints()
        assert caught.value.diagnostics[0].message == (
            "the bundle was changed after it was written: its content does not have its fingerprint; "
            "the values of configuration 'board' do not have its fingerprint"
        )

    def test_a_configuration_without_a_value_is_described_without_it(self) -> None:
        tables = etconfig.pack_resolutions({"board": resolved()}).tables
        options = [row._replace(default_value=NONE) for row in tables.options]
        bundle = DeviceBundle.from_bytes(write_tables(counted(replace(tables, options=options))))
        assert bundle.configuration("board").methods == ()


class TestArguments:
    """Wrong arguments are refused."""

    def test_there_must_be_resolutions_by_name(self) -> None:
        with pytest.raises(ValueError, match="resolutions: expected at least one, given none"):
            etconfig.pack_resolutions({})
        for wrong in ([resolved()], {1: resolved()}, {"a": FactSheet.empty()}):
            with pytest.raises(TypeError, match="resolutions: expected resolutions by name"):
                etconfig.pack_resolutions(wrong)  # type: ignore[arg-type]

    def test_a_backend_has_one_class_of_options(self) -> None:
        spec = replace(SPECS["Acme"], options=EmptyOptions, recommend=None)
        target = Target(method="forward", backends=("Acme",))
        other = Resolver.compile({"Acme": spec}, [], [target]).resolve(make_facts())
        with pytest.raises(ValueError, match="'b' has other options for Acme than the others"):
            etconfig.pack_resolutions({"a": resolved(), "b": other})

    def test_equal_resolutions_give_equal_bytes(self) -> None:
        first = etconfig.pack_resolutions({"a": resolved(), "b": resolved(cores=2)})
        second = etconfig.pack_resolutions({"b": resolved(cores=2), "a": resolved()})
        assert first.to_bytes() == second.to_bytes()
        assert struct.unpack_from("<4s", first.to_bytes(), 4) == (b"ETCB",)
