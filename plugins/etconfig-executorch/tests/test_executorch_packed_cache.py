"""The file of packed weights: XNNPACK overwrites whatever is there, so anything but a cache is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("etconfig_executorch.native")

import etconfig
from etconfig.plugin.v1 import BackendUnavailableError

pytestmark = pytest.mark.peers

PROGRAM = Path(__file__).parents[3] / "tests" / "data" / "programs" / "xnnpack.pte"


def load(program: Path, cache: str | Path) -> etconfig.Method:
    loaded = etconfig.load_program(program, executor="executorch")
    overrides = [
        "XnnpackBackend.weight_cache_enabled=true",
        f"XnnpackBackend.packed_cache_path={cache}",
    ]
    return loaded.load_method("forward", etconfig.resolve(loaded, overrides=overrides).arguments("forward"))


class TestPackedCache:
    """A file that is there must be a cache; a new or empty one becomes a cache."""

    def test_everything_else_is_refused_and_unchanged(self, tmp_path: Path) -> None:
        shutil.copy(PROGRAM, tmp_path / "model.pte")
        (tmp_path / "notes.txt").write_text("mine")
        (tmp_path / "almost").write_bytes(b"x" * 40 + b"CWP")
        (tmp_path / "directory").mkdir()
        (tmp_path / "link").symlink_to("notes.txt")
        (tmp_path / "broken").symlink_to("elsewhere")
        os.link(tmp_path / "model.pte", tmp_path / "same.pte")
        names = ("model.pte", "same.pte", "notes.txt", "almost", "directory", "link", "broken", "no/cache")
        before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        wrong = []
        for path in (*(tmp_path / name for name in names), Path("/dev/null")):
            try:
                load(tmp_path / "model.pte", path)
            except BackendUnavailableError as error:
                if f"packed_cache_path is {str(path)!r}, " not in str(error):
                    wrong.append((path, str(error)))
            else:
                wrong.append((path, "taken"))
        assert wrong == []
        assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before

    def test_a_cache_is_used_again(self, tmp_path: Path) -> None:
        (tmp_path / "empty").touch()
        for name in ("new", "empty"):
            for _ in range(2):
                load(PROGRAM, tmp_path / name)
            assert (tmp_path / name).read_bytes()[-8:-4] == b"CWPX"
