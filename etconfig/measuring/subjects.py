"""Subjects: what is measured, made as a user makes it from a model, a profile and overrides."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from etconfig.analysis.generated_inputs import generate_inputs, made_up_array
from etconfig.analysis.instruction_times import InstructionTime, instruction_times
from etconfig.app.configuring.engine_models import Models
from etconfig.app.programs.executors import records_events
from etconfig.errors import BackendUnavailableError, EtconfigError, InvalidInputError, MeasurementError
from etconfig.measuring.input_shapes import MadeUpShapes, check_made_up_size
from etconfig.measuring.pairs import timed
from etconfig.measuring.peak_memory import PeakMemory
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.tracing import RecordingTracer

if TYPE_CHECKING:
    from etconfig.app.programs.loaded_program import LoadedProgram
    from etconfig.backend import ModelRunner
    from etconfig.program.metadata import MethodMeta

_MAX_TRACED = 50


class MeasuredSubject(ABC):
    """A loaded configuration of a model.

    Attributes:
        label: Its name in results.
        load_s: The time to open and load it, in seconds.
        peak_bytes: The memory that loading and the first run added to the process, at most; None if unknown.
        input_names: The names of its inputs, if they have some.
        open_inputs: The inputs whose open sizes are 1 where they are made up, as `NAME=1,3,1,1`.
    """

    label: str
    load_s: float
    peak_bytes: int | None
    input_names: tuple[str, ...]
    open_inputs: tuple[str, ...] = ()

    @abstractmethod
    def generate(self, seed: int) -> list[Any]:
        """Make up inputs that fit. Raises InvalidInputError."""

    @abstractmethod
    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run once, and keep the inputs for `time_block`; return the outputs."""

    @abstractmethod
    def time_block(self, count: int) -> Sequence[int]:
        """Run a number of times on the inputs of `run`; return the time of each run in nanoseconds."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""

    def __enter__(self) -> MeasuredSubject:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class LoadedSubject(MeasuredSubject):
    """A configuration that is loaded in this process.

    Attributes:
        options: Its options, as plain data by `BACKEND.OPTION`.

    Raises:
        Exception: what opening, resolving and loading raise.
    """

    def __init__(self, workplace: Workplace, request: SubjectRequest) -> None:
        self.label = request.label
        self._peak = PeakMemory()
        self._runnable: _Runnable
        self.open_inputs = ()
        if request.backend is None:
            if request.shapes:
                raise MeasurementError(
                    label=request.label,
                    reason="a program says the shapes of its inputs itself",
                    help="give other inputs with --input FILE.npy",
                )
            with workplace.open_program(request) as program:
                resolution = workplace.resolve(request, program)
            start = time.perf_counter()
            with self._of_engine():
                self._runnable = _ProgramMethod(workplace.open_program(request), resolution, request)
        else:
            models = workplace.engine_model(request)
            resolution = workplace.resolve(request, models)
            start = time.perf_counter()
            with self._of_engine():
                self._runnable = _EngineModel(models, resolution, request)
        self.load_s = time.perf_counter() - start
        self.options = {
            f"{backend}.{name}": value
            for backend, each in resolution.arguments(request.method, request.instance).backends.items()
            for name, value in each.options.to_jsonable().items()
        }
        self.peak_bytes = None
        self._loaded_bytes = self._peak.growth_bytes()
        self._resident_bytes = self._peak.resident_growth_bytes()
        self.input_names = self._runnable.input_names
        self.open_inputs = self._runnable.open_inputs
        self._block: Callable[[int], Sequence[int]] | None = None
        self._inputs: Sequence[Any] = ()

    def generate(self, seed: int) -> list[Any]:
        """Make up inputs that fit. Raises InvalidInputError."""
        with self._of_engine():
            return self._runnable.generate(seed)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run once, and keep the inputs for `time_block`; return the outputs."""
        execute, self._inputs = self._runnable.execute, inputs
        run_peak = PeakMemory()  # of the run alone: making up inputs does not count
        with self._of_engine():
            outputs = [_own(each) for each in execute(inputs)]
        if self._block is None:
            self.peak_bytes = _peak_of(self._loaded_bytes, self._resident_bytes, run_peak.growth_bytes())
        self._block = timed(lambda: execute(inputs))
        return outputs

    def time_block(self, count: int) -> Sequence[int]:
        """Run a number of times on the inputs of `run`; return the time of each run in nanoseconds."""
        if self._block is None:
            raise ValueError("run it once, so that there are inputs")
        with self._of_engine():
            return self._block(count)

    def instruction_times(self, runs: int) -> tuple[InstructionTime, ...]:
        """Run again with a tracer; return the time of each operator and delegate, the longest first.

        Nothing for an engine's model, and for an executor that records no events.

        Args:
            runs: The number of runs; at most `_MAX_TRACED` are made.
        """
        return self._runnable.traced(self._inputs, min(runs, _MAX_TRACED))

    def close(self) -> None:
        """Release everything."""
        self._block = None
        with self._of_engine():
            self._runnable.close()

    @contextmanager
    def _of_engine(self) -> Iterator[None]:
        """Raise MeasurementError for what an engine or its plugin raises, which may be anything."""
        try:
            yield
        except EtconfigError:
            raise
        except Exception as error:
            guessed = ", ".join(self.open_inputs)
            raise MeasurementError(
                label=self.label,
                reason=reason_of(error),
                help=f"sizes that the model leaves open were 1 ({guessed}); --shape gives others"
                if guessed
                else None,
            ) from error


