"""`ProfileLibrary`: profiles in directories, found by name or by path."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.records import record
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactRegistry
from etconfig.profile.directory import SUFFIX, broken_provider, files_below, is_hidden, unreadable_directory
from etconfig.profile.names import PROJECT_FILES, is_profile_name

if TYPE_CHECKING:
    from etconfig.diagnostics import Diagnostic, Fix, Span
    from etconfig.errors import ProfileError
    from etconfig.profile.profile import Reference


MEASURED = "measured/"
"""The start of the names of etconfig's measured profiles: each is for one model, so `auto` leaves it out."""


class Provider(enum.IntEnum):
    """The kinds of source of profiles; `auto` prefers a later one among unrelated profiles."""

    BUNDLED = 0
    """etconfig itself."""
    PACKAGE = 1
    """An installed package."""
    USER = 2
    """A directory that the user named."""


@record(frozen=True)
class ProfileSource:
    """A directory of profiles.

    Attributes:
        name: Its name, such as `bundled` or a distribution's name.
        directory: Its path. `vendor/device.toml` below it is the profile `vendor/device`.
        provider: The kind of source, which decides between unrelated profiles that match.
    """

    name: str
    directory: Path
    provider: Provider = Provider.USER

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", as_path("directory", self.directory))


@record(frozen=True)
class ProfileFile:
    """A file with a profile.

    Attributes:
        path: Its path.
        real_path: The same, with symbolic links resolved.
        root: The directory that must contain the files that it extends by path.
        name: The name that its path in a library gives it; None if it was given by path.
        provider: The kind of source.
    """

    path: Path
    real_path: str
    root: Path
    name: str | None = None
    provider: Provider = Provider.USER

    @property
    def label(self) -> str:
        """Its name, or its path if it has no name."""
        return self.name or str(self.path)


