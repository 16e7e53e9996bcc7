from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from etconfig.facts.detecting.detection import detect
from etconfig.facts.detecting.host import Host, parse_cpu_list
from etconfig.facts.detecting.system import System


class TestReading:
    """Files are read within bounds; what cannot be read is None, not an exception."""

    def test_texts_lines_and_numbers_are_read(self, make_system):
        system = make_system(
            {"/a/text": " one\ntwo\n", "/a/number": "-3\n", "/a/word": "x\n", "/a/void": " \n"}
        )
        assert system.read_text("/a/text") == " one\ntwo\n"
        assert system.read_line("/a/number") == "-3"
        assert system.read_line("/a/void") is None
        assert system.read_int("/a/number") == -3
        assert system.read_int("/a/word") is None
        assert system.read_int("/a/void") is None

    def test_a_missing_file_is_none(self, make_system):
        system = make_system({})
        assert system.read_text("/none") is None
        assert system.read_line("/none") is None
        assert system.read_int("/none") is None
        assert system.read_cpus("/none") is None
        assert system.list_directory("/none") is None

    def test_a_directory_has_no_text_and_a_file_no_entries(self, make_system):
        system = make_system({"/a/b": "", "/a/c": ""})
        assert system.read_text("/a") is None
        assert system.list_directory("/a/b") is None
        assert system.list_directory("/a") == ("b", "c")

    def test_a_file_larger_than_the_bound_is_none(self, make_system):
        system = make_system({"/file": "12345"})
        assert system.read_text("/file", max_bytes=5) == "12345"
        assert system.read_text("/file", max_bytes=4) is None

    def test_bytes_that_are_not_utf_8_are_replaced(self, tmp_path: Path):
        (tmp_path / "file").write_bytes(b"a\xff")
        assert System(tmp_path, Host()).read_text("/file") == "a\N{REPLACEMENT CHARACTER}"

    def test_a_link_out_of_a_captured_tree_is_not_followed(self, tmp_path: Path):
        tree = tmp_path / "tree"
        tree.mkdir()
        (tmp_path / "secret").write_text("secret")
        (tree / "absolute").symlink_to(tmp_path / "secret")
        (tree / "relative").symlink_to("../secret")
        (tree / "file").write_text("inside")
        (tree / "inside").symlink_to("file")
        system = System(tree, Host())
        assert system.read_text("/absolute") is None
        assert system.read_text("/relative") is None
        assert system.read_text("/../secret") is None
        assert system.read_text("/inside") == "inside"


class TestCpuLists:
    """The kernel writes sets of CPUs as lists of numbers and ranges."""

    @pytest.mark.parametrize(
        ("text", "cpus"), [("0", {0}), ("0-3,8\n", {0, 1, 2, 3, 8}), ("5-5", {5}), ("", set()), ("\n", set())]
    )
    def test_a_list_is_parsed(self, text, cpus):
        assert parse_cpu_list(text) == cpus

    @pytest.mark.parametrize("text", ["3-1", "0-99999999", "a", "1-", "-1", "65536"])
    def test_a_text_that_is_not_a_list_is_refused(self, text):
        with pytest.raises(ValueError, match=f"^{re.escape(repr(text))} is not a CPU list$"):
            parse_cpu_list(text)

    def test_a_file_without_a_list_is_none(self, make_system):
        system = make_system({"/bad": "0-99999999\n", "/void": "\n", "/good": "1,2\n"})
        assert system.read_cpus("/bad") is None
        assert system.read_cpus("/void") is None
        assert system.read_cpus("/good") == {1, 2}


class TestHost:
    """A `Host` comes from system calls on this device, and from `machine.json` in a captured tree."""

    @pytest.mark.host
    @pytest.mark.posix
    def test_the_current_host_is_this_process(self):
        host = Host.current()
        assert (host.system, host.machine) == (os.uname().sysname, os.uname().machine)
        assert host.affinity == os.sched_getaffinity(0)
        assert host.python == ".".join(map(str, sys.version_info[:3]))
        assert set(host.search_path) <= set(sys.path)

    @pytest.mark.host
    def test_android_is_not_taken_for_linux(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "getandroidapilevel", lambda: 34, raising=False)
        assert Host.current().system == "Android"

    def test_a_captured_host_is_read(self, tmp_path: Path):
        (tmp_path / "machine.json").write_text(
            '{"system": "Linux", "affinity": "0-1", "search_path": ["/a"]}'
        )
        expected = Host(system="Linux", affinity=frozenset({0, 1}), search_path=("/a",))
        assert Host.captured(tmp_path) == expected

    def test_without_the_file_nothing_is_known_and_nothing_is_taken_from_here(self, tmp_path: Path):
        assert Host.captured(tmp_path) == Host()
        assert detect(tmp_path).values == {}

    @pytest.mark.parametrize("text", ["[]", "{", '{"cores": 4}', '{"affinity": "x"}', '{"affinity": 3}'])
    def test_a_malformed_file_is_refused_by_name(self, tmp_path: Path, text):
        path = tmp_path / "machine.json"
        path.write_text(text)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))} does not describe a machine: "):
            detect(tmp_path)

    def test_a_host_that_is_passed_is_used_for_the_tree(self, tmp_path: Path):
        sheet = detect(tmp_path, host=Host(machine="aarch64", affinity=frozenset({1, 2})))
        assert sheet.values == {"cpu.arch": "arm64", "cpu.available_cores": 2}


class TestPackage:
    """Importing etconfig.facts is cheap: its modules are loaded when a name is used."""

    def test_the_import_loads_no_module_of_the_package(self):
        code = "import sys, etconfig.facts; print([m for m in sys.modules if m.startswith('etconfig.f')])"
        output = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        assert output == "['etconfig.facts']\n"

    def test_the_registry_loads_neither_json_nor_detectors(self):
        code = (
            "import sys; from etconfig.facts.builtin import BUILTIN_FACTS; "
            "print([m for m in ('json', 'pathlib', 'threading', 'etconfig.facts.sheet') if m in sys.modules])"
        )
        output = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert output == "[]\n"
