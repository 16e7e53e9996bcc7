"""`etconfig schema --profile`, `--project` and `--models`: they accept what etconfig accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli
from command_line import ROOT, Outcome
from profile_documents import (
    BAD_MODELS,
    BAD_PROFILES,
    BAD_PROJECTS,
    GOOD_MODELS,
    GOOD_PROFILES,
    GOOD_PROJECTS,
    ONLY_VALIDATE_SEES,
)

from etconfig.app.installation.installation import Installation
from etconfig.app.validating.validation import validate_file

Schema = Mapping[str, Any]


@pytest.fixture
def profile_schema(cli: Callable[..., Outcome]) -> Schema:
    return cli("schema", "--profile").json


@pytest.fixture
def project_schema(cli: Callable[..., Outcome]) -> Schema:
    return cli("schema", "--project").json


@pytest.fixture
def models_schema(cli: Callable[..., Outcome]) -> Schema:
    return cli("schema", "--models").json


def accepts(schema: Schema, text: str) -> bool:
    return jsonschema.Draft4Validator(schema).is_valid(tomli.loads(text))


def etconfig_accepts(name: str, text: str) -> bool:
    Path(name).write_text(text)
    return not any(problem.is_error for problem in validate_file(Path(name), Installation(Path.cwd())))


class TestDocuments:
    """The schema and `validate` agree, as far as a schema can express it."""

    @pytest.mark.parametrize("text", GOOD_PROFILES.values(), ids=GOOD_PROFILES)
    def test_good_profiles_are_valid(self, profile_schema: Schema, text: str) -> None:
        assert etconfig_accepts("p.toml", text)
        assert accepts(profile_schema, text)

    @pytest.mark.parametrize("text", BAD_PROFILES.values(), ids=BAD_PROFILES)
    def test_bad_profiles_are_refused(self, profile_schema: Schema, text: str) -> None:
        assert not etconfig_accepts("p.toml", text)
        assert not accepts(profile_schema, text)

    @pytest.mark.parametrize("text", GOOD_PROJECTS.values(), ids=GOOD_PROJECTS)
    def test_good_project_files_are_valid(self, project_schema: Schema, text: str) -> None:
        assert etconfig_accepts("etconfig.toml", text)
        assert accepts(project_schema, text)

    @pytest.mark.parametrize("text", BAD_PROJECTS.values(), ids=BAD_PROJECTS)
    def test_bad_project_files_are_refused(self, project_schema: Schema, text: str) -> None:
        assert not etconfig_accepts("etconfig.toml", text)
        assert not accepts(project_schema, text)

    @pytest.mark.parametrize("text", GOOD_MODELS.values(), ids=GOOD_MODELS)
    def test_good_models_are_valid(self, models_schema: Schema, text: str) -> None:
        assert etconfig_accepts("models.toml", text)
        assert accepts(models_schema, text)

    @pytest.mark.parametrize("text", BAD_MODELS.values(), ids=BAD_MODELS)
    def test_bad_models_are_refused(self, models_schema: Schema, text: str) -> None:
        assert not etconfig_accepts("models.toml", text)
        assert not accepts(models_schema, text)

    @pytest.mark.parametrize("text", ONLY_VALIDATE_SEES.values(), ids=ONLY_VALIDATE_SEES)
    def test_only_validate_sees_the_rest(self, profile_schema: Schema, text: str) -> None:
        assert not etconfig_accepts("p.toml", text)
        assert accepts(profile_schema, text)

    @pytest.mark.parametrize("path", sorted((ROOT / "profiles").rglob("*.toml")), ids=lambda path: path.stem)
    def test_bundled_profiles_are_valid(self, profile_schema: Schema, path: Path) -> None:
        assert accepts(profile_schema, path.read_text("utf-8"))


class TestSchema:
    """A schema of draft 4, in which 2.0 is not an integer, that editors can use."""

    def test_both_are_valid_schemas(self, profile_schema: Schema, project_schema: Schema) -> None:
        for schema in (profile_schema, project_schema):
            assert schema["$schema"] == "http://json-schema.org/draft-04/schema#"
            jsonschema.Draft4Validator.check_schema(schema)

    def test_every_reference_has_a_target(self, profile_schema: Schema) -> None:
        text = json.dumps(profile_schema)
        references = {part.partition('"')[0] for part in text.split('"$ref": "#/definitions/')[1:]}
        assert references == profile_schema["definitions"].keys()

    def test_descriptions_are_next_to_the_alternatives(self, profile_schema: Schema) -> None:
        option = profile_schema["definitions"]["backend.ReferenceNpuBackend"]["properties"]["power_mode"]
        assert option["description"].startswith("The clock of the simulated device")
        assert option["default"] == "balanced"
        assert [*option["anyOf"][0]["enum"]] == ["low", "balanced", "high"]

    def test_a_broken_plugin_is_left_out_with_a_warning(
        self, cli: Callable[..., Outcome], installed: Callable[..., None]
    ) -> None:
        installed("twin-one", "twin-two")
        done = cli("schema", "--profile")
        assert done.status == 0
        assert done.stderr.startswith("warning[broken-plugin]: ")
        known = done.json["definitions"]["options"]["properties"]
        assert "ReferenceNpuBackend" in known
        assert "TwinNpu" not in known

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "give a backend, or --profile, --project or --models"),
            (
                ["ReferenceNpuBackend", "--profile"],
                "a backend and --profile are two schemas; give one of them",
            ),
            (["--profile", "--format", "markdown"], "--profile is printed as JSON only"),
        ],
    )
    def test_exactly_one_schema_can_be_requested(
        self, cli: Callable[..., Outcome], arguments: list[str], message: str
    ) -> None:
        done = cli("schema", *arguments)
        assert (done.status, done.stderr.splitlines()[0]) == (2, f"error: {message}")
