from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS
from plugin_data import forget_modules_below, write_distribution

import etconfig
from etconfig.app.programs.loaded_model import error_code
from etconfig.errors import (
    BackendUnavailableError,
    DelegateError,
    DelegateInvalidCompatibilityError,
    EtconfigError,
    MethodNotFoundError,
    ModelLoadError,
    PluginLoadError,
    ProgramError,
    UnknownPluginError,
    UnreadableProgramError,
)

SAYS_XNNPACK = {"runtime.backends": ["XnnpackBackend", "ReferenceNpuBackend", "ReferenceCpuBackend"]}
"""A fact that promises more than this environment has: the built-in executor cannot run XNNPACK."""


@pytest.fixture
def programs(place: Path) -> Path:
    """The current directory, with the programs of the variants."""
    for name in ("digits_xnnpack.pte", "digits_portable.pte"):
        shutil.copy(DIGITS / name, place / name)
    return place


def declare(directory: Path, *files: str, fallback: bool) -> None:
    """Write `models.toml` with a model of these files."""
    lines = ["[model.digits]", f"fallback = {str(fallback).lower()}"]
    for file in files:
        lines += ["[[model.digits.variants]]", f'file = "{file}"']
    (directory / "models.toml").write_text("\n".join(lines))


def load(**arguments: Any) -> etconfig.LoadedModel:
    return etconfig.load_model("digits", models="models.toml", **arguments)


def select(**arguments: Any) -> etconfig.ModelChoice:
    return etconfig.select_model("digits", models="models.toml", **arguments)


class TestLoading:
    """The selected variant is loaded with its arguments."""

    def test_all_methods_run_and_close_with_the_model(self, programs: Path, recorded: Any) -> None:
        declare(programs, "digits_portable.pte", fallback=False)
        with load() as model:
            assert list(model.methods) == ["embed", "forward"]
            (scores,) = model.method().execute([recorded["images"][:1]])
            assert scores.shape == (1, 10)
            assert not model.report.is_fallback
            assert str(model.report) == "model digits: digits_portable.pte runs, as asked for"
            assert repr(model) == "<LoadedModel digits: digits_portable.pte>"
        with pytest.raises(EtconfigError):
            model.methods["forward"].execute([recorded["images"][:1]])

    def test_arguments_are_resolved_for_its_program(self, programs: Path) -> None:
        declare(programs, "model.pte", "digits_portable.pte", fallback=False)
        with load(methods=["forward"], overrides={"ReferenceCpuBackend.num_threads": 2}) as model:
            assert list(model.methods) == ["forward"]
            arguments = model.resolution.arguments("forward")
            assert arguments["ReferenceCpuBackend"].num_threads == 2  # type: ignore[attr-defined]
            with pytest.raises(MethodNotFoundError, match="it has 'forward'"):
                model.method("embed")

    def test_options_of_a_variant_that_does_not_suit_do_not_count(self, programs: Path) -> None:
        declare(programs, "model.pte", "none.pte", "digits_portable.pte", fallback=True)
        options = {"ReferenceCpuBackend.num_threads": 2}
        with load(overrides=options, fact_overrides={"runtime.backends": []}) as model:
            assert str(model.report.running) == "digits_portable.pte"
        with pytest.raises(etconfig.ConfigError, match="XnnpackBackend"):
            load(overrides={"XnnpackBackend.num_threads": 2}, fact_overrides={"runtime.backends": []})

    def test_conditions_of_profiles_see_the_backends(self, programs: Path) -> None:
        declare(programs, "model.pte", fallback=False)
        (programs / "board.toml").write_text(
            '[profile]\nname = "acme/board"\n[[when]]\n'
            "if = '\"ReferenceCpuBackend\" in runtime.backends'\n"
            "[when.options.ReferenceCpuBackend]\nnum_threads = 3\n"
        )
        with load(methods=["forward"], profile="board.toml") as model:
            arguments = model.resolution.arguments("forward")
            assert arguments["ReferenceCpuBackend"].num_threads == 3  # type: ignore[attr-defined]

    def test_a_loaded_model_is_not_copied(self, programs: Path) -> None:
        declare(programs, "digits_portable.pte", fallback=False)
        with load() as model:
            for attempt in (copy.copy, pickle.dumps):
                with pytest.raises(TypeError, match=r"load it with etconfig\.load_model"):
                    attempt(model)


