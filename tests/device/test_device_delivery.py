"""Signatures of bundles in C++, and the store that keeps the last good bundle."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from bundle_tables import FINGERPRINT, small_tables
from compilers import system_compiler
from device_programs import (
    SANITIZED,
    SOURCES,
    TOOLCHAINS,
    Toolchain,
    compile_device_program,
    run_device_program,
)
from doc_pages import ROOT, Page
from doc_shell import Shell
from reader_commands import write_commands

from etconfig.device.device_bundle import DeviceBundle

STORE_RUN_SECONDS = 0.3
RUNS = 8
LATE = datetime(2099, 1, 1, tzinfo=timezone.utc)
NOT_AFTER = 1_000_000


def bundles(place: Path) -> list[str]:
    """Write bundles of the revisions 1, 2 and 3, and return their paths."""
    paths = [place / f"{revision}.etbundle" for revision in (1, 2, 3)]
    for revision, path in enumerate(paths, 1):
        path.write_bytes(DeviceBundle(small_tables()).released(revision=revision).to_bytes())
    return [*map(str, paths)]


class TestBundleStore:
    """`BundleStore` has the old bundle or the new one, whatever happens, and goes back if that fails."""

    @pytest.fixture(scope="module")
    @staticmethod
    def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
        target = tmp_path_factory.mktemp("store") / "bundle_store"
        return compile_device_program("bundle_store.cpp", target, "-O1", *SANITIZED)

    def test_a_cut_of_power_at_any_byte_leaves_the_old_bundle_or_the_new_one(
        self, store: Path, tmp_path: Path
    ) -> None:
        lines = run_device_program(store, "cuts", *bundles(tmp_path)).splitlines()
        assert len(lines) > 10
        assert sum(int(line.split()[-2]) for line in lines) > 10_000  # disks that were found after a cut

    def test_none_of_50000_damaged_stores_is_accepted(self, store: Path, tmp_path: Path) -> None:
        output = run_device_program(store, "damage", *bundles(tmp_path)[:2])
        assert output.endswith("damaged stores, none accepted\n")
        assert int(output.split()[0]) > 49_000

    def test_trials_revisions_and_demands(self, store: Path, tmp_path: Path) -> None:
        run_device_program(store, "rules", *bundles(tmp_path))

    def test_random_steps_follow_the_rules_of_the_header(self, store: Path, tmp_path: Path) -> None:
        run_device_program(store, "model", *bundles(tmp_path))

    def test_a_full_disk_leaves_the_old_bundle(self, store: Path, tmp_path: Path) -> None:
        run_device_program(store, "files", str(tmp_path / "store"), *bundles(tmp_path)[:2])
        assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "store" / "state").stat().st_mode & 0o777 == 0o600

    @pytest.mark.skipif(sys.platform != "linux", reason="the linker of GNU replaces the calls")
    def test_a_file_is_on_the_disk_before_its_name_is(self, tmp_path: Path) -> None:
        flags = ("-DETCONFIG_TEST_CALLS", "-Wl,--wrap=fsync,--wrap=renameat")
        program = compile_device_program("bundle_store.cpp", tmp_path / "program", "-O0", *flags)
        run_device_program(program, "calls", str(tmp_path / "store"), *bundles(tmp_path)[:2])

    def test_a_process_that_is_killed_leaves_a_bundle(self, store: Path, tmp_path: Path) -> None:
        """Two processes use one directory at the same time, until both are killed."""
        (plain, *_) = bundles(tmp_path)
        other = tmp_path / "other.etbundle"
        other.write_bytes(DeviceBundle(small_tables()).released(revision=1, not_after=LATE).to_bytes())
        words = [str(tmp_path / "store"), plain, str(other)]
        for _ in range(RUNS):
            command = [str(store), "loop", *words]
            running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
            time.sleep(STORE_RUN_SECONDS)
            for process in running:
                process.kill()
                process.communicate()
            run_device_program(store, "check", *words)

    @pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda each: each.compiler)
    def test_other_compilers_and_processors_agree(self, toolchain: Toolchain, tmp_path: Path) -> None:
        program = toolchain.compile("bundle_store.cpp", tmp_path / "program", "-O1")
        run_device_program(program, "rules", *bundles(tmp_path), emulator=toolchain.emulator)


class TestSignatures:
    """`Bundle::open` with `Demands`, where OpenSSL verifies what `cryptography` signed."""

    @pytest.fixture(scope="module")
    @staticmethod
    def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
        place = tmp_path_factory.mktemp("signatures")
        check_openssl(place)
        return compile_device_program("signatures.cpp", place / "program", "-O1", *SANITIZED, "-lcrypto")

    @pytest.fixture
    def signed(self, tmp_path: Path) -> Path:
        """A directory with bundles and raw public keys."""
        pytest.importorskip("cryptography", reason="the extra [sign] is not installed")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        keys = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(2)]
        raw = [key.public_key().public_bytes_raw() for key in keys]
        for name, data in {"0": raw[0], "1": raw[1], "both": b"".join(raw), "none": b""}.items():
            (tmp_path / f"keys-{name}").write_bytes(data)
        plain = DeviceBundle(small_tables())
        until = datetime.fromtimestamp(NOT_AFTER, timezone.utc)
        made = {
            "plain": plain,
            "one": plain.released(revision=1).signed(keys[0].sign),
            "two": plain.released(revision=2, not_after=until).signed(keys[1].sign),
            "three": plain.released(revision=3).signed(keys[0].sign),
        }
        for name, bundle in made.items():
            (tmp_path / name).write_bytes(bundle.to_bytes())
        return tmp_path

    def opened(self, program: Path, name: Path, keys: str, least: int = 0, now: int = 0) -> list[str]:
        path = name.parent / f"keys-{keys}"
        return run_device_program(program, "open", str(name), str(path), str(least), str(now)).splitlines()

    def test_what_a_demand_refuses_leaves_no_bundle(self, program: Path, signed: Path) -> None:
        (signed / "changed").write_bytes((signed / "one").read_bytes().replace(b"\1\0\0\0", b"\2\0\0\0", 1))
        (signed / "longer").write_bytes((signed / "one").read_bytes() + b"\0")
        opened = self.opened
        assert opened(program, signed / "one", "0") == ["ok", f"{FINGERPRINT[:16]} 1"]
        assert opened(program, signed / "two", "both", 2, NOT_AFTER) == ["ok", f"{FINGERPRINT[:16]} 2"]
        assert opened(program, signed / "plain", "none", 0, NOT_AFTER) == ["ok", f"{FINGERPRINT[:16]} 0"]
        assert opened(program, signed / "two", "none") == ["ok", f"{FINGERPRINT[:16]} 2"]  # not asked for
        for name, keys, least, now, status in (
            ("one", "1", 0, 0, "wrong signature"),
            ("changed", "0", 0, 0, "wrong signature"),
            ("longer", "0", 0, 0, "not signed"),
            ("plain", "0", 0, 0, "not signed"),
            ("one", "both", 2, 0, "old revision"),
            ("two", "1", 2, NOT_AFTER + 1, "expired"),
        ):
            assert opened(program, signed / name, keys, least, now) == [status, " 0"], name

    def test_none_of_50000_damaged_files_is_accepted(self, program: Path, signed: Path) -> None:
        output = run_device_program(
            program, "fuzz", *(str(signed / name) for name in ("keys-0", "one", "three"))
        )
        assert "damaged files, none accepted:" in output
        assert int(output.split()[0]) > 49_000

    def test_the_adapter_of_libsodium_passes_on_what_it_is_given(self, signed: Path, tmp_path: Path) -> None:
        """Over a stand-in for the one function that it calls, unless libsodium is installed."""
        check_openssl(tmp_path)
        flags: tuple[str, ...] = ("-DETCONFIG_TEST_SODIUM=0", f"-I{SOURCES / 'sodium'}", "-lcrypto")
        if can_compile("sodium.h", "-lsodium", tmp_path):
            flags = ("-DETCONFIG_TEST_SODIUM=1", "-lsodium", "-lcrypto")
        program = compile_device_program("signatures.cpp", tmp_path / "program", *flags)
        assert self.opened(program, signed / "one", "0")[0] == "ok"
        assert self.opened(program, signed / "one", "1")[0] == "wrong signature"


@pytest.mark.posix
def test_a_reader_of_the_page_signs_verifies_and_rolls_back(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra [sign] is not installed")
    check_openssl(tmp_path)
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH")
    home = tmp_path / "home"
    home.mkdir()
    shell = Shell(home, write_commands(tmp_path / "bin"))
    shell.follow(Page(ROOT / "docs" / "deliver.md"))


def check_openssl(place: Path) -> None:
    """Skip the test without the headers of OpenSSL."""
    if not can_compile("openssl/evp.h", "-lcrypto", place):
        pytest.skip("no headers of OpenSSL; Debian's package libssl-dev has them")


def can_compile(header: str, library: str, place: Path) -> bool:
    """Return True if a program can use a library."""
    (place / "use.cpp").write_text(f"#include <{header}>\nint main() {{}}\n")
    command = [system_compiler(), "use.cpp", library, "-o", "use"]
    return subprocess.run(command, cwd=place, capture_output=True, check=False).returncode == 0
