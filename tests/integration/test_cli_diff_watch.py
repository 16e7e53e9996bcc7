"""`etconfig diff` and `etconfig watch`: differences between configurations, and changes over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from command_line import Outcome

from etconfig.app.installation.installation import Installation
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.facts.sheet import FactSheet

BOARD = """\
[profile]
name = "board"

[options.ReferenceNpuBackend]
core = 1

[[when]]
if = 'power.source == "battery"'
[when.options.ReferenceNpuBackend]
power_mode = "low"
precision = "fp16"
"""
SAME = Outcome(0, "The options are the same.\n", "")
SHEET = ("--facts", "device.json")


@pytest.fixture
def board(place: Path) -> Path:
    (place / "board.toml").write_text(BOARD)
    sheet = json.loads((place / "device.json").read_text())
    sheet["facts"]["cpu.available_cores"] = {"value": 2}
    (place / "small.json").write_text(json.dumps(sheet))
    return place


class TestDiff:
    """A comparison lists each option that differs, with both origins; the status is 1 if there is one."""

    def test_two_profiles_are_compared(self, board: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("diff", "generic/any", "board.toml", "--program", "model.pte", *SHEET)
        assert (done.status, done.stdout) == (
            1,
            "embed:ReferenceNpuBackend.core: 0 → 1\n"
            "  - 0 from default ReferenceNpuOptions\n"
            "  + 1 from profile board.toml:5:1\n"
            "forward:ReferenceNpuBackend.core: 0 → 1\n"
            "  - 0 from default ReferenceNpuOptions\n"
            "  + 1 from profile board.toml:5:1\n",
        )

    def test_a_fact_sheet_without_its_prefix_is_an_error_with_help(
        self, board: Path, cli: Callable[..., Outcome]
    ) -> None:
        done = cli("diff", "device.json", "small.json")
        assert done.status == 2
        assert "device.json is a fact sheet, not a saved resolution\n" in done.stderr
        assert "= help: to resolve for it, write facts:device.json\n" in done.stderr

    def test_a_saved_result_is_compared_with_a_fact_sheet(
        self, board: Path, cli: Callable[..., Outcome]
    ) -> None:
        options = ("--profile", "board.toml")
        (board / "saved.json").write_text(cli("resolve", "model.pte", *options, *SHEET, "--json").stdout)
        sides = ("saved.json", "facts:small.json")
        done = cli("diff", *sides, "--program", "model.pte", *options, "--json")
        assert done.status == 1
        assert done.json == {
            "changes": [
                {
                    "method": "forward",
                    "instance": None,
                    "backend": "ReferenceCpuBackend",
                    "option": "num_threads",
                    "old": {
                        "value": 4,
                        "origin": "default ReferenceCpuOptions (fact cpu.available_cores)",
                    },
                    "new": {
                        "value": 2,
                        "origin": "default ReferenceCpuOptions (fact cpu.available_cores)",
                    },
                }
            ]
        }

    def test_without_a_program_only_what_is_set_differs(
        self, board: Path, cli: Callable[..., Outcome]
    ) -> None:
        (board / "npu.toml").write_text('[profile]\nname = "npu"\n[options.ReferenceNpuBackend]\ncore = 1\n')
        (board / "embed.toml").write_text(
            '[profile]\nname = "embed"\n'
            "[options.ReferenceNpuBackend]\ncore = 2\n"
            "[methods.embed.options.ReferenceNpuBackend]\ncore = 3\n"
        )
        (board / "cpu.toml").write_text(
            '[profile]\nname = "cpu"\n[options.ReferenceCpuBackend]\nnum_threads = 3\n'
        )
        assert cli("diff", "npu.toml", "embed.toml", *SHEET) == Outcome(
            1,
            "*:ReferenceNpuBackend.core: 1 → 2\n"
            "  - 1 from profile npu.toml:4:1\n"
            "  + 2 from profile embed.toml:4:1\n"
            "embed:ReferenceNpuBackend.core: 1 → 3\n"
            "  - 1 from profile npu.toml:4:1\n"
            "  + 3 from profile embed.toml:6:1\n",
            "",
        )
        assert cli("diff", "npu.toml", "cpu.toml", *SHEET).stdout == (
            "*:ReferenceNpuBackend.core: 1 → (absent)\n"
            "  - 1 from profile npu.toml:4:1\n"
            "*:ReferenceCpuBackend.num_threads: (absent) → 3\n"
            "  + 3 from profile cpu.toml:4:1\n"
        )

    def test_equal_configurations_have_status_0(self, board: Path, cli: Callable[..., Outcome]) -> None:
        assert cli("diff", "facts:device.json", "facts:device.json") == SAME
        assert cli("diff", "generic/any", "generic/any", *SHEET, "--json").json == {"changes": []}

    def test_an_unknown_side_has_status_2(self, board: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("diff", "generic/any", "generic/anny", *SHEET)
        assert (done.status, done.stdout) == (2, "")
        assert "there is no profile 'generic/anny'" in done.stderr


class TestToml:
    """`resolve --toml` prints a profile that resolves to the same arguments."""

    def test_it_resolves_to_the_same_arguments(self, board: Path, cli: Callable[..., Outcome]) -> None:
        printed = cli("resolve", "model.pte", "--profile", "board.toml", *SHEET, "--toml").stdout
        (board / "resolved.toml").write_text(printed)
        sides = ("board.toml", "resolved.toml")
        assert cli("diff", *sides, "--program", "model.pte", *SHEET) == SAME

    def test_two_formats_at_once_are_refused(self, board: Path, cli: Callable[..., Outcome]) -> None:
        done = cli("resolve", "--toml", "--json")
        assert done.status == 2
        assert "give one of --toml, --explain and --json" in done.stderr


@pytest.fixture
def detecting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the device have other facts at each detection; None is a Ctrl-C."""

    def detect(looks: Iterable[dict[str, object] | None]) -> None:
        remaining = iter(looks)

        def redetect(self: Installation, sheet: FactSheet) -> FactSheet:
            found = next(remaining)
            if found is None:
                raise KeyboardInterrupt
            origin = Origin(OriginKind.DETECTED, "test")
            return sheet.with_overrides({name: Sourced(value, origin) for name, value in found.items()})

        monkeypatch.setattr(Installation, "redetect_facts", redetect)

    return detect


