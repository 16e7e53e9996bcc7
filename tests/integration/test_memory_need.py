"""The memory that programs need: in `inspect`, `validate`, `matrix`, and before a load."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from command_line import DATA, Outcome

import etconfig
from etconfig.errors import MemoryBudgetError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS

Cli = Callable[..., Outcome]
PROGRAM = DATA / "digits" / "digits.pte"
PI5 = DATA / "sheets" / "raspberry-pi-5.json"
THREE = '[profile]\nname = "acme/board"\n' + "".join(
    f'[instances.{name}]\nmethod = "forward"\n' for name in ("left", "middle", "right")
)


def need(cli: Cli, *arguments: str) -> Any:
    """Return the need of the program as `inspect --json` prints it."""
    return cli("inspect", "model.pte", "--memory", "--json", *arguments).json["memory_need"]


class TestInspect:
    """`inspect --memory` shows the need of all instances, each part with its origin."""

    def test_parts_have_origins_and_holders_are_listed(self, cli: Cli) -> None:
        done = cli("inspect", "model.pte", "--memory", "--facts", PI5, "--fact", "memory.available=1000000")
        assert "\nmemory: needs 275.1 KiB, has 976.6 KiB free\n" in done.stdout
        assert "\nbackend    181.7 KiB  declared  estimate\n" in done.stdout
        assert "\nforward: payloads             65.91 KiB\n" in done.stdout

    def test_instances_of_the_configuration_count_together(self, cli: Cli, place: Path) -> None:
        (place / "board.toml").write_text(THREE)
        alone, three = need(cli), need(cli, "--profile", "board.toml")
        assert three["constants"] == alone["constants"]
        assert three["payloads"] == alone["payloads"]
        assert three["backend"]["bytes"] > 2 * alone["backend"]["bytes"]
        names = [each["name"] for each in three["holders"]]
        assert "forward@left: ReferenceNpuBackend" in names
        assert "forward: ReferenceNpuBackend" not in names

    def test_options_change_it(self, cli: Cli) -> None:
        wide = need(cli, "--set", "ReferenceCpuBackend.accumulate=fp64")
        assert wide["backend"]["bytes"] > need(cli)["backend"]["bytes"]

    def test_a_backend_that_is_not_installed_is_noted(self, cli: Cli) -> None:
        done = cli("inspect", DATA / "digits" / "digits_xnnpack.pte", "--memory")
        assert (
            "  nothing is known of the memory of XnnpackBackend: as much as its payloads is assumed\n"
        ) in done.stdout


class TestResolve:
    """`resolve --memory` shows the same need as `inspect`, below the options."""

    def test_it_is_the_need_of_inspect(self, cli: Cli, place: Path) -> None:
        (place / "board.toml").write_text(THREE)
        facts = ("--facts", PI5, "--profile", "board.toml")
        shown = cli("inspect", "model.pte", "--memory", *facts).stdout
        done = cli("resolve", "model.pte", "--memory", *facts)
        assert done.stdout.endswith(shown[shown.index("\nmemory: needs ") :])
        data = cli("resolve", "model.pte", "--memory", "--json", *facts).json
        assert data["memory_need"] == need(cli, *facts)

    def test_each_device_has_its_own(self, cli: Cli) -> None:
        devices = ("--device", "raspberry-pi/pi-5", "--device", "google/pixel-8")
        found = cli("resolve", "model.pte", "--memory", "--json", *devices).json["resolutions"]
        assert [each["memory_need"]["program"] for each in found] == ["model.pte"] * 2
        shown = cli("resolve", "model.pte", "--memory", *devices).stdout
        assert shown.count("\nmemory: needs 275.1 KiB, has ") == 2

    def test_the_executor_of_the_project_counts(self, cli: Cli, place: Path) -> None:
        def kernels() -> Any:
            return cli("resolve", "model.pte", "--memory", "--json").json["memory_need"]["kernels"]["bytes"]

        assert kernels() > 0
        (place / "etconfig.toml").write_text('executor = "executorch"\n')
        assert kernels() == 0, "its kernels take nothing of their own"

    def test_programs_are_needed(self, cli: Cli) -> None:
        done = cli("resolve", "--memory")
        assert done.status == 2
        assert done.stderr.startswith("error: --memory estimates the need of programs: give PROGRAM\n")
        assert cli("resolve", "model.pte", "--memory", "--toml").stderr.startswith(
            "error: --toml prints a profile: leave out --memory\n"
        )


class TestDevices:
    """`validate` and `matrix` compare the need with the memory of each device."""

    def test_validate(self, cli: Cli, place: Path) -> None:
        (place / "board.toml").write_text(THREE)
        for fact, severity, has in (
            ("memory.available=300000", "warning", "293 KiB free"),
            ("memory.total=300000", "error", "293 KiB in total"),
            ("memory.available=500000", None, ""),
        ):
            done = cli("validate", "board.toml", "--program", "model.pte", "--facts", PI5, "--fact", fact)
            assert ("memory-exceeded" in done.stdout) is (severity is not None)
            if severity is not None:
                message = f"{severity}[memory-exceeded]: model.pte needs 463.8 KiB, has {has}\n"
                assert done.stdout.startswith(message)
            assert done.status == (1 if severity == "error" else 0)

    def test_matrix(self, cli: Cli) -> None:
        arguments = ("matrix", "model.pte", "--facts", PI5, "--fact", "memory.available=100000", "--memory")
        row = cli(*arguments).stdout.splitlines()[3]
        assert row.endswith("275.1 KiB > 97.66 KiB")
        (device,) = cli(*arguments, "--json").json["devices"]
        needed_bytes = need(cli)["peak"]["bytes"]
        assert device["memory"] == {"needed_bytes": needed_bytes, "available_bytes": 100000, "fits": False}
        assert "memory" not in cli(*arguments[:-1], "--json").json["devices"][0]


class TestBeforeLoading:
    """`MemoryNeed.check` refuses what does not fit, with a margin."""

    def test_it_refuses_with_the_holders(self) -> None:
        with etconfig.load_program(PROGRAM) as program:
            need = etconfig.memory_need(program)
        peak = need.peak.size_bytes
        sheet = etconfig.FactSheet.empty()

        def device(available: int) -> etconfig.FactSheet:
            facts = {"memory.available": {"value": available}}
            return etconfig.FactSheet.from_json(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}), "x")

        enough, too_little, unknown = (
            need.fit(each).fits for each in (device(peak), device(peak - 1), sheet)
        )
        assert (enough, too_little, unknown) == (True, False, None)
        assert (need.fit(device(peak), 0.01).fits, need.fit(device(2 * peak), 1).fits) == (False, True)
        need.check(device(peak))
        with pytest.raises(MemoryBudgetError) as caught:
            need.check(device(100_000), margin=0.5)
        assert caught.value.message == (
            f"{PROGRAM} needs 412.6 KiB, has 97.66 KiB: embed: ReferenceNpuBackend 89.69 KiB, "
            "forward: ReferenceNpuBackend 89.69 KiB, forward: payloads 65.91 KiB, "
            "embed: payloads 19.44 KiB"
        )
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        with pytest.raises(
            MemoryBudgetError, match=r"digits.pte needs 275.1 KiB, has unknown: embed: ReferenceNpuBackend "
        ):
            need.check(sheet)
        for margin, shown in ((-1, "-1"), (1e308, "too large"), (10**400, "too large"), (math.nan, "nan")):
            with pytest.raises(
                ValueError, match=rf"margin is {shown}; expected a share of the need, such as 0\.1"
            ):
                need.check(sheet, margin=margin)


class TestVariants:
    """`fits` of a variant is a need: the first variant that fits is selected, and reasons say why."""

    def test_selection(self, cli: Cli, place: Path) -> None:
        (place / "models.toml").write_text(
            "[[model.digits.variants]]\nfile = 'model.pte'\nfits = true\n"
            f"[[model.digits.variants]]\nfile = '{DATA / 'digits' / 'digits_portable.pte'}'\n"
        )

        def why(*facts: str) -> tuple[int, list[str]]:
            given = [text for fact in facts for text in ("--fact", fact)]
            backends = ("--fact", "runtime.backends=ReferenceCpuBackend,ReferenceNpuBackend")
            place_of = ("models", "select", "digits", "--models", "models.toml", "--json")
            (place / "none.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
            choice = cli(*place_of, "--facts", "none.json", *given, *backends).json
            first = choice if choice["variant"]["number"] == 1 else choice["rejected"][0]
            return choice["variant"]["number"], first["reasons"]

        needs = "it needs 275.1 KiB, has "
        backends = "ReferenceCpuBackend and ReferenceNpuBackend are in runtime.backends"
        assert why("memory.available=300000") == (1, [backends, f"{needs}293 KiB free"])
        assert why("memory.total=300000") == (1, [backends, f"{needs}293 KiB in total"])
        assert why("memory.total=300000", "memory.available=1000") == (
            2,
            [f"{needs}1000 bytes free"],
        )
        assert why() == (2, [f"{needs}unknown"])

    @pytest.mark.parametrize("when", ["", "cpu.available_cores > 2 || has(device.model)"])
    def test_a_bundle_has_it_as_a_condition_that_agrees(self, cli: Cli, place: Path, when: str) -> None:
        variant = (
            f"[[model.digits.variants]]\nfile = 'model.pte'\nfits = 0.5\n{when and f'when = {when!r}'}\n"
        )
        (place / "etconfig.toml").write_text(variant)
        assert cli("pack", "model.pte", "--output", "app.etbundle").status == 0
        (model,) = cli("inspect", "app.etbundle", "--json").json["models"]
        condition = parse_expression(model["variants"][0]["when"], BUILTIN_FACTS)
        (place / "none.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        needed = math.ceil(1.5 * need(cli)["peak"]["bytes"])
        for available, total, cores in product(*[(None, needed - 1, needed)] * 2, (None, 2, 3)):
            facts = {"memory.available": available, "memory.total": total, "cpu.available_cores": cores}
            known = {name: value for name, value in facts.items() if value is not None}
            given = [text for name, value in known.items() for text in ("--fact", f"{name}={value}")]
            backends = ("--fact", "runtime.backends=ReferenceCpuBackend,ReferenceNpuBackend")
            chosen = cli("models", "select", "digits", "--facts", "none.json", *given, *backends)
            assert (condition.evaluate(known) is True) is (chosen.status == 0), known

    def test_a_bundle_of_a_program_has_it_too(self, cli: Cli, place: Path) -> None:
        def packed(*arguments: str) -> Outcome:
            return cli("pack", *arguments, "--memory", "--output", "app.etbundle", "--force")

        assert packed("model.pte").status == 0
        (model,) = cli("inspect", "app.etbundle", "--json").json["models"]
        (variant,) = model["variants"]
        needed = need(cli)["peak"]["bytes"]
        enough = f"memory.available >= {needed} : memory.total >= {needed}"
        assert (model["name"], variant["file"]) == ("model", "model.pte")
        assert variant["when"] == f"(has(memory.available) ? {enough})"
        (place / "etconfig.toml").write_text("[[model.model.variants]]\nfile = 'model.pte'\n")
        assert packed("model.pte").status == 0
        (model,) = cli("inspect", "app.etbundle", "--json").json["models"]
        assert model["variants"][0]["when"] is None, "what the project declares wins"

    def test_programs_that_a_bundle_cannot_name_are_refused(self, cli: Cli, place: Path) -> None:
        (place / "a b.pte").write_bytes(PROGRAM.read_bytes())
        (place / "other").mkdir()
        (place / "other" / "model.pte").write_bytes(PROGRAM.read_bytes())

        def refused(*arguments: str) -> str:
            done = cli("pack", *arguments, "--memory", "--output", "app.etbundle")
            assert done.status == 2
            return done.stderr

        assert refused("a b.pte").startswith(
            "error[cannot-carry]: a bundle cannot say whether 'a b.pte' fits: a model's name contains "
        )
        assert refused("model.pte", "other/model.pte").startswith(
            "error[cannot-carry]: a bundle cannot say whether 'model.pte' fits: another program has that name"
        )
        for arguments in ((), ("model.pte", "--here")):
            assert refused(*arguments).startswith(
                "error: --memory is for a bundle that devices decide, of programs: give PROGRAM"
            )

    def test_a_variant_that_must_fit_leaves_later_ones_reachable(self, cli: Cli, place: Path) -> None:
        def text(first: str) -> str:
            variant = "[[model.digits.variants]]\nfile = 'model.pte'\n"
            return f"{variant}{first}{variant}"

        (place / "models.toml").write_text(text(""))
        assert "unreachable-variant" in cli("models", "check", "--models", "models.toml").stdout
        (place / "models.toml").write_text(text("fits = true\n"))
        assert "unreachable-variant" not in cli("models", "check", "--models", "models.toml").stdout
