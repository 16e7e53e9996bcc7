from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import tomli
from command_line import DIGITS, Outcome

import etconfig
from etconfig.app.programs.model_choice import select_model
from etconfig.app.validating.document_schema import models_schema
from etconfig.facts.builtin import BUILTIN_FACTS

SHEETS = DIGITS.parent / "sheets"
Cli = Callable[..., Outcome]

MODELS = """\
[model.digits]

[[model.digits.variants]]
file = "digits_xnnpack.pte"
when = 'cpu.available_cores >= 4'

[[model.digits.variants]]
file = "digits_portable.pte"
"""


@pytest.fixture
def catalog(place: Path) -> Path:
    """The current directory, with the programs and `models.toml`."""
    for name in ("digits_xnnpack.pte", "digits_portable.pte"):
        shutil.copy(DIGITS / name, place / name)
    (place / "models.toml").write_text(MODELS)
    return place


class TestSelect:
    """`etconfig models select` says which variant, and why not the others."""

    def test_a_device_with_the_backend_gets_the_delegated_program(self, cli: Cli, catalog: Path) -> None:
        done = cli(
            *("models", "select", "digits", "--models", "models.toml", "--facts", "device.json"),
            *("--fact", "cpu.available_cores=4", "--fact", "runtime.backends=XnnpackBackend"),
        )
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            "variant 1 of model digits: digits_xnnpack.pte",
            "",
            "VARIANT  FILE                 SELECTED  WHY",
            "1        digits_xnnpack.pte   yes       "
            "cpu.available_cores >= 4 holds: cpu.available_cores is 4",
            "                                        XnnpackBackend is in runtime.backends",
            "2        digits_portable.pte  no        it suits the device too, but comes after variant 1",
        ]

    def test_a_sheet_without_the_fact_gets_the_portable_program(self, cli: Cli, catalog: Path) -> None:
        sheet = SHEETS / "pixel-8.json"
        done = cli("models", "select", "digits", "--models", "models.toml", "--facts", sheet, "--json")
        choice = json.loads(done.stdout)
        assert (choice["model"], choice["fallback"]) == ("digits", False)
        assert choice["variant"]["file"] == "digits_portable.pte"
        assert choice["rejected"] == [
            {
                "number": 1,
                "file": "digits_xnnpack.pte",
                "path": "digits_xnnpack.pte",
                "when": "cpu.available_cores >= 4",
                "reasons": ["it needs XnnpackBackend, and runtime.backends is not known on this device"],
            }
        ]

    def test_no_variant_is_an_error_with_a_reason_for_each(self, cli: Cli, catalog: Path) -> None:
        (catalog / "models.toml").write_text(MODELS.rpartition("[[")[0])
        done = cli("models", "select", "digits", "--models", "models.toml", "--facts", "device.json")
        assert (done.status, done.stdout) == (2, "")
        assert "error[no-model-variant]: no variant of model 'digits' suits this device" in done.stderr

    def test_a_program_that_is_gone_is_an_error_without_fallback(self, cli: Cli, catalog: Path) -> None:
        (catalog / "digits_portable.pte").unlink()
        done = cli("models", "select", "digits", "--models", "models.toml")
        assert done.status == 2
        assert "digits_portable.pte: No such file" in done.stderr

    def test_a_program_that_is_gone_is_a_reason_with_fallback(self, cli: Cli, catalog: Path) -> None:
        (catalog / "digits_xnnpack.pte").unlink()
        text = MODELS.replace("[model.digits]", "[model.digits]\nfallback = true")
        (catalog / "models.toml").write_text(text)
        facts = ("--facts", "device.json", "--fact", "cpu.available_cores=4")
        done = cli("models", "select", "digits", "--models", "models.toml", *facts)
        assert done.status == 0
        assert "it cannot be read: digits_xnnpack.pte: No such file or directory" in done.stdout

    def test_programs_that_are_all_gone_are_to_be_built(self, cli: Cli, catalog: Path) -> None:
        for name in ("digits_xnnpack.pte", "digits_portable.pte"):
            (catalog / name).unlink()
        text = MODELS.replace("[model.digits]", "[model.digits]\nfallback = true")
        (catalog / "models.toml").write_text(text)
        facts = ("--facts", "device.json", "--fact", "cpu.available_cores=4")
        done = cli("models", "select", "digits", "--models", "models.toml", *facts)
        assert done.status == 2
        assert "error[no-model-variant]" in done.stderr
        assert "= help: build the programs, or correct their paths" in done.stderr

    def test_an_unknown_model_is_an_error(self, cli: Cli, catalog: Path) -> None:
        done = cli("models", "select", "digit", "--models", "models.toml")
        assert done.status == 2
        assert "did you mean 'digits'?" in done.stderr

    def test_the_models_of_the_project_file_and_of_its_files_count(self, cli: Cli, catalog: Path) -> None:
        text = 'models = ["models.toml"]\n[[model.other.variants]]\nfile = "digits_portable.pte"\n'
        (catalog / "etconfig.toml").write_text(text)
        for name in ("digits", "other"):
            done = cli("models", "select", name, "--facts", "device.json")
            assert done.stdout.splitlines()[0].endswith("digits_portable.pte")

    def test_facts_of_the_project_file_count(self, cli: Cli, catalog: Path) -> None:
        text = MODELS + '[facts]\n"runtime.backends" = ["XnnpackBackend"]\n"cpu.available_cores" = 8\n'
        (catalog / "etconfig.toml").write_text(text)
        done = cli("models", "select", "digits", "--facts", "device.json")
        assert done.stdout.splitlines()[0].endswith("digits_xnnpack.pte")