class TestWatch:
    """Each change of facts is printed with the options that it would change, and when they take effect."""

    WATCH = ("watch", "model.pte", "--profile", "board.toml", *SHEET, "--interval", "0")

    def test_it_prints_facts_options_and_effects(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        detecting([{"memory.available": 5}, {"power.source": "battery"}, {"power.source": "battery"}])
        done = cli(*self.WATCH, "--count", "3")
        assert done == Outcome(
            0,
            "power.source: 'mains' → 'battery'\n"
            "  embed:ReferenceNpuBackend.power_mode: 'balanced' → 'low', at the next execute\n"
            "  embed:ReferenceNpuBackend.precision: 'fp32' → 'fp16', needs a reload\n"
            "  forward:ReferenceNpuBackend.power_mode: 'balanced' → 'low', at the next execute\n"
            "  forward:ReferenceNpuBackend.precision: 'fp32' → 'fp16', needs a reload\n",
            "watching device.json, whose facts do not change; press Ctrl-C to stop\n",
        )

    def test_with_json_each_change_of_facts_is_a_line(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        detecting([{"power.source": "battery"}, {"power.source": "mains"}])
        lines = [json.loads(line) for line in cli(*self.WATCH, "--count", "2", "--json").stdout.splitlines()]
        assert [line["facts"] for line in lines] == [
            {"power.source": {"old": "mains", "new": "battery"}},
            {"power.source": {"old": "battery", "new": "mains"}},
        ]
        assert [change["applies"] for change in lines[0]["changes"]] == ["execute", "load"] * 2

    def test_facts_that_do_not_resolve_are_reported_and_it_goes_on(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        threads = '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.available_cores - 1" }\n'
        (board / "board.toml").write_text(BOARD.replace("[[when]]", threads + "\n[[when]]"))
        detecting([{"cpu.available_cores": 1}, {"cpu.available_cores": 2}])
        done = cli(*self.WATCH, "--count", "2")
        assert done.status == 0
        assert "expected an integer >= 1, given 0" in done.stderr
        assert done.stdout == (
            "cpu.available_cores: 4 → 2\n"
            "  forward:ReferenceCpuBackend.num_threads: 3 → 1, at the next execute\n"
        )

    def test_an_error_is_reported_once_until_it_changes(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        threads = '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.available_cores - 2" }\n'
        (board / "board.toml").write_text(BOARD.replace("[[when]]", threads + "\n[[when]]"))
        looks = [(1, 5), (1, 6), (2, 6), (2, 7), (3, 7), (2, 8)]
        detecting([{"cpu.available_cores": cores, "memory.available": free} for cores, free in looks])
        done = cli(*self.WATCH, "--count", str(len(looks)))
        given = [line.rpartition("given ")[2] for line in done.stderr.split("\n") if "error[" in line]
        assert given == ["-1", "0", "0"]

    def test_a_fact_that_a_sheet_lacks_is_not_detected(
        self, board: Path, cli: Callable[..., Outcome]
    ) -> None:
        (board / "empty.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        watch = ("watch", "model.pte", "--profile", "generic/any", "--facts", "empty.json")
        done = cli(*watch, "--interval", "0", "--count", "1")
        assert done == Outcome(
            0, "", "watching empty.json, whose facts do not change; press Ctrl-C to stop\n"
        )

    def test_ctrl_c_is_not_an_error(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        detecting([None])
        assert cli(*self.WATCH) == Outcome(
            0,
            "",
            "watching device.json, whose facts do not change; press Ctrl-C to stop\n\n",
        )

    def test_it_ends_when_nobody_reads_what_it_prints(
        self,
        board: Path,
        cli: Callable[..., Outcome],
        detecting: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        detecting([{"power.source": "battery"}])  # a second detection fails
        monkeypatch.setattr("etconfig.cli.commands.watch.is_read", lambda: False)
        assert cli(*self.WATCH).status == 0

    def test_auto_may_choose_another_profile(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        (board / "mine").mkdir()
        (board / "mine" / "battery.toml").write_text(
            '[profile]\nname = "battery"\nextends = ["generic/linux-x86_64"]\n'
            "match = 'power.source == \"battery\"'\n"
            '[options.ReferenceNpuBackend]\npower_mode = "low"\n'
        )
        detecting([{"power.source": "battery"}])
        watch = ("watch", "model.pte", *SHEET, "--profile-path", "mine", "--interval", "0", "--count", "1")
        lines = cli(*watch).stdout.splitlines()
        start = lines.index("profile generic/linux-x86_64 → battery")
        assert lines[start + 1 : start + 3] == [
            '  battery matches: power.source == "battery" holds: power.source is "battery"',
            "  battery extends generic/linux-x86_64",
        ]
        assert "power_mode: 'balanced' → 'low'" in lines[start + 3]

    def test_edited_files_count_from_the_next_detection_on(
        self, board: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (board / "mine").mkdir()
        added, profile, project = board / "mine" / "any.toml", board / "board.toml", board / "etconfig.toml"
        power = "[options.ReferenceNpuBackend]\npower_mode = 'low'\n"
        edits: list[Callable[[], object]] = [
            lambda: profile.write_text(BOARD.replace("core = 1", "core = 0")),
            lambda: profile.write_text(BOARD.replace("core = 1", "core = 1x")),
            lambda: profile.write_text(BOARD),
            lambda: project.write_text(power),
            lambda: project.unlink(),
            lambda: (board / "model.pte").touch(),
        ]

        def detect(remaining: list[Callable[[], object]]) -> None:
            def redetect(self: Installation, sheet: FactSheet) -> FactSheet:
                remaining.pop(0)()
                return sheet

            monkeypatch.setattr(Installation, "redetect_facts", redetect)

        def first_of(line: str) -> tuple[str, object]:
            first = json.loads(line)["changes"][0]
            return first["option"], first["new"]["value"]

        detect(edits)
        done = cli(*self.WATCH, "--count", "6", "--json")
        assert list(map(first_of, done.stdout.splitlines())) == [
            ("core", 0),
            ("core", 1),
            ("power_mode", "low"),
            ("power_mode", "balanced"),
        ]
        assert "core = 1x" in done.stderr
        detect([lambda: added.write_text(f"[profile]\nname='any'\nmatch='true'\n{power}")])
        watch = ("watch", "model.pte", *SHEET, "--profile-path", "mine", "--interval", "0", "--count", "1")
        assert "→ any" in cli(*watch).stdout

    def test_another_profile_is_said_even_if_no_option_changes(
        self, board: Path, cli: Callable[..., Outcome], detecting: Callable[..., None]
    ) -> None:
        (board / "mine").mkdir()
        (board / "mine" / "battery.toml").write_text(
            '[profile]\nname = "battery"\nmatch = \'power.source == "battery"\'\n'
        )
        watch = ("watch", "model.pte", *SHEET, "--profile-path", "mine", "--interval", "0", "--count", "2")
        detecting([{"power.source": "battery"}, {"power.source": "mains"}])
        first, second = (json.loads(line) for line in cli(*watch, "--json").stdout.splitlines())
        assert (first["changes"], first["profile"]["new"]) == ([], "battery")
        assert second["profile"]["reasons"][-1] == (
            'battery no longer matches: power.source == "battery" does not hold: power.source is "mains"'
        )