@record(frozen=True)
class ProfileLibrary:
    """Profiles by name. Directories are listed once, on first use, and files are read on demand.

    No directory takes precedence: if two of them contain the same name, using it is an error, since either
    choice would surprise somebody. To change a bundled profile, extend it under another name.

    A directory that cannot be read stops `auto`, as a profile that cannot be read does: the right one might
    be there. A profile that is found elsewhere can still be named.

    Attributes:
        sources: The directories.
        registry: The facts that profiles may name.
        missing: The problems of directories that should be among the sources, and cannot be.
        texts: Texts that count in place of files, by the real paths of these.
    """

    sources: tuple[ProfileSource, ...]
    registry: FactRegistry = BUILTIN_FACTS
    missing: tuple[Diagnostic, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    # directories with their links resolved, once for all of their files, which may be very many
    _real_directories: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all profiles, sorted."""
        return tuple(sorted(self._files))

    @property
    def selectable_names(self) -> tuple[str, ...]:
        """The names of all profiles that `auto` may select: all but etconfig's measured ones."""
        return tuple(
            name
            for name in self.names
            if not (name.startswith(MEASURED) and self._files[name][0].provider is Provider.BUNDLED)
        )

    @cached_property
    def files(self) -> tuple[ProfileFile, ...]:
        """The files of all profiles, sorted by name; several of one name are a conflict."""
        return tuple(file for name in self.names for file in self._files[name])

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The directories that are missing, empty though a package promises profiles, or cannot be read."""
        return (*self.missing, *self._listing[1])

    @property
    def _files(self) -> Mapping[str, tuple[ProfileFile, ...]]:
        """The files of each name; two or more are a conflict."""
        return self._listing[0]

    @cached_property
    def _listing(self) -> tuple[Mapping[str, tuple[ProfileFile, ...]], tuple[Diagnostic, ...]]:
        files: dict[str, tuple[ProfileFile, ...]] = {}
        problems: list[Diagnostic] = []
        for source in self.sources:
            listing = files_below(source.directory)
            problems += map(unreadable_directory, listing.errors)
            if not listing.files and not listing.errors and source.provider is Provider.PACKAGE:
                problems.append(_empty_package(source))
            for path in (*listing.files, *self._unsaved(source.directory, listing.files)):
                if path.name in PROJECT_FILES:
                    continue
                name = path.relative_to(source.directory).as_posix().removesuffix(SUFFIX)
                file = ProfileFile(path, self._real_path(path), source.directory, name, source.provider)
                files[name] = (*files.get(name, ()), file)
        return files, tuple(problems)

    def _unsaved(self, directory: Path, saved: Iterable[Path]) -> Iterator[Path]:
        """Yield the files below a directory that are texts only."""
        root = os.path.realpath(directory)
        known = {self._real_path(path) for path in saved} if self.texts else set()
        for path in map(Path, sorted(self.texts.keys() - known)):
            inside = path.relative_to(root) if path.is_relative_to(root) else None
            if inside is not None and path.suffix == SUFFIX and not any(map(is_hidden, inside.parts)):
                yield directory / inside

    @cached_property
    def _files_by_path(self) -> Mapping[str, ProfileFile]:
        return {file.real_path: file for files in self._files.values() for file in files}

    def find(self, target: AnyPath, spans: tuple[Span, ...] = ()) -> ProfileFile:
        """Return the file of a profile that a user names.

        Args:
            target: A name; or a path, which is a `Path` or a string that ends in `.toml`.
            spans: The place of the name, if it was read from a file.

        Raises:
            ProfileError: no profile has this name, or several do; or the path leads to no file, but a profile
                has such a name. Any other missing file is reported on reading.
            TypeError: `target` is neither a name nor a path.
        """
        if isinstance(target, str) and (not target.endswith(SUFFIX) or "\0" in target):
            return self._find_name(target, spans)
        path = as_path("target", target, "the name of a profile, or a path, as str or pathlib.Path")
        self._check_exists(path, _written(spans) or str(target), spans)
        real_path = self._real_path(path)
        listed = self._files_by_path.get(real_path)
        return replace(listed, path=path) if listed else ProfileFile(path, real_path, path.parent)

    def find_base(self, reference: Reference, origin: ProfileFile, origin_name: str) -> ProfileFile:
        """Return the file of a profile that the profile in `origin` extends.

        A path is relative to the directory of `origin` and must stay inside `origin.root`, also after
        symbolic links are followed. A name that the library lacks may be a sibling's: if `origin` lies
        where its own name says, so may others beside it.

        Raises:
            ProfileError: there is no such profile, there are several, or the path leaves the directory.
        """
        if not reference.target.endswith(SUFFIX):
            known = self._files.get(reference.target, ())
            if len(known) == 1:
                return known[0]
            sibling = None if known else self._find_sibling(reference.target, origin, origin_name)
            return sibling or self._find_name(reference.target, (reference.span,))
        from etconfig.errors import ProfileError

        try:
            path = self._path_inside(origin, reference)
        except ProfileError as error:
            raise self._with_meant_name(error, reference) from None
        real_path = self._real_path(path)
        return self._files_by_path.get(real_path) or ProfileFile(path, real_path, origin.root)

    def _find_sibling(self, name: str, origin: ProfileFile, origin_name: str) -> ProfileFile | None:
        """Return the file beside `origin` that has this name, or None if there is none."""
        place = Path(os.path.abspath(origin.path))  # noqa: PTH100  (`resolve` follows links)
        if not (is_profile_name(name) and place.as_posix().endswith(f"/{origin_name}{SUFFIX}")):
            return None
        root = place.parents[origin_name.count("/")]
        path = root / f"{name}{SUFFIX}"
        real_path = self._real_path(path)
        is_inside = Path(real_path).is_relative_to(os.path.realpath(root))
        return ProfileFile(path, real_path, root) if is_inside and self._is_file(path) else None

    def _path_inside(self, origin: ProfileFile, reference: Reference) -> Path:
        """Return the path that `reference` means after checking that it lies inside `origin.root`.

        Links below `origin.root` are resolved; the root stays as the user wrote it, for diagnostics.
        """
        target, spans = reference.target, (reference.span,)
        outside = "extends-outside-tree"
        help = f"extend files below {origin.root} by a relative path, or profiles by name"
        if Path(target).is_absolute():
            raise _error(outside, f"{target!r} is an absolute path", spans, help)
        try:
            path, root = (Path(os.path.realpath(p)) for p in (origin.path.parent / target, origin.root))
            is_file = self._is_file(path)
        except (OSError, ValueError) as error:  # a name that is too long, a null character
            raise _error("unknown-profile", f"{target!r} is not a usable path: {error}", spans) from error
        if not path.is_relative_to(root):
            raise _error(outside, f"{target!r} leads outside {origin.root}", spans, help)
        if not is_file:
            raise _error("unknown-profile", f"there is no file {target!r} in {origin.path.parent}", spans)
        return origin.root / path.relative_to(root)

    def _is_file(self, path: Path) -> bool:
        return path.is_file() or self._real_path(path) in self.texts

    def _real_path(self, path: Path) -> str:
        if os.path.islink(path):  # noqa: PTH114  (pathlib is slower)
            return os.path.realpath(path)
        directory, name = os.path.split(path)
        real = self._real_directories.get(directory)
        if real is None:
            real = os.path.realpath(directory)  # unlike `resolve`, it accepts loops of links
            self._real_directories[directory] = real
        return os.path.join(real, name)  # noqa: PTH118

    def _find_name(self, name: str, spans: tuple[Span, ...]) -> ProfileFile:
        files = self._files.get(name, ())
        if len(files) == 1:
            return files[0]
        if files:
            message = f"profile {name!r} is in {' and in '.join(str(file.path) for file in files)}"
            raise _error(
                "duplicate-profile", message, spans, "remove or rename one of them, or give its path"
            )
        from etconfig.mistakes.profile.profile_names import is_certain_profile, meant_profile

        guess, fix = meant_profile(name, self.names), None
        help = f"did you mean {guess!r}?" if guess else "`etconfig profiles list` shows the known ones"
        if os.path.exists(name):  # noqa: PTH110  (pathlib refuses some names)
            help = f"a name that does not end in {SUFFIX} is never a path; give a path that ends in .toml"
        elif guess is not None and spans:
            from etconfig.diagnostics import Respelling

            is_certain = is_certain_profile(name, guess, self.names)
            fix = Respelling(name, guess).at(spans[0]) if is_certain else None
        unknown = _error("unknown-profile", f"there is no profile {name!r}", spans, help, fix)
        if self.problems:  # it may be in what cannot be read
            raise type(unknown)(diagnostics=(*unknown.diagnostics, *self.problems))
        raise unknown

    def _with_meant_name(self, error: ProfileError, reference: Reference) -> ProfileError:
        """Return the error about a path to no file with the profile that was meant, if one has its name."""
        from etconfig.mistakes.profile.profile_names import no_such_file

        (problem,) = error.diagnostics
        meant = no_such_file(reference.target, reference.target, self.names, (reference.span,))
        if meant is None or problem.code != "unknown-profile":
            return error
        return type(error)(diagnostics=(replace(problem, help=meant.help, fix=meant.fix),))

    def _check_exists(self, path: Path, written: str, spans: tuple[Span, ...]) -> None:
        """Refuse a path to no file if the name of a profile was meant; else it is reported on reading."""
        if os.path.lexists(path) or self._real_path(path) in self.texts:
            return
        from etconfig.errors import ProfileError
        from etconfig.mistakes.profile.profile_names import no_such_file

        problem = no_such_file(str(path), written, self.names, spans)
        if problem is not None:
            raise ProfileError(diagnostics=(problem,))


def _written(spans: tuple[Span, ...]) -> str | None:
    """Return the text in quotes at a place, or None if there is none."""
    return (spans[0].underlined or "").strip("\"'") or None if spans else None


def _empty_package(source: ProfileSource) -> Diagnostic:
    return broken_provider(
        f"{source.name} provides profiles in {str(source.directory)!r}, but there is none",
        f"reinstall {source.name}, or do without it: deny = [{source.name!r}] below [plugins]",
    )


def bundled_profiles() -> ProfileSource:
    """Return the profiles that come with etconfig: inside the installed package, or beside it in a checkout.

    Raises:
        InternalError: they are missing.
    """
    package = Path(__file__).parents[1]
    for directory in (package / "profiles", package.parent / "profiles"):
        if directory.is_dir():
            return ProfileSource("bundled", directory, Provider.BUNDLED)
    from etconfig.errors import InternalError

    raise InternalError(detail=f"{package} has no bundled profiles")


def _error(
    code: str, message: str, spans: Iterable[Span], help: str | None = None, fix: Fix | None = None
) -> ProfileError:
    from etconfig.diagnostics import Diagnostic
    from etconfig.errors import ProfileError

    problem = Diagnostic(code=code, message=message, spans=tuple(spans), help=help, fix=fix)
    return ProfileError(diagnostics=(problem,))
