from __future__ import annotations

import dataclasses
import pickle
import re
import typing

import pytest
from every import every

from etconfig import errors
from etconfig.diagnostics import Diagnostic, Severity
from etconfig.errors import (
    ConfigError,
    EtconfigError,
    OptionError,
    RuntimeFailedError,
    TruncatedProgramError,
)

SAMPLES = {
    "str": "x",
    "str | None": "x",
    "int": 3,
    "float": 0.5,
    "int | None": 3,
    "tuple[tuple[str, int], ...]": (("forward: arenas", 4096),),
    "tuple[tuple[str, int | None], ...]": (("forward: num_threads", 4), ("encoder: num_threads", None)),
    "tuple[tuple[str, str, str], ...]": (("a.pte", "NotFound", "it is gone"),),
    "tuple[str, ...]": ("a", "b"),
    "tuple[Diagnostic, ...]": (Diagnostic(code="unknown-option", message="no option 'a'"),),
}


def error_classes() -> list[type[EtconfigError]]:
    return [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, EtconfigError)]


def sample(cls: type[EtconfigError]) -> EtconfigError:
    return cls(**{f.name: SAMPLES[typing.cast("str", f.type)] for f in dataclasses.fields(cls)})


@every("cls", error_classes(), ids=lambda c: c.__name__)
class TestEveryError:
    """Facts are attributes, the text is derived, and exceptions pickle."""

    def test_pickles_with_type_text_and_attributes(self, cls: type[EtconfigError]) -> None:
        error = sample(cls)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is cls
        assert str(copy) == str(error)
        assert copy.__reduce__() == error.__reduce__()

    def test_stands_in_the_tree_atop_the_module(self, cls: type[EtconfigError]) -> None:
        assert errors.__doc__ is not None
        parent = cls.__mro__[1].__name__
        tree = re.sub("[│├└─]", " ", errors.__doc__)
        assert re.search(rf"^ +{cls.__name__}( |$)", tree, re.MULTILINE), (
            f"{cls.__name__} ({parent}) is missing"
        )


class TestMessages:
    def test_truncated_program_names_region_and_sizes(self) -> None:
        error = TruncatedProgramError(
            code="truncated", region="segment 3", path="a.pte", needed_bytes=4096, available_bytes=120
        )
        assert str(error) == "a.pte: segment 3: needs 4096 bytes, but only 120 are there [truncated]"

    def test_config_error_shows_the_first_error_and_counts_the_rest(self) -> None:
        warning = Diagnostic(code="deprecated-option", message="old", severity=Severity.WARNING)
        first = Diagnostic(code="unknown-option", message="no option 'a'", help="did you mean 'b'?")
        second = Diagnostic(code="unknown-option", message="no option 'c'")
        error = OptionError(diagnostics=(warning, first, second))
        assert str(error) == "no option 'a' (did you mean 'b'?) (and 1 more)"

    def test_help_is_appended(self) -> None:
        error = ConfigError(diagnostics=(), help="write one")
        assert str(error) == "the configuration is invalid; write one"

    @pytest.mark.parametrize(
        ("cls", "text"),
        [
            (errors.MethodNotFoundError, "the program has no method 'x'; it has 'a', 'b'; x"),
            (errors.PluginLoadError, "plugin 'x' (x) of x x failed: x; x"),
            (errors.UnknownPluginError, "no installed plugin declares 'x' in x (installed: a, b); x"),
            (errors.DuplicatePluginError, "'x' in x is claimed by a and b; x"),
            (errors.NotAProgramError, "x: x at byte 3: expected x, found x [x]; x"),
            (
                errors.MissingOperatorError,
                "method 'x' needs 2 operator(s) that no installed kernel implements: a, b; x",
            ),
            (errors.BackendUnavailableError, "backend 'x' cannot run here: x; x"),
            (errors.InvalidInputError, "method 'x', x: expected x, given x; x"),
            (errors.InvalidMemoryError, "method 'x', memory[3]: expected x, given x; x"),
            (
                errors.ArenaConflictError,
                "methods 'x' and 'x' cannot share arenas: 'x' uses the bytes in which 'x' keeps its state (x)"
                "; x",
            ),
            (errors.KernelArgumentError, "x: x; x"),
            (errors.DelegateError, "backend 'x' failed in x of method 'x': x; x"),
            (
                errors.MethodInUseError,
                "method 'x' shares its arenas with 'x', which is executing in another thread; "
                "methods with shared arenas take turns; x",
            ),
            (
                errors.MethodClosedError,
                "method 'x' is closed; load it again with program.load_method('x'); x",
            ),
            (errors.OutOfMemoryError, "method 'x' asks for more memory than there is: x; x"),
            (errors.InstructionLimitError, "method 'x' ran 3 instructions without coming to an end; x"),
            (errors.UnsafeProgramError, "executor 'x' refuses method 'x': x: x; x"),
            (errors.InternalError, "internal error: x; please report it; x"),
        ],
    )
    def test_text(self, cls: type[EtconfigError], text: str) -> None:
        assert str(sample(cls)) == text

    def test_a_method_in_use_by_itself(self) -> None:
        assert str(errors.MethodInUseError(method="x")) == (
            "method 'x' is already executing in another thread; "
            "load one Method per thread (they share the program's constants)"
        )


@pytest.mark.parametrize(
    ("log", "said"), [((), ""), (("one",), "; it logged: one"), (("one", "two"), "; it logged: one; two")]
)
def test_the_lines_of_a_runtime_follow_one_introduction(log: tuple[str, ...], said: str) -> None:
    error = RuntimeFailedError(
        executor="real", phase="execute", method="forward", code=1, code_name="Internal", log=log
    )
    assert str(error) == f"executor 'real' failed in execute of method 'forward': Internal (0x01){said}"
