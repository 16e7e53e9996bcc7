from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from etconfig.facts.detecting.commands import run_command
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.nvml import NvmlGpu
from etconfig.facts.detecting.sources import RecordedFiles, ThisDevice
from etconfig.facts.detecting.system import System


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", code


class TestBounds:
    """A command is bounded in time and output, and killed when it exceeds a bound."""

    def test_what_it_prints_is_returned(self):
        assert run_command(python("print('ok')"), limit_s=60) == b"ok\n"

    def test_what_a_failing_command_prints_counts_too(self):
        assert run_command(python("print('half'); raise SystemExit(1)"), limit_s=60) == b"half\n"

    def test_errors_are_not_mixed_in_and_nothing_can_be_typed(self):
        code = "import sys; sys.stderr.write('no'); print(repr(sys.stdin.read()))"
        assert run_command(python(code), limit_s=60) == b"''\n"

    def test_a_missing_command_is_none(self):
        assert run_command(("/no/such/command",)) is None

    def test_a_command_that_takes_too_long_is_killed(self):
        assert run_command(python("import time; print(1, flush=True); time.sleep(600)"), limit_s=0.2) is None

    def test_a_command_that_prints_too_much_is_killed(self):
        assert run_command(python("while True: print('x' * 1000)"), limit_s=60, max_bytes=5000) is None

    def test_output_at_the_bound_counts(self):
        assert run_command(python("print('x' * 4, end='')"), limit_s=60, max_bytes=4) == b"xxxx"

    def test_the_children_of_a_command_are_killed_with_it(self):
        child = "import time; time.sleep(600)"
        code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {child!r}])"
        # the child keeps the pipe open although its parent has ended
        assert run_command(python(code), limit_s=0.5) is None


class Counting(RecordedFiles):
    """A source that counts the commands."""

    def __init__(self, outputs: dict[tuple[str, ...], bytes]) -> None:
        super().__init__({}, outputs)
        self.ran: list[tuple[str, ...]] = []

    def run(self, command: Sequence[str]) -> bytes | None:
        self.ran.append(tuple(command))
        return super().run(command)


class TestSystem:
    """Detectors run commands through `System`, which runs each once."""

    def test_a_command_is_run_once(self):
        source = Counting({("sysctl", "hw"): b"hw.ncpu: 8\n"})
        system = System(source, Host())
        assert [system.run("sysctl", "hw") for _ in range(2)] == ["hw.ncpu: 8\n"] * 2
        assert [system.run("vm_stat") for _ in range(2)] == [None, None]
        assert source.ran == [("sysctl", "hw"), ("vm_stat",)]

    def test_bytes_that_are_not_utf_8_are_replaced(self):
        system = System(Counting({("getprop",): b"a\xff"}), Host())
        assert system.run("getprop") == "a\N{REPLACEMENT CHARACTER}"

    @pytest.mark.host
    def test_this_device_runs_them(self):
        assert System(Path("/"), Host()).run(*python("print('here')")) == "here\n"

    def test_what_only_windows_has_is_not_there(self):
        system = System(Path("/"), Host())
        assert system.windows_call("GetSystemPowerStatus") is None
        assert system.registry_values(r"SOFTWARE\Microsoft") == {}


class TestTrees:
    """A captured tree contains the outputs of commands, the results of calls and the registry."""

    def test_a_command_is_named_without_its_directory(self, make_system):
        system = make_system({"/commands/pmset -g batt.txt": "AC\n"})
        assert system.run("/usr/bin/pmset", "-g", "batt") == "AC\n"
        assert system.run("/usr/bin/pmset", "-g", "therm") is None

    def test_an_answer_is_hexadecimal(self, make_system):
        system = make_system({"/calls/GetSystemPowerStatus.hex": "00 ff\n01"})
        assert system.windows_call("GetSystemPowerStatus") == b"\x00\xff\x01"
        assert system.windows_call("GlobalMemoryStatusEx") is None

    def test_registry_keys_have_values(self, make_system):
        system = make_system({"/registry.json": json.dumps({r"A\B": {"name": 1}})})
        assert system.registry_values(r"A\B") == {"name": 1}
        assert system.registry_values(r"A\C") == {}

    def test_gpus_that_nvml_lists(self, make_system):
        gpus = [{"pci_address": "0000:01:00.0", "name": "GPU"}]
        assert make_system({"/nvml.json": json.dumps(gpus)}).nvml_gpus() == (NvmlGpu("0000:01:00.0", "GPU"),)

    def test_without_the_files_nothing_is_known(self, make_system):
        system = make_system({})
        assert system.run("sysctl") is None
        assert system.nvml_gpus() is None
        assert system.registry_values("A") == {}

    def test_no_command_leads_out_of_the_tree(self, tmp_path: Path):
        tree = tmp_path / "tree"
        (tree / "commands").mkdir(parents=True)
        (tmp_path / "secret.txt").write_text("secret")
        (tree / "commands" / "cat.txt").symlink_to(tmp_path / "secret.txt")
        assert System(tree, Host()).run("cat") is None


class TestRecordedFiles:
    """Files that were read at once are read like those of a tree."""

    FILES = RecordedFiles({"/a/b/c": b"12345", "/a/d": b""}, {("x",): b"y"})

    def test_texts_are_read_within_the_bound(self):
        system = System(self.FILES, Host())
        assert system.read_text("/a/b/c") == "12345"
        assert system.read_text("/a/b/c", max_bytes=4) is None
        assert system.read_text("/a/b") is None

    def test_directories_are_those_that_lead_to_files(self):
        system = System(self.FILES, Host())
        assert system.list_directory("/a") == ("b", "d")
        assert system.list_directory("/a/b/") == ("c",)
        assert system.list_directory("/") == ("a",)
        assert system.list_directory("/z") is None

    def test_nothing_is_known_of_windows_and_nvml(self):
        system = System(self.FILES, Host())
        assert system.run("x") == "y"
        assert system.windows_call("GetSystemPowerStatus") is None
        assert system.registry_values("A") == {}
        assert system.nvml_gpus() is None


class TestNvmlOnThisDevice:
    """The management library is optional."""

    def test_a_missing_library_is_none(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("etconfig.facts.detecting.nvml._LIBRARIES", ("libno-such-library.so.1",))
        assert ThisDevice().nvml_gpus() is None
