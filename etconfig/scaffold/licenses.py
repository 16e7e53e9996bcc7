"""The licenses that a new package can have."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.records import record


@record(frozen=True)
class License:
    """A license.

    Attributes:
        identifier: What `pyproject.toml` calls it: an SPDX expression.
        file: Its text below `etconfig/templates/licenses`, in which `{year}` and `{author}` are left open.
    """

    identifier: str
    file: str


LICENSES: Mapping[str, License] = {
    "apache-2.0": License("Apache-2.0", "apache-2.0.txt"),
    "mit": License("MIT", "mit.txt"),
    "bsd-3-clause": License("BSD-3-Clause", "bsd-3-clause.txt"),
    "proprietary": License("LicenseRef-Proprietary", "proprietary.txt"),
}
"""By the name that `etconfig new-backend --license` takes."""