class TestDataFiles:
    """A data file that is named and not there is found, also if no tensor of the program lies outside."""

    @pytest.fixture
    def lacking(self, catalog: Path) -> Path:
        """`models.toml` with a portable program whose data file is for nothing that the program mentions."""
        text = '[[model.digits.variants]]\nfile = "digits_portable.pte"\ndata = ["none.ptd"]\n'
        (catalog / "models.toml").write_text(text)
        (catalog / "etconfig.toml").write_text('models = ["models.toml"]\n')
        return catalog

    def test_check_reports_it(self, cli: Cli, lacking: Path) -> None:
        done = cli("models", "check")
        assert done.status == 1
        assert "error[missing-data-file]: digits_portable.pte lacks data: its data cannot be" in done.stdout
        assert "none.ptd" in done.stdout

    def test_the_variant_is_not_selected(self, cli: Cli, lacking: Path) -> None:
        done = cli("models", "select", "digits", "--facts", "device.json")
        assert done.status == 2
        assert "digits_portable.pte: its data cannot be read: " in done.stderr

    def test_pack_refuses_it(self, cli: Cli, lacking: Path) -> None:
        done = cli("pack", "model.pte", "-o", "app.etbundle")
        assert done.status == 2
        assert "error[missing-data-file]: digits_portable.pte lacks data" in done.stderr
        assert not (lacking / "app.etbundle").exists()
        (lacking / "models.toml").write_text((lacking / "models.toml").read_text().rpartition("data")[0])
        assert cli("pack", "model.pte", "-o", "app.etbundle").status == 0


class TestList:
    """`etconfig models` and `models list` show the variants in their order."""

    def test_the_variants_are_a_table(self, cli: Cli, catalog: Path) -> None:
        done = cli("models", "list", "--models", "models.toml")
        assert done.stdout.splitlines() == [
            "MODEL   VARIANT  FILE                 WHEN",
            "digits  1        digits_xnnpack.pte   cpu.available_cores >= 4",
            "digits  2        digits_portable.pte",
        ]
        assert cli("models").stdout == "No models are declared.\n"

    def test_json_has_all_of_it(self, cli: Cli, catalog: Path) -> None:
        (model,) = json.loads(cli("models", "list", "--models", "models.toml", "--json").stdout)
        assert (model["model"], model["fallback"]) == ("digits", False)
        assert [each["number"] for each in model["variants"]] == [1, 2]


