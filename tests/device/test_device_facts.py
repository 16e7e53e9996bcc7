"""`facts.h` finds what Python finds: on captured trees, on this machine, and in damaged files."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from bundle_tables import list_tables, named_tables
from captured_trees import TREES
from device_facts import NVML, ONLY_IN_PYTHON, detected_in_cpp, python_sheet, restored_tree
from device_programs import SANITIZED, device_program, run_device_program
from fact_mutations import mutate

from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.step_counter import counted
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.host import Host
from etconfig.facts.detecting.sources import DEVICE_ROOT

NAMES = sorted(path.parent.name for path in TREES.glob("*/machine.json"))
MUTANTS = 200
ETDEVICE = device_include_dir().parent / "etdevice" / "main.cpp"


facts = device_program("facts.cpp", "-O1", *SANITIZED)
"""The program that prints a sheet, with sanitizers."""


etdevice = device_program(str(ETDEVICE), "-O0")


class TestTrees:
    """The sheet of a tree equals that of Python, byte for byte."""

    @pytest.mark.parametrize("name", NAMES)
    def test_equals_the_sheet_of_python(self, facts: Path, tmp_path: Path, name: str) -> None:
        root = restored_tree(name, tmp_path)
        assert detected_in_cpp(facts, str(root)) == python_sheet(root)

    def test_of_nothing_has_every_fact_with_its_reason(self, facts: Path, tmp_path: Path) -> None:
        assert detected_in_cpp(facts, str(tmp_path)) == python_sheet(tmp_path)
        assert detected_in_cpp(facts, str(tmp_path / "missing")) == python_sheet(tmp_path)

    def test_links_out_of_the_tree_are_not_followed(self, facts: Path, tmp_path: Path) -> None:
        root = restored_tree("raspberry-pi-5", tmp_path)
        meminfo = root / "proc" / "meminfo"
        meminfo.rename(tmp_path / "outside")
        meminfo.symlink_to(tmp_path / "outside")
        (root / "etc" / "release").write_text("ID=inside\n")
        (root / "etc" / "os-release").unlink()
        (root / "etc" / "os-release").symlink_to("release")
        sheet = detected_in_cpp(facts, str(root))
        assert sheet == python_sheet(root)
        assert json.loads(sheet)["facts"]["memory.total"]["unknown"] == "/proc/meminfo has no MemTotal"
        assert json.loads(sheet)["facts"]["os.distribution"]["value"] == "inside"

    def test_a_malformed_machine_is_refused(self, facts: Path, tmp_path: Path) -> None:
        for text in ("", "{", "[]", '{"kernel": "6"}', '{"affinity": "3-1"}', "{} x"):
            (tmp_path / "machine.json").write_text(text)
            assert run_device_program(facts, str(tmp_path), expected=1) == "status 5\n"
            with pytest.raises(ValueError, match="does not describe a machine"):
                Host.captured(tmp_path)

    def test_what_only_python_finds_is_left_to_the_application(self, facts: Path, tmp_path: Path) -> None:
        sheet = json.loads(detected_in_cpp(facts, str(restored_tree("gpu-server", tmp_path))))["facts"]
        assert sheet["gpu.count"] == NVML
        assert sheet["runtime.executorch"] == ONLY_IN_PYTHON
        assert not [name for name in sheet if name.startswith("gpu.0.")]


class TestCpuinfo:
    """Odd and hostile files have the answers of Python."""

    @pytest.mark.parametrize(
        "lines",
        [
            ("flags: avx fma", "Features: neon"),
            ("Features: neon", "flags: avx fma"),
            ("flags: avx", "Features: neon", "flags:"),
            ("flags:", "Features: neon asimd neon"),
            ("Features: b a c", "Features: a"),
        ],
    )
    def test_flags_count_before_features(self, facts: Path, tmp_path: Path, lines: tuple[str, ...]) -> None:
        self.check(facts, tmp_path, ["\n".join(("processor: 0", *lines))])

    def test_features_are_those_of_all_threads(self, facts: Path, tmp_path: Path) -> None:
        rng = Random(4)
        for at in range(20):
            words = [f"w{number}" for number in range(12)]
            blocks = [
                f"processor: {cpu}\nflags: {' '.join(rng.choices(words, k=rng.randint(0, 30)))}"
                for cpu in range(4)
            ]
            self.check(facts, tmp_path / str(at), blocks)

    def test_many_long_and_different_lists(self, facts: Path, tmp_path: Path) -> None:
        even, odd = (" ".join(f"{number % 1000:03x}" for number in range(at, 2040)) for at in (0, 1))
        blocks = [f"processor: {cpu}\nflags: {(even, odd)[cpu % 2]}{cpu:04}" for cpu in range(450)]
        self.check(facts, tmp_path, blocks)

    def check(self, facts: Path, root: Path, blocks: list[str]) -> None:
        (root / "proc").mkdir(parents=True)
        (root / "proc" / "cpuinfo").write_text("\n\n".join(blocks) + "\n")
        (root / "machine.json").write_text('{"system": "Linux", "machine": "x86_64", "affinity": "0"}')
        sheet = detected_in_cpp(facts, str(root), "cpu.features")
        assert json.loads(sheet)["facts"] == {
            "cpu.features": json.loads(python_sheet(root))["facts"]["cpu.features"]
        }


class TestThisMachine:
    """On the machine that runs the test, too."""

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux is compared with itself")
    def test_equals_the_sheet_of_python(self, facts: Path) -> None:
        def lines(text: str) -> list[str]:
            # these change from one moment to the next
            return [line for line in text.splitlines() if '"memory.available"' not in line]

        assert lines(detected_in_cpp(facts)) == lines(python_sheet(DEVICE_ROOT))


class TestRequests:
    """Only the facts are found that were asked for."""

    @pytest.mark.parametrize(
        "tree", ["core-ultra-laptop", "pixel-8", "container-cgroup-v2", "macbook-air-m2"]
    )
    def test_one_fact_is_found_as_among_all(self, facts: Path, tmp_path: Path, tree: str) -> None:
        root = str(restored_tree(tree, tmp_path))
        everything = json.loads(detected_in_cpp(facts, root))["facts"]
        for name in BUILTIN_FACTS.names:
            asked = name.replace("<n>", "0")
            pattern = name.replace("<n>", "").split("..")
            found = json.loads(detected_in_cpp(facts, root, asked))["facts"]
            expected = {
                key: fact
                for key, fact in everything.items()
                if key == name
                or (len(pattern) == 2 and key.startswith(pattern[0]) and key.endswith(pattern[1]))
            }
            assert found == expected, name

    def test_a_fact_that_no_detector_finds_is_unknown(self, facts: Path) -> None:
        found = json.loads(detected_in_cpp(facts, "/", "acme.load", "os.name"))["facts"]
        reason = "no detector looks for it; the application sets it"
        assert found["acme.load"] == {"unknown": reason, "origin": "detected nothing"}
        assert found["os.name"]["origin"] == "detected uname"


class TestEtdevice:
    """`etdevice facts` prints the sheet."""

    def test_as_json_as_python_does(self, etdevice: Path, tmp_path: Path) -> None:
        root = restored_tree("pixel-8", tmp_path)
        assert run_device_program(etdevice, "facts", "--json", "--root", str(root)) == python_sheet(root)

    def test_as_a_list_for_people(self, etdevice: Path, tmp_path: Path) -> None:
        root = restored_tree("pixel-8", tmp_path)
        lines = run_device_program(etdevice, "facts", "--root", str(root)).splitlines()
        assert "soc.model               Tensor G3" in lines
        assert "power.battery_level     0.71 fraction" in lines
        assert lines[-1] == "18 facts are unknown here; --json shows why."

    def test_a_malformed_machine_is_refused(self, etdevice: Path, tmp_path: Path) -> None:
        (tmp_path / "machine.json").write_text("{")
        answer = run_device_program(etdevice, "facts", "--json", "--root", str(tmp_path), expected=2)
        assert json.loads(answer)["error"] == "machine.json does not describe a machine"

    @pytest.mark.parametrize("command", ["facts", "select"])
    def test_a_tree_that_is_not_there_is_refused(self, etdevice: Path, tmp_path: Path, command: str) -> None:
        bundle = tmp_path / "app.etbundle"
        bundle.write_bytes(write_tables(named_tables()))
        options = ("--bundle", str(bundle), "--root", str(tmp_path / "missing"), "--json")
        answer = json.loads(run_device_program(etdevice, command, *options, expected=2))
        assert answer == {"error": "cannot read the tree", "detail": str(tmp_path / "missing")}

    @pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("help",), ("select", "--help")])
    def test_help_is_an_answer(self, etdevice: Path, arguments: tuple[str, ...]) -> None:
        assert run_device_program(etdevice, *arguments).startswith("etdevice facts   [--root DIR]")

    @pytest.mark.parametrize(
        ("arguments", "problem", "status"),
        [
            (("frobnicate",), "no such command: frobnicate", 2),
            (("select",), "name a bundle with --bundle", 2),
            (("select", "--sheet", "a.json"), "unexpected argument: --sheet", 2),
            (("select", "--bundle"), "no value for --bundle", 2),
            (("explain", "A.b", "\x1b"), "unexpected argument: \\u001b", 2),
        ],
    )
    def test_a_wrong_command_line_is_refused_with_what_is_wrong(
        self, etdevice: Path, arguments: tuple[str, ...], problem: str, status: int
    ) -> None:
        done = subprocess.run([etdevice, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.splitlines()[0]) == (status, f"error: {problem}")

    @pytest.mark.parametrize(
        ("entries", "problem"),
        [
            (
                '"os.name": {"value": "linux"}, "cpu.arch": {"value": "aarch64"}',
                "a fact does not have such a value",
            ),
            ('"cpu.arch": {"value": "arm64"}, "cpu.arch": {"value": "arm64"}', "a fact appears twice"),
            ('"cpu.arch": {"value": "arm64", "unit": "cores"}', "a fact has another unit"),
        ],
    )
    def test_a_wrong_fact_of_a_sheet_is_named(
        self, etdevice: Path, tmp_path: Path, entries: str, problem: str
    ) -> None:
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        bundle.write_bytes(write_tables(named_tables()))
        sheet.write_text(f'{{"etconfig_fact_sheet": 1, "facts": {{{entries}}}}}')
        options = ("--bundle", str(bundle), "--facts", str(sheet), "--json")
        answer = json.loads(run_device_program(etdevice, "select", *options, expected=2))
        assert answer == {"error": problem, "detail": f"{sheet}: cpu.arch"}

    def test_explains_a_method_of_a_bundle_for_any_method(self, etdevice: Path, tmp_path: Path) -> None:
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        texts = ("cpu.features", "p", "B", "list", "place", "*")
        bundle.write_bytes(write_tables(counted(replace(list_tables(), texts=texts))))
        sheet.write_text('{"etconfig_fact_sheet": 1, "facts": {"cpu.features": {"value": ["avx"]}}}')
        options = ("--bundle", str(bundle), "--facts", str(sheet), "--profile", "p")
        for method in ("*", "forward"):
            line = run_device_program(etdevice, "explain", f"{method}:B.list", *options)
            assert line == f'{method}:B.list = ["avx"] from place\n'
        for path, problem in (
            ("forward@left:B.list", "no such instance: forward@left"),
            ("forward:B.lis", "no such option: forward:B.lis"),
        ):
            done = subprocess.run(
                [etdevice, "explain", path, *options], capture_output=True, text=True, check=False
            )
            help = "help: `etdevice resolve` lists the options of every method instance"
            assert (done.returncode, done.stderr) == (2, f"error: {problem}\n{help}\n")

    def test_texts_of_a_bundle_are_not_commands_of_ci(self, etdevice: Path, tmp_path: Path) -> None:
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        texts = ("cpu.features", "  ::error::p", "B", "list##[x", "##vso[task] ::a", "*")
        bundle.write_bytes(write_tables(counted(replace(list_tables(), texts=texts))))
        sheet.write_text('{"etconfig_fact_sheet": 1, "facts": {"cpu.features": {"value": ["##[group]"]}}}')
        options = ("--bundle", str(bundle), "--facts", str(sheet), "--profile", "  ::error::p")
        line = run_device_program(etdevice, "resolve", *options)
        assert line == '*:B.list\\u0023#[x = ["\\u0023#[group]"] from \\u0023#vso[task] ::a\n'
        assert run_device_program(etdevice, "select", *options).splitlines()[0] == "  \\u003a:error::p"
        text = run_device_program(etdevice, "resolve", *options, "--json")
        assert "##" not in text
        assert json.loads(text)["arguments"][0]["options"]["list##[x"]["value"] == ["##[group]"]

    def test_texts_of_a_bundle_do_not_control_a_terminal(self, etdevice: Path, tmp_path: Path) -> None:
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        texts = ("cpu.features", "p\x1b]0;x\x07", "B", "li\x9bst", "fa\u202ect", "*")
        bundle.write_bytes(write_tables(counted(replace(list_tables(), texts=texts))))
        options = ("--bundle", str(bundle), "--facts", str(sheet))
        profile = ("--profile", "p\x1b]0;x\x07")
        sheet.write_text('{"etconfig_fact_sheet": 1, "facts": {"cpu.features": {"value": ["avx"]}}}')
        line = run_device_program(etdevice, "resolve", *options, *profile)
        assert line == '*:B.li\\u009bst = ["avx"] from fa\\u202ect\n'
        selected = run_device_program(etdevice, "select", *options, *profile)
        assert selected.splitlines()[0] == "p\\u001b]0;x\\u0007"
        sheet.write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        for status, named in ((1, profile), (2, ("--profile", "q\x1b"))):
            arguments = [etdevice, "resolve", *options, *named]
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            assert done.returncode == status
            assert all(line.isprintable() for line in done.stderr.split("\n"))
            assert "\\u00" in done.stderr

    def test_integers_beyond_64_bits_are_refused(self, etdevice: Path, tmp_path: Path) -> None:
        bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
        bundle.write_bytes(write_tables(named_tables()))
        for value, status in ((2**63 - 1, 0), (2**63, 2), (-(2**63) - 1, 2)):
            facts = {"cpu.cores": {"value": value}}
            sheet.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
            options = ("--bundle", str(bundle), "--facts", str(sheet), "--json")
            answer = json.loads(run_device_program(etdevice, "select", *options, expected=status))
            assert ("error" in answer) == (status == 2), value


class TestDamagedFiles:
    """Damaged files give the same values as in Python, or are unknown for the same reason."""

    def test_equal_the_sheets_of_python(self, facts: Path, tmp_path: Path) -> None:
        chance = random.Random(20261123)
        roots = [restored_tree(name, tmp_path) for name in NAMES if name != "windows-core-ultra-laptop"]
        for number in range(MUTANTS):
            root = chance.choice(roots)
            with mutate(root, chance) as change:
                assert detected_in_cpp(facts, str(root)) == python_sheet(root), f"mutant {number}: {change}"
