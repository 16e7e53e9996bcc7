"""Every layer, through the API and the command line: which one wins, and where it says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import ON_DEVICE, Outcome

import etconfig
from etconfig import Installation
from etconfig.app.validating.validation import validate_file
from etconfig.errors import DuplicatePluginError
from etconfig.facts.assignment import parse_fact_assignments
from etconfig.facts.sheet import load_fact_sheet
from etconfig.resolver.compiling.overrides import layer_from_overrides

NPU, CPU = "ReferenceNpuBackend", "ReferenceCpuBackend"

BOARD = """\
[profile]
name = "acme/board"
extends = ["generic/linux-x86_64"]
match = 'cpu.arch == "x86_64"'

[facts]
"cpu.available_cores" = 3

[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores" }

[options.ReferenceNpuBackend]
power_mode = "low"
core = 1

[methods.embed.options.ReferenceNpuBackend]
core = 2

[instances.left]
method = "forward"
[instances.left.options.ReferenceNpuBackend]
core = 3
"""
SETTINGS = f'[options.{NPU}]\npower_mode = "high"\n'


@pytest.fixture
def project(place: Path) -> Path:
    """A project: the current directory, with one profile of its own."""
    (place / "profiles" / "acme").mkdir(parents=True)
    (place / "profiles" / "acme" / "board.toml").write_text(BOARD)
    return place


@pytest.fixture
def resolve(project: Path, cli: Callable[..., Outcome]) -> Callable[..., Any]:
    """Resolve model.pte through the API and on the command line; both must give the same JSON form."""

    def resolve_both(profile: str | None = None, sets: Sequence[str] = (), facts: Sequence[str] = ()) -> Any:
        installation = etconfig.Installation(Path.cwd())
        program = etconfig.load_program(project / "model.pte", installation=installation)
        resolution = etconfig.resolve(
            program,
            profile=profile,
            facts=load_fact_sheet(project / "device.json"),
            fact_overrides=parse_fact_assignments(facts),
            overrides=layer_from_overrides(sets, "--set"),
        )
        options = [*(["--profile", profile] if profile else [])]
        options += [text for override in sets for text in ("--set", override)]
        options += [text for fact in facts for text in ("--fact", fact)]
        done = cli("resolve", project / "model.pte", "--facts", project / "device.json", *options, "--json")
        assert (done.status, done.stderr) == (0, "")
        assert done.json == resolution.to_jsonable()
        return done.json

    return resolve_both


def option(printed: Any, name: str, method: str = "forward", instance: str | None = None) -> Any:
    """All that is printed about one option of one method instance."""
    (found,) = [
        arguments["options"][name]
        for arguments in printed["arguments"]
        if (arguments["method"], arguments["instance"]) == (method, instance) and name in arguments["options"]
    ]
    return found


def told(entry: Any) -> tuple[object, str, str, int | None]:
    """A value, and the kind, file or name, and line of its origin."""
    origin = entry["origin"]
    return entry["value"], origin["kind"], origin["source"], origin.get("line")


class TestPrecedence:
    """Lowest first: schema default, plugin recommendation, profile chain, project file, ETCONFIG_SET,
    overrides. A later layer wins, and what it beat is remembered.
    """

    def test_each_layer_beats_all_below_it(
        self, resolve: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stack: list[tuple[object, str, str, int | None]] = []

        def check(layer: tuple[object, str, str, int | None], **options: Any) -> None:
            found = option(resolve(**options), "power_mode")
            assert told(found) == layer
            assert [told(beaten) for beaten in found["beat"]] == stack
            stack.insert(0, layer)

        board = "profiles/acme/board.toml"
        check(("balanced", "default", "ReferenceNpuOptions", None), profile="generic/any")
        check(("low", "profile", board, 13), profile=board)
        (project / "etconfig.toml").write_text(SETTINGS)
        check(("high", "project", f"{project}/etconfig.toml", 2), profile=board)
        monkeypatch.setenv("ETCONFIG_SET", f"{NPU}.power_mode=balanced")
        check(("balanced", "environment", "ETCONFIG_SET", 1), profile=board)
        check(("low", "override", "--set", None), profile=board, sets=[f"{NPU}.power_mode=low"])

    def test_a_recommendation_beats_the_default(self, resolve: Callable[..., Any]) -> None:
        found = option(resolve(), "scratch_bytes")
        assert told(found) == (524288, "recommendation", CPU, None)
        assert [told(beaten) for beaten in found["beat"]] == [
            (1048576, "default", "ReferenceCpuOptions", None)
        ]

    def test_inside_a_layer_the_more_specific_wins(self, resolve: Callable[..., Any]) -> None:
        printed = resolve("profiles/acme/board.toml")
        cores = {
            (method, instance): option(printed, "core", method, instance)["value"]
            for method, instance in (("forward", None), ("forward", "left"), ("embed", None))
        }
        assert cores == {("forward", None): 1, ("forward", "left"): 3, ("embed", None): 2}

    def test_a_later_layer_wins_even_where_an_earlier_one_is_more_specific(
        self, resolve: Callable[..., Any]
    ) -> None:
        printed = resolve("profiles/acme/board.toml", [f"{NPU}.core=0"])
        assert option(printed, "core", "forward", "left")["value"] == 0
        assert option(printed, "core", "embed")["value"] == 0


class TestProjectFile:
    """etconfig.toml, or [tool.etconfig] in pyproject.toml."""

    def test_pyproject_serves_as_well(self, resolve: Callable[..., Any], project: Path) -> None:
        text = f'[project]\nname = "x"\n\n[tool.etconfig.options.{NPU}]\npower_mode = "high"\n'
        (project / "pyproject.toml").write_text(text)
        found = option(resolve(), "power_mode")
        assert told(found) == ("high", "project", f"{project}/pyproject.toml", 5)

    def test_a_pyproject_of_another_tool_sets_nothing(
        self, resolve: Callable[..., Any], project: Path
    ) -> None:
        (project / "pyproject.toml").write_text('[tool.other]\nname = "etconfig"\n')
        assert told(option(resolve(), "power_mode"))[1] == "default"

    def test_etconfig_toml_counts_before_pyproject(self, cli: Callable[..., Outcome], project: Path) -> None:
        (project / "pyproject.toml").write_text(f'[tool.etconfig.options.{NPU}]\npower_mode = "low"\n')
        (project / "etconfig.toml").write_text(SETTINGS)
        done = cli("resolve", "model.pte", *ON_DEVICE, "--json")
        found = option(done.json, "power_mode")
        assert found["value"] == "high"
        assert [told(beaten)[1] for beaten in found["beat"]] == ["default"]
        assert done.stderr.startswith("warning[ignored-project-file]: ")

    def test_it_is_found_from_a_directory_below(
        self, resolve: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "etconfig.toml").write_text(SETTINGS)
        (project / "below" / "deep").mkdir(parents=True)
        monkeypatch.chdir(project / "below" / "deep")
        assert told(option(resolve(), "power_mode"))[2] == f"{project}/etconfig.toml"

    def test_the_nearest_one_counts_alone(
        self, resolve: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "etconfig.toml").write_text(SETTINGS)
        (project / "below").mkdir()
        (project / "below" / "etconfig.toml").write_text(f"[options.{NPU}]\ncore = 2\n")
        monkeypatch.chdir(project / "below")
        printed = resolve()
        assert option(printed, "power_mode")["value"] == "balanced"
        assert told(option(printed, "core")) == (2, "project", f"{project}/below/etconfig.toml", 2)

    def test_it_selects_a_profile_by_a_path_from_where_it_is(
        self, resolve: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "etconfig.toml").write_text('profile = "profiles/acme/board.toml"\n')
        (project / "below").mkdir()
        monkeypatch.chdir(project / "below")
        printed = resolve()
        assert printed["profile"] == "acme/board"
        assert option(printed, "power_mode")["value"] == "low"

    def test_the_command_line_selects_another(self, resolve: Callable[..., Any], project: Path) -> None:
        (project / "etconfig.toml").write_text('profile = "profiles/acme/board.toml"\n')
        assert resolve("generic/any")["profile"] == "generic/any"


class TestSelection:
    """--profile auto, a name, or a path; ETCONFIG_PROFILE_PATH names further directories."""

    def test_auto_is_the_most_derived_that_matches(
        self, resolve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert resolve()["profile"] == resolve("auto")["profile"] == "generic/linux-x86_64"
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
        assert resolve()["profile"] == resolve("auto")["profile"] == "acme/board"

    def test_a_project_may_say_auto(self, resolve: Callable[..., Any], project: Path) -> None:
        (project / "etconfig.toml").write_text('profile = "auto"\n')
        assert resolve()["profile"] == "generic/linux-x86_64"

    def test_a_name_and_a_path_give_the_same(
        self, resolve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", "profiles")
        assert resolve("acme/board") == resolve("profiles/acme/board.toml")

    def test_several_directories_are_separated_as_in_path(
        self, cli: Callable[..., Outcome], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "more").mkdir()
        (project / "more" / "mine.toml").write_text('[profile]\nname = "mine"\nextends = ["acme/board"]\n')
        monkeypatch.setenv("ETCONFIG_PROFILE_PATH", os.pathsep.join(["profiles", "", "more"]))
        listed = {entry["name"]: entry["path"] for entry in cli("profiles", "list", "--json").json}
        assert listed["acme/board"] == "profiles/acme/board.toml"
        assert listed["mine"] == "more/mine.toml"
        assert (
            cli("resolve", "model.pte", *ON_DEVICE, "--profile", "mine", "--json").json["profile"] == "mine"
        )

    def test_profile_path_is_the_same_as_an_option(self, cli: Callable[..., Outcome], project: Path) -> None:
        done = cli("resolve", "model.pte", *ON_DEVICE, "--profile-path", "profiles", "--json")
        assert done.json["profile"] == "acme/board"


class TestHandSetFacts:
    """[facts] in a profile or project file and --fact override detection, later ones the earlier."""

    def test_each_level_decides_what_is_computed(self, resolve: Callable[..., Any], project: Path) -> None:
        board = "profiles/acme/board.toml"

        def cores(**options: Any) -> tuple[object, object]:
            printed = resolve(**options)
            return option(printed, "num_threads")["value"], printed["facts"]["cpu.available_cores"]

        assert cores(profile="generic/any") == (4, 4)
        assert cores(profile=board) == (3, 3)
        (project / "etconfig.toml").write_text('[facts]\n"cpu.available_cores" = 5\n')
        assert cores(profile=board) == (5, 5)
        assert cores(profile=board, facts=["cpu.available_cores=7"]) == (7, 7)

    def test_explain_says_who_set_it(self, cli: Callable[..., Outcome], project: Path) -> None:
        board = "profiles/acme/board.toml"
        explain = ("explain", f"forward:{CPU}.num_threads", "model.pte", *ON_DEVICE, "--profile", board)
        assert f"depends on cpu.available_cores = 3, from profile {board}:7:1\n" in cli(*explain).stdout
        (project / "etconfig.toml").write_text('[facts]\n"cpu.available_cores" = 5\n')
        expected = f"depends on cpu.available_cores = 5, from project {project}/etconfig.toml:2:1\n"
        assert expected in cli(*explain).stdout
        by_hand = cli(*explain, "--fact", "cpu.available_cores=7").stdout
        assert "depends on cpu.available_cores = 7, from override --fact\n" in by_hand

    def test_those_of_the_project_and_of_the_command_line_take_part_in_the_selection(
        self, resolve: Callable[..., Any], project: Path
    ) -> None:
        assert resolve(facts=["cpu.arch=arm64"])["profile"] == "generic/linux-arm64"
        (project / "etconfig.toml").write_text('[facts]\n"cpu.arch" = "arm64"\n')
        assert resolve()["profile"] == "generic/linux-arm64"


class TestPluginChoices:
    """[plugins] prefer, allow and deny of the project file."""

    @pytest.mark.parametrize(
        ("choice", "why"),
        [
            ('deny = ["etconfig-reference"]', "it is on the project's deny list"),
            (f'deny = ["{NPU}"]', "it is on the project's deny list"),
            ('allow = ["acme-npu"]', "it is not on the project's allow list"),
        ],
    )
    def test_a_plugin_that_the_project_refuses_is_an_error_where_it_is_needed(
        self, cli: Callable[..., Outcome], project: Path, choice: str, why: str
    ) -> None:
        (project / "etconfig.toml").write_text(f"[plugins]\n{choice}\n")
        done = cli("run", "model.pte", "--input", "x.npy", *ON_DEVICE)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: backend '{NPU}' cannot run here: ")
        assert done.stderr.endswith(f"  = help: etconfig-reference 0.1.0 declares it, but {why}\n")

    @pytest.mark.parametrize("choice", ['allow = ["etconfig-reference"]', 'deny = ["acme-npu"]'])
    def test_what_it_does_not_refuse_runs(
        self, cli: Callable[..., Outcome], project: Path, choice: str
    ) -> None:
        (project / "etconfig.toml").write_text(f"[plugins]\n{choice}\n")
        assert cli("run", "model.pte", "--input", "x.npy", *ON_DEVICE).status == 0

    @pytest.mark.parametrize(("preferred", "doc"), [("twin-one", "Twin one."), ("Twin.Two", "Twin two.")])
    def test_of_two_that_claim_one_id_the_preferred_one_is_used(
        self,
        cli: Callable[..., Outcome],
        installed: Callable[..., None],
        project: Path,
        preferred: str,
        doc: str,
    ) -> None:
        installed("twin-two", "twin-one")
        with pytest.raises(DuplicatePluginError):
            etconfig.Installation(project).plugins.backend_spec("TwinNpu")
        (project / "etconfig.toml").write_text(f'[plugins]\nprefer = {{ TwinNpu = "{preferred}" }}\n')
        assert etconfig.Installation(project).plugins.backend_spec("TwinNpu").doc == doc
        assert cli("backends", "TwinNpu").stdout.startswith(f"TwinNpu: {doc}\n")


class TestAgreement:
    """All ways to ask give one answer."""

    def test_explain_tells_of_every_option_what_resolve_prints(
        self, cli: Callable[..., Outcome], project: Path
    ) -> None:
        (project / "etconfig.toml").write_text(SETTINGS)
        asked = ("model.pte", *ON_DEVICE, "--profile-path", "profiles", "--set", f"embed:{NPU}.core=0")
        printed = cli("resolve", *asked, "--json").json
        explained = {}
        for name in (f"{NPU}.core", f"{NPU}.power_mode", f"{NPU}.precision", f"{CPU}.num_threads"):
            for found in cli("explain", name, *asked, "--json").json:
                explained[found["path"]] = {key: found[key] for key in ("value", "origin", "beat")}
        assert len(explained) == 3 * 3 + 2
        for arguments in printed["arguments"]:
            scope = arguments["method"] + (f"@{arguments['instance']}" if arguments["instance"] else "")
            for name, found in arguments["options"].items():
                path = f"{scope}:{arguments['backend']}.{name}"
                assert explained.get(path, found) == found

    def test_the_table_shows_what_the_json_holds(self, cli: Callable[..., Outcome], project: Path) -> None:
        asked = ("resolve", "model.pte", *ON_DEVICE, "--profile-path", "profiles")
        rows = [line.split(maxsplit=3) for line in cli(*asked).stdout.splitlines()[3:]]
        shown = {(row[0], row[1], row[2]): row[3].split()[0].strip("'") for row in rows}
        held = {
            (
                arguments["method"] + (f"@{arguments['instance']}" if arguments["instance"] else ""),
                arguments["backend"],
                name,
            ): str(found["value"])
            for arguments in cli(*asked, "--json").json["arguments"]
            for name, found in arguments["options"].items()
        }
        assert shown == held

    def test_a_loaded_method_has_the_options_that_were_resolved(self, project: Path) -> None:
        with etconfig.load_program(project / "model.pte") as program:
            config = etconfig.resolve(program, profile=project / "profiles" / "acme" / "board.toml")
            left = config.arguments("forward", "left")
            with program.load_method("forward", left) as method:
                assert method.instance == "left"
                assert method.options(NPU) == left[NPU]
                assert method.effective_options() == {b: dict(left[b]) for b in (NPU, CPU)}

    def test_the_same_inputs_give_the_same_bytes_in_every_process(
        self, shell: Callable[..., Outcome], project: Path
    ) -> None:
        line = "etconfig resolve model.pte --facts device.json --profile-path profiles --json"
        assert shell(line, PYTHONHASHSEED="1").stdout == shell(line, PYTHONHASHSEED="2").stdout != ""


class TestSiblings:
    """A profile that lies where its name says may extend those beside it by name."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        for name, head in (("acme/base", ""), ("acme/pi", 'extends = ["acme/base"]\n')):
            path = tmp_path / f"boards/{name}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'[profile]\nname = "{name}"\n{head}')
        return tmp_path

    def test_a_file_finds_them(self, place: Path) -> None:
        assert validate_file(place / "boards/acme/pi.toml", Installation(place)) == ()

    def test_a_file_elsewhere_does_not(self, place: Path) -> None:
        path = (place / "boards/acme/pi.toml").rename(place / "boards/pi.toml")
        (problem,) = validate_file(path, Installation(place))
        assert problem.code == "unknown-profile"

    def test_a_link_that_leads_out_is_not_followed(self, place: Path) -> None:
        outside = place / "outside.toml"
        outside.write_text('[profile]\nname = "acme/base"\n')
        base = place / "boards/acme/base.toml"
        base.unlink()
        base.symlink_to(outside)
        (problem,) = validate_file(place / "boards/acme/pi.toml", Installation(place))
        assert problem.code == "unknown-profile"


def test_a_directory_of_profiles_may_contain_the_project_file(place: Path) -> None:
    (place / "etconfig.toml").write_text('profile = "phone"\nprofile_path = ["."]\n')
    (place / "pyproject.toml").write_text("[project]\n")
    (place / "phone.toml").write_text('[profile]\nname = "phone"\n')
    installation = Installation(place)
    assert etconfig.resolve(installation=installation).profile == "phone"
    assert not {"etconfig", "pyproject"} & {*installation.profiles.names}


def test_the_last_part_of_a_name_suggests_the_whole(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles"
    (profiles / "app").mkdir(parents=True)
    (profiles / "app/phone.toml").write_text('[profile]\nname = "app/phone"\n')
    project = tmp_path / "etconfig.toml"
    project.write_text('profile = "phone"\n')
    installation = Installation(tmp_path, profile_directories=[profiles])
    (problem,) = validate_file(project, installation)
    assert problem.help == "did you mean 'app/phone'?"
    assert problem.fix is not None
    assert problem.fix.replacement == '"app/phone"'
