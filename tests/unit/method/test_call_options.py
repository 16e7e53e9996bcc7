"""`execute(options=...)` changes options for one call, validated like `update`, and nothing is kept."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from effort import seeds
from every import every
from plans import KERNELS, PlanBuilder

from etconfig import Method
from etconfig.backend import Backend, BoundBackend
from etconfig.errors import DelegateError, ExecutionStoppedError, OptionError
from etconfig.numpy_executor import load_method
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.schema.validate import change_options

X = np.array([1, 2], np.float32)


class GainOptions(BackendOptions):
    gain: int = option(1, applies="execute", doc="A factor.")
    offset: int = option(0, applies="execute", doc="Is added.")
    bank: int = option(0, applies="load", doc="Is remembered.")


class Gain(Backend[Any, Any]):
    """Multiplies and adds; its handle follows the updates, and must agree with the context.

    A gain of 13 fails in `update`, one of 17 in `execute`, one of 19 interrupts, and after one of 23 no
    `update` works.
    """

    def init(self, context: Any, processed: object, compile_specs: object) -> dict[str, Any]:
        return {"options": context.options}

    def execute(self, context: Any, handle: dict[str, Any], args: Any) -> None:
        assert handle["options"] == context.options
        if context.options.gain == 17:
            raise RuntimeError("too hot")
        if context.options.gain == 19:
            raise KeyboardInterrupt
        args[1][...] = args[0] * context.options.gain + context.options.offset

    def update(self, context: Any, handle: dict[str, Any], changed: frozenset[str]) -> None:
        assert {
            name for name in changed if getattr(context.options, name) != getattr(context.previous, name)
        } <= changed
        if context.options.gain == 13 or context.previous.gain == 23:
            raise ValueError("the unit refuses")
        handle["options"] = context.options

    def effective_options(self, handle: dict[str, Any]) -> Any:
        return dict(handle["options"])


def spec(name: str) -> BackendSpec:
    return BackendSpec(
        id=name, doc="Multiplies.", options=GainOptions, api=ApiRange(min=1, built=1), factory=Gain
    )


def bound(name: str) -> BoundBackend:
    declared = spec(name)
    return BoundBackend(
        backend_id=name,
        create=Gain,
        options=GainOptions(),
        changed=lambda current, values: change_options(declared, current, values),
    )


def two_gains() -> Method:
    builder = PlanBuilder()
    x, between, out = (builder.tensor(2) for _ in range(3))
    builder.inputs, builder.outputs = [x], [between, out]
    for name, given, result in (("Left", x, between), ("Right", between, out)):
        builder.delegate_call(builder.delegate(name), given, result)
    return load_method(
        builder.program(), "forward", KERNELS, {each: bound(each) for each in ("Left", "Right")}
    )


def run(method: Method, **call: Any) -> list[float]:
    return [float(each[0]) for each in method.execute([X], **call)]


class TestForms:
    @pytest.mark.parametrize(
        "options",
        [
            {"Left.gain": 3, "Right.offset": 5},
            {"Left": {"gain": 3}, "Right": {"offset": 5}},
            {"Left": GainOptions(gain=3), "Right.offset": np.int64(5)},
        ],
    )
    def test_paths_tables_and_options_objects_mean_the_same(self, options: Any) -> None:
        method = two_gains()
        method.update({"Right.gain": 2})
        assert run(method, options=options) == [3, 11]
        assert run(method) == [1, 2]
        method.update(options)  # which accepts the same forms
        assert run(method) == [3, 11]

    def test_of_an_options_object_what_its_author_set_counts(self) -> None:
        method = two_gains()
        method.update({"Left.offset": 4})
        assert run(method, options={"Left": GainOptions(gain=2)})[0] == 6
        with pytest.raises(OptionError, match=r"Left\.bank applies at load"):
            run(method, options={"Left": GainOptions(gain=2, bank=0)})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"Left.gian": 2}, "Left has no option 'gian' .did you mean 'gain'"),
            ({"Lefd.gain": 2}, "delegates nothing to 'Lefd' .did you mean 'Left'"),
            ({"Left": {"gian": 2}}, "Left has no option 'gian' .did you mean 'gain'"),
            ({"Left.bank": 2}, "Left.bank applies at load and cannot change on a loaded method"),
            ({"Left.gain": "high"}, "Left.gain: expected an integer"),
            ({"forward:Left.gain": 2}, "names a method, but"),
            ({"gain": 2}, "'gain' is not an option path"),
        ],
    )
    def test_a_wrong_one_is_refused_before_anything_runs(self, options: Any, message: str) -> None:
        method = two_gains()
        with pytest.raises(OptionError, match=message):
            run(method, options={"Right.gain": 9, **options})
        assert run(method) == [1, 1]
        with pytest.raises(OptionError, match=message):
            method.update(options)

    def test_all_problems_are_reported(self) -> None:
        with pytest.raises(OptionError) as caught:
            run(two_gains(), options={"Left.gian": 2, "Right": {"bank": 1, "gain": "x"}, "Other.gain": 1})
        assert len(caught.value.diagnostics) == 4

    @pytest.mark.parametrize("options", [["Left.gain=2"], "Left.gain=2", GainOptions(gain=2), {1: 2}])
    def test_other_types_are_refused(self, options: Any) -> None:
        with pytest.raises(TypeError, match="expected"):
            run(two_gains(), options=options)

    def test_no_options_change_nothing(self) -> None:
        assert run(two_gains(), options={}) == [1, 1]


class TestNothingIsKept:
    def test_a_failed_update_runs_nothing(self) -> None:
        method = two_gains()
        with pytest.raises(DelegateError, match="failed in update"):
            run(method, options={"Left.gain": 2, "Right.gain": 13})
        assert run(method) == [1, 1]

    def test_a_failed_run_changes_back(self) -> None:
        method = two_gains()
        with pytest.raises(DelegateError, match="failed in execute"):
            run(method, options={"Left.gain": 2, "Right.gain": 17})
        assert run(method) == [1, 1]
        assert method.effective_options()["Left"]["gain"] == 1

    def test_an_interrupted_run_changes_back(self) -> None:
        method = two_gains()
        with pytest.raises(KeyboardInterrupt):
            run(method, options={"Right.gain": 19})
        assert run(method) == [1, 1]

    def test_a_stopped_run_changes_back(self) -> None:
        method = two_gains()
        with pytest.raises(ExecutionStoppedError):
            run(method, options={"Right.gain": 2}, timeout=0)
        assert run(method) == [1, 1]

    def test_a_backend_that_does_not_go_back_is_reported(self) -> None:
        method = two_gains()
        with pytest.raises(DelegateError, match="failed in update"):
            run(method, options={"Left.gain": 23})
        assert method.options("Left").gain == 1
        with pytest.raises(
            DelegateError, match="AssertionError"
        ):  # its handle kept the options: its own check
            run(method)

    def test_reports_between_calls_show_the_lasting_options(self) -> None:
        method = two_gains()
        run(method, options={"Left.gain": 5})
        assert method.options("Left") == GainOptions()
        assert method.effective_options()["Left"]["gain"] == 1


FAILING = (13, 17, 19)


@every("seed", seeds(150))
def test_random_sequences_follow_a_model(seed: int) -> None:
    """A model in plain dictionaries predicts the outputs, errors and options of executes and updates."""
    rng = random.Random(seed)
    method = two_gains()
    lasting = {
        f"{name}.{key}": value for name in ("Left", "Right") for key, value in (("gain", 1), ("offset", 0))
    }
    for _ in range(30):
        changes = {
            path: rng.choice([0, 2, 3, *FAILING] if path.endswith("gain") else [0, 1, 7])
            for path in lasting
            if rng.random() < 0.3
        }
        gains = [changes.get(f"{name}.gain") for name in ("Left", "Right")]
        kind = rng.choice(["update", "plain", "call", "stopped"])
        if kind == "update":
            # these values would make each later call fail
            changes = {path: 2 if value in FAILING else value for path, value in changes.items()}
            method.update(changes)
            lasting |= changes
        elif kind == "stopped":
            expected = DelegateError if 13 in gains else ExecutionStoppedError
            with pytest.raises(expected):
                run(method, options=changes, timeout=0)
        elif kind == "call" and (13 in gains or 17 in gains or 19 in gains):
            is_interrupt = 13 not in gains and next(each for each in gains if each in FAILING) == 19
            with pytest.raises(KeyboardInterrupt if is_interrupt else DelegateError):
                run(method, options=changes)
        else:
            now = {**lasting, **(changes if kind == "call" else {})}
            left = 1 * now["Left.gain"] + now["Left.offset"]
            right = left * now["Right.gain"] + now["Right.offset"]
            assert run(method, **({"options": changes} if kind == "call" else {})) == [left, right]
        for path, value in lasting.items():
            name, _, key = path.partition(".")
            assert getattr(method.options(name), key) == value
            assert method.effective_options()[name][key] == value