class TestCheck:
    """`etconfig models check` reads every program."""

    def check(self, cli: Cli, *arguments: str | Path) -> Outcome:
        return cli("models", "check", "--models", "models.toml", *arguments)

    def test_each_backend_needs_a_schema(self, cli: Cli, catalog: Path) -> None:
        done = self.check(cli)
        assert done.status == 1
        assert "error[backend-not-installed]: digits_xnnpack.pte delegates to XnnpackBackend" in done.stdout
        assert done.stderr == "1 model checked: 1 error, 0 warnings\n"

    def test_good_models_are_clean(self, cli: Cli, catalog: Path) -> None:
        shutil.copy(catalog / "model.pte", catalog / "digits_xnnpack.pte")
        done = self.check(cli)
        assert (done.status, done.stdout) == (0, "")
        assert done.stderr == "1 model checked: 0 errors, 0 warnings\n"

    def test_each_device_gets_a_variant_or_a_finding(self, cli: Cli, catalog: Path) -> None:
        shutil.copy(catalog / "model.pte", catalog / "digits_xnnpack.pte")
        sheets = SHEETS / "pixel-8.json", SHEETS / "raspberry-pi-5.json"
        done = self.check(cli, "--facts", sheets[0], "--facts", sheets[1])
        assert done.status == 0
        assert [line.split()[0] for line in done.stderr.splitlines()] == ["note:", "note:", "1"]
        assert "note: pixel-8 lacks runtime.backends" in done.stderr
        assert [line.split()[-2:] for line in done.stdout.splitlines()[1:]] == [
            ["2", "digits_portable.pte"]
        ] * 2
        (catalog / "models.toml").write_text(MODELS + "when = 'os.name == \"linux\"'\n")
        done = self.check(cli, "--facts", sheets[0], "--facts", sheets[1])
        assert done.status == 1
        assert "no variant of model 'digits' suits pixel-8" in done.stdout
        assert "raspberry-pi-5" not in done.stdout.partition("error")[2]

    def test_a_program_that_cannot_be_read_is_a_finding(self, cli: Cli, catalog: Path) -> None:
        (catalog / "digits_xnnpack.pte").unlink()
        facts = ("--facts", "device.json", "--fact", "cpu.available_cores=4")
        done = self.check(cli, *facts, "--json")
        assert done.status == 1
        (model,) = json.loads(done.stdout)
        assert [problem["code"] for problem in model["problems"]] == ["unreadable-file"]
        assert model["variants"][0]["methods"] is None
        # the device would get the file that is gone, which is an error without fallback
        assert model["devices"] == [{"device": "device", "variant": None}]

    def test_only_the_named_models_are_checked(self, cli: Cli, catalog: Path) -> None:
        text = MODELS + '[[model.good.variants]]\nfile = "digits_portable.pte"\n'
        (catalog / "models.toml").write_text(text)
        assert self.check(cli, "good").status == 0
        assert self.check(cli, "good", "digits").status == 1
        assert self.check(cli, "none").status == 2

    def test_checking_nothing_is_wrong_usage(self, cli: Cli, catalog: Path) -> None:
        done = cli("models", "check")
        assert done.status == 2
        assert "no models are declared" in done.stderr
        assert self.check(cli, "--fact", "os.name=linux").status == 2


class TestValidate:
    """`etconfig validate` checks what is written about models."""

    def test_a_file_of_models_is_recognized(self, cli: Cli, catalog: Path) -> None:
        assert cli("validate", "models.toml").status == 0
        (catalog / "models.toml").write_text(MODELS.replace("when", "wehn"))
        done = cli("validate", "models.toml")
        assert done.status == 1
        assert "did you mean 'when'?" in done.stdout
        assert "profile" not in done.stdout

    def test_a_project_file_is_checked_with_its_files_of_models(self, cli: Cli, catalog: Path) -> None:
        (catalog / "etconfig.toml").write_text('models = ["models.toml"]\n')
        assert cli("validate", "etconfig.toml").status == 0
        (catalog / "models.toml").write_text(MODELS.replace("file", "path"))
        done = cli("validate", "etconfig.toml")
        assert done.status == 1
        assert done.stdout.count("did you mean 'file'?") == 2
        (catalog / "etconfig.toml").write_text('models = ["none.toml"]\n')
        assert "none.toml" in cli("validate", "etconfig.toml").stdout

    def test_a_condition_that_never_holds_is_a_warning(self, cli: Cli, catalog: Path) -> None:
        for name in ("models.toml", "etconfig.toml"):
            (catalog / name).write_text(MODELS.replace(">= 4", "< 0"))
            done = cli("validate", name)
            assert done.status == 0
            assert "warning[constant-condition]" in done.stdout

    @pytest.mark.parametrize(
        ("table", "name"),
        [
            (MODELS, "[model.NAME]"),
            ("[[test]]\n", "[[test]]"),
            ("[[guard]]\n", "[[guard]]"),
            ("[rules]\n", "[rules]"),
        ],
    )
    def test_a_table_of_the_project_in_a_profile_is_told_where_to_go(
        self, cli: Cli, catalog: Path, table: str, name: str
    ) -> None:
        (catalog / "board.toml").write_text('[profile]\nname = "acme/board"\n' + table)
        done = cli("validate", "board.toml")
        assert f"{name} belongs in the project file" in done.stdout

    def test_fixes_are_applied(self, cli: Cli, catalog: Path) -> None:
        wrong = '[model.digits.variants]\npath = "digits_portable.pte"\n'
        (catalog / "models.toml").write_text(wrong)
        assert cli("validate", "models.toml", "--fix", "--unsafe-fixes").status == 0
        fixed = '[[model.digits.variants]]\nfile = "digits_portable.pte"\n'
        assert (catalog / "models.toml").read_text() == fixed


