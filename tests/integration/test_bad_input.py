"""Bad input: one clear error that names the thing, what was expected and what to do.

The exit status is 2, there is never a traceback, and never a partial result that looks whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DATA, DIGITS, ON_DEVICE, Outcome, error
from plugin_data import write_distribution

from etconfig.base.packages import how_to_install

NOT_A_PROGRAM = "expected an ExecuTorch program (.pte), which has 'ET12' at byte 4, found"
ENGINE = (
    "name it as [model.NAME], with its backends, in a TOML file for --models or models=; its own file is an "
    "argument of build()"
)
EXPORT = (
    "for ExecuTorch, export it first: torch.export.export(...), then to_edge(...).to_executorch(); for "
    f"PyTorch itself, {ENGINE}"
)
OTHER = f"give a .pte here; a model of another engine is not a program: {ENGINE}"
EXPECTED_INPUT = "method 'forward', input 0: expected an array of dtype float32 and shape (1, 1, 8, 8), given"

TAKES_ONE = "method 'forward', inputs: expected 1 value(s), given"
HOW_TO_GIVE = "give each with --input FILE.npy, in order, or all in an .npz as in0, in1, ..."


TEXT = "give a .pte here; a profile goes to --profile or profile=, a file of models to --models or models="


class TestPrograms:
    """Not a .pte, a truncated .pte, a missing file, a missing method."""

    @pytest.mark.parametrize(
        ("content", "found", "advice"),
        [
            (
                b"hello world\n",
                "a text file that begins with 'hello world'",
                TEXT,
            ),
            (b"", "an empty file", "export or copy the program again"),
            (b"PK\x03\x04" + bytes(30), "a zip archive, such as a .pt2, .pt or .pth of PyTorch", EXPORT),
            (b"\x80\x02}q\x00.", "a Python pickle, such as an old .pt or .pth of PyTorch", EXPORT),
            (bytes(range(0x80, 0xC0)), f"bytes that begin with {bytes(range(0x80, 0x90)).hex(' ')}", OTHER),
        ],
        ids=["text", "empty", "zip", "pickle", "bytes"],
    )
    def test_a_file_of_another_kind(
        self, refused: Callable[..., str], place: Path, content: bytes, found: str, advice: str | None
    ) -> None:
        (place / "other.pte").write_bytes(content)
        message = f"other.pte: file at byte 0: {NOT_A_PROGRAM} {found} [not-a-program]"
        assert refused(program="other.pte") == error(message, advice)

    @pytest.mark.parametrize(
        ("length", "problem"),
        [
            (20, "extended header at byte 16: needs 8 bytes, but only 4 are there"),
            (60, "extended header at byte 0: needs 3376 bytes, but only 60 are there"),
            (3375, "extended header at byte 0: needs 3376 bytes, but only 3375 are there"),
            (3376, "segments at byte 3456: needs 87592 bytes, but only 0 are there"),
            (30000, "segments at byte 3456: needs 87592 bytes, but only 26544 are there"),
            (91047, "segments at byte 3456: needs 87592 bytes, but only 87591 are there"),
        ],
    )
    def test_a_truncated_program(
        self, refused: Callable[..., str], place: Path, length: int, problem: str
    ) -> None:
        (place / "short.pte").write_bytes((place / "model.pte").read_bytes()[:length])
        assert refused(program="short.pte") == error(f"short.pte: {problem} [truncated]")

    def test_a_program_that_is_cut_anywhere(self, cli: Callable[..., Outcome], place: Path) -> None:
        whole = (place / "model.pte").read_bytes()
        for length in [*range(64), *range(64, len(whole), 1009)]:
            (place / "short.pte").write_bytes(whole[:length])
            done = cli("inspect", "short.pte")
            assert (done.status, done.stdout) == (2, "")
            assert done.stderr.startswith("error: short.pte: ")

    def test_a_directory(self, refused: Callable[..., str]) -> None:
        assert refused(program=".").startswith("error: .: Is a directory [unreadable-file]\n")

    @pytest.mark.parametrize("command", ["run", "resolve", "inspect"])
    def test_a_missing_file(self, cli: Callable[..., Outcome], command: str) -> None:
        done = cli(command, "missing.pte")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error: missing.pte: No such file or directory [unreadable-file]\n")

    def test_a_missing_method(self, refused: Callable[..., str]) -> None:
        message = "the program has no method 'forwrd'; it has 'embed', 'forward'"
        assert refused("--method", "forwrd") == error(message, "did you mean 'forward'?")

    def test_a_missing_instance(self, refused: Callable[..., str]) -> None:
        assert refused("--instance", "lft") == (
            "error[unknown-instance]: method 'forward' has no instance 'lft'\n"
            '  = help: declare it in a profile: [instances.lft] with method = "forward"\n'
        )


def test_every_failure_of_a_copied_program_is_told_by_its_own_name(
    refused: Callable[..., str], place: Path
) -> None:
    """The file is named as the user named it."""
    (place / "a b").mkdir()
    shutil.copy(DATA / "sheets" / "laptop-on-battery.json", place / "a b" / "größe.pte")
    assert refused(program="a b/größe.pte").startswith("error: a b/größe.pte: file at byte 0: ")


class TestPlugins:
    """A missing plugin, a broken plugin that the program needs or does not need."""

    def test_the_plugin_is_not_installed(self, refused: Callable[..., str]) -> None:
        assert refused(program=DIGITS / "digits_xnnpack.pte") == error(
            "backend 'XnnpackBackend' cannot run here: no installed plugin declares it "
            "(installed: ReferenceCpuBackend, ReferenceNpuBackend)",
            f"install the package that declares it: {how_to_install('etconfig-upstream')}",
        )

    def test_the_plugin_is_disabled(
        self, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_DISABLE_PLUGINS", "etconfig-reference")
        assert refused() == error(
            "backend 'ReferenceNpuBackend' cannot run here: "
            "no installed plugin declares it (installed: none)",
            "etconfig-reference 0.1.0 declares it, but it is disabled by ETCONFIG_DISABLE_PLUGINS",
        )

    @pytest.fixture
    def broken(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install a plugin for XnnpackBackend that lacks a dependency."""
        site = tmp_path_factory.mktemp("site")
        (site / "vendor_xnnpack.py").write_text("import a_vendor_sdk\n")
        entry_points = "[etconfig.backends]\nXnnpackBackend = vendor_xnnpack\n"
        headers = "Metadata-Version: 2.1\nName: vendor-xnnpack\nVersion: 1.4\n"
        write_distribution(site, "vendor_xnnpack-1.4.dist-info", entry_points, headers)
        monkeypatch.syspath_prepend(site)

    CAUSE = (
        "plugin 'XnnpackBackend' (etconfig.backends) of vendor-xnnpack 1.4 failed: "
        "vendor_xnnpack.py:1: its import raised ModuleNotFoundError: No module named 'a_vendor_sdk'"
    )
    FIX = (
        "install a_vendor_sdk, or else reinstall vendor-xnnpack: "
        "pip install --force-reinstall --no-deps vendor-xnnpack"
    )

    @pytest.mark.usefixtures("broken")
    def test_a_broken_plugin_that_the_program_needs_is_an_error(self, refused: Callable[..., str]) -> None:
        assert refused(program=DIGITS / "digits_xnnpack.pte") == error(self.CAUSE, self.FIX)

    @pytest.mark.usefixtures("broken")
    def test_a_broken_plugin_that_the_program_does_not_need_hurts_nothing(
        self, cli: Callable[..., Outcome]
    ) -> None:
        done = cli("run", "model.pte", "--input", "x.npy", *ON_DEVICE)
        assert (done.status, done.stderr) == (0, "")

    @pytest.mark.usefixtures("broken")
    def test_without_a_program_it_is_a_warning(self, cli: Callable[..., Outcome]) -> None:
        done = cli("resolve", *ON_DEVICE)
        assert done.status == 0
        assert done.stderr == f"warning[broken-plugin]: {self.CAUSE}\n  = help: {self.FIX}\n"

    def test_two_plugins_that_claim_one_backend(
        self, cli: Callable[..., Outcome], installed: Callable[..., None]
    ) -> None:
        installed("twin-two", "twin-one")
        message = "'TwinNpu' in etconfig.backends is claimed by twin-one 1.0 and Twin.Two 1.1"
        advice = 'uninstall one, or choose: [plugins] prefer = { TwinNpu = "twin-one" }'
        assert cli("backends", "TwinNpu") == Outcome(2, "", error(message, advice))

    @pytest.mark.parametrize("command", ["schema", "backends"])
    def test_a_backend_that_nobody_declares(self, cli: Callable[..., Outcome], command: str) -> None:
        message = (
            "no installed plugin declares 'ReferenceNpu' in etconfig.backends "
            "(installed: ReferenceCpuBackend, ReferenceNpuBackend)"
        )
        done = cli(command, "ReferenceNpu")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(error(message))

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("nmpy", "did you mean 'numpy'?"),
            ("executorch", f"'numpy' is built in; for 'executorch', {how_to_install('etconfig-executorch')}"),
        ],
    )
    def test_an_executor_that_is_not_installed(
        self, refused: Callable[..., str], name: str, advice: str
    ) -> None:
        message = f"no installed plugin declares '{name}' in etconfig.executors (installed: none)"
        assert refused("--executor", name) == error(message, advice)


