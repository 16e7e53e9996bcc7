"""`Explanation`: where the value of an option comes from, in each method instance that a path means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from etconfig.base.option_path import OptionPath, parse_option_path
from etconfig.base.parameters import check_type
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, nearest
from etconfig.errors import OptionError
from etconfig.facts.sheet import FactSheet
from etconfig.profile.evidence import TuningEvidence
from etconfig.report.has_view import HasView
from etconfig.report.model import Table, View, count_text, shown_text
from etconfig.resolver.deciding.resolved import Resolved
from etconfig.resolver.deciding.value_provenance import Provenance, provenance_table
from etconfig.resolver.explaining.explain import (
    fact_texts,
    find_provenance,
    measured_text,
    option_text,
    show_setting,
)

_MAX_SHOWN = 20


@record(frozen=True)
class Explanation(HasView):
    """The provenance of one option in one or more method instances.

    Attributes:
        asked: The path that was asked for.
        options: The provenance by full path, such as `forward@left:NpuBackend.core`.
        facts: The facts of the device.
        evidence: What was measured for the options of profiles.
    """

    asked: OptionPath
    options: Mapping[OptionPath, Provenance]
    facts: FactSheet
    evidence: Sequence[TuningEvidence] = ()

    @property
    def provenance(self) -> Provenance:
        """The provenance, if there is one method instance or all agree.

        Raises:
            ValueError: method instances differ.
        """
        first, *others = self.options.values()
        if any(other != first for other in others):
            known = ", ".join(str(path) for path in self.options)
            raise ValueError(f"the value has several origins; name one of {known}")
        return first

    @property
    def value(self) -> object:
        """The value, if there is one method instance or all agree.

        Raises:
            ValueError: method instances differ.
        """
        return self.provenance.winner.value

    def __iter__(self) -> Iterator[OptionPath]:
        return iter(self.options)

    def __len__(self) -> int:
        return len(self.options)

    def to_jsonable(self) -> list[dict[str, Any]]:
        """Return the explanation as plain data: the output of `etconfig explain --json`."""
        return [{"path": str(path), **found.to_jsonable()} for path, found in self.options.items()]

    def __repr__(self) -> str:
        path, found = next(iter(self.options.items()))
        more = f"; {count_text(len(self) - 1, 'more method instance')}" if len(self) > 1 else ""
        winner = f"{show_setting(found.winner.value)} from {shown_text(str(found.winner.origin))}"
        return f"<Explanation: {shown_text(str(path))} = {winner}{more}>"

    def __str__(self) -> str:
        from etconfig.diagnostics.escape import escape_lines, shorten

        blocks = [
            option_text(*item, self.facts, self.asked.option, self.evidence)
            for item in [*self.options.items()][:_MAX_SHOWN]
        ]
        more = len(self) - len(blocks)
        lines = "\n\n".join([*blocks, *([f"and {more:,} more method instances"] if more else [])]).split("\n")
        return escape_lines("\n".join(map(shorten, lines)))

    def _view(self) -> View:
        shown = [*self.options.items()][:_MAX_SHOWN]
        tables = [
            provenance_table(f"{path} = {show_setting(found.winner.value)}", found) for path, found in shown
        ]
        used = dict.fromkeys(name for _, found in shown for name in found.facts)
        rows = [(name, *fact_texts(self.facts, name)) for name in used]
        more = len(self) - len(shown)
        lines = [f"and {count_text(more, 'more method instance')}"] if more else []
        lines += filter(None, (measured_text(path, found, self.evidence) for path, found in shown))
        facts = Table(caption="depends on", headers=("FACT", "VALUE", "FROM"), rows=rows)
        return View(
            title=f"Explanation of {self.asked}",
            lines=lines,
            tables=[*tables, facts],
        )


def make_explanation(resolution: Resolved, path: str) -> Explanation:
    """Explain an option of a resolution. Raises as `Resolution.explain`."""
    check_type("path", path, str, 'the path of an option, as "forward:XnnpackBackend.num_threads"')
    meant = _parsed(resolution, path)
    is_template = (meant.method, None) in resolution.incomplete and meant.instance is None
    if meant.method is None or not is_template:
        found = find_provenance(resolution, meant)
        return Explanation(meant, dict(found), resolution.facts, resolution.evidence)
    named = [instance for method, instance in resolution.instances if method == meant.method]
    every = (find_provenance(resolution, replace(meant, instance=instance)) for instance in named)
    options = {full: each for pairs in every for full, each in pairs}
    return Explanation(meant, options, resolution.facts, resolution.evidence)


def _parsed(resolution: Resolved, text: str) -> OptionPath:
    """Parse a path; one without a backend means the only one with such an option."""
    try:
        return parse_option_path(text)
    except ValueError as error:
        problem = Diagnostic(code="invalid-option-path", message=str(error))
    scope, colon, option = text.strip().rpartition(":")
    having: dict[str, set[str]] = {}
    for arguments in resolution:
        for backend, resolved in arguments.backends.items():
            for name in resolved.candidates:
                having.setdefault(name, set()).add(backend)
    known = option if option in having else nearest(option, having)
    paths = [f"{scope}{colon}{backend}.{known}" for backend in sorted(having.get(known or "", ()))]
    if known == option and len(paths) == 1:
        return parse_option_path(paths[0])
    if paths:
        help_text = f"did you mean {' or '.join(map(repr, paths))}?"
    else:
        help_text = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"
    raise OptionError(diagnostics=(replace(problem, help=help_text),))
