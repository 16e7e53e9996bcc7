"""The fixture distributions under tests/data/plugins, and distributions written on the spot."""

from __future__ import annotations

import sys
from pathlib import Path

PLUGIN_DATA = Path(__file__).parents[1] / "data" / "plugins"

UPGRADE = "upgrade or uninstall {}, or report it to its author"
"""The help for users with a broken distribution."""


def search_path(*distributions: str) -> list[str]:
    """Return the search path on which these fixture distributions are installed."""
    paths = [PLUGIN_DATA / name for name in distributions]
    assert all(path.is_dir() for path in paths)
    return [str(path) for path in paths]


def forget_plugin_modules() -> None:
    """Forget the imported modules of fixture distributions, so that none counts as installed later."""
    forget_modules_below(PLUGIN_DATA)


def forget_modules_below(directory: Path) -> None:
    """Forget the imported modules whose files are in a directory."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(directory)):
            del sys.modules[name]


def write_distribution(
    root: Path,
    directory: str,
    entry_points: str | bytes | None = "[etconfig.backends]\nA = a\n",
    headers: str | bytes | None = None,
) -> Path:
    """Write metadata as an installer would; `directory` is a name such as `acme_npu-2.1.dist-info`."""
    metadata = root / directory
    metadata.mkdir(parents=True)
    header_file = "METADATA" if directory.endswith(".dist-info") else "PKG-INFO"
    for name, contents in (("entry_points.txt", entry_points), (header_file, headers)):
        if contents is not None:
            (metadata / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return metadata
