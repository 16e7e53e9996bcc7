"""`DeviceBundle`: profiles and options in one file, to be decided on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import NoneType

from etconfig.base.parameters import AnyPath, as_path, check_type, home_help
from etconfig.base.written_files import FilesOfRun
from etconfig.device.bundle.bundle_reader import read_tables
from etconfig.device.bundle.bundle_signature import (
    MARK,
    SIGNATURE_BYTES,
    check_signature,
    is_signed,
    read_private_key,
    without_signature,
)
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import is_short_fact
from etconfig.device.bundle.tables import (
    BUNDLE,
    MAX_BYTES,
    MAX_FACT_ITEMS,
    MAX_FACT_LIST_BYTES,
    MAX_FACT_TEXT_BYTES,
    MAX_REVISION,
    PROVIDERS,
    BundleTables,
    Long,
    ProfileRow,
)
from etconfig.device.deciding.bundle_fingerprints import wrong_fingerprints
from etconfig.device.deciding.bundle_results import BundleResolution, BundleSelection
from etconfig.device.deciding.configuration_reader import packed_configuration
from etconfig.device.deciding.configurations import PackedConfiguration
from etconfig.device.deciding.decision import BundleDecision, hand_set_facts, hidden_facts
from etconfig.device.deciding.evaluation import ExpressionEvaluator
from etconfig.diagnostics import Diagnostic, Span, did_you_mean
from etconfig.errors import FactError, OptionError, ProfileError, SavedResultError
from etconfig.facts.sheet import FactSheet
from etconfig.report.model import count_text

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SHEET = "a FactSheet, as etconfig.load_fact_sheet reads it"


class DeviceBundle:
    """A device bundle: `etconfig pack` writes it, and a device decides it, in C++ or here.

    Example:
        >>> bundle = etconfig.pack_bundle(profiles=["generic/any"])
        >>> bundle.profile_names
        ('generic/any',)

    Args:
        tables: Its content.
        data: The bytes of its file, if it has one already.
    """

    def __init__(self, tables: BundleTables, data: bytes | None = None) -> None:
        self.tables = tables
        self._data = data

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "bundle.etbundle") -> DeviceBundle:
        """Return the bundle in the bytes of a file.

        Args:
            data: The bytes; work and memory are in proportion to them.
            name: The name of the file in errors.

        Raises:
            SavedResultError: they are damaged or something else; the message says what is wrong.
        """
        try:
            return cls(read_tables(data), data)
        except ValueError as error:
            message = f"{name} is not a device bundle: {error}"
            help = "write it with `etconfig pack`"
            if data[4:8] == b"ETCB":
                message = f"{name} is a device bundle that cannot be read: {error}"
                help = "write it again with `etconfig pack` of this version"
            raise _failure("invalid-bundle", message, name, help) from error

    def to_bytes(self) -> bytes:
        """Return the bytes of the file, with the signature; equal bundles have equal bytes."""
        return write_tables(self.tables) if self._data is None else self._data

    def released(self, *, revision: int | None = None, not_after: datetime | None = None) -> DeviceBundle:
        """Return the same content as a release, not signed.

        Args:
            revision: Its number, 1 or more; devices can refuse a lower one than they had.
            not_after: The time until which it is valid, with a time zone; fractions of its last second count.

        Raises:
            TypeError: an argument is of a wrong type.
            ValueError: an argument is out of bounds, or the time has no zone.
        """
        check_type("revision", revision, (int, NoneType), "a number from 1 on")
        check_type("not_after", not_after, (datetime, NoneType), "a datetime with a time zone")
        if isinstance(revision, bool) or not 1 <= (1 if revision is None else revision) <= MAX_REVISION:
            raise ValueError(f"revision: expected a number from 1 to {MAX_REVISION}, given {revision}")
        if not_after is not None and not_after.utcoffset() is None:
            raise ValueError("not_after: expected a time with a time zone, given one without")
        seconds = 0 if not_after is None else (not_after - _EPOCH) // timedelta(seconds=1)
        if not_after is not None and seconds < 1:
            raise ValueError(f"not_after: expected a time after 1970, given {not_after}")
        return DeviceBundle(replace(self.tables, revision=Long(revision or 0), not_after=Long(seconds)))

    def signed(self, key: AnyPath | Callable[[bytes], bytes]) -> DeviceBundle:
        """Return the bundle with an Ed25519 signature of every byte, in place of one that it may have.

        Args:
            key: A PEM file (PKCS#8) with the private key, or a function that returns the 64 bytes of the
                signature of what it is given, as of a service that keeps the key.

        Raises:
            MissingPackageError: there is a file, and the extra `sign` is not installed.
            SavedResultError: the file has no such key, every user can read it, or the bundle grows too large.
            TypeError: `key` is neither a path nor a function.
            ValueError: the function returned no 64 bytes.
        """
        sign = key if callable(key) else read_private_key(as_path("key", key)).sign
        content = without_signature(self.to_bytes()) + MARK
        if len(content) + SIGNATURE_BYTES > MAX_BYTES:
            message = f"with its signature, the bundle is larger than {MAX_BYTES >> 20} MiB"
            raise _failure("invalid-signature", message, None, "pack fewer profiles into it")
        signature = sign(content)
        if len(signature) != SIGNATURE_BYTES:
            raise ValueError(f"key: expected {SIGNATURE_BYTES} bytes from it, given {len(signature)}")
        return DeviceBundle(self.tables, content + signature)

    @property
    def is_signed(self) -> bool:
        """True if it has a signature, which may be anybody's: see `check_signature`."""
        return self._data is not None and is_signed(self._data)

    def check_signature(self, public_key: AnyPath) -> None:
        """Check that the holder of a key signed the bundle, as it is.

        Args:
            public_key: A PEM file with the public Ed25519 key.

        Raises:
            MissingPackageError: the extra `sign` is not installed.
            SavedResultError: the bundle is not signed, or not with this key; or the file has no such key.
            TypeError: `public_key` is not a path.
        """
        check_signature(self.to_bytes(), as_path("public_key", public_key))

    def save(self, path: AnyPath, *, force: bool = False) -> None:
        """Write the bundle to a file, whole or not at all.

        Args:
            path: The file. A bundle there is replaced.
            force: Replace another file, too.

        Raises:
            FileExistsError: there is a file that is not a bundle, a link out of its directory, or a file with
                several names.
            OSError: the file cannot be written; an existing file is unchanged.
            TypeError: an argument is of a wrong type.
        """
        check_type("force", force, bool, "True or False")
        FilesOfRun(force=force).write(as_path("path", path), self.to_bytes(), BUNDLE)

    @property
    def producer(self) -> str:
        """The program that wrote it, such as `etconfig 0.1.0`."""
        return self.tables.producer

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that decides: equal for bundles that decide alike."""
        return self.tables.fingerprint

    @property
    def id(self) -> str:
        """The first 16 digits of its fingerprint, for reports."""
        return self.fingerprint[:16]

    @property
    def sources(self) -> str | None:
        """The SHA-256 of the files that it was packed from, if they are known."""
        return self.tables.sources or None

    @property
    def revision(self) -> int | None:
        """The number of this release, which grows, if it has one."""
        return self.tables.revision or None

    @property
    def not_after(self) -> datetime | None:
        """The last second in which it is valid, in UTC; None if it does not expire."""
        seconds = self.tables.not_after
        return _EPOCH + timedelta(seconds=seconds) if seconds else None

    @property
    def profile_names(self) -> tuple[str, ...]:
        """The names of its profiles, sorted."""
        return tuple(self.tables.texts[profile.name] for profile in self.tables.profiles)

    @property
    def facts_read(self) -> tuple[str, ...]:
        """The names of the facts that it reads, sorted."""
        return tuple(self.tables.texts[fact.name] for fact in self.tables.facts)

    def __repr__(self) -> str:
        profiles, facts = len(self.tables.profiles), len(self.tables.facts)
        return f"<DeviceBundle: {count_text(profiles, 'profile')}, {count_text(facts, 'fact')}>"

    def select(self, facts: FactSheet) -> BundleSelection:
        """Return the profile that a device with these facts selects, as `auto` does.

        Raises:
            FactError: a fact is longer than devices accept.
            ProfileError: no profile matches, several do of which none is preferred, or only the fallback
                matches and is refused.
            TypeError: `facts` is not a fact sheet.
        """
        check_type("facts", facts, FactSheet, _SHEET)
        tables = self.tables
        self._check_lengths(facts)
        known = {**facts.values, **hand_set_facts(tables, 0, tables.project_fact_count)}
        evaluator = ExpressionEvaluator(tables, known)
        matching = [
            number
            for number, profile in enumerate(tables.profiles)
            if profile.condition != NONE and evaluator.is_met(profile.condition)
        ]
        extended = {base for number in matching for base in self._bases(number)}
        candidates = [number for number in matching if number not in extended]
        if not candidates and self._is_resolved:
            message = "the configurations of the bundle were resolved when packing, and no device selects one"
            raise _unselected("no-matching-profile", message, f"name one: {', '.join(self.profile_names)}")
        if not candidates:
            raise _unselected("no-matching-profile", "no profile of the bundle matches this device")
        highest = max(tables.profiles[number].provider for number in candidates)
        winners = [number for number in candidates if tables.profiles[number].provider == highest]
        names = [self._name(number) for number in winners]
        if len(winners) > 1:
            named = " and ".join(map(repr, names))
            message = f"profiles {named} match this device, and none extends the others"
            raise _unselected("ambiguous-profile", message)
        is_fallback = bool(tables.profiles[winners[0]].is_fallback)
        if is_fallback and tables.require_match:
            message = f"only {names[0]!r} is left, which matches every device, and the bundle refuses it"
            raise _unselected("no-matching-profile", message)
        return BundleSelection(
            profile=names[0],
            is_fallback=is_fallback,
            matching=tuple(self._name(number) for number in matching),
        )

    def _check_lengths(self, facts: FactSheet) -> None:
        """Refuse texts and lists of facts that are longer than devices accept."""
        for name in self.facts_read:
            value = facts.values.get(name)
            if isinstance(value, (str, tuple)) and not is_short_fact(value):
                message = f"fact {name!r}: it is longer than devices accept"
                help = (
                    f"a text has {MAX_FACT_TEXT_BYTES:,} bytes at most, and a list {MAX_FACT_ITEMS:,} texts "
                    f"of {MAX_FACT_LIST_BYTES:,} bytes in all"
                )
                raise FactError(
                    diagnostics=(Diagnostic(code="invalid-fact-value", message=message, help=help),)
                )

    @property
    def _is_resolved(self) -> bool:
        """True if every configuration was resolved when packing."""
        profiles = self.tables.profiles
        return bool(profiles) and all(profile.fingerprint != NONE for profile in profiles)

    def _check_resolved(self, profile: str | None) -> None:
        """Refuse to decide without facts what depends on them."""
        is_resolved = self._is_resolved if profile is None else self.is_configuration(profile)
        if not is_resolved:
            raise TypeError(f"facts: expected {_SHEET}, given None; the bundle depends on facts")

    def _bases(self, number: int) -> Sequence[int]:
        profile = self.tables.profiles[number]
        return self.tables.items[profile.first_base : profile.first_base + profile.base_count]

    def _name(self, number: int) -> str:
        return self.tables.texts[self.tables.profiles[number].name]

    def resolve(self, facts: FactSheet | None = None, profile: str | None = None) -> BundleResolution:
        """Return the options of every method instance on a device with these facts.

        Example:
            >>> bundle = etconfig.pack_bundle(profiles=["generic/any"])
            >>> facts = etconfig.load_fact_sheet("pi-5.json")
            >>> bundle.resolve(facts).profile
            'generic/any'

        Args:
            facts: The device; needed unless the profile was resolved when packing.
            profile: The name of a profile; by default the bundle names it, else the device selects it.

        Raises:
            FactError: a fact is longer than devices accept.
            ProfileError: there is no such profile, or none can be selected.
            OptionError: an option has no valid value; with every problem.
            TypeError: `facts` is not a fact sheet, or `profile` not a name.
        """
        check_type("facts", facts, (FactSheet, NoneType), _SHEET)
        check_type("profile", profile, (str, NoneType), "the name of a profile in the bundle, as str")
        selection = None
        if profile is None and self.tables.named_profile != NONE:
            profile = self._name(self.tables.named_profile)
        if facts is None:
            self._check_resolved(profile)
            facts = FactSheet.empty()
        if profile is None:
            selection = self.select(facts)
            profile = selection.profile
        self._check_lengths(facts)
        row = self._profile(profile)
        known = {name: facts.values[name] for name in self.facts_read if name in facts.values}
        decision = BundleDecision(self.tables, row, known)
        if decision.failures:
            problems = tuple(Diagnostic(code=each.code, message=each.message) for each in decision.failures)
            raise OptionError(diagnostics=problems)
        return BundleResolution(
            bundle=self.id,
            revision=self.revision,
            profile=profile,
            selection=selection,
            slots=decision.complete,
            facts=decision.facts,
            hidden=hidden_facts(self.tables),
        )

    def _profile(self, name: str) -> ProfileRow:
        if name not in self.profile_names:
            help = did_you_mean(name, self.profile_names) or f"it has {', '.join(self.profile_names)}"
            raise _unselected("unknown-profile", f"the bundle has no profile {name!r}", help)
        return self.tables.profiles[self.profile_names.index(name)]

    def is_configuration(self, profile: str) -> bool:
        """Return True if a profile was resolved when packing, so that its options depend on no facts.

        Raises:
            ProfileError: there is no such profile.
        """
        return self._profile(profile).fingerprint != NONE

    def configuration(self, profile: str) -> PackedConfiguration:
        """Return the arguments of a configuration that was resolved when packing, and how each is sent.

        Example:
            >>> program = etconfig.load_program("model.pte")
            >>> pi5 = etconfig.load_fact_sheet("pi-5.json")
            >>> bundle = etconfig.pack_resolutions({"pi5": etconfig.resolve(program, facts=pi5)})
            >>> [method.label for method in bundle.configuration("pi5").methods]
            ['embed', 'forward']

        Raises:
            ProfileError: there is no such profile, or it has conditions.
            TypeError: `profile` is not a name.
        """
        check_type("profile", profile, str, "the name of a configuration in the bundle, as str")
        row = self._profile(profile)
        if not self.is_configuration(profile):
            message = f"profile {profile!r} of the bundle was not resolved when packing"
            help = "resolve it with the facts of a device"
            raise _unselected("unknown-profile", message, help)
        return packed_configuration(self.tables, row)

    def check_fingerprints(self) -> None:
        """Check that the bundle has the content that it was written with.

        Reading verifies that a bundle is sound, but not that nobody changed a value in it.

        Raises:
            SavedResultError: a fingerprint does not belong to the content.
        """
        wrong = [*wrong_fingerprints(self.tables)]
        if wrong:
            message = f"the bundle was changed after it was written: {'; '.join(wrong)}"
            problem = Diagnostic(code="invalid-bundle", message=message, help="write it with `etconfig pack`")
            raise SavedResultError(diagnostics=(problem,))

    def provider_of(self, profile: str) -> str:
        """Return the kind of source of a profile: bundled, package or user."""
        return PROVIDERS[self._profile(profile).provider].name.lower()


def load_bundle(path: AnyPath) -> DeviceBundle:
    """Read a device bundle.

    Example:
        >>> etconfig.pack_bundle(profiles=["generic/any"]).save("app.etbundle")
        >>> etconfig.load_bundle("app.etbundle").profile_names
        ('generic/any',)

    Raises:
        SavedResultError: the file cannot be read, or is damaged or something else.
        TypeError: `path` is not a path.
    """
    path = as_path("path", path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or error
        problem = f"cannot read {path}: {reason}"
        raise _failure("unreadable-file", problem, str(path), home_help(path)) from error
    return DeviceBundle.from_bytes(data, str(path))


def _failure(code: str, message: str, file: str | None, help: str | None) -> SavedResultError:
    spans = () if file is None else (Span(file=file),)
    problem = Diagnostic(code=code, message=message, spans=spans, help=help)
    return SavedResultError(diagnostics=(problem,))


def _unselected(code: str, message: str, help: str | None = None) -> ProfileError:
    advice = help or "name one, or pack one whose condition holds here"
    return ProfileError(diagnostics=(Diagnostic(code=code, message=message, help=advice),))
