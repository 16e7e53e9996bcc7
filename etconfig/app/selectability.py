"""Warnings about profiles that `auto` can never select beside others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import ConfigError
from etconfig.profile.contestant import Contestant, root_of
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileFile, Provider

if TYPE_CHECKING:
    from etconfig.profile.contest import Defeat


def unselectable_profiles(checked: Sequence[Contestant], reader: ProfileReader) -> Iterator[Diagnostic]:
    """Yield a warning for each profile that `auto` can never select.

    Args:
        checked: The profiles in question.
        reader: Reads the profiles of the library, beside which those of the library are selected.
    """
    known = {each.file.real_path: each for each in checked}
    by_root: dict[Path | None, list[Contestant]] = {}
    for each in checked:
        is_listed = each.file.name is not None
        root = None if is_listed else root_of(each.file, each.name)
        if is_listed or root is not None:
            by_root.setdefault(root, []).append(each)
    for root, losers in by_root.items():
        selectable = [each for each in losers if each.tree is not None]
        if not selectable:
            continue
        least = min(each.file.provider for each in selectable)
        beside = [
            file for file in reader.library.files if _competes(file, least, is_elsewhere=root is not None)
        ]
        if len(selectable) == 1 and not beside:
            continue
        from etconfig.profile.contest import Contest  # most files stand alone, and need no reasoning

        contest = Contest((*losers, *_read(beside, reader, known)), reader.expressions.registry)
        defeats = (contest.defeat(each.file) for each in selectable)
        yield from (_warning(defeat, reader) for defeat in defeats if defeat is not None)


def _competes(file: ProfileFile, least: Provider, *, is_elsewhere: bool) -> bool:
    """Return True if a profile of the library may win over, or extend, one that comes from `least` or above.

    A bundled profile extends none of the user or of a package. Beside a directory that is not on the
    profile path, only the packages are there for sure.
    """
    if is_elsewhere:
        return file.provider is Provider.PACKAGE
    return file.provider >= min(least, Provider.PACKAGE)


def _read(
    files: Sequence[ProfileFile], reader: ProfileReader, known: dict[str, Contestant]
) -> Iterator[Contestant]:
    """Read profiles that were not checked; one that is wrong is reported where it is checked."""
    for file in files:
        if file.real_path in known:
            yield known[file.real_path]
            continue
        try:
            yield Contestant.of(file, reader.profile(file))
        except ConfigError:
            continue
        finally:
            reader.forget(file)


def _warning(defeat: Defeat, reader: ProfileReader) -> Diagnostic:
    loser, winner = defeat.loser, defeat.winner
    spans = []
    for each in (loser, winner):
        # a reader of its own: what another profile extends was read under another path
        match = ProfileReader(reader.library, reader.expressions).profile(each.file).match
        assert match is not None  # both are selectable
        spans.append(match.span)
    way_out = "let one extend the other, narrow a condition"
    if defeat.reason == "extends it":
        way_out = f"narrow the condition of {winner.name!r}"
    return Diagnostic(
        code="unselectable-profile",
        message=f"auto never selects {loser.name!r}: {winner.name!r} matches wherever it does, and "
        + defeat.reason,
        spans=tuple(spans),
        help=f"{way_out}, or remove `match` from {loser.name!r}, which can then be extended and named",
        severity=Severity.WARNING,
    )
