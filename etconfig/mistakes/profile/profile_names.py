"""The profile that was meant by a name or a path that leads to none.

This module is imported only for names that are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.diagnostics import Diagnostic, Respelling, Span, nearest, suggest

_SUFFIX = ".toml"


def meant_profile(target: str, names: Sequence[str]) -> str | None:
    """Return the name that was probably meant, or None.

    `app/phone` is meant by `phone`, `phone.toml`, `app/phone.toml`, `../app/phone.toml`,
    `/home/me/profiles/app/phone.toml`, a path with backslashes, and by a typo.

    Args:
        target: The name or the path that is wrong.
        names: The names of all profiles, sorted.
    """
    name = _bare(target)
    if name in names and name != target:
        return name
    ends = [known for known in names if known.endswith(f"/{name}") or name.endswith(f"/{known}")]
    if len(ends) == 1:
        return ends[0]
    ends = [end for end in (name, _last_parts(name)) if len(end) > 2]
    return next(filter(None, (nearest(end, names) for end in ends)), None)


def _bare(target: str) -> str:
    """Return a name or path with slashes, without the ending of a file and points before it."""
    name = target.replace("\\", "/")
    name = name[: -len(_SUFFIX)] if name.casefold().endswith(_SUFFIX) else name
    return name.rsplit("../", 1)[-1].removeprefix("./").strip("/")


def _last_parts(name: str, count: int = 2) -> str:
    return "/".join(name.split("/")[-count:])


def is_certain_profile(target: str, meant: str, names: Sequence[str]) -> bool:
    """Return True if `target` is the name `meant` as a path, without a folder, or with a plain typo."""
    name = _bare(target)
    if f"/{name}".endswith(f"/{meant}") or meant.endswith(f"/{name}"):
        return True
    return suggest.is_certain(_last_parts(name, 1 + meant.count("/")), meant, names)


def no_such_file(path: str, target: str, names: Sequence[str], spans: tuple[Span, ...]) -> Diagnostic | None:
    """Return the problem with a path to no file if the name of a profile was meant, else None.

    Args:
        path: The path.
        target: The same as it is written.
        names: The names of all profiles, sorted.
        spans: The place of the path, if it was read from a file.
    """
    meant = meant_profile(target, names)
    if meant is None:
        return None
    is_certain = bool(spans) and is_certain_profile(target, meant, names)
    return Diagnostic(
        code="unknown-profile",
        message=f"there is no file {path!r}",
        spans=spans,
        help=f"did you mean {meant!r}? Names of profiles do not end in {_SUFFIX}",
        fix=Respelling(target, meant).at(spans[0]) if is_certain else None,
    )
