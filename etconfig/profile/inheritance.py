"""Reading of a profile with all profiles that it extends, base first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic, Respelling, Severity
from etconfig.errors import ConfigError, ProfileError
from etconfig.expression import ExpressionParser
from etconfig.profile.bundled_conditions import bundled_parser
from etconfig.profile.document import Document, load_document
from etconfig.profile.library import ProfileFile, ProfileLibrary, Provider
from etconfig.profile.linearization import OrderConflict, ordered_bases
from etconfig.profile.profile import FoundProfile, Profile, Reference, salvage_profile

MAX_CHAIN_LENGTH = 10
"""The most profiles on a path from a profile to a base."""


def load_chain(library: ProfileLibrary, target: str | Path) -> tuple[Profile, ...]:
    """Read the profile that `target` names and all that it extends, base first.

    The order is the C3 linearization, as for Python's classes: a profile comes after all that it extends,
    and every list in `extends` keeps its order, so that a later one wins.

    Args:
        library: The library.
        target: A name, or a path that ends in `.toml`.

    Raises:
        ConfigError: with every problem of all these profiles.
    """
    return ProfileReader(library).chain(library.find(target))


@record(frozen=True)
class _Walked:
    """A file that was walked, with all that it extends.

    Attributes:
        found: Its profile and the order; None if it could not be read.
        problems: The problems of all these files, each once.
        longest: The longest path from the file to a base.
        is_lasting: True if another walk, which begins elsewhere or later, would find the same.
    """

    found: FoundProfile | None
    problems: tuple[Diagnostic, ...]
    longest: tuple[ProfileFile, ...]
    is_lasting: bool


class ProfileReader:
    """Reads profiles of a library, each file once.

    What a file extends is walked once for all files above it, so that chains of many files take time in
    proportion to the lists in `extends`.

    Args:
        library: The library.
        is_for_one_run: True if no file that could not be read, and no path in `extends`, has to be looked at
            again: what it was counts as long as the reader lives.

    Attributes:
        library: The library.
        expressions: Parses their expressions: each text once, however many profiles contain it.
        wrong: The document that was read last, if its profile is wrong.
        walked: The results of walks that others would repeat, by the real paths of the files.
    """

    def __init__(self, library: ProfileLibrary, *, is_for_one_run: bool = False) -> None:
        self.library = library
        self.expressions: ExpressionParser = bundled_parser(library.registry)
        self.wrong: Document | None = None
        self._salvaged: Profile | None = None
        self._read: dict[str, Profile] = {}
        self._is_for_one_run = is_for_one_run
        self.walked: dict[str, _Walked] = {}
        self._derived: dict[str, set[str]] = {}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.library.names)

    def profile(self, file: ProfileFile) -> Profile:
        """Return the profile in `file`.

        Raises:
            ConfigError: the file cannot be read, or its profile is wrong.
        """
        profile = self._read.get(file.real_path)
        if profile is None:
            self._salvaged = None
            document = self.wrong = load_document(file.path, self.library.texts)
            profile, error = salvage_profile(document, self.expressions)
            if error is not None:
                self._salvaged = profile
                raise error
            self.wrong = None
            _check_name(profile, file)
            if file.provider is Provider.BUNDLED:
                profile = replace(profile, is_bundled=True)
            self._read[file.real_path] = profile
        return profile

    def document(self, path: Path) -> Document:
        """Return the document of a file; one that was read last, with a wrong profile, is not read again.

        Raises:
            DocumentError: the file cannot be read, or is not TOML.
        """
        if self.wrong is not None and self.wrong.path == path:
            return self.wrong
        return load_document(path, self.library.texts)

    def forget(self, file: ProfileFile) -> None:
        """Forget the profile in `file`, unless one that is kept extends it; it is read again when needed."""
        key = file.real_path
        if self._derived.get(key):
            return
        self._read.pop(key, None)
        walked = self.walked.pop(key, None)
        for base in walked.found.bases if walked is not None and walked.found is not None else ():
            self._derived[base].discard(key)

    def chain(self, file: ProfileFile) -> tuple[Profile, ...]:
        """Return the profile in `file` and all that it extends, base first.

        Raises:
            ConfigError: with every problem of all these profiles.
        """
        walk = _Walk(self)
        walked = walk.visit(file, ())
        if walked.problems:
            raise ProfileError(diagnostics=walked.problems)
        return walk.chain(walked)

    def salvage(self, file: ProfileFile) -> tuple[tuple[Profile, ...], tuple[Diagnostic, ...]]:
        """Read what can be read of a profile that is wrong somewhere, and of all that it extends.

        Returns:
            The bases that could be read and the profile itself; and the problems of what it extends.

        Raises:
            ConfigError: the file cannot be read, or is not TOML.
        """
        document = self.document(file.path)
        profile = self._salvaged if document is self.wrong else None
        if profile is None:
            profile, _ = salvage_profile(document, self.expressions)
        walk = _Walk(self)
        walked = walk.with_bases(file, profile, (file,))
        return walk.chain(walked), walked.problems

    def keep(self, file: ProfileFile, walked: _Walked) -> None:
        """Keep the result of a walk over `file`, and all that it extends, for later walks."""
        self.walked[file.real_path] = walked
        for base in walked.found.bases if walked.found is not None else ():
            self._derived.setdefault(base, set()).add(file.real_path)

    def is_sure_of(self, references: Sequence[Reference], problems: Sequence[Diagnostic]) -> bool:
        """Return True if these names and paths lead to the same files and problems from now on."""
        if self._is_for_one_run:
            return True
        return not problems and all(each.target in self._names for each in references)


class _Walk:
    """One depth-first walk over the profiles that a profile extends. Problems do not stop it."""

    def __init__(self, reader: ProfileReader) -> None:
        self.reader = reader
        self.visited: dict[str, _Walked] = {}

    def walked(self, key: str) -> _Walked | None:
        """Return what was found of a file in this walk or in an earlier one."""
        return self.visited.get(key) or self.reader.walked.get(key)

    def profile(self, key: str) -> FoundProfile:
        """Return a profile that could be read."""
        walked = self.walked(key)
        assert walked is not None
        assert walked.found is not None
        return walked.found

    def visit(self, file: ProfileFile, trail: tuple[ProfileFile, ...]) -> _Walked:
        """Visit `file` and its bases; each file in `trail` extends the next, the last one extends `file`."""
        key = file.real_path
        walked = self.walked(key)
        if walked is not None and (key in self.visited or not _is_too_deep((*trail, *walked.longest))):
            self.visited[key] = walked
            return walked
        try:
            profile = self.reader.profile(file)
        except ConfigError as error:
            is_lasting = self.reader.is_sure_of((), error.diagnostics)
            walked = _Walked(None, error.diagnostics, (file,), is_lasting)
        else:
            walked = self.with_bases(file, profile, (*trail, file))
        if walked.is_lasting:
            self.reader.keep(file, walked)
        self.visited[key] = walked
        return walked

    def with_bases(self, file: ProfileFile, profile: Profile, trail: tuple[ProfileFile, ...]) -> _Walked:
        """Visit what the profile in `file`, the last of `trail`, extends, and order it."""
        if not profile.extends:  # as in most files
            return _Walked(FoundProfile(profile, {}, (file.real_path,)), (), (file,), is_lasting=True)
        problems: dict[Diagnostic, None] = {}  # each once, in order
        listed: list[tuple[Reference, str]] = []
        longest: tuple[ProfileFile, ...] = ()
        is_lasting = True
        for reference in profile.extends:
            try:
                base = self.reader.library.find_base(reference, file, profile.name)
            except ProfileError as error:
                problems |= dict.fromkeys(error.diagnostics)
                continue
            problem = self.problem_of_trail(base, trail, reference)
            if problem is not None:
                problems[problem] = None
                is_lasting = False  # it is not found from everywhere
                continue
            walked = self.visit(base, trail)
            problems |= dict.fromkeys(walked.problems)
            is_lasting = is_lasting and walked.is_lasting
            if walked.found is not None:
                listed.append((reference, base.real_path))
                longest = max(longest, walked.longest, key=len)
        found, conflicts = self.ordered(file, profile, listed)
        every = (*problems, *conflicts)
        is_lasting = is_lasting and self.reader.is_sure_of(profile.extends, every)
        return _Walked(found, every, (file, *longest), is_lasting)

    def ordered(
        self, file: ProfileFile, profile: Profile, listed: Sequence[tuple[Reference, str]]
    ) -> tuple[FoundProfile, tuple[Diagnostic, ...]]:
        """Order all that a profile extends; return it with the order, and the problems of its list."""
        problems: list[Diagnostic] = []
        references = {key: reference for reference, key in reversed(listed)}
        keys = list(dict.fromkeys(key for _, key in listed))
        if len(keys) < len(listed):
            from etconfig.mistakes.profile.base_order import duplicate_bases

            problems += duplicate_bases(listed)
        by_key = {key: references[key] for key in keys}
        orders = [self.profile(key).order for key in keys]
        order = ordered_bases(orders, keys)
        if isinstance(order, OrderConflict):
            from etconfig.mistakes.profile.base_order import conflicting_order

            found = {key: self.profile(key) for each in orders for key in each}
            problems.append(conflicting_order(profile, by_key, order, found))
            order = list(dict.fromkeys(key for each in orders for key in each))  # to check the rest
        return FoundProfile(profile, by_key, (*order, file.real_path)), tuple(problems)

    def chain(self, walked: _Walked) -> tuple[Profile, ...]:
        """Return the profile of a file that was visited, and all that it extends, base first."""
        assert walked.found is not None
        *bases, _ = walked.found.order
        return (*(self.profile(key).profile for key in bases), walked.found.profile)

    def has_passed(self, file: ProfileFile) -> bool:
        """Return True if this walk visited a file, or a visited file extends it."""
        found = (each.found for each in self.visited.values())
        return any(each is not None and file.real_path in each.order for each in found)

    def problem_of_trail(
        self, base: ProfileFile, trail: tuple[ProfileFile, ...], reference: Reference
    ) -> Diagnostic | None:
        """Return the problem of a base that closes a cycle, or lies too deep below the first of `trail`."""
        paths = [file.real_path for file in trail]
        if base.real_path in paths:
            cycle = (*trail[paths.index(base.real_path) :], base)
            message = f"profile {base.label!r} extends itself: {_arrows(cycle)}"
            return _problem("extends-cycle", message, reference, "remove one of these from `extends`")
        walked = self.walked(base.real_path)
        chain = (*trail, *((base,) if walked is None else walked.longest))
        if _is_too_deep(chain) and not self.has_passed(base):  # report the place that a first walk finds
            chain = (*trail, base)
        if _is_too_deep(chain):
            message = f"more than {MAX_CHAIN_LENGTH} profiles extend each other: {_arrows(chain)}"
            return _problem("extends-too-deep", message, reference, "extend fewer levels of profiles")
        return None


def _is_too_deep(chain: Sequence[ProfileFile]) -> bool:
    return len(chain) > MAX_CHAIN_LENGTH


def _problem(code: str, message: str, reference: Reference, help: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, spans=(reference.span,), help=help)


def _arrows(files: Sequence[ProfileFile]) -> str:
    return " -> ".join(file.label for file in files)


def _check_name(profile: Profile, file: ProfileFile) -> None:
    """Refuse a profile of a library whose name is not the name that its path gives."""
    if file.name in (None, profile.name):
        return
    name = str(file.name)
    help = f'write name = "{name}", or move the file'
    fix = Respelling(profile.name, name).at(profile.name_span)
    if file.path.as_posix().endswith(f"/{profile.name}.toml"):  # below another directory, the name fits
        directory = file.path.parents[profile.name.count("/")]
        help, fix = f"make {directory} the directory of profiles, instead of {file.root}", None
    raise ProfileError(diagnostics=(replace(_name_mismatch(profile, name, help), fix=fix),))


def misplaced_profile(profile: Profile, path: Path) -> Iterator[Diagnostic]:
    """Yield a warning if a file in some directory cannot be found there by the name of its profile."""
    place = Path(os.path.abspath(path)).with_suffix("")  # noqa: PTH100  (`resolve` follows links)
    given = "/".join(place.parts[-1 - profile.name.count("/") :])
    if given != profile.name:
        help = f"auto does not find it in a directory of profiles: move it to {profile.name}.toml there"
        yield replace(_name_mismatch(profile, given, help), severity=Severity.WARNING)


def _name_mismatch(profile: Profile, given: str, help: str) -> Diagnostic:
    return Diagnostic(
        code="profile-name-mismatch",
        message=f"this profile is named {profile.name!r}, but its path gives the name {given!r}",
        spans=(profile.name_span,),
        help=help,
    )