class TestInputs:
    """Wrong input count, dtype, shape or rank; files that hold no arrays."""

    @pytest.fixture(autouse=True)
    def files(self, place: Path, recorded: Mapping[str, Any]) -> None:
        image = recorded["images"][:1]
        objects = np.array([{}], dtype=object)
        np.save(place / "float64.npy", image.astype(np.float64))
        np.save(place / "two_images.npy", recorded["images"][:2])
        np.save(place / "flat.npy", image[0])
        np.save(place / "number.npy", np.float32(1))
        np.save(place / "pickled.npy", objects, allow_pickle=True)
        np.savez(place / "two.npz", in0=image, in1=image)
        np.savez(place / "named.npz", image=image)
        np.savez(place / "gap.npz", in0=image, in2=image)
        np.savez(place / "pickled.npz", in0=objects)
        (place / "short.npy").write_bytes((place / "x.npy").read_bytes()[:200])
        (place / "short.npz").write_bytes((place / "two.npz").read_bytes()[:200])
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (281474976710656, 64)}"
        huge = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode() + b"\n"
        (place / "huge.npy").write_bytes(huge)

    @pytest.mark.parametrize(
        ("name", "message", "advice"),
        [
            ("two.npz", f"{TAKES_ONE} 2", HOW_TO_GIVE),
            ("float64.npy", f"{EXPECTED_INPUT} dtype float64", "convert it to float32 first"),
            ("two_images.npy", f"{EXPECTED_INPUT} shape (2, 1, 8, 8)", None),
            ("flat.npy", f"{EXPECTED_INPUT} shape (1, 8, 8)", None),
            ("number.npy", f"{EXPECTED_INPUT} shape ()", None),
            ("huge.npy", f"{EXPECTED_INPUT} shape (281474976710656, 64)", None),
            ("named.npz", "named.npz: expected the arrays in0, found image", None),
            ("gap.npz", "gap.npz: expected the arrays in0, in1, found in0, in2", None),
            (
                "pickled.npy",
                "cannot read pickled.npy: it contains Python objects, which are not loaded; "
                "save an array of numbers",
                None,
            ),
            (
                "pickled.npz",
                "cannot read pickled.npz: it contains Python objects, which are not loaded; "
                "save an array of numbers",
                None,
            ),
            ("model.pte", "model.pte: expected a .npy or .npz file, as numpy.save writes it", None),
            ("device.json", "device.json: expected a .npy or .npz file, as numpy.save writes it", None),
            ("missing.npy", "cannot read missing.npy: No such file or directory", None),
            (".", "cannot read .: Is a directory", None),
        ],
    )
    def test_it_is_refused(
        self, refused: Callable[..., str], name: str, message: str, advice: str | None
    ) -> None:
        assert refused(inputs=name) == error(message, advice)

    @pytest.mark.parametrize("name", ["short.npy", "short.npz"])
    def test_a_damaged_file_is_refused_in_numpys_words(self, refused: Callable[..., str], name: str) -> None:
        (line,) = refused(inputs=name).splitlines()
        assert line.startswith(f"error: cannot read {name}: ")
        assert "allow_pickle" not in line

    def test_one_input_too_many(self, refused: Callable[..., str]) -> None:
        assert refused("--input", "x.npy") == error(f"{TAKES_ONE} 2", HOW_TO_GIVE)

    def test_no_input_at_all(self, cli: Callable[..., Outcome]) -> None:
        assert cli("run", "model.pte", *ON_DEVICE) == Outcome(2, "", error(f"{TAKES_ONE} 0", HOW_TO_GIVE))
