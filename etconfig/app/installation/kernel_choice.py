"""`KernelChoice`: the kernel that serves each operator, of etconfig's own, of plugins and of the caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from etconfig.base.records import record
from etconfig.base.version import __version__
from etconfig.diagnostics import Diagnostic, did_you_mean, guessed_fix, nearest
from etconfig.errors import DuplicatePluginError
from etconfig.kernel.registry import ENTRY_POINT_GROUP, Kernel, KernelTable, table_problem
from etconfig.plugin.entry_points import normalized_name

if TYPE_CHECKING:
    from etconfig.profile.profile import Reference

OWN = "etconfig"
"""The name of etconfig's own kernels in `[kernels.prefer]`."""

GIVEN = "kernels given in code"

SourcedTable: TypeAlias = tuple[str, str, KernelTable]
"""The name of a distribution, the same with its version, and its kernels."""

GivenKernels: TypeAlias = "KernelTable | Iterable[Kernel]"
"""Kernels that a caller gives, for the operators that each of them names."""

_SHARED_HELP = (
    "leave it out, or give kernels that several programs share to Installation.with_kernels, and the "
    "installation to load_program"
)
_EXPECTED = "a KernelTable, or a list of functions that @kernel decorates"


@record(frozen=True)
class KernelClaim:
    """A distribution's kernel for one operator.

    Attributes:
        kernel: The kernel.
        distribution: The name of the distribution, as `[kernels.prefer]` has it.
        source: The distribution with its version.
    """

    kernel: Kernel
    distribution: str
    source: str


class KernelChoice(Mapping[str, Kernel]):
    """An immutable mapping of full operator names to the kernels that serve them.

    An operator that several distributions claim, without a preference, is in `contested` instead.

    Attributes:
        contested: The claims of each operator that nothing decides between.
    """

    def __init__(
        self,
        own: Mapping[str, Kernel],
        tables: Sequence[SourcedTable] = (),
        prefer: Mapping[str, str] | None = None,
        given: Iterable[Kernel] = (),
    ) -> None:
        """Decide between kernels.

        Args:
            own: Those of etconfig.
            tables: Those of plugins.
            prefer: The distribution that should serve an operator, or `etconfig`.
            given: Those of the caller, which win over all others; of two for one operator, the last.
        """
        self.contested: dict[str, tuple[KernelClaim, ...]] = {}
        self._own = own
        self._prefer = dict(prefer or {})
        self._sources: dict[str, str] = {}
        self._kernels = own
        self._claims = claims = claims_by_operator(tables)
        given = tuple(given)
        if claims or given or self._prefer:
            self._kernels = dict(own)
            for operator in {**claims, **self._prefer}:
                self._decide(operator, [*self._own_claim(operator), *claims.get(operator, ())])
            for one in given:
                for operator in one.operators:
                    self.contested.pop(operator, None)
                    self._kernels[operator], self._sources[operator] = _opaque(one), GIVEN

    @property
    def known(self) -> frozenset[str]:
        """The operators that etconfig or a plugin has a kernel for."""
        return frozenset((*self._own, *self._claims))

    def _own_claim(self, operator: str) -> Iterator[KernelClaim]:
        if operator in self._own:
            yield KernelClaim(self._own[operator], OWN, f"{OWN} {__version__}")

    def _decide(self, operator: str, claims: Sequence[KernelClaim]) -> None:
        preferred = self._prefer.get(operator)
        chosen = claims
        if preferred is not None:
            wanted = normalized_name(preferred)
            chosen = [each for each in claims if normalized_name(each.distribution) == wanted]
        assert isinstance(self._kernels, dict)
        if len(chosen) == 1:
            is_own = chosen[0].distribution == OWN
            self._kernels[operator] = chosen[0].kernel if is_own else _opaque(chosen[0].kernel)
            self._sources[operator] = chosen[0].source
        else:
            self._kernels.pop(operator, None)
            if claims:
                self.contested[operator] = tuple(claims)

    def source(self, operator: str) -> str:
        """Return the distribution, with its version, whose kernel serves an operator."""
        return self._sources.get(operator, f"{OWN} {__version__}")

    def sources(self) -> tuple[str, ...]:
        """Return the distributions, other than etconfig, whose kernels serve operators."""
        own = f"{OWN} {__version__}"
        return tuple(dict.fromkeys(each for each in self._sources.values() if each != own))

    def conflict(self, operator: str) -> DuplicatePluginError:
        """Return the error for an operator of `contested`: it names the claims and the line to write."""
        claims = self.contested[operator]
        preferred = self._prefer.get(operator)
        lines = " or ".join(dict.fromkeys(f'"{operator}" = "{each.distribution}"' for each in claims))
        help_text = f"choose in etconfig.toml, below [kernels.prefer]: {lines}"
        if preferred is not None:
            help_text = f"[kernels.prefer] names {preferred!r}, which does not decide; {help_text}"
        return DuplicatePluginError(
            group=ENTRY_POINT_GROUP,
            name=operator,
            distributions=tuple(each.source for each in claims),
            help=help_text,
        )

    def __getitem__(self, operator: str) -> Kernel:
        return self._kernels[operator]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)


