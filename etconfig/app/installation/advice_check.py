"""Check the advice of a backend's plugin when the plugin is loaded."""

from __future__ import annotations

from etconfig.plugin.entry_points import EntryPoint
from etconfig.plugin.failure import load_error
from etconfig.resolver.deciding.advice import AdviceReader
from etconfig.schema.spec import BackendSpec


def check_advice(entry: EntryPoint, spec: BackendSpec, reader: AdviceReader) -> None:
    """Check that the advice of a backend names known options and facts, and has the options' types.

    Raises:
        PluginLoadError: it does not.
    """
    problems = reader.read(spec)[1]
    if problems:
        first, more = problems[0], len(problems) - 1
        others = f" (and {more} more)" if more else ""
        help = first.help or "correct the entry of advice"
        raise load_error(entry, f"its {first}{others}", f"upgrade or report it: {help}", author_help=help)
