"""Expected failures: a file with one line `CHECK-ID # reason` for each, read strictly."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from etconfig.diagnostics import did_you_mean


class XfailsError(ValueError):
    """The file of expected failures cannot be read or has mistakes; the message names file and lines."""


def read_xfails(path: Path, known: Collection[str]) -> Mapping[str, str]:
    """Return the reasons by check id.

    Args:
        path: The file; empty lines, and lines that begin with #, are skipped.
        known: The ids of all checks.

    Raises:
        XfailsError: lists every line without a reason, with an unknown check, or with a repeated one.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise XfailsError(f"{path}: cannot be read: {error}") from None
    reasons: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        check_id, _, reason = (part.strip() for part in line.partition("#"))
        if not reason:
            problems.append(f"{path}:{number}: {check_id} needs a reason: write {check_id} # why it fails")
        elif check_id not in known:
            guess = did_you_mean(check_id, known) or "`etconfig conformance --list` shows all checks"
            problems.append(f"{path}:{number}: there is no check {check_id!r}; {guess}")
        elif check_id in reasons:
            problems.append(f"{path}:{number}: {check_id} is expected to fail twice; keep one line")
        else:
            reasons[check_id] = reason
    if problems:
        raise XfailsError("\n".join(problems))
    return reasons
