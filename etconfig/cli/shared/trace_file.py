"""The options `--trace` and `--trace-format`, and the file that they write."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import note
from etconfig.cli.shared.writing import OutputPath, write_file

if TYPE_CHECKING:
    from etconfig.tracing import RecordingTracer

_FORMATS = {".json": "chrome", ".etdp": "etdump", ".etdump": "etdump"}
"""The format by the suffix of the file."""


def _is_trace(path: Path) -> bool:
    from etconfig.tracing import is_chrome_trace, is_etdump

    return is_chrome_trace(head_of(path)) or is_etdump(path.read_bytes())


TRACE = FileKind("a trace that etconfig wrote", _is_trace)


@record(frozen=True)
class TraceFile:
    """The requested trace.

    Attributes:
        path: The file to write.
        form: `chrome` or `etdump`.
        tracer: The tracer that records it.
    """

    path: Path
    form: str
    tracer: RecordingTracer

    def write(self) -> None:
        """Write the recorded events; say so on stderr if some were dropped.

        Raises:
            click.ClickException: the file cannot be written.
        """
        from etconfig.tracing import chrome_trace, etdump

        trace = etdump(self.tracer) if self.form == "etdump" else chrome_trace(self.tracer)
        write_file(self.path, trace, TRACE)
        if self.tracer.dropped:
            kept = format_count(self.tracer.max_events, "event")
            note(f"the trace contains the first {kept}; {self.tracer.dropped} more were dropped")


def trace_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--trace` and `--trace-format`; the command gets one `trace`, a TraceFile or None."""

    @wraps(function)
    def with_trace(trace: Path | None, trace_format: str | None, **parameters: Any) -> Any:
        return function(trace=_requested(trace, trace_format), **parameters)

    command = click.option(
        "--trace-format",
        type=click.Choice(["chrome", "etdump"]),
        help="chrome for Perfetto, etdump for ExecuTorch's Inspector; by default the suffix decides.",
    )(with_trace)
    return click.option(
        "--trace",
        type=OutputPath(),
        metavar="FILE",
        help="Record what ran and when, into FILE.json or FILE.etdp.",
    )(command)


def _requested(path: Path | None, chosen_format: str | None) -> TraceFile | None:
    if path is None:
        if chosen_format is not None:
            raise click.UsageError("--trace-format goes with --trace")
        return None
    form = chosen_format or _FORMATS.get(path.suffix)
    if form is None:
        raise click.UsageError(f"{path} ends in none of {', '.join(_FORMATS)}: give --trace-format")
    from etconfig.tracing import RecordingTracer

    return TraceFile(path, form, RecordingTracer())
