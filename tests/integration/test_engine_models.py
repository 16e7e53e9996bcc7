"""Models that engines run without a program: options, objects, and names that are wrong."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_engine import OTHER, SPEC, TinyOptions, TinySession

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import BackendUnavailableError, ConfigError, ModelError, OptionError, PluginCallError
from etconfig.schema.spec import BackendSpec

PROFILE = """\
[profile]
name = "board"

[options.TinyEngine]
threads = 2

[instances.left]
method = "detector"

[instances.left.options.TinyEngine]
precision = "bf16"

[methods.encoder.options.TinyEngine]
threads = { expr = "cpu.available_cores - 1" }
"""
MODELS = {"detector": "TinyEngine", "encoder": ["TinyEngine"], "both": ["TinyEngine", "OtherEngine"]}


@pytest.fixture
def installation(place: Path) -> Installation:
    (place / "board.toml").write_text(PROFILE)
    (place / "model.tiny").write_text("a model")
    return Installation(place).with_backends({"TinyEngine": SPEC, "OtherEngine": OTHER})


@pytest.fixture
def config(installation: Installation) -> etconfig.Resolution:
    return etconfig.resolve(
        models=MODELS,
        profile="board.toml",
        fact_overrides={"cpu.available_cores": 4},
        instances={"detector": ["right"]},
        installation=installation,
    )


def problem_of(error: ConfigError) -> tuple[str, str, str | None]:
    (problem,) = error.diagnostics
    return problem.code, problem.message, problem.help


class TestOptions:
    """`options_for` gives typed options for each model, instance and backend."""

    def test_a_profile_sets_them_by_model_and_instance(self, config: etconfig.Resolution) -> None:
        left = config.options_for("detector", instance="left")
        assert isinstance(left, TinyOptions)
        assert (left.threads, left.precision) == (2, "bf16")
        assert config.options_for("detector", instance="right") == TinyOptions(threads=2)
        assert config.options_for("encoder") == TinyOptions(threads=3)

    def test_of_several_backends_one_is_named(self, config: etconfig.Resolution) -> None:
        assert config.options_for("both", backend="OtherEngine") == TinyOptions()
        expected = r"^both uses 'TinyEngine' and 'OtherEngine': say which one with backend=\.\.\.$"
        with pytest.raises(ValueError, match=expected):
            config.options_for("both")

    def test_provenance_names_the_model(self, config: etconfig.Resolution) -> None:
        explained = config.explain("detector@left:TinyEngine.precision")
        assert explained.value == "bf16"
        assert "board.toml:11" in str(explained)

    def test_a_resolution_pickles(self, config: etconfig.Resolution) -> None:
        again = pickle.loads(pickle.dumps(config))
        assert again == config
        assert again.options_for("encoder").threads == 3

    def test_models_go_with_a_program(self, installation: Installation) -> None:
        program = etconfig.load_program("model.pte", installation=installation)
        config = etconfig.resolve(program, models={"detector": "TinyEngine"})
        assert config.options_for("detector") == TinyOptions()
        assert "ReferenceCpuBackend" in config.arguments("forward")
        with pytest.raises(OptionError) as caught:
            config.arguments("foward")
        assert problem_of(caught.value) == (
            "unknown-model",
            "there is no model or method 'foward'",
            "did you mean 'forward'?",
        )

    def test_no_model_has_the_name_of_a_method(self, installation: Installation) -> None:
        program = etconfig.load_program("model.pte", installation=installation)
        with pytest.raises(ModelError) as caught:
            etconfig.resolve(program, models={"forward": "TinyEngine"})
        assert problem_of(caught.value) == (
            "duplicate-model",
            "model 'forward' has the name of a method of a program; options would be for both",
            "give the model another name",
        )


class TestBuild:
    """`build` hands the options to the backend's `build` and returns the engine's own object."""

    def test_the_engine_gets_the_options_and_the_arguments(self, config: etconfig.Resolution) -> None:
        session = config.build("detector", "model.tiny", instance="left", verbose=True)
        assert type(session) is TinySession
        assert (session.threads, session.precision, session.verbose) == (2, "bf16", True)
        assert session.run([1.5]) == [1.5]

    def test_without_arguments_it_makes_settings(self, config: etconfig.Resolution) -> None:
        assert config.build("encoder") == {"threads": 3, "precision": "f32"}

    def test_errors_of_the_engine_pass_through(self, config: etconfig.Resolution) -> None:
        with pytest.raises(FileNotFoundError, match="absent"):
            config.build("detector", "absent.tiny")

    def test_errors_about_a_value_name_the_model_and_the_place_of_the_value(
        self, installation: Installation
    ) -> None:
        def refuse(error: Exception) -> BackendSpec:
            def build(options: TinyOptions, *arguments: object, **named: object) -> TinySession:
                raise error

            return replace(SPEC, build=build)

        unavailable = BackendUnavailableError(
            backend="TinyEngine", reason="it lacks threads", help="buy some"
        )
        text = "set for model 'detector@left': "
        for error, expected in (
            (ValueError("threads is too much"), f"threads is too much; {text}threads at board.toml:5:11"),
            (
                RuntimeError("threads and precision"),
                f"threads and precision; {text}threads at board.toml:5:11, precision at board.toml:11:13",
            ),
            (ValueError("something else"), "something else"),
            (OSError(2, "no threads"), "[Errno 2] no threads"),
            (unavailable, f"{unavailable}; {text}threads at board.toml:5:11"),
        ):
            refusing = installation.with_backends({"TinyEngine": refuse(error)})
            found = etconfig.resolve(models=MODELS, profile="board.toml", installation=refusing)
            with pytest.raises(type(error)) as caught:
                found.build("detector", instance="left")
            assert str(caught.value) == expected

    def test_a_backend_without_build_is_refused(self, config: etconfig.Resolution) -> None:
        with pytest.raises(BackendUnavailableError, match="its declaration has no build") as caught:
            config.build("both", "model.tiny", backend="OtherEngine")
        assert caught.value.help == (
            "hand options_for(...) to the engine, or install a plugin that creates its objects"
        )


class TestDevice:
    """`verify_on_device` of a backend refuses options that a device excludes, at their place."""

    def validated(self, installation: Installation, verify: Any) -> list[tuple[str, str]]:
        of_device = installation.with_backends({"TinyEngine": replace(SPEC, verify_on_device=verify)})
        facts = etconfig.FactSheet.from_values({"cpu.available_cores": 4, "cpu.arch": "arm64"})
        found = etconfig.validate_file("board.toml", of_device, facts=facts)
        return [(str(problem), str(problem.help)) for problem in found]

    def test_options_that_the_facts_exclude_are_errors(self, installation: Installation) -> None:
        def verify(options: TinyOptions, facts: dict[str, object]) -> Any:
            if facts["cpu.arch"] == "arm64" and options.threads == 2:
                yield "threads is 2, which arm64 lacks"

        assert self.validated(installation, verify) == [
            (
                "board.toml:5:11: TinyEngine: threads is 2, which arm64 lacks",
                "choose another value for this device, or set it for others with [[when]]",
            )
        ]
        assert self.validated(installation, lambda options, facts: []) == []

    def test_a_function_that_fails_is_named(self, installation: Installation) -> None:
        for verify, cause in (
            (lambda options, facts: [facts["gpu.count"]], "KeyError: 'gpu.count'"),
            (lambda options, facts: [1], "TypeError: it returned [1]"),
        ):
            with pytest.raises(PluginCallError, match=re.escape(cause)):
                self.validated(installation, verify)


class TestWrongArguments:
    """Arguments of a wrong type, or of a wrong number, are named."""

    def test_the_name_of_a_model_is_a_text(self, config: etconfig.Resolution) -> None:
        session: Any = config.build("detector", "model.tiny")
        expected = '^model: expected the name of a model, as "detector", given TinySession$'
        with pytest.raises(TypeError, match=expected):
            config.effective(session, "detector")
        with pytest.raises(TypeError, match=expected):
            config.build(session, "model.tiny")
        with pytest.raises(TypeError, match=expected):
            config.options_for(session)

    def test_so_are_those_of_instances_and_backends(self, config: etconfig.Resolution) -> None:
        wrong: Any = 3
        with pytest.raises(
            TypeError, match=r"^instance: expected the name of an instance, or None, given int$"
        ):
            config.options_for("detector", instance=wrong)
        with pytest.raises(TypeError, match=r"^backend: expected the id of a backend, or None, given int$"):
            config.options_for("detector", backend=wrong)
        with pytest.raises(
            TypeError, match=r'^method: expected the name of a method, as "forward", given int$'
        ):
            config.arguments(wrong)

    def test_build_says_which_arguments_it_takes(self, config: etconfig.Resolution) -> None:
        takes = re.escape("after the model's name, TinyEngine takes (path=None, *, verbose=False)")
        with pytest.raises(TypeError, match=f"^build: too many positional arguments; {takes}$"):
            config.build("detector", "model.tiny", "left")
        with pytest.raises(TypeError, match=f"^build: got an unexpected keyword argument 'fast'; {takes}$"):
            config.build("detector", "model.tiny", fast=True)


class TestNames:
    """A mistyped name is an error with a suggestion, wherever it is written."""

    @pytest.mark.parametrize("method", ["options_for", "build"])
    def test_a_model_in_a_call(self, config: etconfig.Resolution, method: str) -> None:
        with pytest.raises(OptionError) as caught:
            getattr(config, method)("detectr")
        expected = ("unknown-model", "there is no model 'detectr'", "did you mean 'detector'?")
        assert problem_of(caught.value) == expected

    def test_a_name_that_is_near_none_is_answered_with_all(self, config: etconfig.Resolution) -> None:
        with pytest.raises(OptionError) as caught:
            config.options_for("x")
        assert problem_of(caught.value)[2] == "the models are both, detector, encoder"

    def test_an_instance_and_a_backend_in_a_call(self, config: etconfig.Resolution) -> None:
        with pytest.raises(OptionError) as caught:
            config.options_for("detector", instance="lefd")
        message = "model 'detector' has no instance 'lefd'"
        assert problem_of(caught.value) == ("unknown-instance", message, "did you mean 'left'?")
        with pytest.raises(OptionError) as caught:
            config.build("both", backend="TinyEngin")
        message = "both does not use the backend 'TinyEngin'"
        assert problem_of(caught.value) == ("not-delegated", message, "did you mean 'TinyEngine'?")

    def test_a_label_for_a_model(self, config: etconfig.Resolution) -> None:
        with pytest.raises(OptionError) as caught:
            config.options_for("detector@left")
        assert problem_of(caught.value)[2] == 'write the instance by itself: arguments("detector", "left")'

    @pytest.mark.parametrize(
        ("written", "code", "message", "help"),
        [
            (
                "[methods.detectr.options.TinyEngine]\nthreads = 2",
                "unknown-model",
                "there is no model 'detectr'",
                "did you mean 'detector'?",
            ),
            (
                "[instances.left]\nmethod = 'detectr'",
                "unknown-model",
                "there is no model 'detectr'",
                "did you mean 'detector'?",
            ),
        ],
    )
    def test_a_profile(
        self, installation: Installation, written: str, code: str, message: str, help: str
    ) -> None:
        Path("wrong.toml").write_text(f'[profile]\nname = "wrong"\n{written}\n')
        models = {"detector": "TinyEngine", "encoder": "TinyEngine"}
        with pytest.raises(OptionError) as caught:
            etconfig.resolve(models=models, profile="wrong.toml", installation=installation)
        assert problem_of(caught.value) == (code, message, help)
        assert caught.value.diagnostics[0].spans[0].file == "wrong.toml"

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            ("[options.OtherEngine]\nthreads = 2", "no model uses 'OtherEngine'"),
            (
                "[methods.detector.options.OtherEngine]\nthreads = 2",
                "model 'detector' does not use 'OtherEngine'",
            ),
            ("[methods.audio.options.TinyEngine]\nthreads = 2", "there is no model 'audio'"),
        ],
    )
    def test_a_profile_may_serve_other_applications_too(
        self, installation: Installation, written: str, message: str
    ) -> None:
        Path("shared.toml").write_text(f'[profile]\nname = "shared"\n{written}\n')
        models = {"detector": "TinyEngine", "encoder": "TinyEngine"}
        config = etconfig.resolve(models=models, profile="shared.toml", installation=installation)
        assert [(note.severity.value, note.message) for note in config.warnings] == [("note", message)]

    def test_an_override(self, installation: Installation) -> None:
        with pytest.raises(OptionError) as caught:
            etconfig.resolve(
                models=MODELS,
                profile="board.toml",
                overrides={"detectr:TinyEngine.threads": 2},
                installation=installation,
            )
        expected = ("unknown-model", "there is no model 'detectr'", "did you mean 'detector'?")
        assert problem_of(caught.value) == expected

    def test_instances_of_a_call(self, installation: Installation) -> None:
        with pytest.raises(ModelError) as caught:
            etconfig.resolve(models=MODELS, instances={"detectr": ["left"]}, installation=installation)
        assert problem_of(caught.value)[2] == "did you mean 'detector'?"

    def test_a_backend(self, installation: Installation) -> None:
        with pytest.raises(BackendUnavailableError) as caught:
            etconfig.resolve(models={"detector": "TinyEngin"}, installation=installation)
        assert caught.value.help == "did you mean 'TinyEngine'?"

    def test_explain(self, config: etconfig.Resolution) -> None:
        with pytest.raises(OptionError) as caught:
            config.explain("detectr:TinyEngine.threads")
        assert "did you mean 'detector'?" in str(caught.value)

    def test_explain_without_a_backend(self, config: etconfig.Resolution) -> None:
        with pytest.raises(OptionError) as caught:
            config.explain("detector.threads")
        assert problem_of(caught.value) == (
            "unknown-backend",
            "no arguments were resolved for a backend 'detector'",
            "'detector' is a model: name the backend, too, as in detector:BACKEND.OPTION",
        )


class TestModels:
    """`Models` takes the place of a program."""

    def test_it_is_a_program_for_what_needs_no_file(self, installation: Installation) -> None:
        models = etconfig.Models(MODELS, installation)
        config = etconfig.resolve(models, profile="board.toml", fact_overrides={"cpu.available_cores": 2})
        assert config.options_for("encoder").threads == 1
        assert models.method_names == ("detector", "encoder", "both")
        assert models.backends("both") == ("TinyEngine", "OtherEngine")

    def test_it_shows_itself(self, installation: Installation) -> None:
        models = etconfig.Models(MODELS, installation)
        assert repr(models) == "<Models: detector, encoder, both>"
        assert re.search(r"both +TinyEngine, OtherEngine", str(models))
        assert "<td" in models._repr_html_()

    @pytest.mark.parametrize("character", ["\x00", "\u202e", "\u200b", "\ud800"])
    def test_names_have_no_invisible_characters(self, installation: Installation, character: str) -> None:
        name = f"a{character}b"
        expected = re.escape(
            f"the name {name!a} contains the invisible character U+{ord(character):04X}; retype it"
        )
        with pytest.raises(ValueError, match=f"^models: {expected}$"):
            etconfig.Models({name: "TinyEngine"}, installation)
        with pytest.raises(ValueError, match=f"^instances: {expected}$"):
            etconfig.resolve(
                models={"detector": "TinyEngine"}, instances={"detector": [name]}, installation=installation
            )

    def test_nor_do_those_in_a_file(self, installation: Installation) -> None:
        Path("models.toml").write_text('[model."a\\u0000b"]\nbackends = ["TinyEngine"]\n')
        with pytest.raises(ConfigError) as caught:
            etconfig.Models.read("models.toml", installation)
        assert problem_of(caught.value) == (
            "invisible-character",
            "the name 'a\\x00b' contains the invisible character U+0000",
            "retype it",
        )

    @pytest.mark.parametrize(
        ("models", "error", "message"),
        [
            ({}, ValueError, "given no model"),
            ({"a": []}, ValueError, "'a' has no backend"),
            ({"a": ["X", "X"]}, ValueError, "'a' has a backend twice"),
            ({"a b": "X"}, ValueError, "'a b' is not a name; a model's name contains no blanks"),
            ({"a": 3}, TypeError, "given int for 'a'"),
            ({"a": [3]}, TypeError, "given int for 'a'"),
            ({3: "X"}, TypeError, "expected backends by model"),
            (["a"], TypeError, "given list"),
        ],
    )
    def test_what_is_not_models_is_refused(
        self, place: Path, models: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            etconfig.resolve(models=models)


class TestDeclaration:
    """`effective` and `update` are for what `build` returns."""

    @pytest.mark.parametrize("name", ["effective", "update"])
    def test_they_need_build(self, name: str) -> None:
        fields = {"build": None, "effective": None, "update": None, name: getattr(SPEC, name)}
        expected = f"^backend TinyEngine: {name} takes what build returns; declare build, too$"
        with pytest.raises(ValueError, match=expected):
            replace(SPEC, **fields)

    def test_no_declaration_needs_them(self) -> None:
        assert isinstance(OTHER, BackendSpec)
        assert (OTHER.build, OTHER.effective, OTHER.update) == (None, None, None)


def test_an_engine_that_runs_no_delegates_says_what_it_is_for(installation: Installation) -> None:
    with pytest.raises(BackendUnavailableError) as caught:
        installation.plugins.create_backend("TinyEngine")
    assert "builds objects of an engine, and has no implementation for delegates" in caught.value.reason
    assert (
        caught.value.help
        == "give it models of their own, with models= or --models, and call build of the result"
    )
