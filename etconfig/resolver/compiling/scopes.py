"""`ScopedAssignments`: the assignments of one backend, sorted by the methods and instances they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias

from etconfig.base.provenance import Sourced
from etconfig.profile.names import WILDCARDS, is_glob, name_matcher
from etconfig.resolver.compiling.matching import MatchedAssignment
from etconfig.resolver.deciding.advice import AdviceEntries
from etconfig.resolver.deciding.backend_candidates import BackendCandidates
from etconfig.resolver.deciding.option_candidates import Candidate, OptionCandidates
from etconfig.schema.spec import BackendSpec

_MAX_PIECE = 8
"""The most characters of a literal piece that are looked up: short ones keep the look-ups few."""


class MethodPatterns:
    """Glob patterns over the names of methods, in the sense of `fnmatch.fnmatchcase`.

    Comparing every name with every pattern would take time with their product. So each pattern is filed
    under a literal piece of it, and a name is compared only with those whose piece it contains.

    Args:
        patterns: The patterns, each once.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filed: dict[str, list[tuple[str, Callable[[str], object]]]] = {}
        for pattern in patterns:
            self._filed.setdefault(_literal_piece(pattern), []).append((pattern, name_matcher(pattern)))
        self._lengths = sorted({len(piece) for piece in self._filed})

    def fitting(self, method: str) -> list[str]:
        """Return the patterns that fit a method's name."""
        if not self._filed:
            return []
        pieces = {
            method[start : start + length]
            for length in self._lengths
            for start in range(len(method) - length + 1 if length else 1)
        }
        near = (entry for piece in pieces for entry in self._filed.get(piece, ()))
        return [pattern for pattern, fits in near if fits(method)]


def _literal_piece(pattern: str) -> str:
    """Return characters that every name contains which the pattern fits; empty if it has none."""
    outside = re.sub(r"\[.*\]", "*", pattern)  # from the first bracket to the last
    return max(WILDCARDS.split(outside), key=len)[:_MAX_PIECE]


_Numbered: TypeAlias = "tuple[int, str, Candidate]"
"""An assignment's place in the merge order, its option, and what the option sees of it."""


class ScopedAssignments:
    """The assignments of one backend, by scope, so that each method instance finds its own at once.

    Method instances for which the same assignments hold share one `BackendCandidates`, and instances with
    assignments of their own share the options that these do not set.

    Args:
        spec: The backend.
        matched: Its assignments, in merge order.
        advice: What its vendor recommends.
    """

    def __init__(
        self, spec: BackendSpec, matched: Iterable[MatchedAssignment], advice: AdviceEntries = ()
    ) -> None:
        self._spec = spec
        self._advice: dict[str, AdviceEntries] = {}
        for each in advice:
            self._advice[each.info.name] = (*self._advice.get(each.info.name, ()), each)
        self._for_all: list[_Numbered] = []
        self._by_method: dict[str, list[_Numbered]] = {}
        self._by_pattern: dict[str, list[_Numbered]] = {}
        self._by_instance: dict[str, list[tuple[str | None, _Numbered]]] = {}
        for number, found in enumerate(matched):
            path, entry = found.assignment.path, (number, found.info.name, found.candidate)
            if path.instance is not None:
                self._by_instance.setdefault(path.instance, []).append((path.method, entry))
            elif path.method is None:
                self._for_all.append(entry)
            else:
                by_name = self._by_pattern if is_glob(path.method) else self._by_method
                by_name.setdefault(path.method, []).append(entry)
        self._patterns = MethodPatterns(self._by_pattern)
        self._common = _candidates(spec, self._for_all, self._advice, {}, {})
        self._found: dict[object, BackendCandidates] = {((), None): self._common}
        self._of_method: dict[str, list[_Numbered]] = {}

    def candidates(
        self, method: str, instance: str | None, program: Mapping[str, Sourced[object]]
    ) -> BackendCandidates:
        """Return everything that may decide the backend's options in a method instance.

        Args:
            method: The method.
            instance: Its instance, or None.
            program: The values that the program fixes for the backend in this method.
        """
        if method not in self._of_method:
            self._of_method[method] = [*self._by_method.get(method, ())]
            for pattern in self._patterns.fitting(method):
                self._of_method[method] += self._by_pattern[pattern]
        own = self._of_method[method]
        if instance is not None:
            own = [*own]
            for wanted, entry in self._by_instance.get(instance, ()):
                if wanted is None or wanted == method or name_matcher(wanted)(method):
                    own.append(entry)
        numbers = tuple(sorted(number for number, _, _ in own))
        key = (numbers, method if program else None)
        if key not in self._found:
            # options that this instance sets have candidates of their own
            own_names = {name for _, name, _ in own} | program.keys()
            shared = {name: each for name, each in self._common.options.items() if name not in own_names}
            numbered = [*self._for_all, *own]
            self._found[key] = _candidates(self._spec, numbered, self._advice, shared, program)
        return self._found[key]


def _candidates(
    spec: BackendSpec,
    numbered: list[_Numbered],
    advice: Mapping[str, AdviceEntries],
    shared: dict[str, OptionCandidates],
    program: Mapping[str, Sourced[object]],
) -> BackendCandidates:
    """Return the candidates of a backend.

    Args:
        spec: The backend.
        numbered: Its assignments, each with its place in the merge order.
        advice: What its vendor recommends, by option.
        shared: The candidates of options for which they are known.
        program: The values that the program fixes.
    """
    merge_order = [(name, candidate) for _, name, candidate in sorted(numbered, key=itemgetter(0))]
    infos = spec.options.option_infos()
    candidates: dict[str, list[Candidate]] = {name: [] for name in infos if name not in shared}
    for name, candidate in merge_order:
        if name in candidates:
            candidates[name].append(candidate)
    options = {
        name: shared[name]
        if name in shared
        else OptionCandidates(
            spec=spec,
            info=info,
            candidates=tuple(candidates[name]),
            program=program.get(name),
            advice=advice.get(name, ()),
        )
        for name, info in infos.items()
    }
    return BackendCandidates(spec=spec, options=options, merge_order=merge_order)
