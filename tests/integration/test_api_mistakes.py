"""Arguments of a wrong Python type: the error names the expected one, for users without a type checker."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS

import etconfig
from etconfig.resolver.deciding.arguments import ANY_METHOD

PORTABLE = DIGITS / "digits_portable.pte"


class TestWrongTypes:
    """A TypeError names the argument, the expected value and the given type."""

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda loaded: etconfig.resolve(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, or for models of engines "
                'models={"NAME": "BACKEND"}, given str',
            ),
            (
                lambda loaded: etconfig.resolve(loaded, facts="pi5.json"),
                "facts: expected a FactSheet, as etconfig.load_fact_sheet reads it, given str",
            ),
            (
                lambda loaded: etconfig.resolve(loaded, instances=["left", "right"]),
                'instances: expected names by method, as {"forward": ["left", "right"]}, given list',
            ),
            (
                lambda loaded: loaded.load_method("forward", etconfig.resolve(loaded)),
                "arguments: expected the result of etconfig.resolve(program).arguments('forward'), "
                "given Resolution",
            ),
            (
                lambda loaded: loaded.load_method("forward", {"ReferenceNpuBackend": {"core": 1}}),
                "arguments: expected the result of etconfig.resolve(program).arguments('forward'), "
                "given dict",
            ),
            (
                lambda loaded: etconfig.inspect_program(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, given str",
            ),
            (
                lambda loaded: etconfig.verify_program(str(PORTABLE)),
                "program: expected what etconfig.load_program returns, given str",
            ),
            (
                lambda loaded: etconfig.compare(loaded),
                "model: expected a path, as str or pathlib.Path, given LoadedProgram",
            ),
        ],
        ids=[
            *("program", "facts", "instances", "resolution", "dict"),
            *("inspect", "verify", "compare"),
        ],
    )
    def test_the_error_names_the_expected_value(
        self, place: Path, call: Callable[[Any], object], message: str
    ) -> None:
        with etconfig.load_program(PORTABLE) as loaded, pytest.raises(TypeError) as caught:
            call(loaded)
        assert str(caught.value) == message


class TestLaterCalls:
    """The objects that `resolve` and `load_method` return check what they are given, too."""

    _SHEET = "facts: expected a FactSheet, as etconfig.load_fact_sheet reads it, given "

    def test_facts_are_a_sheet(self, place: Path) -> None:
        wrong: Any = {"cpu.available_cores": 2}
        with etconfig.load_program(PORTABLE) as loaded:
            configuration = etconfig.configure(loaded, profile="generic/any")
            live = etconfig.LiveArguments(configuration)
            for call in (
                configuration.resolve,
                configuration.selected_on,
                configuration.on_device,
                live.refresh,
                etconfig.LiveArguments(configuration, hold_profile=True).refresh,
            ):
                with pytest.raises(TypeError, match="given dict") as caught:
                    call(wrong)
                assert str(caught.value) == f"{self._SHEET}dict"

    def test_what_if_needs_facts(self, place: Path) -> None:
        nothing: Any = None
        with pytest.raises(TypeError, match="facts: expected values by name"):
            etconfig.resolve(profile="generic/any").what_if(nothing)

    def test_a_method_is_named_loaded_and_updated_with_the_right_types(self, place: Path) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as loaded:
            anything: Any = loaded
            config = etconfig.resolve(loaded, profile="generic/any")
            with pytest.raises(TypeError, match="name: expected the name of a method, given Arguments"):
                anything.load_method(config.arguments("forward"))
            live: Any = etconfig.LiveArguments(loaded, profile="generic/any")
            with pytest.raises(TypeError, match=r"method: expected a loaded Method, .* given str"):
                live.attach("forward")
            with loaded.load_method("embed") as method:
                update: Any = method.update
                for changes in (["ReferenceNpuBackend.power_mode=low"], None, "x"):
                    with pytest.raises(TypeError, match="changes: expected values, as"):
                        update(changes)
                with pytest.raises(TypeError, match="changes: expected paths of options as keys"):
                    update({1: 2})

    @pytest.mark.parametrize("flag", ["require_match", "hold_profile"])
    def test_a_flag_is_true_or_false(self, place: Path, flag: str) -> None:
        flags: dict[str, Any] = {flag: "no"}
        with pytest.raises(TypeError, match=f"{flag}: expected True or False, given str"):
            etconfig.LiveArguments(**flags)


class TestInstances:
    """Names of instances are lists of names, one method for each."""

    @pytest.mark.parametrize(
        ("instances", "message"),
        [
            ({"forward": "left"}, "given str for 'forward'"),
            ({"forward": 2}, "given int for 'forward'"),
            ({"forward": [1]}, "given int"),
        ],
    )
    def test_a_text_is_not_a_list_of_its_letters(self, place: Path, instances: Any, message: str) -> None:
        expected = 'instances: expected names by method, as {"forward": ["left", "right"]}, '
        with pytest.raises(TypeError) as caught:
            etconfig.resolve(profile="generic/any", instances=instances)
        assert str(caught.value) == expected + message

    @pytest.mark.parametrize("name", ["", "a b", "a@b", "a:b", "*"])
    def test_a_name_that_no_option_path_can_spell_is_refused(self, place: Path, name: str) -> None:
        with pytest.raises(ValueError, match="is not a name; an instance's name contains no blanks"):
            etconfig.resolve(profile="generic/any", instances={"forward": [name]})

    def test_two_methods_cannot_have_one_instance(self, place: Path) -> None:
        """One of the two would get no arguments."""
        with pytest.raises(ValueError, match="'a' is an instance of 'forward' and of 'embed'"):
            etconfig.resolve(profile="generic/any", instances={"forward": ["a"], "embed": ["a"]})


class TestNamesOfResults:
    """A name that a resolution does not have: the error says which it has."""

    def _error(self, call: Callable[[Any], object], kind: type[Exception]) -> str:
        with etconfig.load_program(DIGITS / "digits.pte") as loaded:
            config = etconfig.resolve(loaded, profile="generic/any", instances={"forward": ["left"]})
            with pytest.raises(kind) as caught:
                call(config)
        return str(caught.value)

    @pytest.mark.parametrize("path", ["embed:ReferenceCpuBackend.num_threads", "embed:num_threads"])
    def test_explain_of_a_backend_that_a_method_does_not_use(self, place: Path, path: str) -> None:
        assert self._error(lambda config: config.explain(path), etconfig.ConfigError) == (
            "method 'embed' delegates nothing to 'ReferenceCpuBackend' (it delegates to ReferenceNpuBackend)"
        )

    def test_a_label_is_no_method(self, place: Path) -> None:
        message = self._error(lambda config: config.arguments("forward@left"), etconfig.ConfigError)
        assert message.endswith('(write the instance by itself: arguments("forward", "left"))')

    def test_options_and_backends_of_arguments(self, place: Path) -> None:
        def left(config: Any) -> Any:
            return config.arguments("forward", "left")

        found = self._error(lambda config: left(config).origin("ReferenceNpuBackend", "cor"), KeyError)
        assert found == "\"ReferenceNpuBackend has no option 'cor'; did you mean 'core'?\""
        lacks = "forward@left has no arguments for 'XnnpackBackend'; it delegates to ReferenceNpuBackend, "
        assert lacks in self._error(lambda config: left(config).provenance("XnnpackBackend", "x"), KeyError)
        assert "has no arguments for 'int'" in self._error(lambda config: left(config)[int], KeyError)
        assert self._error(lambda config: left(config)[0], TypeError) == (
            "key: expected the id of a backend or its options class, given int"
        )


class TestOtherNames:
    """Names that a sheet, a program or a Method does not have."""

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "cpu.available_core",
                "no fact is called 'cpu.available_core'; did you mean 'cpu.available_cores'?",
            ),
            ("gpu.5.name", "the sheet has no fact 'gpu.5.name'"),
            (5, "the sheet has no fact 5"),
        ],
    )
    def test_a_fact(self, name: Any, message: str) -> None:
        sheet = etconfig.FactSheet.empty()
        with pytest.raises(KeyError) as caught:
            sheet[name]
        assert caught.value.args == (message,)
        assert sheet.get(name) is None
        assert name not in sheet

    def test_a_label_loads_no_method(self, place: Path) -> None:
        with (
            etconfig.load_program(DIGITS / "digits.pte") as loaded,
            pytest.raises(etconfig.ExecutionError) as e,
        ):
            loaded.load_method("forward@left")
        assert e.value.help == "name the method alone, 'forward'; its arguments name the instance"

    def test_options_are_asked_for_by_the_id_of_a_backend(self, place: Path) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as loaded, loaded.load_method("embed") as method:
            options: Any = type(method.options("ReferenceNpuBackend"))
            with pytest.raises(TypeError, match="backend_id: expected the id of a backend, given "):
                method.options(options)


class TestCopies:
    """Objects with files, threads or handles refuse copies: a copy would share them without knowing."""

    @pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_the_error_says_what_to_do(self, place: Path, make: Callable[[object], object]) -> None:
        with etconfig.load_program(DIGITS / "digits.pte") as loaded, loaded.load_method("embed") as method:
            with pytest.raises(TypeError, match=r"load it there with etconfig\.load_program$"):
                make(loaded)
            with pytest.raises(TypeError, match=r"another one with program\.load_method\('embed'\)$"):
                make(method)
            with pytest.raises(TypeError, match="LiveArguments cannot be copied or pickled"):
                make(etconfig.LiveArguments(loaded, profile="generic/any"))


class TestOverridesThatMeanSomethingElse:
    """Values that have a meaning in a document; the advice is for Python."""

    @pytest.mark.parametrize(
        ("overrides", "advice"),
        [
            (
                {"ReferenceNpuBackend.core": {"expr": "cpu.available_cores"}},
                "write expressions in a profile, as { expr = ... }",
            ),
            (
                {"ReferenceNpuBackend.core": "expr cpu.available_cores"},
                "write expressions in a profile, as { expr = ... }",
            ),
            (
                {"ReferenceNpuBackend.core": None},
                "leave it out for the value of the profile, else the default",
            ),
            (
                {"ReferenceCpuBackend.num_threads": "auto"},
                "for the value of the profile, else the default, which follows cpu.available_cores",
            ),
            ({"ReferenceNpuBackend.core": {"unset": True}}, "of the profile, else the default"),
            ({"ReferenceNpuBackend.core": {"x": 1}}, "write the value itself"),
            (
                {"forward": {"core": 1}},
                "'forward' is a method: name the backend, too, as in forward:BACKEND.OPTION",
            ),
            (
                {"forward@left": {"ReferenceNpuBackend": {"core": 1}}},
                'with method = "forward", or pass instances={"forward": ["left"]}',
            ),
            (
                {"forward@*:ReferenceNpuBackend.core": 1},
                "none of : @ = * ? [; forward:BACKEND.OPTION is for all of forward",
            ),
        ],
    )
    def test_the_help_says_what_works(self, place: Path, overrides: Any, advice: str) -> None:
        with (
            etconfig.load_program(DIGITS / "digits.pte") as loaded,
            pytest.raises(etconfig.ConfigError) as caught,
        ):
            etconfig.resolve(loaded, profile="generic/any", overrides=overrides)
        (problem,) = caught.value.diagnostics
        assert problem.help is not None
        assert problem.help.endswith(advice)

    @pytest.mark.parametrize(
        ("overrides", "given"),
        [
            (b"ReferenceNpuBackend.core=1", "given bytes"),
            ([("ReferenceNpuBackend.core", 1)], "given list with an item of type tuple"),
            ([{"ReferenceNpuBackend.core": 1}], "given list with an item of type dict"),
            ({"forward": {int: {"core": 1}}}, "with texts as keys, given type"),
            ({"ReferenceNpuBackend": {1: 1}}, "with texts as keys, given int"),
        ],
    )
    def test_a_wrong_type_is_named_with_its_place(self, place: Path, overrides: Any, given: str) -> None:
        with pytest.raises(TypeError) as caught:
            etconfig.resolve(profile="generic/any", overrides=overrides)
        assert str(caught.value).endswith(given)


class TestInputsWithoutAList:
    """The error says what to write."""

    def test_one_array_is_to_be_put_into_a_list(self, place: Path) -> None:
        with (
            etconfig.load_program(PORTABLE) as loaded,
            loaded.load_method("forward") as method,
            pytest.raises(etconfig.ExecutionError) as caught,
        ):
            method.execute(np.zeros((1, 1, 8, 8), np.float32))
        assert caught.value.help == "put the inputs into a list: execute([image])"
        assert "given one ndarray instead of a list" in str(caught.value)


class TestArgumentsOfAnotherMethod:
    """`load_method` accepts the arguments of its method, or arguments resolved for any method."""

    def test_arguments_of_another_method_are_a_value_error(self, place: Path) -> None:
        """Otherwise they would be taken for the arguments of this method."""
        with etconfig.load_program(DIGITS / "digits.pte") as loaded:
            arguments = etconfig.resolve(loaded).arguments("forward")
            with pytest.raises(ValueError, match="given those of forward") as caught:
                loaded.load_method("embed", arguments)
            assert str(caught.value) == (
                "arguments: expected the result of etconfig.resolve(program).arguments('embed'), "
                "given those of forward"
            )
            with pytest.raises(etconfig.ExecutionError, match="did you mean 'embed'"):
                loaded.load_method("embd", arguments)

    def test_arguments_resolved_for_any_method_fit_each(self, place: Path) -> None:
        arguments = etconfig.resolve(overrides=["ReferenceNpuBackend.core=1"]).arguments(ANY_METHOD)
        with (
            etconfig.load_program(DIGITS / "digits.pte") as loaded,
            loaded.load_method("embed", arguments) as method,
        ):
            assert dict(method.options("ReferenceNpuBackend"))["core"] == 1