class TestWithoutFallback:
    """A failed load is the error itself."""

    def test_the_error_is_that_of_the_first_variant(
        self, programs: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=False)
        with pytest.raises(BackendUnavailableError, match="XnnpackBackend"):
            load(fact_overrides=SAYS_XNNPACK)
        assert caplog.records == []

    def test_a_file_that_is_gone_is_the_error(self, programs: Path) -> None:
        declare(programs, "none.pte", "digits_portable.pte", fallback=False)
        with pytest.raises(UnreadableProgramError, match=r"none\.pte"):
            load()


class TestFallback:
    """With `fallback = true`, the next variant that suits the device takes over, and that is reported."""

    def test_the_report_has_what_was_asked_for_what_failed_and_what_runs(
        self, programs: Path, recorded: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=True)
        with load(fact_overrides=SAYS_XNNPACK) as model:
            report = model.report
            assert str(report.asked_for) == "digits_xnnpack.pte"
            assert [(str(each.variant), each.code) for each in report.failures] == [
                ("digits_xnnpack.pte", "NotFound")
            ]
            assert isinstance(report.failures[0].error, BackendUnavailableError)
            assert str(report.running) == "digits_portable.pte"
            assert report.is_fallback
            assert repr(model) == "<LoadedModel digits: digits_portable.pte instead of digits_xnnpack.pte>"
            assert model.choice.rejected[0].reasons[0].startswith("its load failed: backend 'XnnpackBackend'")
            (scores,) = model.method("forward").execute([recorded["images"][:1]])
            assert scores.shape == (1, 10)
        (record,) = caplog.records
        assert (record.name, record.levelno) == ("etconfig", logging.WARNING)
        assert record.getMessage() == str(report)

    def test_the_report_is_plain_data_too(self, programs: Path) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=True)
        with load(fact_overrides=SAYS_XNNPACK) as model:
            data = json.loads(json.dumps(model.report.to_jsonable()))
        assert (data["model"], data["is_fallback"]) == ("digits", True)
        assert data["asked_for"]["file"] == "digits_xnnpack.pte"
        assert [each["code"] for each in data["failures"]] == ["NotFound"]
        assert data["running"]["number"] == 2

    def test_programs_that_cannot_be_read_are_failed_loads(self, programs: Path) -> None:
        (programs / "text.pte").write_text("no program")
        declare(programs, "none.pte", "digits_xnnpack.pte", "text.pte", "digits_portable.pte", fallback=True)
        with load(fact_overrides=SAYS_XNNPACK) as model:
            report = model.report
        assert [(str(each.variant), each.code) for each in report.failures] == [
            ("none.pte", "AccessFailed"),
            ("digits_xnnpack.pte", "NotFound"),
            ("text.pte", "InvalidProgram"),
        ]
        assert str(report.asked_for) == "none.pte"

    def test_a_backend_that_refuses_its_payload_hands_over(self, programs: Path) -> None:
        declare(programs, "model.pte", "digits_portable.pte", fallback=True)
        with load(overrides={"ReferenceNpuBackend.fault": "init"}) as model:
            (failure,) = model.report.failures
            assert isinstance(failure.error, DelegateError)
            assert failure.error.backend == "ReferenceNpuBackend"
            assert str(model.report.running) == "digits_portable.pte"

    def test_what_was_loaded_before_the_failure_is_closed(
        self, programs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed: list[str] = []
        close = etconfig.LoadedProgram.close

        def noted(program: etconfig.LoadedProgram) -> None:
            closed.append(str(program.program.path))
            close(program)

        monkeypatch.setattr(etconfig.LoadedProgram, "close", noted)
        declare(programs, "model.pte", "digits_portable.pte", fallback=True)
        with load(overrides={"ReferenceNpuBackend.fault": "init"}):
            assert closed == ["model.pte"]
        assert closed == ["model.pte", "digits_portable.pte"]

    def test_if_all_fail_the_error_has_each_of_them(self, programs: Path) -> None:
        declare(programs, "digits_xnnpack.pte", "none.pte", fallback=True)
        with pytest.raises(ModelLoadError) as caught:
            load(fact_overrides=SAYS_XNNPACK)
        error = caught.value
        assert [(file, code) for file, code, _ in error.failures] == [
            ("digits_xnnpack.pte", "NotFound"),
            ("none.pte", "AccessFailed"),
        ]
        assert "no variant of model 'digits' can be loaded: digits_xnnpack.pte: " in str(error)
        assert isinstance(error.__cause__, BackendUnavailableError)
        assert pickle.loads(pickle.dumps(error)).failures == error.failures

    def test_a_variant_that_does_not_suit_is_not_tried(self, programs: Path) -> None:
        declare(programs, "model.pte", "digits_xnnpack.pte", "digits_portable.pte", fallback=True)
        with load(overrides={"ReferenceNpuBackend.fault": "init"}) as model:
            assert [str(each.variant) for each in model.report.failures] == ["model.pte"]
            assert "it needs XnnpackBackend" in model.choice.rejected[1].reasons[0]


class TestBrokenPlugins:
    """A backend whose plugin is installed and cannot be imported is a failed load, not an absent backend."""

    @pytest.fixture
    def broken(self, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[etconfig.Installation]:
        """An installation whose plugin of XnnpackBackend raises an error as soon as it is imported."""
        installed = programs / "installed"
        entries = "[etconfig.backends]\nXnnpackBackend = broken_xnnpack\n"
        headers = "Name: broken-xnnpack\nVersion: 1.0\n"
        write_distribution(installed, "broken_xnnpack-1.0.dist-info", entries, headers)
        (installed / "broken_xnnpack.py").write_text("raise RuntimeError('built for another system')\n")
        monkeypatch.syspath_prepend(str(installed))
        yield etconfig.Installation()
        forget_modules_below(installed)

    def test_without_fallback_it_is_the_error(self, programs: Path, broken: etconfig.Installation) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=False)
        for attempt in (load, select):
            with pytest.raises(PluginLoadError, match="built for another system"):
                attempt(installation=broken)

    def test_with_fallback_it_is_a_failed_load_with_a_warning(
        self, programs: Path, broken: etconfig.Installation, caplog: pytest.LogCaptureFixture
    ) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=True)
        with load(installation=broken) as model:
            report = model.report
        (failure,) = report.failures
        assert report.is_fallback
        assert (str(report.asked_for), str(report.running)) == ("digits_xnnpack.pte", "digits_portable.pte")
        assert isinstance(failure.error, PluginLoadError)
        (record,) = caplog.records
        assert "built for another system" in record.getMessage()
        (rejected,) = select(installation=broken).rejected
        (reason,) = rejected.reasons
        assert reason.startswith("it needs XnnpackBackend, which cannot be used: plugin 'XnnpackBackend' ")

    def test_if_no_other_variant_suits_the_help_is_that_of_the_plugin(
        self, programs: Path, broken: etconfig.Installation
    ) -> None:
        declare(programs, "digits_xnnpack.pte", fallback=True)
        with pytest.raises(etconfig.ConfigError, match="no variant of model 'digits' suits") as caught:
            load(installation=broken)
        (problem,) = caught.value.diagnostics
        assert "broken-xnnpack" in str(problem.help)

    def test_an_earlier_variant_that_suits_is_loaded_without_a_word(
        self, programs: Path, broken: etconfig.Installation, caplog: pytest.LogCaptureFixture
    ) -> None:
        declare(programs, "digits_portable.pte", "digits_xnnpack.pte", fallback=False)
        with load(installation=broken) as model:
            assert not model.report.is_fallback
        assert caplog.records == []

    def test_a_condition_that_does_not_hold_leaves_it_out(
        self, programs: Path, broken: etconfig.Installation
    ) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=False)
        text = (programs / "models.toml").read_text()
        condition = "digits_xnnpack.pte\"\nwhen = 'cpu.available_cores < 0'"
        (programs / "models.toml").write_text(text.replace('digits_xnnpack.pte"', condition))
        with load(installation=broken) as model:
            assert not model.report.is_fallback

    def test_facts_set_by_hand_leave_the_plugins_alone(
        self, programs: Path, broken: etconfig.Installation
    ) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=False)
        choice = select(installation=broken, fact_overrides={"runtime.backends": []})
        assert str(choice.variant) == "digits_portable.pte"

    def test_the_command_says_so(self, programs: Path, broken: etconfig.Installation, cli: Any) -> None:
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=False)
        done = cli("models", "select", "digits", "--models", "models.toml")
        assert done.status != 0
        assert "built for another system" in done.stderr
        declare(programs, "digits_xnnpack.pte", "digits_portable.pte", fallback=True)
        done = cli("models", "select", "digits", "--models", "models.toml")
        assert done.status == 0
        assert "which cannot be used: plugin 'XnnpackBackend'" in done.stdout