def claims_by_operator(tables: Iterable[SourcedTable]) -> dict[str, list[KernelClaim]]:
    """Return the claims of plugins for each operator that any of them has a kernel for."""
    claims: dict[str, list[KernelClaim]] = {}
    for distribution, source, table in tables:
        for each in table.kernels:
            for operator in each.operators:
                claims.setdefault(operator, []).append(KernelClaim(each, distribution, source))
    return claims


def _opaque(kernel: Kernel) -> Kernel:
    return replace(kernel, is_opaque=True)


def given_kernels(kernels: GivenKernels) -> tuple[Kernel, ...]:
    """Return the kernels that a caller gives.

    Raises:
        TypeError: they are something else.
        ValueError: two of them claim one operator.
    """
    if not isinstance(kernels, (KernelTable, Iterable)) or isinstance(kernels, (str, bytes, Mapping)):
        raise TypeError(f"kernels: expected {_EXPECTED}, given {type(kernels).__name__}")
    table = kernels if isinstance(kernels, KernelTable) else KernelTable(GIVEN, tuple(kernels))
    problem = table_problem(table)
    if problem is not None:
        raise TypeError(f"kernels: expected {_EXPECTED}, but {problem}")
    operators = [operator for each in table.kernels for operator in each.operators]
    for operator in operators:
        if operators.count(operator) > 1:
            raise ValueError(f"kernels: {operators.count(operator)} of them claim {operator!r}; give one")
    return table.kernels


def unknown_operator(given: Iterable[str], called: Iterable[str], known: Iterable[str]) -> str | None:
    """Describe an operator of a caller's kernels that nobody knows, such as a misspelled one, or return None.

    Args:
        given: The operators that the caller's kernels are for.
        called: The operators that the program calls.
        known: Those that others have kernels for.
    """
    called, known = {*called}, {*called, *known}
    for operator in given:
        if operator not in known:
            # an operator that the program calls is likelier meant than any other
            guess = _likely_operator(operator, called) or _likely_operator(operator, known)
            return (
                f"kernels: the program does not call {operator!r}, and nobody else has a kernel for it; "
                f"{guess or _SHARED_HELP}"
            )
    return None


def uncalled_operators(given: Sequence[str], called: Iterable[str]) -> str:
    """Describe kernels of a caller for operators none of which the program calls."""
    few = ", ".join(given[:3]) + (", ..." if len(given) > 3 else "")
    guess = _likely_operator(given[0], called)
    advice = "" if guess is None else f"; {guess}"
    return f"kernels: the program calls no operator that they are for ({few}), so they have no effect{advice}"


def _likely_operator(name: str, known: Iterable[str]) -> str | None:
    """Return `did you mean ...?` for an operator of a similar name, or of another overload."""
    known = {*known}
    base = name.rpartition("::")[2].partition(".")[0]
    same = (each for each in known if each.rpartition("::")[2].partition(".")[0] == base)
    others = sorted(same, key=lambda each: (not each.startswith(name), len(each), each))
    return did_you_mean(name, known) or (f"did you mean {others[0]!r}?" if others else None)


def preference_problems(
    prefer: Mapping[str, Reference], tables: Iterable[SourcedTable], own: Iterable[str]
) -> Iterator[tuple[str, Diagnostic]]:
    """Yield operator and problem of each line of `[kernels.prefer]` that no installed kernel can follow.

    Args:
        prefer: For each operator, the distribution as the project file names it.
        tables: The kernels of plugins.
        own: The operators of etconfig's own kernels.
    """
    own, claimed = {*own}, claims_by_operator(tables)
    for operator, reference in prefer.items():
        claims = [each.distribution for each in claimed.get(operator, ())]
        claims += [OWN] if operator in own else []
        if normalized_name(reference.target) in map(normalized_name, claims):
            continue
        if not claims:
            yield operator, _unclaimed(operator, reference, sorted({*own, *claimed}))
        else:
            yield operator, _not_among(claims, operator, reference)


def _unclaimed(operator: str, reference: Reference, known: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        code="unknown-kernel",
        message=f"no installed distribution has a kernel for {operator!r}",
        spans=(reference.span,),
        help=did_you_mean(operator, known) or "install one, or remove the line",
    )


def _not_among(claims: Sequence[str], operator: str, reference: Reference) -> Diagnostic:
    guess = nearest(reference.target, claims)
    return Diagnostic(
        code="unknown-kernel",
        message=f"{reference.target!r} has no kernel for {operator!r}",
        spans=(reference.span,),
        notes=(f"kernels for it: {', '.join(claims)}",),
        help=did_you_mean(reference.target, claims) or f"write one of them, or install {reference.target!r}",
        fix=guessed_fix(reference.target, guess, claims, reference.span),
    )