class TestSchema:
    """`etconfig schema --models` describes a file of models."""

    def test_it_accepts_what_etconfig_reads(self, cli: Cli, catalog: Path) -> None:
        schema = json.loads(cli("schema", "--models").stdout)
        assert schema == models_schema()
        validator = jsonschema.Draft202012Validator(schema)
        assert validator.is_valid(tomli.loads(MODELS))
        for wrong in (
            "[model.a]",
            "[[model.a.variants]]",
            "[[model.a.variants]]\nfile='a'\nx=1",
            "[options]",
        ):
            assert not validator.is_valid(tomli.loads(wrong))
        project = json.loads(cli("schema", "--project").stdout)
        text = 'models = ["models.toml"]\n' + MODELS
        assert jsonschema.Draft202012Validator(project).is_valid(tomli.loads(text))


class TestRuntimeBackends:
    """The fact `runtime.backends` has what an executor and the plugins can run here."""

    def test_facts_find_it_for_an_executor(self, cli: Cli, place: Path) -> None:
        done = cli("facts", "--executor", "numpy", "--save", "here.json")
        assert done.status == 0
        sheet = etconfig.load_fact_sheet("here.json")
        assert sheet["runtime.backends"].value == ("ReferenceCpuBackend", "ReferenceNpuBackend")

    def test_without_an_executor_it_is_unknown(self, cli: Cli, place: Path) -> None:
        assert "it depends on the executor that runs programs" in cli("facts", "--all").stdout

    def test_an_executor_is_about_this_device(self, cli: Cli, place: Path) -> None:
        done = cli("facts", "--executor", "numpy", "--facts", "device.json")
        assert done.status == 2
        assert "--executor is about this device" in done.stderr

    def test_this_device_has_the_backends_of_its_plugins(self, catalog: Path) -> None:
        (catalog / "models.toml").write_text('[[model.a.variants]]\nfile = "model.pte"\n')
        choice = etconfig.select_model("a", models="models.toml")
        assert choice.reasons == ("ReferenceCpuBackend and ReferenceNpuBackend are in runtime.backends",)

    def test_a_backend_that_is_turned_off_does_not_count(self, catalog: Path) -> None:
        (catalog / "models.toml").write_text('[[model.a.variants]]\nfile = "model.pte"\n')
        installation = etconfig.Installation(environ={"ETCONFIG_DISABLE_PLUGINS": "ReferenceNpuBackend"})
        with pytest.raises(etconfig.ConfigError, match="no variant of model 'a' suits this device") as caught:
            etconfig.select_model("a", models="models.toml", installation=installation)
        assert "it needs ReferenceNpuBackend, and runtime.backends is ReferenceCpuBackend" in "".join(
            note for problem in caught.value.diagnostics for note in problem.notes
        )


