"""A budget over all instances: in commands, in Python, in bundles, and for fleets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DATA, Outcome

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.fleet.deciding.plan import FleetPlan

Cli = Callable[..., Outcome]
PI5 = DATA / "sheets" / "raspberry-pi-5.json"
HEAD = """[profile]
name = "acme/board"
[instances]
left.method = "forward"
right.method = "forward"
"""
CORES = "[budget]\nthreads = { expr = 'cpu.available_cores' }\n"
FOUR = "[options.ReferenceCpuBackend]\nnum_threads = 4\n"
SHARED = "[options.ReferenceCpuBackend]\nnum_threads = { expr = 'share(\"threads\")' }\n"
OVER = "all together take 8 threads, and the budget is 4 threads"


@pytest.fixture
def write(place: Path) -> Callable[..., Path]:
    """Write `board.toml`."""

    def board(*parts: str) -> Path:
        (place / "board.toml").write_text(HEAD + "".join(parts))
        return place / "board.toml"

    return board


class TestCommands:
    """An excess of the budget of a device is an error wherever something is resolved for it."""

    def test_commands_refuse_it(self, cli: Cli, write: Callable[..., Path]) -> None:
        write(CORES, FOUR)
        for command in (
            ("validate", "board.toml", "--program", "model.pte"),
            ("resolve", "model.pte", "--profile", "board.toml"),
            ("matrix", "model.pte", "--profile", "board.toml"),
        ):
            done = cli(*command, "--facts", PI5)
            assert done.status in (1, 2), command
            assert OVER in done.stdout + done.stderr, command

    def test_validate_leaves_it_to_the_device(self, cli: Cli, write: Callable[..., Path]) -> None:
        write("[budget]\nthreads = 1\n", FOUR)
        assert cli("validate", "board.toml", "--program", "model.pte").status == 0

    def test_resolve_shows_what_is_taken(self, cli: Cli, write: Callable[..., Path]) -> None:
        write(CORES, SHARED)
        done = cli("resolve", "model.pte", "--profile", "board.toml", "--facts", PI5, "--no-defaults")
        assert "\nthreads         forward@left, forward@right" in done.stdout.replace("embed, ", "")
        data = cli("resolve", "model.pte", "--profile", "board.toml", "--facts", PI5, "--json").json
        (use,) = data["budget"]
        assert (use["limit"], use["taken"]) == (4, 4)

    def test_explain_tells_how_a_share_is_made(self, cli: Cli, write: Callable[..., Path]) -> None:
        write(CORES, "split = { left = 3 }\n", SHARED)
        path = "forward@left:ReferenceCpuBackend.num_threads"
        done = cli("explain", path, "model.pte", "--profile", "board.toml", "--facts", PI5)
        assert done.stdout.startswith(f"{path} = 3\n")
        words = " ".join(done.stdout.split())
        assert "share of budget.threads = cpu.available_cores at board.toml:7:11: 3 of 4 parts" in words
        assert "(forward@left 3, forward@right 1)" in words

    def test_the_project_file_may_have_it(self, cli: Cli, place: Path, write: Callable[..., Path]) -> None:
        write(FOUR)
        (place / "etconfig.toml").write_text(f'profile = "board.toml"\n{CORES}')
        assert OVER in cli("resolve", "model.pte", "--facts", PI5).stderr

    def test_memory_is_the_estimate_of_the_program(self, cli: Cli, write: Callable[..., Path]) -> None:
        write('[budget]\nmemory = "200 KiB"\n[options.ReferenceCpuBackend]\nscratch_bytes = "16 KiB"\n')
        done = cli("validate", "board.toml", "--program", "model.pte", "--facts", PI5)
        assert "error[budget-exceeded]: model.pte needs " in done.stdout
        assert ", and the budget is 200 KiB\n" in done.stdout
        write('[budget]\nmemory = "2 MiB"\n[options.ReferenceCpuBackend]\nscratch_bytes = "16 KiB"\n')
        assert cli("validate", "board.toml", "--program", "model.pte", "--facts", PI5).status == 0

    def test_more_instances_than_threads_are_a_warning(self, cli: Cli, write: Callable[..., Path]) -> None:
        write("[budget]\nthreads = 1\n", SHARED)
        for command in (
            ("validate", "board.toml", "--program", "model.pte"),
            ("resolve", "model.pte", "--profile", "board.toml"),
            ("explain", "ReferenceCpuBackend.num_threads", "model.pte", "--profile", "board.toml"),
            ("matrix", "model.pte", "--profile", "board.toml"),
        ):
            done = cli(*command, "--facts", PI5)
            assert (done.status, (done.stdout + done.stderr).count("warning[budget-exceeded]")) == (0, 1), (
                command
            )

    def test_it_may_name_what_other_programs_have(self, cli: Cli, place: Path) -> None:
        (place / "etconfig.toml").write_text(
            'programs = ["model.pte"]\n'
            '[model.embed2]\nbackends = ["ReferenceCpuBackend"]\n'
            '[instances.left]\nmethod = "forward"\n'
            "[budget]\nthreads = 64\nsplit = { embed2 = 2, left = 2, 'forward@left' = 3, nobody = 2 }\n"
        )
        done = cli("resolve", "model.pte", "--no-defaults")
        assert "'nobody'" in done.stderr
        assert "the budget names 'embed2'" not in done.stderr
        (place / "models.toml").write_text('[model.embed3]\nbackends = ["ReferenceCpuBackend"]\n')
        done = cli("resolve", "--models", "models.toml", "--no-defaults")
        assert (done.status, done.stderr.count("the budget names")) == (0, 1)

    def test_groups_of_memory_are_loaded_alone(self, cli: Cli, write: Callable[..., Path]) -> None:
        text = '[budget]\nmemory = "200 KiB"\n[groups]\n' + "".join(
            f"{name}.together = ['{name}']\n" for name in ("left", "right", "embed")
        )
        write(text, '[options.ReferenceCpuBackend]\nscratch_bytes = "16 KiB"\n')
        assert cli("validate", "board.toml", "--program", "model.pte", "--facts", PI5).status == 0


class TestBundles:
    """A bundle has shares as values, and says that devices do not sum."""

    def test_a_device_gets_the_same_shares(self, cli: Cli, write: Callable[..., Path]) -> None:
        profile = write(CORES, "split = { left = 2 }\n", SHARED)
        done = cli("pack", "model.pte", "--profile", "board.toml", "--output", "b.etbundle")
        assert "note[cannot-carry]: a bundle has no budget of threads" in done.stderr
        with etconfig.load_program("model.pte") as program:
            for cores in (1, 2, 3, 4, 7, 64):
                sheet = etconfig.load_fact_sheet(PI5).with_overrides({})
                here = etconfig.resolve(
                    program,
                    profile=profile,
                    facts=sheet,
                    fact_overrides={"cpu.available_cores": cores},
                )
                found = cli(
                    "resolve", "--bundle", "b.etbundle", "--facts", PI5,
                    "--fact", f"cpu.available_cores={cores}", "--json",
                ).json  # fmt: skip
                threads = {
                    (row["method"], row["instance"]): row["options"]["num_threads"]["value"]
                    for row in found["arguments"]
                    if row["backend"] == "ReferenceCpuBackend"
                }
                for (method, instance), value in threads.items():
                    options = here.arguments(method, instance)["ReferenceCpuBackend"]
                    assert value == options.to_jsonable()["num_threads"], (cores, method, instance)


class TestPython:
    """A resolution reports its budget, and refuses others before they are loaded."""

    def test_a_second_program_is_refused_before_it_is_loaded(self, write: Callable[..., Path]) -> None:
        profile = write(CORES, SHARED)
        facts = etconfig.load_fact_sheet(PI5)
        with etconfig.load_program("model.pte") as program:
            first = etconfig.resolve(program, profile=profile, facts=facts)
            assert isinstance(first.budget, etconfig.BudgetUse)
            first.budget.check()
            second = etconfig.resolve(models={"second": "ReferenceCpuBackend"}, facts=facts)
            with pytest.raises(etconfig.ExecutionError, match=r"second: ReferenceCpuBackend\.num_threads"):
                first.budget.check(second)


class TestFleet:
    """Devices that differ in a fact of the budget are decided apart."""

    def test_each_device_is_decided_as_alone(self, write: Callable[..., Path]) -> None:
        profile = write("[budget]\nthreads = { expr = 'cpu.physical_cores' }\n", FOUR)
        with etconfig.load_program("model.pte") as program:
            plan = FleetPlan(program, Installation(Path.cwd()), profile=str(profile))
            for cores in (4, 8, 9):
                outcome = plan.outcome({"cpu.physical_cores": cores, "cpu.available_cores": 2})
                assert outcome.cause == ("budget-exceeded" if cores < 8 else None), cores
            assert "cpu.physical_cores" in plan.values


def test_a_json_schema_knows_it(cli: Cli) -> None:
    schema = json.dumps(cli("schema", "--profile").json)
    assert '"budget"' in schema
    assert '"together"' in schema