class TestMistakes:
    """A mistake of the caller is not a failed load: no other variant hides it."""

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"overrides": {"ReferenceCpuBackend.num_thread": 2}}, etconfig.ConfigError),
            ({"profile": "acme/none"}, etconfig.ConfigError),
            ({"methods": ["encode"]}, MethodNotFoundError),
            ({"methods": ["forward", 3]}, TypeError),
            ({"methods": [None]}, TypeError),
            ({"executor": "none"}, UnknownPluginError),
            ({"executor": "none", "facts": etconfig.FactSheet.empty()}, UnknownPluginError),
            ({"executor_options": {"x": 1}}, etconfig.ConfigError),
            ({"overrides": 3}, TypeError),
            ({"methods": "forward"}, TypeError),
            ({"methods": 3}, TypeError),
        ],
    )
    def test_it_is_raised_at_once(
        self,
        programs: Path,
        caplog: pytest.LogCaptureFixture,
        arguments: dict[str, Any],
        error: type[Exception],
    ) -> None:
        declare(programs, "model.pte", "digits_portable.pte", fallback=True)
        with pytest.raises(error) as caught:
            load(**arguments)
        assert not isinstance(caught.value, ModelLoadError)
        assert caplog.records == []


def test_a_name_of_a_method_that_is_no_text_is_named_by_its_place(programs: Path) -> None:
    declare(programs, "digits_portable.pte", fallback=False)
    with pytest.raises(TypeError, match=r"^methods\[1\]: expected the name of a method, given int$"):
        load(methods=["forward", 3])


