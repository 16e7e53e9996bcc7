from __future__ import annotations

import enum
from dataclasses import replace

from packages import EVERYTHING, configuration, packed
from resolving import make_facts, make_layer

from etconfig.app.pack import notes_beside_the_map, pack_resolution
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Wire, option
from etconfig.resolver import Resolver, Target
from etconfig.schema import Applies, Scope
from etconfig.transport import (
    Package,
    PackedBackend,
    PackedConfiguration,
    PackedMethod,
    read_package,
    write_package,
)


class TestNotes:
    """An option that a user set and ExecuTorch's map cannot carry is noted: only the file has it."""

    def test_each_option_is_noted_once(self) -> None:
        notes = notes_beside_the_map([*EVERYTHING.configurations, *EVERYTHING.configurations])
        assert [note.message for note in notes] == [
            "ExecuTorch's option map cannot carry XnnpackBackend.num_threads: the runtime has no key for it",
            "ExecuTorch's option map cannot carry AcmeBackend.budget: its integers have 32 bits, and "
            "1099511627776 needs more",
            "ExecuTorch's option map cannot carry AcmeBackend.share: the runtime has no key for it",
            "ExecuTorch's option map cannot carry AcmeBackend.weights: it carries bool, int, str, not dict",
        ]
        assert not any(note.is_error for note in notes)

    def test_an_option_that_no_user_set_is_not_noted(self) -> None:
        unset = replace(packed("share", 0.5), is_set=False)
        method = PackedMethod("forward", None, (PackedBackend("Acme", (unset,)),))
        assert notes_beside_the_map([configuration("one", method)]) == []


class Sharing(enum.Enum):
    OFF = "off"
    ALL = "all"


class AcmeOptions(BackendOptions):
    sharing: Sharing = option(
        "off", applies="load", wire=Wire(key="share_mode", values={"off": 0, "all": 2}), doc="Who shares."
    )
    layers: tuple[str, ...] = option((), applies="load", wire=Wire(key="layers", separator=","), doc="Names.")
    threads: int = option(1, applies="execute", scope="process", wire=Wire(key=None), doc="Threads.")
    labels: dict[str, list[int]] = option({}, applies="load", doc="Labels.")


def packed_on(*lines: tuple[str, object]) -> tuple[PackedConfiguration, str]:
    """Resolve a profile of these lines, and return it packed with the resolution's fingerprint."""
    spec = BackendSpec(id="Acme", doc="Acme.", options=AcmeOptions, api=ApiRange(1, 1))
    target = Target(method="forward", backends=("Acme",))
    resolution = Resolver.compile({"Acme": spec}, [make_layer(*lines)], [target]).resolve(make_facts())
    return pack_resolution("board", resolution), resolution.fingerprint()


class TestPacking:
    """A resolution becomes plain data: values as resolved and as the runtime reads them."""

    def test_options_have_their_value_and_the_value_sent(self) -> None:
        lines = [("Acme.sharing", "all"), ("Acme.layers", ["a", "b"]), ("Acme.labels", {"x": [1, 2]})]
        configuration, _ = packed_on(*lines)
        ((_, sharing), (_, layers), (_, threads), (_, labels)) = configuration.methods[0].options()
        assert sharing == packed("sharing", "all", key="share_mode", sent=2)
        assert layers == packed("layers", ("a", "b"), sent="a,b")
        assert labels == packed("labels", {"x": (1, 2)})
        assert threads == packed(
            "threads", 1, key=None, scope=Scope.PROCESS, applies=Applies.EXECUTE, is_set=False
        )

    def test_a_file_has_the_fingerprint_of_the_resolution(self) -> None:
        configuration, fingerprint = packed_on(("Acme.labels", {"x": [1, 2]}))
        (read,) = read_package(write_package(Package("test", (configuration,)))).configurations
        assert read.fingerprint == fingerprint
        assert read == configuration
