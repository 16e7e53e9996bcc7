"""Addresses of clusters, such as `dask://host:8786`."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from etconfig.packages import how_to_install
from etconfig.records import record

_PACKAGES = {"dask": "distributed", "ray": "ray"}
"""The package that each kind of cluster needs; the extra is named as the kind."""


@record(frozen=True)
class ClusterAddress:
    """The address of a cluster.

    Attributes:
        text: The address as it was given, such as `dask://host:8786`.
        kind: `dask` or `ray`.
        place: The host and the port, such as `host:8786`.
    """

    text: str
    kind: str
    place: str

    @property
    def missing(self) -> str | None:
        """The message if the package that connects to such clusters is not installed, else None."""
        if find_spec(_PACKAGES[self.kind]) is not None:
            return None
        name = {"dask": "Dask distributed", "ray": "Ray"}[self.kind]
        install = how_to_install(f"'etconfig[{self.kind}]'")
        return f"{self.kind}:// needs {name}, which is not installed: {install}"


def parse_cluster_address(text: str) -> ClusterAddress:
    """Return the parts of an address.

    Raises:
        ValueError: it is not the address of a cluster.
    """
    parts = urlsplit(text)
    try:
        is_right = parts.scheme in _PACKAGES and parts.hostname and parts.port and not parts.path.strip("/")
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError(
            f"{text!r} is not an address of workers, such as dask://host:8786 or ray://host:10001"
        )
    return ClusterAddress(text, parts.scheme, parts.netloc)
