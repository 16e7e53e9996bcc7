from __future__ import annotations

import json
from pathlib import Path

import pytest
from etconfig_upstream import drift
from etconfig_upstream.drift import (
    BASELINE,
    WITHOUT_SCHEMA,
    Drift,
    find_drift,
    keys_of,
    main,
    new_backends,
    strings_of,
)
from etconfig_upstream.plugin import schema_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a directory like an installed executorch's, with one library."""
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

    def test_a_new_backend_is_reported_by_its_name(
        self, package: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name, text in (
            ("acme/preprocess.py", "@final\nclass AcmeBackend(BackendDetails):\n    pass\n"),
            ("aoti/zoo.py", "class ZooBackend(AotiBackend, BackendDetails):\n    pass\n"),
            ("native/preprocess.py", "class NativeBackend(BackendDetails):\n    pass\n"),
            ("xnnpack/xnnpack_preprocess.py", "class XnnpackBackend(BackendDetails):\n    pass\n"),
            ("acme/test/demo.py", "class DemoBackend(BackendDetails):\n    pass\n"),
            ("acme/base.py", "class BackendDetails(ABC):\n    pass\nclass Other(Base):\n    pass\n"),
        ):
            (package / "backends" / name).parent.mkdir(parents=True, exist_ok=True)
            (package / "backends" / name).write_text(text)
        (package / "lib" / "libexecutorch_backend_zoo.so").write_bytes(b"\x7fELF\0")
        assert new_backends(package) == {
            "AcmeBackend": "backends/acme/preprocess.py",
            "ZooBackend": "backends/aoti/zoo.py",
            "libexecutorch_backend_zoo.so": "lib/libexecutorch_backend_zoo.so",
        }
        with pytest.raises(SystemExit) as caught:
            main([str(package)])
        assert caught.value.code == 1
        said = capsys.readouterr().out
        assert "AcmeBackend (backends/acme/preprocess.py)\n  new      a backend without a schema" in said

    def test_a_backend_without_a_schema_is_listed_or_has_one(self) -> None:
        for backend in WITHOUT_SCHEMA:
            with pytest.raises(KeyError):
                schema_of(backend)

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


class TestWrittenBaseline:
    """The baseline is replaced as a whole, and nothing else is."""

    def test_another_file_there_is_kept(
        self,
        package: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        baseline, mine = tmp_path / "baseline.json", tmp_path / "mine.txt"
        monkeypatch.setattr(drift, "BASELINE", baseline)
        arguments = [str(package), "--write"]
        main(arguments)
        whole = baseline.read_bytes()
        assert json.loads(whole) == {"libexecutorch_backend_xnnpack.so": sorted(keys_of("XnnpackBackend"))}
        baseline.chmod(0o640)
        main(arguments)
        assert (baseline.read_bytes(), baseline.stat().st_mode & 0o777) == (whole, 0o640)

        baseline.write_text("mine")
        with pytest.raises(SystemExit):
            main(arguments)
        assert "it is there, and not a baseline; --force replaces it" in capsys.readouterr().err
        assert baseline.read_text() == "mine"
        main([*arguments, "--force"])
        assert baseline.read_bytes() == whole

        mine.write_text("mine")
        baseline.unlink()
        baseline.symlink_to(mine)
        with pytest.raises(SystemExit):
            main([*arguments, "--force"])
        assert mine.read_text() == "mine"
