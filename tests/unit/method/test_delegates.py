"""Delegates: init, execute, destroy, and options that change."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder, as_lists, floats

from etconfig import Method
from etconfig.backend import (
    Backend,
    BoundBackend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
    resize_nothing,
)
from etconfig.base.effective import EffectiveOption, EffectiveSource
from etconfig.diagnostics import Diagnostic
from etconfig.errors import BackendUnavailableError, DelegateError, KernelArgumentError, OptionError
from etconfig.numpy_executor import load_method
from etconfig.program.model import TensorShapeDynamism


@dataclass(frozen=True)
class Options:
    scale: float = 2.0
    threads: int = 1

    @classmethod
    def option_infos(cls) -> Mapping[str, Any]:
        return cls.__annotations__


@dataclass
class Handle:
    name: str
    init: InitContext[Options]
    processed: Processed
    scale: float


@dataclass
class Scaling(Backend[Options, Handle]):
    """`out = x * scale`; the payload names the handle. It logs its calls, and fails in those of `fails`."""

    fails: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)

    def _note(self, what: str, name: str) -> None:
        self.log.append(f"{what} {name}")
        if self.fails.get(what) == name:
            raise RuntimeError(f"no {what} for {name}")

    def init(
        self, context: InitContext[Options], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Handle:
        name = bytes(processed.data).decode()
        self.seen.append(dict(compile_specs))
        self._note("init", name)
        return Handle(name, context, processed, context.options.scale)

    def execute(self, context: ExecuteContext[Options], handle: Handle, args: Sequence[Value]) -> None:
        self._note("execute", handle.name)
        self.seen.append(context)
        x, out = args
        assert isinstance(x, np.ndarray)
        assert isinstance(out, np.ndarray)
        np.multiply(x, handle.scale, out=out)

    def update(self, context: UpdateContext[Options], handle: Handle, changed: frozenset[str]) -> None:
        self._note("update", f"{handle.name} {context.options.scale:g} {sorted(changed)}")
        assert context.previous != context.options
        handle.scale = context.options.scale

    def effective_options(self, handle: Handle) -> Mapping[str, object]:
        self._note("effective_options", handle.name)
        return {"scale": handle.scale}

    def destroy(self, handle: Handle) -> None:
        self._note("destroy", handle.name)


def change_options(options: Options, values: Mapping[str, object]) -> Options:
    """Validate as the core does: all problems at once."""
    problems = []
    for name, value in values.items():
        if name == "threads":
            problems.append(Diagnostic(code="not-updatable", message="threads applies at load"))
        elif not isinstance(value, float):
            problems.append(Diagnostic(code="invalid-value", message=f"scale must be a float, not {value!r}"))
    if problems:
        raise OptionError(diagnostics=tuple(problems))
    return replace(options, **values)


def bound(
    backend: Backend[Any, Any], backend_id: str = "Scaling", options: Options | None = None
) -> BoundBackend:
    return BoundBackend(
        backend_id=backend_id, create=lambda: backend, options=options or Options(), changed=change_options
    )


def delegating(*names: str, backend_id: str = "Scaling") -> PlanBuilder:
    """Delegates in a row, each scaling the output of the one before."""
    builder = PlanBuilder()
    current = builder.tensor(2)
    builder.inputs = [current]
    for name in names:
        out = builder.tensor(2)
        builder.delegate_call(builder.delegate(backend_id, name.encode(), key=b"value"), current, out)
        current = out
    builder.outputs = [current]
    return builder


def load(*names: str, backend: Scaling, **options: Any) -> Method:
    return delegating(*names).load({"Scaling": bound(backend)}, **options)


class TestInit:
    """Every delegate is initialized in order, with a payload and a context of its own."""

    def test_compile_specs_arrive_in_the_order_of_the_program(self) -> None:
        pairs = [("op", b"a"), ("z", b"1"), ("op", b"b")]
        seen: list[InitContext[Options]] = []

        class Looking(Scaling):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> Handle:
                seen.append(context)
                assert compile_specs is context.compile_specs
                return Handle("", context, processed, 1)

        builder = PlanBuilder()
        builder.inputs = builder.outputs = [builder.tensor(2)]
        builder.delegate("Scaling", b"", *pairs)
        builder.load({"Scaling": bound(Looking())}).close()
        assert seen[0].compile_specs.in_order == tuple(pairs)
        assert seen[0].compile_specs.every("op") == (b"a", b"b")

    def test_a_delegate_gets_its_payload_specs_and_names(self) -> None:
        backend = Scaling()
        builder = delegating("a", "b")
        builder.named_data["table"] = b"data"
        method = builder.load({"Scaling": bound(backend)}, instance="left")
        method.execute([floats(1, 2)])
        contexts = [each for each in backend.seen if isinstance(each, ExecuteContext)]
        assert backend.log == ["init a", "init b", "execute a", "execute b"]
        assert backend.seen[0] == {"key": b"value"}
        assert (contexts[0].method_name, contexts[0].instance_name) == ("forward", "left")
        assert contexts[0].options == Options()
        assert contexts[0] is not contexts[1]

    def test_named_data_index_and_memory_come_with_the_context(self) -> None:
        taken = []

        class Taking(Scaling):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> Handle:
                memory = context.allocator.allocate(100, 128)
                taken.append((context.delegate_index, bytes(context.named_data["table"]), memory))
                assert not context.tracer.is_enabled
                with context.tracer.span("nothing"):
                    pass
                return super().init(context, processed, compile_specs)

        builder = delegating("a", "b")
        builder.named_data["table"] = b"data"
        builder.load({"Scaling": bound(Taking())})
        assert [each[:2] for each in taken] == [(0, b"data"), (1, b"data")]
        assert all(len(memory) == 100 and memory.ctypes.data % 128 == 0 for *_, memory in taken)

    def test_a_freed_payload_cannot_be_read(self) -> None:
        handles = []

        class Freeing(Scaling):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> Handle:
                handles.append(super().init(context, processed, compile_specs))
                processed.free()
                processed.free()
                return handles[-1]

        delegating("a").load({"Scaling": bound(Freeing())})
        with pytest.raises(ValueError, match="the payload was freed"):
            _ = handles[0].processed.data

    def test_a_missing_backend_is_named(self) -> None:
        with pytest.raises(BackendUnavailableError) as caught:
            delegating("a", backend_id="NpuBackend").load()
        assert str(caught.value) == (
            "backend 'NpuBackend' cannot run here: method 'forward' delegates to it, but it was not given"
        )

    def test_no_delegate_is_initialized_if_one_backend_cannot_run_here(self) -> None:
        def refuse() -> Backend[Any, Any]:
            raise BackendUnavailableError(backend="Absent", reason="no device", help="plug it in")

        absent = BoundBackend(backend_id="Absent", create=refuse, options=None, changed=change_options)
        backend = Scaling()
        builder = delegating("a")
        builder.delegate("Absent")
        with pytest.raises(BackendUnavailableError) as caught:
            builder.load({"Scaling": bound(backend), "Absent": absent})
        assert str(caught.value) == "backend 'Absent' cannot run here: no device; plug it in"
        assert backend.log == []

    def test_a_backend_is_created_once_for_all_of_its_delegates(self) -> None:
        made: list[Scaling] = []

        def make() -> Scaling:
            made.append(Scaling())
            return made[-1]

        several = BoundBackend(backend_id="Scaling", create=make, options=Options(), changed=change_options)
        with delegating("a", "b").load({"Scaling": several}):
            assert [each.log for each in made] == [["init a", "init b"]]

    def test_a_failed_init_destroys_the_handles_before_it(self) -> None:
        backend = Scaling(fails={"init": "c"})
        with pytest.raises(DelegateError) as caught:
            load("a", "b", "c", "d", backend=backend)
        assert backend.log == ["init a", "init b", "init c", "destroy b", "destroy a"]
        assert str(caught.value) == (
            "backend 'Scaling' failed in init of method 'forward': RuntimeError: no init for c"
        )
        assert isinstance(caught.value.__cause__, RuntimeError)

    def test_a_failed_destroy_after_a_failed_init_is_reported_too(self) -> None:
        backend = Scaling(fails={"init": "c", "destroy": "b"})
        with pytest.raises(DelegateError) as caught:
            load("a", "b", "c", backend=backend)
        assert backend.log[-2:] == ["destroy b", "destroy a"]
        assert str(caught.value).endswith(
            "RuntimeError: no init for c; "
            "backend 'Scaling' failed in destroy of method 'forward': RuntimeError: no destroy for b"
        )

    def test_an_interrupt_during_init_destroys_the_handles_before_it(self) -> None:
        class Interrupted(Scaling):
            def init(self, context: Any, processed: Any, compile_specs: Any) -> Handle:
                if bytes(processed.data) == b"b":
                    raise KeyboardInterrupt
                return super().init(context, processed, compile_specs)

        backend = Interrupted()
        with pytest.raises(KeyboardInterrupt):
            load("a", "b", backend=backend)
        assert backend.log == ["init a", "destroy a"]

    def test_a_kernel_that_refuses_its_arguments_destroys_all_handles(self) -> None:
        backend = Scaling()
        builder = delegating("a")
        (x,) = builder.inputs
        builder.call("aten::relu.out", x, builder.tensor(3), x)
        with pytest.raises(KernelArgumentError):
            builder.load({"Scaling": bound(backend)})
        assert backend.log == ["init a", "destroy a"]


class TestExecute:
    """A delegate reads and writes plain arrays of the method's memory."""

    def test_delegates_run_in_order(self) -> None:
        method = load("a", "b", backend=Scaling())
        assert as_lists(method.execute([floats(1, 2)])) == [[4, 8]]

    def test_a_failure_names_the_backend_and_chains_the_cause(self) -> None:
        backend = Scaling(fails={"execute": "b"})
        method = load("a", "b", backend=backend)
        with pytest.raises(
            DelegateError, match=r"failed in execute .* RuntimeError: no execute for b"
        ) as caught:
            method.execute([floats(1, 2)])
        assert isinstance(caught.value.__cause__, RuntimeError)
        backend.fails.clear()
        assert as_lists(method.execute([floats(1, 2)])) == [[4, 8]]

    def test_the_resource_lasts_for_one_run(self) -> None:
        seen = []

        class Looking(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                seen.append((context.resource, context))

        method = load("a", backend=Looking())
        mark = object()
        method.execute([floats(1, 2)], resource=mark)
        method.execute([floats(1, 2)])
        assert [resource for resource, _ in seen] == [mark, None]
        assert seen[0][1].resource is None

    def test_the_resource_of_a_failed_run_is_dropped(self) -> None:
        seen = []

        class Failing(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                seen.append(context.resource)
                raise RuntimeError("no")

        method = load("a", backend=Failing())
        mark = object()
        for resource in (mark, None):
            with pytest.raises(DelegateError, match="RuntimeError: no"):
                method.execute([floats(1, 2)], resource=resource)
        assert seen == [mark, None]

    def test_temporary_memory_is_zeroed_and_reused(self) -> None:
        addresses = []

        class Borrowing(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                first, second = context.temporary.allocate(100), context.temporary.allocate(50, 256)
                assert not first.any()
                assert not second.any()
                assert second.ctypes.data % 256 == 0
                assert not np.shares_memory(first, second)
                first.fill(1)
                second.fill(2)
                addresses.append((first.ctypes.data, second.ctypes.data))

        method = load("a", backend=Borrowing())
        for _ in range(4):
            method.execute([floats(1, 2)])
        assert addresses[2] == addresses[3]

    def test_scalars_lists_and_none_are_passed_unchanged(self) -> None:
        seen = []

        class Looking(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                seen.extend(args)

        builder = PlanBuilder()
        x = builder.tensor(2)
        builder.inputs = [x]
        arguments = [builder.scalar(each) for each in (1, 0.5, True, "text", None)]
        arguments += [builder.ints(3, 4), builder.tensors(x, x)]
        builder.delegate_call(builder.delegate("Scaling", b"a"), *arguments)
        builder.load({"Scaling": bound(Looking())}).execute([floats(1, 2)])
        *plain, tensors = seen
        assert plain == [1, 0.5, True, "text", None, [3, 4]]
        assert as_lists(tensors) == [[1, 2], [1, 2]]

    def test_arguments_of_another_shape_are_bound_again(self) -> None:
        from etconfig.program.model import TensorShapeDynamism

        shapes = []

        class Looking(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                shapes.append(args[0].shape)

        builder = PlanBuilder()
        x = builder.tensor(4, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
        builder.inputs = [x]
        builder.delegate_call(builder.delegate("Scaling", b"a"), x)
        method = builder.load({"Scaling": bound(Looking())})
        for count in (4, 2, 2, 3):
            method.execute([np.zeros(count, np.float32)])
        assert shapes == [(4,), (2,), (2,), (3,)]

    def test_work_is_split_over_the_methods_own_threads(self) -> None:
        names = set()
        meeting = threading.Barrier(2)

        class Splitting(Scaling):
            def execute(self, context: Any, handle: Handle, args: Any) -> None:
                def body(index: int) -> None:
                    meeting.wait(30)
                    names.add(threading.current_thread().name)

                context.parallel_for(2, body, 2)

        with load("a", backend=Splitting()) as method:
            method.execute([floats(1, 2)])
        assert len(names) == 2
        assert any(name.startswith("etconfig-forward") for name in names)
        assert not any(
            thread.name in names - {threading.main_thread().name} for thread in threading.enumerate()
        )


class Repeating(Backend[Options, None]):
    """`out` is `x` twice, one below the other; it resizes `out` to the given sizes."""

    def __init__(self, rows_of: Callable[[int], int] = lambda rows: 2 * rows, output: int = 1) -> None:
        self.rows_of = rows_of
        self.output = output

    def init(
        self, context: InitContext[Options], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> None:
        """Prepare nothing."""

    def execute(self, context: ExecuteContext[Options], handle: None, args: Sequence[Value]) -> None:
        x = args[0]
        assert isinstance(x, np.ndarray)
        out = context.resize_output(self.output, [self.rows_of(len(x)), 2])
        assert args[self.output] is out
        out[:] = np.concatenate([x, x])


class RepeatingIfNeeded(Repeating):
    """Resizes `out` only if it has another shape."""

    def execute(self, context: ExecuteContext[Options], handle: None, args: Sequence[Value]) -> None:
        x, out = args
        assert isinstance(x, np.ndarray)
        assert isinstance(out, np.ndarray)
        if len(out) != 2 * len(x):
            super().execute(context, handle, args)
        else:
            out[:] = np.concatenate([x, x])


class TestResizeOutput:
    """A backend resizes an output of a dynamic shape in each run."""

    def build(self, dynamism: TensorShapeDynamism = TensorShapeDynamism.DYNAMIC_BOUND) -> PlanBuilder:
        """`x` goes through the delegate and then through a kernel."""
        builder = PlanBuilder()
        x = builder.tensor(3, 2, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
        repeated, doubled = (builder.tensor(6, 2, dynamism=dynamism) for _ in range(2))
        builder.inputs, builder.outputs = [x], [repeated, doubled]
        builder.delegate_call(builder.delegate("Repeating"), x, repeated)
        builder.add_(repeated, repeated, doubled)
        return builder

    def load(self, backend: Repeating, builder: PlanBuilder | None = None) -> Method:
        return (builder or self.build()).load({"Repeating": bound(backend, "Repeating")})

    @pytest.mark.parametrize(
        "dynamism", [TensorShapeDynamism.DYNAMIC_BOUND, TensorShapeDynamism.DYNAMIC_UNBOUND]
    )
    @pytest.mark.parametrize("backend", [Repeating(), RepeatingIfNeeded()])
    def test_later_instructions_see_the_sizes_of_this_run(
        self, dynamism: TensorShapeDynamism, backend: Repeating
    ) -> None:
        method = self.load(backend, self.build(dynamism))
        for rows in (2, 3, 2, 3, 0, 1, 3):
            x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
            repeated, doubled = method.execute([x])
            np.testing.assert_array_equal(repeated, np.concatenate([x, x]))
            np.testing.assert_array_equal(doubled, repeated * 2)

    def test_sizes_beyond_the_bounds_are_refused(self) -> None:
        method = self.load(Repeating(rows_of=lambda rows: 7))
        cause = r"ValueError: shape \(7, 2\) exceeds the planned bounds \(6, 2\)"
        with pytest.raises(DelegateError, match=cause):
            method.execute([np.ones((3, 2), np.float32)])

    def test_a_fixed_size_cannot_change(self) -> None:
        method = self.load(Repeating(), self.build(TensorShapeDynamism.STATIC))
        method.execute([np.ones((3, 2), np.float32)])
        cause = r"shape \(4, 2\) differs from the planned shape \(6, 2\)"
        with pytest.raises(DelegateError, match=cause):
            method.execute([np.ones((2, 2), np.float32)])

    def test_a_number_has_no_size(self) -> None:
        builder = PlanBuilder()
        x, number = builder.tensor(3, 2), builder.scalar(3)
        builder.inputs = [x]
        builder.delegate_call(builder.delegate("Repeating"), x, number)
        with pytest.raises(DelegateError, match="ValueError: argument 1 is not a tensor"):
            self.load(Repeating(), builder).execute([np.ones((3, 2), np.float32)])

    def test_an_executor_may_support_fixed_sizes_only(self) -> None:
        with pytest.raises(ValueError, match=r"argument 1 a fixed size; it cannot become \(2, 3\)"):
            resize_nothing(1, [2, 3])


class TestDestroy:
    """Every handle is destroyed exactly once, the last one first."""

    def test_close_destroys_in_reverse_order_once(self) -> None:
        backend = Scaling()
        method = load("a", "b", "c", backend=backend)
        method.close()
        method.close()
        assert backend.log[3:] == ["destroy c", "destroy b", "destroy a"]

    def test_a_failed_destroy_does_not_stop_the_others(self) -> None:
        backend = Scaling(fails={"destroy": "b"})
        method = load("a", "b", "c", backend=backend)
        with pytest.raises(DelegateError, match=r"failed in destroy .* no destroy for b"):
            method.close()
        method.close()
        assert backend.log[3:] == ["destroy c", "destroy b", "destroy a"]

    def test_a_failed_destroy_does_not_hide_the_call_that_failed_before(self) -> None:
        backend = Scaling(fails={"execute": "a", "destroy": "a"})
        with pytest.raises(DelegateError) as caught, load("a", backend=backend) as method:
            method.execute([floats(1, 2)])
        assert caught.value.phase == "execute"
        assert str(caught.value) == (
            "backend 'Scaling' failed in execute of method 'forward': RuntimeError: no execute for a; "
            "backend 'Scaling' failed in destroy of method 'forward': RuntimeError: no destroy for a"
        )

    @pytest.mark.parametrize("fails", [False, True])
    def test_a_failed_destroy_is_raised_after_any_other_error(self, fails: bool) -> None:
        backend = Scaling(fails={"destroy": "a"})

        def use() -> None:
            with load("a", backend=backend):
                if fails:
                    raise ValueError("not of a backend")

        with pytest.raises(DelegateError, match="failed in destroy"):
            use()

    def test_a_dropped_method_destroys_its_handles(self) -> None:
        backend = Scaling()
        method = load("a", backend=backend)
        method.execute([floats(1, 2)])
        del method
        gc.collect()
        assert backend.log == ["init a", "execute a", "destroy a"]

    def test_a_method_closed_and_then_dropped_destroys_its_handles_once(self) -> None:
        backend = Scaling()
        method = load("a", backend=backend)
        method.close()
        del method
        gc.collect()
        assert backend.log == ["init a", "destroy a"]


class TestUpdate:
    """An update takes execute-time options, validates them first, and reaches all delegates or none."""

    def test_the_next_run_sees_the_new_options(self) -> None:
        backend = Scaling()
        method = load("a", "b", backend=backend)
        method.update({"Scaling.scale": 3.0})
        assert as_lists(method.execute([floats(1, 2)])) == [[9, 18]]
        assert backend.log[2:4] == ["update a 3 ['scale']", "update b 3 ['scale']"]
        contexts = [each for each in backend.seen if isinstance(each, ExecuteContext)]
        assert {each.options for each in contexts} == {Options(scale=3.0)}
        assert method.options("Scaling") == Options(scale=3.0)

    def test_methods_of_one_backend_have_options_of_their_own(self) -> None:
        backend = Scaling()
        left, right = load("a", backend=backend), load("a", backend=backend)
        left.update({"Scaling.scale": 10.0})
        assert as_lists(left.execute([floats(1, 2)])) == [[10, 20]]
        assert as_lists(right.execute([floats(1, 2)])) == [[2, 4]]

    def test_every_problem_of_every_backend_is_reported_and_nothing_changes(self) -> None:
        backend = Scaling()
        builder = delegating("a")
        x, out = builder.inputs[0], builder.outputs[0]
        builder.delegate_call(builder.delegate("Other", b"o"), x, out)
        method = builder.load({"Scaling": bound(backend), "Other": bound(backend, "Other")})
        changes = {
            "Scaling.scale": "fast",
            "Other.threads": 2,
            "Other.scale": 4.0,
            "Scalin.scale": 1.0,
            "nonsense": 1,
            "forward:Other.scale": 1.0,
        }
        with pytest.raises(OptionError) as caught:
            method.update(changes)
        assert [(each.code, each.message, each.help) for each in caught.value.diagnostics] == [
            ("not-delegated", "method 'forward' delegates nothing to 'Scalin'", "did you mean 'Scaling'?"),
            (
                "invalid-option-path",
                "'nonsense' is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
                "for example forward@camera0:NpuBackend.core",
                "write 'BACKEND.OPTION'",
            ),
            (
                "invalid-option-path",
                "'forward:Other.scale' names a method, but an update is for this one, 'forward', only",
                "write 'BACKEND.OPTION'",
            ),
            ("invalid-value", "scale must be a float, not 'fast'", None),
            ("not-updatable", "threads applies at load", None),
        ]
        assert method.options("Other") == Options()
        assert not any(entry.startswith("update") for entry in backend.log)

    def test_an_unknown_backend_without_a_near_match_lists_the_known_ones(self) -> None:
        method = load("a", backend=Scaling())
        with pytest.raises(OptionError) as caught:
            method.update({"Xnnpack.x": 1})
        assert caught.value.diagnostics[0].help == "it delegates to 'Scaling'"

    def test_a_failure_rolls_back_the_updates_before_it(self) -> None:
        backend = Scaling(fails={"update": "c 5 ['scale']"})
        method = load("a", "b", "c", backend=backend)
        with pytest.raises(DelegateError, match=r"failed in update .* no update for c 5") as caught:
            method.update({"Scaling.scale": 5.0})
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert [entry for entry in backend.log if entry.startswith("update")] == [
            "update a 5 ['scale']",
            "update b 5 ['scale']",
            "update c 5 ['scale']",
            "update b 2 ['scale']",
            "update a 2 ['scale']",
        ]
        assert method.options("Scaling") == Options()
        backend.fails.clear()
        assert as_lists(method.execute([floats(1, 2)])) == [[8, 16]]

    def test_a_failed_rollback_is_reported_too(self) -> None:
        class Stuck(Scaling):
            def update(self, context: Any, handle: Handle, changed: Any) -> None:
                if handle.name == "b" or context.options.scale == 2.0:
                    raise RuntimeError(f"{handle.name} is stuck")

        method = load("a", "b", backend=Stuck())
        with pytest.raises(DelegateError) as caught:
            method.update({"Scaling.scale": 5.0})
        assert caught.value.cause == (
            "RuntimeError: b is stuck; going back to the old options failed too: RuntimeError: a is stuck"
        )

    def test_an_empty_update_calls_no_backend(self) -> None:
        backend = Scaling()
        method = load("a", backend=backend)
        method.update({})
        assert backend.log == ["init a"]


class TestReadBack:
    """The options that backends report, and the options in force."""

    def test_effective_options_come_from_the_backends(self) -> None:
        method = load("a", "b", backend=Scaling())
        assert method.effective_options() == {"Scaling": {"scale": 2.0}}
        method.update({"Scaling.scale": 3.0})
        assert method.effective_options() == {"Scaling": {"scale": 3.0}}

    def test_a_backend_may_state_how_it_knows_a_value(self) -> None:
        class Marking(Scaling):
            def effective_options(self, handle: Handle) -> Mapping[str, object]:
                return {"scale": EffectiveOption.observed(4.0, "measured")}

        method = load("a", backend=Marking())
        assert method.effective_options() == {"Scaling": {"scale": 4.0}}
        assert method.effective_values()["Scaling"]["scale"].source is EffectiveSource.OBSERVED
        option = method.compared_options()["Scaling"]["scale"]
        assert (option.requested, option.effective.value, option.differs) == (2.0, 4.0, True)

    def test_what_a_backend_does_not_report_is_unknown(self) -> None:
        class Marking(Scaling):
            def effective_options(self, handle: Handle) -> Mapping[str, object]:
                return {"scale": EffectiveOption.unknown("no function reports it")}

        class Silent(Scaling):
            def effective_options(self, handle: Handle) -> Mapping[str, object]:
                return {}

        for backend, reason in (
            (Marking(), "no function reports it"),
            (Silent(), "the backend does not report it"),
        ):
            method = load("a", backend=backend)
            assert "scale" not in method.effective_options()["Scaling"]
            option = method.compared_options()["Scaling"]["scale"]
            assert (option.requested, option.differs, option.effective.reason) == (2.0, None, reason)

    def test_a_backend_that_fails_to_report_is_named(self) -> None:
        method = load("a", backend=Scaling(fails={"effective_options": "a"}))
        with pytest.raises(DelegateError, match="failed in effective_options of method 'forward'"):
            method.effective_options()

    def test_an_unused_backend_has_no_options(self) -> None:
        method = load("a", backend=Scaling())
        with pytest.raises(BackendUnavailableError, match="method 'forward' delegates nothing to it"):
            method.options("Other")

    def test_options_can_be_read_after_close(self) -> None:
        method = load("a", backend=Scaling())
        method.close()
        assert method.options("Scaling") == Options()


def test_backends_that_are_not_needed_are_not_created() -> None:
    def refuse() -> Backend[Any, Any]:
        raise AssertionError

    unneeded = BoundBackend(backend_id="Scaling", create=refuse, options=None, changed=change_options)
    load_method(PlanBuilder().program(), "forward", KERNELS, {"Scaling": unneeded})
