"""A backend whose options take threads and memory, and resolving of TOML text with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from resolving import make_facts

from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Consumes, Ge, option
from etconfig.profile.document import parse_document
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.resolution import Resolution


class PoolOptions(BackendOptions):
    threads: Annotated[int, Ge(0)] | None = option(
        None,
        applies="load",
        unit="threads",
        consumes=Consumes(
            "threads",
            counts={0: "cpu.physical_cores", None: None},
            only_if={"alone": False},
            otherwise=1,
            shared_if={"pooled": True},
        ),
        doc="The threads of an instance.",
    )
    more: Annotated[int, Ge(0)] = option(0, applies="load", consumes="threads", doc="Further threads.")
    alone: bool = option(False, applies="load", doc="Run without threads.")
    pooled: bool = option(False, applies="load", doc="Share them.")
    cache: Annotated[int, Ge(0)] = option(
        0, applies="load", unit="bytes", consumes="memory", doc="The size of a cache."
    )
    plain: Annotated[int, Ge(0)] = option(0, applies="load", doc="Takes nothing.")


class ProcessOptions(BackendOptions):
    workers: Annotated[int, Ge(1)] = option(
        1, applies="load", scope="process", consumes="threads", doc="The threads of the process."
    )
    mode: Literal["fast", "slow"] = option("fast", applies="load", doc="Takes nothing.")


SPECS = {
    "PoolBackend": BackendSpec(id="PoolBackend", doc="A pool.", options=PoolOptions, api=ApiRange(1, 1)),
    "OtherBackend": BackendSpec(id="OtherBackend", doc="Another.", options=PoolOptions, api=ApiRange(1, 1)),
    "ProcessBackend": BackendSpec(
        id="ProcessBackend", doc="One.", options=ProcessOptions, api=ApiRange(1, 1)
    ),
}


def layers_from(*texts: str) -> tuple[Layer, ...]:
    """Return the layers of profiles, base first, each without its head."""
    chain = [
        parse_profile(
            parse_document(f'[profile]\nname = "p{number}"\n{text}', f"p{number}.toml"),
            ExpressionParser(BUILTIN_FACTS),
        )
        for number, text in enumerate(texts)
    ]
    return layers_of(chain)


def compile_budget(*texts: str, methods: Mapping[str, Sequence[str]] | None = None) -> Resolver:
    """Compile profiles for methods and their backends."""
    backends = {"detector": ["PoolBackend"], "encoder": ["PoolBackend"]} if methods is None else methods
    targets = [Target(method=name, backends=tuple(each)) for name, each in backends.items()]
    return Resolver.compile(SPECS, layers_from(*texts), targets)


def resolve_budget(
    *texts: str, methods: Mapping[str, Sequence[str]] | None = None, **facts: object
) -> Resolution:
    """Resolve profiles on a device with these facts; `__` stands for a dot."""
    return compile_budget(*texts, methods=methods).resolve(make_facts(**facts))


def taken(resolution: Resolution, name: str = "threads") -> dict[str, int]:
    """Return an option of `PoolBackend` in each method instance."""
    return {a.label: getattr(a["PoolBackend"], name) for a in resolution if "PoolBackend" in a}
