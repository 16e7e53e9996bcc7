"""`Profile`: a named document that says how to configure a kind of device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from etconfig.base.provenance import OriginKind
from etconfig.base.records import record
from etconfig.diagnostics import Span
from etconfig.errors import ProfileError
from etconfig.expression import Expression, ExpressionParser, ExpressionType
from etconfig.profile.document import Document
from etconfig.profile.evidence import TuningEvidence, read_evidence
from etconfig.profile.names import PROFILE_NAME_RULE, is_profile_name
from etconfig.profile.settings import SETTINGS_KEYS, DocumentSettings, read_expression, read_settings
from etconfig.profile.table import TomlTable

MAX_BASES = 256
"""The most profiles in one `extends` list."""

_HEAD_KEYS = ("name", "extends", "description", "match")
_KEYS = ("profile", *SETTINGS_KEYS, "evidence")
_HEAD_HELP = 'a profile starts with [profile] and name = "vendor/device"'


@record(frozen=True)
class Reference:
    """A name or a path, as written in a document.

    Attributes:
        target: The name of a profile or of an executor, or a path. That of a profile ends in `.toml`.
        find_span: Finds its place.
    """

    target: str
    find_span: Callable[[], Span] = field(compare=False, repr=False)

    @property
    def span(self) -> Span:
        """Its place in the document."""
        return self.find_span()


@record(frozen=True, kw_only=True)
class Profile:
    """A profile as its document has it, without the profiles that it extends.

    Attributes:
        name: Its name, such as `raspberry-pi/pi-5`.
        find_name_span: Finds the place of the name.
        extends: The profiles that it builds on; a later one wins over an earlier one.
        description: Its purpose, in a sentence.
        match: The condition under which it may be selected; None if it never is.
        settings: The settings.
        evidence: What was measured for them, or None.
        path: The file it came from, or None.
        values: All values of the document, as the parser has them.
        is_bundled: True if it comes with etconfig: it serves programs of all kinds.
    """

    name: str
    find_name_span: Callable[[], Span] = field(compare=False, repr=False)
    extends: tuple[Reference, ...] = ()
    description: str | None = None
    match: Expression | None = None
    settings: DocumentSettings = field(default_factory=DocumentSettings)
    evidence: TuningEvidence | None = None
    path: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    is_bundled: bool = field(default=False, compare=False)

    @property
    def name_span(self) -> Span:
        """The place of the name."""
        return self.find_name_span()


@record(frozen=True)
class FoundProfile:
    """A profile with the bases of its list that could be read, and its order.

    Attributes:
        profile: The profile.
        bases: The place of each base in its list, by the base's key, in the order of the list.
        order: The keys of all that it extends, in the order in which they are merged, and its own at the end.
    """

    profile: Profile
    bases: Mapping[str, Reference]
    order: Sequence[str]


def parse_profile(document: Document, expressions: ExpressionParser) -> Profile:
    """Read a profile from its document.

    Raises:
        ProfileError: with every problem of the document.
    """
    profile, error = salvage_profile(document, expressions)
    if error is not None:
        raise error
    return profile


def salvage_profile(document: Document, expressions: ExpressionParser) -> tuple[Profile, ProfileError | None]:
    """Return what can be read of a profile, and the error with every problem of its document.

    What is wrong is left out; the name may be empty.

    Raises:
        ProfileError: the document has more problems than are looked for at once.
    """
    root = TomlTable(document, (), document.data, [])
    if "profile" in root.data:
        root.check_keys(_KEYS, "root")
    elif "profile" not in root.check_keys((*_KEYS, *_HEAD_KEYS), "root"):
        _report_missing_head(root)
    settings = read_settings(root, expressions, OriginKind.PROFILE)
    head = root.table("profile", _HEAD_HELP)
    if head is None:  # which is reported; a document without a head is an empty one
        head = TomlTable(root.document, (), {}, [])
    elif "name" not in head.check_keys(_HEAD_KEYS, "head"):
        head.require("name", 'write name = "vendor/device"')
    name = head.string("name")
    if name is not None and not is_profile_name(name):
        head.report(
            "invalid-name", f"{name!r} cannot be a profile's name", head.value_span("name"), PROFILE_NAME_RULE
        )
    extends = [
        Reference(target, partial(head.value_span, "extends", index))
        for index, target in enumerate(_bases(head))
    ]
    profile = Profile(
        name=name or "",
        find_name_span=partial(head.value_span, "name"),
        extends=tuple(extends),
        description=head.string("description"),
        match=read_expression(head, "match", expressions, ExpressionType.BOOL),
        settings=settings,
        evidence=read_evidence(root) if "evidence" in root.data else None,
        path=root.document.path,
        values=root.data,
    )
    return profile, root.error() if root.problems else None


def _bases(head: TomlTable) -> list[str]:
    """Return the profiles that a profile extends; none if they are more than allowed, which is reported."""
    found = head.strings("extends")
    if len(found) <= MAX_BASES:
        return found
    message = f"`extends` lists {len(found)} profiles; at most {MAX_BASES} are allowed"
    help = "extend fewer profiles, or one that extends some of them"
    head.report("extends-too-deep", message, head.value_span("extends"), help)
    return []


def _report_missing_head(root: TomlTable) -> None:
    """Report that a document has no [profile], at the keys that belong there."""
    keys = [key for key in root.data if key in _HEAD_KEYS]
    span = root.key_span(keys[0]) if keys else root.own_span()
    root.report("missing-key", "the document has no 'profile'", span, _HEAD_HELP)
