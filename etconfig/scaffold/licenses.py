"""The licenses that a new package can have."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.records import record


@record(frozen=True)
class License:
    """A license.

    Attributes:
        identifier: The SPDX expression for `pyproject.toml`.
        file: Its text below `etconfig/templates/licenses`, with the placeholders `{year}` and `{author}`.
    """

    identifier: str
    file: str


LICENSES: Mapping[str, License] = {
    "apache-2.0": License("Apache-2.0", "apache-2.0.txt"),
    "mit": License("MIT", "mit.txt"),
    "bsd-3-clause": License("BSD-3-Clause", "bsd-3-clause.txt"),
    "proprietary": License("LicenseRef-Proprietary", "proprietary.txt"),
}
"""The licenses by their names in `etconfig new-backend --license`."""
