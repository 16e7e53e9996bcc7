"""Reading of a profile with all profiles that it extends, base first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from etconfig.diagnostics import Diagnostic, Span
from etconfig.errors import ConfigError, ProfileError
from etconfig.profile.bundled_conditions import bundled_parser
from etconfig.profile.document import Document, load_document
from etconfig.profile.expression import ExpressionParser
from etconfig.profile.library import ProfileFile, ProfileLibrary, Provider
from etconfig.profile.linearization import OrderConflict, ordered_bases
from etconfig.profile.order_problems import FoundProfile, conflicting_order, duplicate_bases
from etconfig.profile.profile import Profile, Reference, parse_profile, salvage_profile
from etconfig.records import record

MAX_CHAIN_LENGTH = 10
"""The most profiles on a path from a profile to a base."""


def load_profile(library: ProfileLibrary, target: str | Path) -> Profile:
    """Read the one profile that `target` names, without what it extends.

    Raises:
        ConfigError: it cannot be found or read, or is wrong.
    """
    return ProfileReader(library).profile(library.find(target))


def load_chain(
    library: ProfileLibrary, target: str | Path, spans: tuple[Span, ...] = ()
) -> tuple[Profile, ...]:
    """Read the profile that `target` names and all that it extends, base first.

    The order is that of C3 linearization, as for Python's classes: a profile comes after all that it extends,
    and every list in `extends` keeps its order, so that a later one wins.

    Args:
        library: The library.
        target: A name, or a path that ends in `.toml`.
        spans: The place of the name, if it was read from a file.

    Raises:
        ConfigError: with every problem of all these profiles.
    """
    return ProfileReader(library).chain(library.find(target, spans))


@record(frozen=True)
class ReadProfile:
    """A profile that was read, with what shows whether its file has changed.

    Attributes:
        file: The file.
        document: Its contents, with the stamp of the file.
        profile: The profile in it.
    """

    file: ProfileFile
    document: Document
    profile: Profile


class ProfileReader:
    """Reads profiles of a library, each file once.

    Args:
        library: The library.
        expressions: A parser that has parsed expressions before, for the facts of the library.

    Attributes:
        library: The library.
        expressions: Parses their expressions: each text once, however many profiles contain it.
        read: What was read, by the real path of the file.
    """

    def __init__(self, library: ProfileLibrary, expressions: ExpressionParser | None = None) -> None:
        self.library = library
        self.expressions = expressions or bundled_parser(library.registry)
        self.read: dict[str, ReadProfile] = {}

    def profile(self, file: ProfileFile) -> Profile:
        """Return the profile in `file`.

        Raises:
            ConfigError: the file cannot be read, or its profile is wrong.
        """
        found = self.read.get(file.real_path)
        if found is None:
            document = load_document(file.path)
            profile = parse_profile(document, self.expressions)
            _check_name(profile, file)
            if file.provider is Provider.BUNDLED:
                profile = replace(profile, is_bundled=True)
            found = self.read[file.real_path] = ReadProfile(file, document, profile)
        return found.profile

    def forget(self, file: ProfileFile) -> None:
        """Forget the profile in `file`; it is read again when it is needed."""
        self.read.pop(file.real_path, None)

    def chain(self, file: ProfileFile) -> tuple[Profile, ...]:
        """Return the profile in `file` and all that it extends, base first.

        Raises:
            ConfigError: with every problem of all these profiles.
        """
        walk = _Walk(self)
        walk.visit(file, ())
        if walk.problems:
            raise ProfileError(diagnostics=tuple(walk.problems))
        return walk.chain(file)

    def salvage(self, file: ProfileFile) -> tuple[tuple[Profile, ...], tuple[Diagnostic, ...]]:
        """Read what can be read of a profile that is wrong somewhere, and of all that it extends.

        Returns:
            The bases that could be read and the profile itself; and the problems of what it extends.

        Raises:
            ConfigError: the file cannot be read, or is not TOML.
        """
        profile = salvage_profile(load_document(file.path), self.expressions)
        walk = _Walk(self)
        walk.visited.add(file.real_path)
        walk.add(file, profile, walk.bases(profile, (file,)))
        return walk.chain(file), tuple(walk.problems)


class _Walk:
    """One depth-first walk over the profiles that a profile extends. Problems do not stop it."""

    def __init__(self, reader: ProfileReader) -> None:
        self.reader = reader
        self.found: dict[str, FoundProfile] = {}
        self.visited: set[str] = set()
        self.longest: dict[str, Sequence[ProfileFile]] = {}
        self.problems: list[Diagnostic] = []

    def visit(self, file: ProfileFile, trail: tuple[ProfileFile, ...]) -> None:
        """Visit `file` and its bases; each file in `trail` extends the next, the last one extends `file`."""
        if file.real_path in self.visited:
            return
        self.visited.add(file.real_path)
        try:
            profile = self.reader.profile(file)
        except ConfigError as error:
            self.problems.extend(error.diagnostics)
            return
        self.add(file, profile, self.bases(profile, (*trail, file)))

    def bases(self, profile: Profile, trail: tuple[ProfileFile, ...]) -> list[tuple[Reference, ProfileFile]]:
        """Visit what the profile in the last of `trail` extends; return the bases that could be read."""
        followed = ((reference, self.follow(reference, trail, profile.name)) for reference in profile.extends)
        return [(reference, base) for reference, base in followed if base is not None]

    def add(self, file: ProfileFile, profile: Profile, bases: list[tuple[Reference, ProfileFile]]) -> None:
        """Add a profile whose bases were visited, with the order of all that it extends."""
        if not bases:  # as in most files
            self.found[file.real_path] = FoundProfile(profile, {}, (file.real_path,))
            self.longest[file.real_path] = (file,)
            return
        listed = [(reference, base.real_path) for reference, base in bases]
        self.problems += duplicate_bases(listed)
        references = {key: reference for reference, key in reversed(listed)}
        keys = list(dict.fromkeys(key for _, key in listed))
        by_key = {key: references[key] for key in keys}
        orders = [self.found[key].order for key in keys]
        order = ordered_bases(orders, keys)
        if isinstance(order, OrderConflict):
            self.problems.append(conflicting_order(profile, by_key, order, self.found))
            order = list(dict.fromkeys(key for each in orders for key in each))  # to check the rest
        self.found[file.real_path] = FoundProfile(profile, by_key, (*order, file.real_path))
        below = max((self.longest[key] for key in keys), key=len, default=())
        self.longest[file.real_path] = (file, *below)

    def chain(self, file: ProfileFile) -> tuple[Profile, ...]:
        """Return the profile in `file`, which was visited, and all that it extends, base first."""
        return tuple(self.found[key].profile for key in self.found[file.real_path].order)

    def follow(self, reference: Reference, trail: tuple[ProfileFile, ...], name: str) -> ProfileFile | None:
        """Visit the base that the last of `trail` names by `reference`; return it if it could be read."""
        try:
            base = self.reader.library.find_base(reference, trail[-1], name)
        except ProfileError as error:
            self.problems.extend(error.diagnostics)
            return None
        paths = [file.real_path for file in trail]
        if base.real_path in paths:
            cycle = (*trail[paths.index(base.real_path) :], base)
            message = f"profile {base.label!r} extends itself: {_arrows(cycle)}"
            self.report("extends-cycle", message, reference.span, "remove one of these from `extends`")
            return None
        chain = (*trail, *self.longest.get(base.real_path, (base,)))
        if len(chain) > MAX_CHAIN_LENGTH:
            message = f"more than {MAX_CHAIN_LENGTH} profiles extend each other: {_arrows(chain)}"
            self.report("extends-too-deep", message, reference.span, "extend fewer levels of profiles")
            return None
        self.visit(base, trail)
        return base if base.real_path in self.found else None

    def report(self, code: str, message: str, span: Span, help: str) -> None:
        self.problems.append(Diagnostic(code=code, message=message, spans=(span,), help=help))


def _arrows(files: Sequence[ProfileFile]) -> str:
    return " -> ".join(file.label for file in files)


def _check_name(profile: Profile, file: ProfileFile) -> None:
    """Refuse a profile of a library whose name is not the one that its path gives."""
    if file.name in (None, profile.name):
        return
    help = f'write name = "{file.name}", or move the file'
    if file.path.as_posix().endswith(f"/{profile.name}.toml"):  # below another directory, the name fits
        directory = file.path.parents[profile.name.count("/")]
        help = f"make {directory} the directory of profiles, instead of {file.root}"
    problem = Diagnostic(
        code="profile-name-mismatch",
        message=f"this profile is named {profile.name!r}, but its path gives the name {file.name!r}",
        spans=(profile.name_span,),
        help=help,
    )
    raise ProfileError(diagnostics=(problem,))