class _Runnable(ABC):
    """The loaded method of a program, or the object of an engine."""

    input_names: tuple[str, ...] = ()
    open_inputs: tuple[str, ...] = ()
    execute: Callable[[Sequence[Any]], Sequence[Any]]

    @abstractmethod
    def generate(self, seed: int) -> list[Any]: ...

    def traced(self, inputs: Sequence[Any], runs: int) -> tuple[InstructionTime, ...]:
        return ()

    def close(self) -> None:
        del self.execute


class _ProgramMethod(_Runnable):
    def __init__(self, program: LoadedProgram, resolution: Resolution, request: SubjectRequest) -> None:
        arguments = resolution.arguments(request.method, request.instance)
        self._program, self._label = program, request.label
        self._load = partial(program.load_method, request.method, arguments, optimize=request.optimize)
        try:
            self._meta = program.metadata(request.method)
            self._method = self._load()
        except BaseException:
            program.close()
            raise
        self.execute = self._method.execute

    def generate(self, seed: int) -> list[Any]:
        return generated(self._label, self._meta, seed)

    def traced(self, inputs: Sequence[Any], runs: int) -> tuple[InstructionTime, ...]:
        if not records_events(self._program.installation, self._program.executor):
            return ()
        tracer = RecordingTracer()
        with self._load(tracer=tracer) as method:
            method.execute(inputs)
            tracer.clear()
            for _ in range(runs):
                method.execute(inputs)
        return instruction_times(tracer.events)

    def close(self) -> None:
        super().close()
        self._method.close()
        self._program.close()


class _EngineModel(_Runnable):
    def __init__(self, models: Models, resolution: Resolution, request: SubjectRequest) -> None:
        assert request.backend is not None
        spec = models.installation.plugins.backend_spec(request.backend)
        if spec.runner is None:
            raise BackendUnavailableError(
                backend=request.backend,
                reason="its plugin does not say how to run a model: its declaration has no runner",
                help="measure the engine's object in your own code",
            )
        self._label = request.label
        self._built = resolution.build(request.method, request.model, instance=request.instance)
        self._runner: ModelRunner = _checked_runner(request.label, spec.runner(self._built))
        self.input_names = tuple(each.name for each in self._runner.inputs)
        self._made_up = MadeUpShapes.of(self._runner.inputs, request.shapes, request.label)
        self.open_inputs = self._made_up.guessed
        self.execute = self._runner.run

    def generate(self, seed: int) -> list[Any]:
        if not self._runner.inputs:
            raise MeasurementError(
                label=self._label,
                reason="its engine does not say what the model takes, so no inputs can be made up",
                help="give them in order: --input FILE.npy",
            )
        random = np.random.default_rng(seed)
        names, dtypes = self.input_names, [np.dtype(each.dtype) for each in self._runner.inputs]
        forms = [*zip(names, self._made_up.shapes, dtypes, strict=True)]
        check_made_up_size(
            self._label, [(name, shape, math.prod(shape) * dtype.itemsize) for name, shape, dtype in forms]
        )
        return [made_up_array(shape, dtype, random) for _, shape, dtype in forms]

    def close(self) -> None:
        super().close()
        del self._built, self._runner


def generated(label: str, meta: MethodMeta, seed: int) -> list[Any]:
    """Make up inputs for a method. Raises MeasurementError, InvalidInputError."""
    tensors = [each for each in range(meta.num_inputs()) if meta.input_tag(each) == "Tensor"]
    infos = [(f"input {each}", meta.input_tensor_meta(each)) for each in tensors]
    check_made_up_size(label, [(name, info.sizes(), info.nbytes()) for name, info in infos])
    return generate_inputs(meta, seed)


def reason_of(error: BaseException) -> str:
    """Return an error in one line: its text, with its class if that is not etconfig's."""
    if isinstance(error, MeasurementError):  # the label stands beside it
        return error.reason if error.help is None else f"{error.reason} ({error.help})"
    try:
        text = " ".join(str(error).split())
    except Exception:  # of an error that cannot say what it is
        text = ""
    is_own = type(error).__module__.partition(".")[0].startswith("etconfig")
    return text if is_own and text else f"{type(error).__name__}: {text}".removesuffix(": ")


def _checked_runner(label: str, runner: object) -> ModelRunner:
    """Return what a plugin made to run a model, if it can be one. Raises MeasurementError."""
    from etconfig.backend import ModelInput, ModelRunner

    if not isinstance(runner, ModelRunner):
        raise MeasurementError(
            label=label, reason=f"its plugin gives {type(runner).__name__} in place of a ModelRunner"
        )
    wrong = [each for each in runner.inputs if not (isinstance(each, ModelInput) and type(each.name) is str)]
    if wrong:
        kind = type(wrong[0]).__name__
        raise MeasurementError(label=label, reason=f"its plugin declares an input wrongly: {kind}")
    return runner


def _peak_of(loading: int | None, loaded: int | None, run: int | None) -> int | None:
    """Return the peak from the growth while loading, the growth that stayed, and the growth of a run."""
    return None if loading is None or loaded is None or run is None else max(loading, loaded + run)


def _own(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def arranged(inputs: Sequence[Any], names: Sequence[str], subject: MeasuredSubject) -> list[Any]:
    """Return inputs in the order of a subject: by name if it has the same names, else as they are.

    Raises:
        InvalidInputError: it takes another number of inputs.
    """
    if names and sorted({*names}) == sorted(subject.input_names):
        by_name = dict(zip(names, inputs, strict=True))
        return [by_name[name] for name in subject.input_names]
    if subject.input_names and len(subject.input_names) != len(inputs):
        raise InvalidInputError(
            method=subject.label,
            input="inputs",
            expected=f"{len(subject.input_names)} value(s)",
            given=str(len(inputs)),
            help="compare models with the same inputs",
        )
    return list(inputs)
