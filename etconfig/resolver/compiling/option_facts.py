"""Options as facts: the registry of a condition on both, and the values of the options of a method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from etconfig.base.records import record
from etconfig.errors import PluginError
from etconfig.expression import Expression, ExpressionType, parse_expression
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, FactValue, Volatility
from etconfig.profile.profile import Reference
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.options import BackendOptions
from etconfig.schema.spec import BackendSpec

_TYPES = {
    OptionKind.BOOLEAN: FactType.BOOL,
    OptionKind.INTEGER: FactType.INT,
    OptionKind.FLOAT: FactType.FLOAT,
    OptionKind.STRING: FactType.STRING,
}


@record(frozen=True, kw_only=True)
class OptionAsFact(FactInfo):
    """The declaration of an option, which a condition names as `BACKEND.OPTION`."""

    def __post_init__(self) -> None:
        """Allow any name."""


class OptionsAndFacts(FactRegistry):
    """The facts, and the options of all backends. Options without a simple value are left out.

    Args:
        facts: The facts.
        backends: The ids of the backends.
        find_spec: Returns the schema of a backend; raises PluginError if its plugin is broken.
    """

    def __init__(
        self, facts: FactRegistry, backends: Iterable[str], find_spec: Callable[[str], BackendSpec]
    ) -> None:
        ids = frozenset(backends)
        vars(self).update(facts=facts, broken={}, _backends=ids, _find_spec=find_spec, _known={})

    facts: FactRegistry
    broken: dict[str, str]
    """The reasons why backends have no options here."""
    _backends: frozenset[str]
    _find_spec: Callable[[str], BackendSpec]
    _known: dict[str, Mapping[str, FactInfo]]

    @cached_property
    def infos(self) -> tuple[FactInfo, ...]:
        """The options of all backends, and all facts."""
        options = (info for backend in sorted(self._backends) for info in self._of_backend(backend).values())
        return (*options, *self.facts.infos)

    @cached_property
    def _by_name(self) -> dict[str, FactInfo]:
        return {info.name: info for info in self.infos}

    def get(self, name: str) -> FactInfo | None:
        """Return the option or fact of this name, or None."""
        backend = name.partition(".")[0]
        if backend not in self._backends:
            return self.facts.get(name)
        return self._of_backend(backend).get(name)

    def options_of(self, backend: str) -> Collection[str]:
        """Return the names of the options of a backend that a condition can read, with the backend."""
        return self._of_backend(backend).keys()

    def backends_in(self, expression: Expression) -> frozenset[str]:
        """Return the backends whose options a condition reads."""
        return frozenset(name.partition(".")[0] for name in expression.facts) & self._backends

    def values(self, backend: str, options: BackendOptions) -> dict[str, FactValue]:
        """Return the values of the options of a backend, by name; an option that is None has none."""
        infos = self._of_backend(backend)
        found: dict[str, FactValue] = {}
        for option, value in options.to_jsonable().items():
            info = infos.get(f"{backend}.{option}")
            if info is not None and value is not None:
                found[info.name] = info.type.check(value)
        return found

    def _of_backend(self, backend: str) -> Mapping[str, FactInfo]:
        if backend not in self._known:
            try:
                infos = self._find_spec(backend).options.option_infos()
            except PluginError as error:
                infos = {}
                self.broken[backend] = error.message
            found = (_info(f"{backend}.{name}", info.type, info.doc) for name, info in infos.items())
            self._known[backend] = {each.name: each for each in found if each is not None}
        return self._known[backend]


def _info(name: str, type_: OptionType, doc: str) -> FactInfo | None:
    choices: tuple[str, ...] = ()
    kind = _TYPES.get(type_.kind)
    if type_.kind is OptionKind.CHOICE:
        is_text = all(isinstance(each, str) for each in type_.choices)
        kind = FactType.STRING if is_text else FactType.INT
        choices = tuple(map(str, type_.choices)) if is_text else ()
    elif type_.kind is OptionKind.ARRAY and type_.item is not None and type_.item.kind is OptionKind.STRING:
        kind = FactType.STRING_LIST
    if kind is None:
        return None
    return OptionAsFact(name=name, type=kind, doc=doc, volatility=Volatility.LIVE, choices=choices)


def parse_assertion(reference: Reference, registry: OptionsAndFacts) -> Expression:
    """Parse and check a condition on options and facts.

    Raises:
        ProfileError: with its problems.
    """
    span = reference.find_span()
    return parse_expression(reference.target, registry, span=span, expect=ExpressionType.BOOL)