class TestPython:
    """`select_model` takes what other functions of etconfig take."""

    def test_facts_by_hand_win(self, catalog: Path) -> None:
        facts = etconfig.FactSheet.empty(BUILTIN_FACTS)
        by_hand = {"runtime.backends": ["XnnpackBackend"], "cpu.available_cores": 8}
        choice = select_model("digits", models="models.toml", facts=facts, fact_overrides=by_hand)
        assert str(choice.variant) == "digits_xnnpack.pte"
        assert (choice.name, choice.fallback, choice.variant.number) == ("digits", False, 1)

    def test_the_chosen_program_loads_and_runs_here(self, catalog: Path, recorded: dict[str, object]) -> None:
        choice = select_model("digits", models=catalog / "models.toml")
        program = etconfig.load_program(choice.variant.path, data=choice.needs.data)
        with program.load_method("forward") as method:
            (scores,) = method.execute([recorded["images"][:1]])  # type: ignore[index]
        assert scores.shape == (1, 10)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"name": 3}, "name: expected the name of a model"),
            ({"name": "digits", "models": 3}, "models: expected"),
            ({"name": "digits", "facts": {}}, "facts"),
        ],
    )
    def test_wrong_types_are_named(self, catalog: Path, arguments: dict[str, object], message: str) -> None:
        with pytest.raises(TypeError, match=message):
            select_model(**arguments)  # type: ignore[arg-type]

    def test_a_choice_shows_itself(self, catalog: Path) -> None:
        facts = etconfig.load_fact_sheet(SHEETS / "pixel-8.json")
        choice = select_model("digits", models="models.toml", facts=facts)
        assert repr(choice) == "<ModelChoice digits: variant 2, digits_portable.pte>"
        lines = str(choice).splitlines()
        assert lines[0] == "ModelChoice: variant 2 of model digits, digits_portable.pte"
        assert lines[2].split() == ["VARIANT", "FILE", "SELECTED", "WHY"]
        assert "runtime.backends is not known on this device" in lines[3]
        assert "<table>" in choice._repr_html_()


class TestHostileNames:
    """Names in a file of models do not control the terminal."""

    def test_control_characters_are_escaped(self, cli: Cli, catalog: Path) -> None:
        name = "a\\u001b[31mb"
        text = f'[[model."{name}".variants]]\nfile = "{name}.pte"\n'
        (catalog / "models.toml").write_text(text)
        for arguments in (("list",), ("check",), ("select", "a\x1b[31mb"), ("select", "none")):
            done = cli("models", *arguments, "--models", "models.toml")
            assert "\x1b" not in done.stdout + done.stderr
            assert "u001b" in done.stdout + done.stderr


class TestDoctor:
    """`etconfig doctor` lists the models of the project file."""

    def test_each_model_is_listed_with_its_place(self, cli: Cli, catalog: Path) -> None:
        (catalog / "etconfig.toml").write_text(MODELS)
        assert "digits, 2 variants, from" in cli("doctor").stdout
        (catalog / "etconfig.toml").write_text("[model.detector]\nbackends = ['ReferenceCpuBackend']\n")
        assert "detector, run by ReferenceCpuBackend, from" in cli("doctor").stdout

    def test_a_wrong_table_is_a_finding(self, cli: Cli, catalog: Path) -> None:
        (catalog / "etconfig.toml").write_text(MODELS.replace("when", "wehn"))
        done = cli("doctor")
        assert done.status == 1
        assert "has no key 'wehn'" in done.stdout


class TestCompletion:
    """A shell completes the names of models."""

    @pytest.mark.parametrize("arguments", ["models select ", "models check "])
    def test_models_of_the_project_file_are_offered(
        self, cli: Cli, catalog: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
    ) -> None:
        (catalog / "etconfig.toml").write_text(MODELS)
        monkeypatch.setenv("_ETCONFIG_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"etconfig {arguments}di")
        monkeypatch.setenv("COMP_CWORD", "3")
        assert "digits" in cli().stdout

    def test_models_of_the_named_file_are_offered(
        self, cli: Cli, catalog: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("_ETCONFIG_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", "etconfig models select --models models.toml di")
        monkeypatch.setenv("COMP_CWORD", "5")
        assert "digits" in cli().stdout


def test_an_executor_that_is_not_installed_is_refused_beside_a_sheet(cli: Cli, catalog: Path) -> None:
    sheet = ("--facts", "device.json", "--fact", "runtime.backends=XnnpackBackend")
    done = cli("models", "select", "digits", "--models", "models.toml", *sheet, "--executor", "nope")
    assert done.status == 2
    assert "nope" in done.stderr
