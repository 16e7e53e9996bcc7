"""Reading of saved results: JSON files of a bounded size, such as the output of `etconfig resolve --json`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from etconfig.base.option_path import OptionPath
from etconfig.base.parameters import home_help
from etconfig.base.plain_data import parse_json
from etconfig.base.provenance import Origin, OriginKind
from etconfig.diagnostics import Diagnostic, Span
from etconfig.diagnostics.source_text import CONFLICT_HELP, conflict_line
from etconfig.errors import SavedResultError
from etconfig.facts.sheet_json import VERSION_KEY
from etconfig.resolver.explaining.difference import ReportedValue

MAX_SAVED_BYTES = 16 << 20
"""The largest saved result that is read."""


def load_saved_resolution(path: Path) -> dict[OptionPath, ReportedValue]:
    """Read every option of every method instance of a saved resolution.

    Raises:
        SavedResultError: the file cannot be read, or is not a saved resolution.
    """
    data = load_json(path, "invalid-resolution", "save it with `etconfig resolve --json`")
    if isinstance(data, dict) and VERSION_KEY in data:
        message = f"{path} is a fact sheet, not a saved resolution"
        raise saved_result_error(
            "invalid-resolution", message, path, f"to resolve for it, write facts:{path}"
        )
    if isinstance(data, dict) and "resolutions" in data:
        message = f"{path} has the resolutions of several devices or programs, not a saved resolution"
        help = "save one with `etconfig resolve --json`; `etconfig matrix --expect` compares several devices"
        raise saved_result_error("invalid-resolution", message, path, help)
    try:
        return dict(_reported_values(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise saved_result_error(
            "invalid-resolution",
            f"{path} is not a saved resolution",
            path,
            "save it with `etconfig resolve --json`",
        ) from error


def load_json(path: Path, code: str, help: str) -> Any:
    """Read the JSON value in a file.

    Args:
        path: The file.
        code: The diagnostic's code if it is not JSON.
        help: The help of the diagnostic: how to make such a file.

    Raises:
        SavedResultError: the file cannot be read, is too large, or is not JSON.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SAVED_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        message = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        raise saved_result_error("unreadable-file", message, path, home_help(path) or help) from error
    if len(content) > MAX_SAVED_BYTES:
        message = f"{path} is larger than {MAX_SAVED_BYTES >> 20} MiB"
        raise saved_result_error(code, message, path, help)
    try:
        return parse_json(content)
    except (ValueError, RecursionError) as error:
        line = conflict_line(content.decode(errors="replace"))
        if line is not None:
            problem = Diagnostic(
                code=code,
                message="the file has a merge conflict",
                spans=(Span(file=str(path), line=line),),
                help=f"{CONFLICT_HELP}, or {help}",
            )
            raise SavedResultError(diagnostics=(problem,)) from error
        raise saved_result_error(code, f"{path} is not JSON: {error}", path, help) from error


def saved_result_error(
    code: str, message: str, path: Path, help: str, notes: tuple[str, ...] = ()
) -> SavedResultError:
    """Return an error about a saved result as a whole."""
    span = Span(file=str(path))
    return SavedResultError(
        diagnostics=(Diagnostic(code=code, message=message, spans=(span,), notes=notes, help=help),)
    )


def _reported_values(data: Any) -> Iterator[tuple[OptionPath, ReportedValue]]:
    for row in data["arguments"]:
        for name, data in row["options"].items():
            path = OptionPath(row["backend"], name, row["method"], row["instance"])
            origin = dict(data["origin"])
            yield path, ReportedValue(data["value"], str(Origin(OriginKind(origin.pop("kind")), **origin)))
