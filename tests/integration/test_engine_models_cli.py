"""`--models FILE`: commands that take a program work for models that engines run without one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Outcome

import etconfig
from etconfig.base.packages import how_to_install
from etconfig.errors import ModelError, OptionError
from etconfig.fleet.deciding.recipe import PlanRecipe, make_plan

Cli = Callable[..., Outcome]

MODELS = """\
[model.detector]
backends = ["ReferenceCpuBackend"]

[model.encoder]
backends = ["ReferenceNpuBackend", "ReferenceCpuBackend"]
"""
PROFILE = """\
[profile]
name = "board"

[methods.detector.options.ReferenceCpuBackend]
num_threads = 3

[instances.left]
method = "encoder"

[instances.left.options.ReferenceNpuBackend]
core = 1
"""
MISTYPED = PROFILE.replace("methods.detector", "methods.detectr")
ON_MODELS = ("--models", "models.toml", "--facts", "device.json", "--profile", "board.toml")


@pytest.fixture
def models(place: Path) -> Path:
    (place / "models.toml").write_text(MODELS)
    (place / "board.toml").write_text(PROFILE)
    return place


def values(done: Outcome) -> dict[str, Any]:
    return {
        f"{row['method']}@{row['instance']}:{row['backend']}.{name}": option["value"]
        for row in json.loads(done.stdout)["arguments"]
        for name, option in row["options"].items()
    }


class TestResolving:
    """The names of models take the place of methods."""

    def test_resolve_shows_each_model(self, cli: Cli, models: Path) -> None:
        done = cli("resolve", *ON_MODELS)
        assert (done.status, done.stderr) == (0, "")
        rows = [line.split() for line in done.stdout.splitlines()]
        assert rows[2] == ["MODEL", "BACKEND", "OPTION", "VALUE", "FROM"]
        assert rows[3][:4] == ["detector", "ReferenceCpuBackend", "num_threads", "3"]
        assert {row[0] for row in rows[3:]} == {"detector", "encoder", "encoder@left"}

    def test_defaults_are_left_out_on_request(self, cli: Cli, models: Path) -> None:
        is_default = re.compile(r" default \w+Options( \(fact .*\))?$")
        whole = [line for line in cli("resolve", *ON_MODELS).stdout.splitlines()[3:] if line]
        short = cli("resolve", *ON_MODELS, "--no-defaults").stdout.splitlines()
        kept = [line.split() for line in whole if not is_default.search(line)]
        assert [line.split() for line in short[3:-2]] == kept
        assert short[-1] == f"{len(whole) - len(kept)} options at the default"
        explained = cli("resolve", *ON_MODELS, "--no-defaults", "--explain").stdout
        assert explained.count("\n\n") == len(kept) - 1
        assert cli("resolve", *ON_MODELS, "--no-defaults", "--json").status == 2

    def test_a_program_goes_beside_them(self, cli: Cli, models: Path) -> None:
        found = values(cli("resolve", "model.pte", *ON_MODELS, "--json"))
        assert found["detector@None:ReferenceCpuBackend.num_threads"] == 3
        assert found["encoder@left:ReferenceNpuBackend.core"] == 1
        assert "forward@None:ReferenceCpuBackend.num_threads" in found

    def test_python_gives_the_same(self, cli: Cli, models: Path) -> None:
        sheet = etconfig.load_fact_sheet("device.json")
        config = etconfig.resolve(models="models.toml", profile="board.toml", facts=sheet)
        assert json.loads(cli("resolve", *ON_MODELS, "--json").stdout) == json.loads(
            json.dumps(config.to_jsonable())
        )

    def test_explain_and_diff(self, cli: Cli, models: Path) -> None:
        done = cli("explain", "detector:ReferenceCpuBackend.num_threads", *ON_MODELS)
        assert done.stdout.startswith(
            "detector:ReferenceCpuBackend.num_threads = 3\n  from profile board.toml:5"
        )
        (models / "other.toml").write_text(PROFILE.replace("core = 1", "core = 0"))
        done = cli("diff", "board.toml", "other.toml", "--models", "models.toml", "--facts", "device.json")
        assert done.status == 1
        assert done.stdout.startswith("encoder@left:ReferenceNpuBackend.core: 1 → 0\n")

    def test_matrix(self, cli: Cli, models: Path) -> None:
        done = cli("matrix", *ON_MODELS, "--device", "pi-5", "--all", "--json")
        by_device = json.loads(done.stdout)["devices"]
        assert [each["options"]["detector:ReferenceCpuBackend.num_threads"] for each in by_device] == [3, 3]

    def test_matrix_does_not_replace_the_models(self, cli: Cli, models: Path) -> None:
        done = cli("matrix", *ON_MODELS, "--write-expect", "models.toml")
        assert done.status == 2
        assert (models / "models.toml").read_text() == MODELS

    def test_pack_and_decide(self, cli: Cli, models: Path) -> None:
        done = cli("pack", "--models", "models.toml", "--profile", "board.toml", "-o", "app.etbundle")
        assert done.status == 0, done.stderr
        found = values(cli("resolve", "--bundle", "app.etbundle", "--facts", "device.json", "--json"))
        assert found["detector@None:ReferenceCpuBackend.num_threads"] == 3
        assert found["encoder@left:ReferenceNpuBackend.core"] == 1

    def test_watch(self, cli: Cli, models: Path) -> None:
        done = cli("watch", *ON_MODELS, "--count", "1", "--interval", "0")
        assert (done.status, done.stdout) == (0, "")

    def test_fleet_resolves_them(self, cli: Cli, models: Path) -> None:
        pytest.importorskip("duckdb")
        (models / "fleet.jsonl").write_text('{"device_id": "a", "cpu.available_cores": 2}\n')
        done = cli(
            *("fleet", "histogram", "detector:ReferenceCpuBackend.num_threads", "fleet.jsonl"),
            *("--models", "models.toml", "--profile", "board.toml", "--json"),
        )
        assert done.status == 0, done.stderr
        assert '"3": 1' in done.stdout


class TestLock:
    """`lock` records the models and their backends."""

    def test_unchanged_models_pass(self, cli: Cli, models: Path) -> None:
        assert cli("lock", *ON_MODELS).status == 0
        assert cli("lock", *ON_MODELS, "--check").status == 0
        assert cli("resolve", *ON_MODELS, "--locked").status == 0
        locked = json.loads((models / "etconfig.lock").read_text())
        assert locked["programs"]["models.toml"]["models"] == {
            "detector": ["ReferenceCpuBackend"],
            "encoder": ["ReferenceNpuBackend", "ReferenceCpuBackend"],
        }

    def test_another_backend_is_a_difference(self, cli: Cli, models: Path) -> None:
        cli("lock", *ON_MODELS)
        (models / "models.toml").write_text(
            MODELS.replace('["ReferenceNpuBackend", ', '["ReferenceNpuBackend"]#')
        )
        done = cli("resolve", *ON_MODELS, "--locked")
        assert done.status == 2
        assert 'program: models: encoder[1]: "ReferenceCpuBackend" → (absent)' in done.stderr


class TestMistakes:
    """A mistyped name is an error with a suggestion."""

    @pytest.mark.parametrize(
        "command",
        [
            ("resolve", "--models", "models.toml", "--profile", "mistyped.toml"),
            ("validate", "mistyped.toml", "--models", "models.toml"),
            ("resolve", "--models", "models.toml", "--set", "detectr:ReferenceCpuBackend.num_threads=2"),
            ("explain", "detectr:ReferenceCpuBackend.num_threads", "--models", "models.toml"),
            ("pack", "--models", "models.toml", "--profile", "mistyped.toml", "-o", "app.etbundle"),
        ],
    )
    def test_of_a_model(self, cli: Cli, models: Path, command: tuple[str, ...]) -> None:
        (models / "mistyped.toml").write_text(MISTYPED)
        done = cli(*command)
        assert done.status in (1, 2)
        shown = done.stdout + done.stderr
        assert "error[unknown-model]: there is no model 'detectr'" in shown
        assert "did you mean 'detector'?" in shown

    def test_validate_fixes_it(self, cli: Cli, models: Path) -> None:
        (models / "mistyped.toml").write_text(MISTYPED)
        assert (
            cli("validate", "mistyped.toml", "--models", "models.toml", "--fix", "--unsafe-fixes").status == 0
        )
        assert (models / "mistyped.toml").read_text() == PROFILE

    def test_a_right_profile_is_valid(self, cli: Cli, models: Path) -> None:
        done = cli("validate", "board.toml", "models.toml", "--models", "models.toml")
        assert (done.status, done.stderr) == (0, "2 files checked: 0 errors, 0 warnings\n")

    def test_of_a_backend_in_the_file(self, cli: Cli, models: Path) -> None:
        (models / "models.toml").write_text(MODELS.replace("CpuBackend", "CpuBackand", 1))
        done = cli("validate", "models.toml")
        assert done.status == 1
        assert "models.toml:2:13" in done.stdout
        assert "did you mean 'ReferenceCpuBackend'?" in done.stdout
        assert cli("models", "check", "--models", "models.toml").status == 1
        assert "did you mean 'ReferenceCpuBackend'?" in cli("resolve", "--models", "models.toml").stderr

    def test_a_backend_that_is_not_installed_is_a_warning_for_validate(self, cli: Cli, models: Path) -> None:
        (models / "models.toml").write_text(MODELS.replace("ReferenceCpuBackend", "Q", 1))
        done = cli("validate", "models.toml")
        assert done.status == 0
        assert "warning[backend-not-installed]: model 'detector': no installed plugin declares" in done.stdout

    @pytest.mark.parametrize(
        "command", ["resolve", "lock", "pack --output x.etbundle", "validate board.toml", "explain Q.x"]
    )
    def test_other_commands_show_its_place_and_the_package(
        self, cli: Cli, models: Path, command: str
    ) -> None:
        (models / "models.toml").write_text(MODELS.replace("ReferenceNpuBackend", "TvmBackend"))
        done = cli(*command.split(), "--models", "models.toml", "--facts", "device.json")
        message = "cannot run here: model 'encoder' (models.toml:5:13) needs it, but no installed plugin "
        assert message in done.stderr + done.stdout
        assert how_to_install("etconfig-tvm") in done.stderr + done.stdout

    def test_a_file_without_such_models_is_refused(self, cli: Cli, models: Path) -> None:
        (models / "models.toml").write_text('[model.digits]\nvariants = [{ file = "model.pte" }]\n')
        done = cli("resolve", "--models", "models.toml")
        assert done.status == 2
        assert "models.toml declares no model that an engine runs" in done.stderr
        with pytest.raises(ModelError, match="declares no model that an engine runs"):
            etconfig.Models.read("models.toml")

    def test_the_file_of_a_model_itself_is_refused(self, cli: Cli, models: Path) -> None:
        Path("model.onnx").write_bytes(b"\x08\x0a\x12\x07pytorch")
        outcome = cli("resolve", "--models", "model.onnx")
        assert outcome.status == 2
        assert "model.onnx is not a TOML file of models" in outcome.stderr
        assert "the model's own file is an argument of build()" in outcome.stderr
        outcome = cli("resolve", "model.onnx")
        assert "found an ONNX model" in outcome.stderr
        assert "in a TOML file for --models" in outcome.stderr

    def test_validate_recognizes_it_too(self, cli: Cli, models: Path) -> None:
        Path("model.onnx").write_bytes(b"\x08\x0a\x12\x07pytorch\xff")
        done = cli("validate", "model.onnx")
        assert done.status == 1
        assert "error[invalid-toml]: model.onnx is an ONNX model, not TOML" in done.stdout
        assert "in a TOML file for --models or models=" in done.stdout

    def test_a_file_that_is_missing(self, cli: Cli, models: Path) -> None:
        done = cli("resolve", "--models", "absent.toml")
        assert (done.status, "absent.toml" in done.stderr) == (2, True)

    @pytest.mark.parametrize("command", ["run", "verify", "inspect"])
    def test_commands_on_programs_refuse_it_with_the_reason(
        self, cli: Cli, models: Path, command: str
    ) -> None:
        done = cli(command, "model.pte", "--models", "models.toml")
        assert done.status == 2
        assert "--models names models that engines run without a program" in done.stderr
        assert "--models" not in cli(command, "--help").stdout

    def test_a_bundle_has_its_models(self, cli: Cli, models: Path) -> None:
        done = cli("resolve", "--bundle", "app.etbundle", "--models", "models.toml")
        assert "leave out --models" in done.stderr


class TestProjectFile:
    """The models of the project file count where neither a program nor `--models` is given."""

    @pytest.fixture
    def project(self, models: Path) -> Path:
        (models / "etconfig.toml").write_text('models = ["models.toml"]\n')
        return models

    def test_a_mistyped_model_is_found(self, cli: Cli, project: Path) -> None:
        (project / "mistyped.toml").write_text(MISTYPED)
        done = cli("validate", "mistyped.toml", "board.toml")
        assert done.status == 1
        assert "there is no model 'detectr'" in done.stdout
        assert done.stdout.count("error") == 1

    def test_beside_programs_either_may_be_meant(self, cli: Cli, project: Path) -> None:
        (project / "etconfig.toml").write_text('models = ["models.toml"]\nprograms = ["model.pte"]\n')
        (project / "both.toml").write_text(
            PROFILE + "\n[methods.forward.options.ReferenceCpuBackend]\nnum_threads = 1\n"
        )
        done = cli("validate", "both.toml")
        assert done.status == 0
        (project / "mistyped.toml").write_text(MISTYPED)
        assert "there is no model or method 'detectr'" in cli("validate", "mistyped.toml").stdout

    def test_settings_for_them_are_no_mistake_for_a_program(self, cli: Cli, project: Path) -> None:
        done = cli("resolve", "model.pte", "--profile", "board.toml", "--facts", "device.json")
        assert done.status == 0
        assert "= note: etconfig.toml uses these settings" in done.stderr

    def test_the_project_file_itself_is_a_file_of_models(self, cli: Cli, models: Path) -> None:
        (models / "etconfig.toml").write_text(MODELS)
        found = values(cli("resolve", "--models", "etconfig.toml", "--facts", "device.json", "--json"))
        assert "detector@None:ReferenceCpuBackend.num_threads" in found

    @pytest.mark.parametrize(
        "command",
        [
            ("resolve",),
            ("explain", "detector:ReferenceCpuBackend.num_threads"),
            ("lock",),
            ("matrix",),
            ("watch", "--count", "1", "--interval", "0"),
            ("pack", "-o", "app.etbundle"),
        ],
        ids=lambda command: command[0],
    )
    def test_commands_use_them_without_a_program(
        self, cli: Cli, project: Path, command: tuple[str, ...]
    ) -> None:
        (project / "mistyped.toml").write_text(MISTYPED)
        device = () if command[0] == "pack" else ("--facts", "device.json")
        done = cli(*command, *device, "--profile", "mistyped.toml")
        assert done.status != 0
        assert "there is no model 'detectr'" in done.stdout + done.stderr
        done = cli(*command, *device, "--profile", "board.toml")
        assert "error" not in done.stdout + done.stderr, done.stderr

    def test_diff_uses_them_without_a_program(self, cli: Cli, project: Path) -> None:
        done = cli("diff", "board.toml", "generic/any", "--facts", "device.json")
        assert "detector:ReferenceCpuBackend.num_threads" in done.stdout

    def test_python_uses_them_without_a_program(self, project: Path) -> None:
        config = etconfig.resolve(profile="board.toml")
        assert config.options_for("detector").to_jsonable()["num_threads"] == 3
        assert {*etconfig.LiveArguments(profile="board.toml").resolution.instances} == {*config.instances}
        with pytest.raises(OptionError, match="there is no model 'detectr'"):
            config.options_for("detectr")

    def test_a_given_program_or_given_models_count_alone(self, cli: Cli, project: Path) -> None:
        on_program = values(cli("resolve", "model.pte", "--facts", "device.json", "--json"))
        assert {path.partition("@")[0] for path in on_program} == {"embed", "forward"}
        config = etconfig.resolve(models={"other": "ReferenceCpuBackend"})
        assert {method for method, _ in config.instances} == {"other"}

    def test_a_project_with_programs_only_has_none(self, cli: Cli, place: Path) -> None:
        (place / "etconfig.toml").write_text(
            '[[model.digits.variants]]\nfile = "model.pte"\n'
            "[methods.decode.options.ReferenceCpuBackend]\nnum_threads = 2\n"
        )
        found = values(cli("resolve", "--facts", "device.json", "--json"))
        assert found["decode@None:ReferenceCpuBackend.num_threads"] == 2

    def test_the_lock_records_them(self, cli: Cli, project: Path) -> None:
        on_board = ("--facts", "device.json", "--profile", "board.toml")
        assert cli("lock", *on_board).status == 0
        locked = json.loads((project / "etconfig.lock").read_text())["programs"]["etconfig.toml"]
        assert locked["models"]["detector"] == ["ReferenceCpuBackend"]
        assert cli("resolve", *on_board, "--locked").status == 0
        with (project / "models.toml").open("a") as file:
            file.write('[model.added]\nbackends = ["ReferenceCpuBackend"]\n')
        assert "added" in cli("lock", *on_board, "--check").stderr

    def test_a_backend_that_is_not_installed_is_an_error(self, cli: Cli, project: Path) -> None:
        (project / "models.toml").write_text(MODELS.replace("ReferenceCpuBackend", "Q", 1))
        done = cli("resolve", "--facts", "device.json")
        assert done.status == 2
        assert "models.toml:2:13) needs it, but no installed plugin declares it" in done.stderr

    def test_fleets_use_them(self, cli: Cli, project: Path) -> None:
        pytest.importorskip("duckdb")
        (project / "fleet.jsonl").write_text('{"device_id": "a", "cpu.available_cores": 2}\n')
        done = cli(
            *("fleet", "histogram", "detector:ReferenceCpuBackend.num_threads", "fleet.jsonl"),
            *("--profile", "board.toml", "--json"),
        )
        assert done.status == 0, done.stderr
        assert '"3": 1' in done.stdout

    def test_a_plan_takes_them_along_to_other_machines(self, project: Path, tmp_path: Path) -> None:
        settings: dict[str, Any] = {
            "profile": "board.toml",
            "require_match": False,
            "fact_overrides": [],
            "overrides": [],
        }
        plan = make_plan(etconfig.Installation(project), [], **settings)
        recipe = PlanRecipe.of(plan, [], **settings)
        there = PlanRecipe.from_jsonable(json.loads(json.dumps(recipe.to_jsonable()))).plan(
            tmp_path / "there"
        )
        found = there.configuration("board")
        assert isinstance(found, etconfig.Configuration)
        assert found.resolve().options_for("detector").to_jsonable()["num_threads"] == 3

    def test_a_backend_that_is_not_installed_hides_no_other_problem(self, cli: Cli, project: Path) -> None:
        (project / "models.toml").write_text(MODELS.replace("ReferenceCpuBackend", "Q", 1))
        (project / "mistyped.toml").write_text(MISTYPED)
        assert "there is no model 'detectr'" in cli("validate", "mistyped.toml").stdout

    def test_pack_leaves_them_out_of_the_variants(self, cli: Cli, project: Path) -> None:
        done = cli("pack", "--models", "models.toml", "--profile", "board.toml", "-o", "app.etbundle")
        assert done.status == 0, done.stderr


class TestModelsCommand:
    """`etconfig models` shows both kinds of models."""

    def test_list_shows_backends(self, cli: Cli, models: Path) -> None:
        (models / "models.toml").write_text(MODELS + '[model.digits]\nvariants = [{ file = "model.pte" }]\n')
        assert cli("models", "list", "--models", "models.toml").stdout.splitlines() == [
            "MODEL   VARIANT  FILE       WHEN",
            "digits  1        model.pte",
            "",
            "MODEL     BACKENDS",
            "detector  ReferenceCpuBackend",
            "encoder   ReferenceNpuBackend, ReferenceCpuBackend",
        ]
        listed = json.loads(cli("models", "list", "--models", "models.toml", "--json").stdout)
        assert listed[0] == {
            "model": "detector",
            "fallback": False,
            "variants": [],
            "backends": ["ReferenceCpuBackend"],
        }

    def test_select_says_that_there_is_nothing_to_select(self, cli: Cli, models: Path) -> None:
        done = cli("models", "select", "detector", "--models", "models.toml")
        assert done.status == 2
        assert (
            "model 'detector' has no variants: ReferenceCpuBackend runs it without a program" in done.stderr
        )

    def test_check_needs_no_device(self, cli: Cli, models: Path) -> None:
        done = cli("models", "check", "--models", "models.toml", "--facts", "device.json")
        assert (done.status, done.stdout) == (0, "")
