"""`EntryPoint`: a plugin as the metadata of its distribution declare it."""

from __future__ import annotations

import re

from etconfig.base.records import record

BACKENDS = "etconfig.backends"
FACTS = "etconfig.facts"
PROFILES = "etconfig.profiles"
KERNELS = "etconfig.kernels"
EXECUTORS = "etconfig.executors"
CONFORMANCE = "etconfig.conformance"
DECLARED = "etconfig.declared"

GIVEN_IN_CODE = "(given in code)"
"""The version of a plugin that the caller gave in code."""

GROUPS = (BACKENDS, FACTS, PROFILES, KERNELS, EXECUTORS, CONFORMANCE, DECLARED)
"""The entry-point groups that etconfig reads."""

_OWN_GROUP = re.compile(rb"^\s*\[\s*(etconfig\.[^\]\n]{0,60})\]", re.MULTILINE)


@record(frozen=True, kw_only=True)
class EntryPoint:
    """One declared plugin.

    Attributes:
        group: One of `GROUPS`.
        name: The name in that group: for `etconfig.backends`, the backend id.
        value: The plugin: `module`, `module:object` or, for profiles, `package:directory`.
        distribution: The distribution that declares it.
        version: The distribution's version.
        location: The directory of the distribution's metadata.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    location: str

    @property
    def source(self) -> str:
        """The distribution and its version, such as `acme-npu 2.1`."""
        return f"{self.distribution} {self.version}"

    @property
    def is_given(self) -> bool:
        """True if no distribution declares it: the caller gave it in code."""
        return self.version == GIVEN_IN_CODE

    @property
    def module(self) -> str:
        """The plugin's module, such as `acme_npu.plugin`."""
        return self.value.partition(":")[0].strip()

    @property
    def package(self) -> str:
        """The top-level package of that module, such as `acme_npu`."""
        return self.module.partition(".")[0]


def parse_entry_points(text: str) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Read an entry_points.txt.

    Returns:
        The values in etconfig's groups, by group and name, and a sentence about each line that cannot be
        read. Other groups are skipped.
    """
    values: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    group: str | None = ""
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            group = line[1:-1].strip() if line.endswith("]") else None
            if group is None:
                problems.append(f"line {number}: expected [GROUP], found {line!r}")
        elif group == "":
            problems.append(f"line {number}: expected [GROUP] first, found {line!r}")
        elif group in GROUPS:
            name, _, value = (part.strip() for part in line.partition("="))
            if not (name and value):
                problems.append(f"line {number}: expected NAME = VALUE, found {line!r}")
            elif values.setdefault((group, name), value) != value:
                problems.append(f"line {number}: {name} is declared twice in {group}")
    return values, problems


def unknown_groups(data: bytes) -> list[str]:
    """Return the groups in the bytes of an entry_points.txt that look like etconfig's, but are not."""
    found = {name.decode(errors="replace").strip() for name in _OWN_GROUP.findall(data)}
    return sorted(found.difference(GROUPS))


def normalized_name(distribution: str) -> str:
    """Return a distribution's name in the form to compare: `Acme.NPU` and `acme-npu` become equal.

    Source: Python packaging specifications, name normalization.
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()
