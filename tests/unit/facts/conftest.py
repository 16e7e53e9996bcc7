"""Trees and systems to run detectors on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.system import System

MakeSystem = Callable[..., System]


@pytest.fixture
def make_system(tmp_path: Path) -> MakeSystem:
    """Call it with the texts of files by path, and the host's attributes as keywords."""

    def make(files: Mapping[str, str], **host: object) -> System:
        for path, text in files.items():
            file = tmp_path / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        return System(tmp_path, Host(**host))  # type: ignore[arg-type]

    return make