class TestCodes:
    """The code of a failure is that of ExecuTorch."""

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (UnreadableProgramError(code="unreadable-file", region="program", reason="gone"), "AccessFailed"),
            (ProgramError(code="bad-header", region="header"), "InvalidProgram"),
            (BackendUnavailableError(backend="X", reason="absent"), "NotFound"),
            (DelegateInvalidCompatibilityError(cause="too new"), "DelegateInvalidCompatibility"),
            (DelegateError(backend="X", method="m", phase="init", cause="c"), "DelegateError"),
            (
                DelegateError(backend="X", method="m", phase="init", cause="c", code=1, code_name="Internal"),
                "Internal",
            ),
        ],
    )
    def test_it_is_named(self, error: EtconfigError, code: str) -> None:
        assert error_code(error) == code

    def test_the_names_are_those_of_the_docstrings(self) -> None:
        from etconfig.app.programs.loaded_model import _CODE_NAMES

        for kind, code in _CODE_NAMES:
            assert re.search(rf"ExecuTorch: {code} \(0x", inspect.getdoc(kind) or ""), kind


def test_numbers_agree_with_the_variant_that_was_asked_for(programs: Path, recorded: Any) -> None:
    """A fallback gives the answers of the model, since its variants are exported from one model."""
    declare(programs, "model.pte", "digits_portable.pte", fallback=True)
    image = recorded["images"][:1]
    with load(methods=["forward"]) as model:
        (asked,) = model.method().execute([image])
    with load(methods=["forward"], overrides={"ReferenceNpuBackend.fault": "init"}) as model:
        (instead,) = model.method().execute([image])
    assert np.argmax(asked) == np.argmax(instead)
