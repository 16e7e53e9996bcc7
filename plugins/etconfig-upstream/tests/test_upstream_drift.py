from __future__ import annotations

import json
from pathlib import Path

import pytest
from etconfig_upstream.drift import BASELINE, Drift, find_drift, keys_of, main, strings_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a directory like that of an installed executorch, with one library."""
    (tmp_path / "lib").mkdir()
    write_library(tmp_path, *sorted(keys_of("XnnpackBackend")))
    return tmp_path


def write_library(package: Path, *strings: str) -> None:
    data = b"\x7fELF\0" + b"\0".join(each.encode() for each in strings) + b"\0NotAKey\0plain\0"
    (package / "lib" / "libexecutorch_backend_xnnpack.so").write_bytes(data)


class TestDrift:
    """Removed keys and new strings are listed."""

    def test_equal_keys_are_not_drift(self, package: Path) -> None:
        baseline = {"libexecutorch_backend_xnnpack.so": sorted(keys_of("XnnpackBackend"))}
        assert find_drift(package, baseline) == [
            Drift("libexecutorch_backend_xnnpack.so", "XnnpackBackend", [], [])
        ]

    def test_removed_and_added_keys_are_listed(self, package: Path) -> None:
        baseline = {"libexecutorch_backend_xnnpack.so": sorted(keys_of("XnnpackBackend"))}
        write_library(package, "weight_cache_enabled", "packed_cache_path", "sparsity_mode")
        (drift,) = find_drift(package, baseline)
        assert (drift.removed, drift.added) == (["workspace_sharing_mode"], ["sparsity_mode"])

    def test_only_whole_strings_that_look_like_keys_count(self, package: Path) -> None:
        strings = strings_of(package / "lib" / "libexecutorch_backend_xnnpack.so")
        assert strings == keys_of("XnnpackBackend")

    def test_the_command_exits_with_one_and_says_what_to_do(
        self, package: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_library(package, "weight_cache_enabled", "packed_cache_path", "sparsity_mode")
        with pytest.raises(SystemExit) as caught:
            main([str(package)])
        assert caught.value.code == 1
        said = capsys.readouterr().out
        assert "  removed  workspace_sharing_mode: no longer in the library; correct the schema\n" in said
        assert "  new      sparsity_mode: an option key? then add it to the schema\n" in said

    def test_a_folder_without_libraries_is_a_usage_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as caught:
            main([str(tmp_path)])
        assert caught.value.code == 2
        assert "no executorch with backend libraries is here" in capsys.readouterr().err

    def test_the_baseline_contains_our_keys(self) -> None:
        baseline = json.loads(BASELINE.read_text("utf-8"))
        assert keys_of("XnnpackBackend") <= set(baseline["libexecutorch_backend_xnnpack.so"])
        assert keys_of("QnnBackend") <= set(baseline["libexecutorch_backend_qnn.so"])


@pytest.mark.peers
def test_the_installed_release_is_as_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 0, capsys.readouterr().out
