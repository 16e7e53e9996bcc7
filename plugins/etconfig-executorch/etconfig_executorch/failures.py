"""Translation of the runtime's failures into etconfig's exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from etconfig.plugin.v1 import (
    DelegateError,
    DelegateInvalidCompatibilityError,
    Diagnostic,
    EtconfigError,
    InstructionLimitError,
    MissingOperatorError,
    OptionError,
    OutOfMemoryError,
    RuntimeFailedError,
)
from etconfig_executorch.native import native
from etconfig_executorch.openvino import OPENVINO, import_help
from etconfig_executorch.options import NUM_THREADS, XNNPACK
from etconfig_executorch.survival import EXECUTOR
from etconfig_executorch.wheel_libraries import WHEEL_OPERATORS, operator_help

# Source of the texts: runtime/executor/method.cpp.
_INIT_FAILED = re.compile(r"Init failed for backend (\S+):")
_INVALID_COMPATIBILITY = 0x30  # runtime/core/error.h
_INSTRUCTION_LIMIT = re.compile(r"Instruction execution limit \((\d+)\) exceeded")
_MISSING_OPERATOR = re.compile(r"Missing operator: \[\d+\] (\S+)")


@contextmanager
def blame(phase: str, method: str | None) -> Iterator[None]:
    """Turn the extension's errors into the matching etconfig errors.

    Args:
        phase: The action that failed: `open`, `load`, `execute` or `effective_options`.
        method: The method that it was about.
    """
    try:
        yield
    except native.RuntimeCallError as failure:
        raise _explained(failure, phase, method) from failure
    except MemoryError as error:
        detail = "more memory is planned for it than there is"
        raise OutOfMemoryError(method=method or "", detail=detail) from error
    except native.ThreadsError as refusal:
        problem = Diagnostic(
            code="invalid-value",
            message=f"{XNNPACK}.{NUM_THREADS}: {refusal}",
            help="set fewer threads, at most one for each core",
        )
        raise OptionError(diagnostics=(problem,)) from refusal
    except native.InputMismatchError as refusal:
        # etconfig's own check accepts them
        log = (f"the runtime refuses an input ({refusal}): it accepts no number for a dynamic input",)
        raise RuntimeFailedError(
            executor=EXECUTOR, phase=phase, method=method, code=0x12, code_name="InvalidArgument", log=log
        ) from refusal


def _explained(failure: Any, phase: str, method: str | None) -> EtconfigError:
    log = tuple(failure.log)
    missing = [match[1] for line in log if (match := _MISSING_OPERATOR.search(line))]
    code, name = failure.code, failure.code_name
    if missing and method is not None:
        operators = tuple(dict.fromkeys(missing))
        known = dict.fromkeys(operator_help(each) for each in operators if each in WHEEL_OPERATORS)
        return MissingOperatorError(
            method=method,
            operators=operators,
            code=code,
            code_name=name,
            help="; ".join(known) or None,
        )
    limits = [int(match[1]) for line in log if (match := _INSTRUCTION_LIMIT.search(line))]
    if limits and method is not None and phase == "execute":
        return InstructionLimitError(method=method, limit=limits[-1])
    backends = [match[1] for line in log if (match := _INIT_FAILED.search(line))]
    if backends and method is not None:
        cause = "; ".join([f"{name} ({code:#04x})", *log])
        kind = DelegateInvalidCompatibilityError if code == _INVALID_COMPATIBILITY else DelegateError
        advice = import_help(log) if backends[-1] == OPENVINO else None
        return kind(
            backend=backends[-1],
            method=method,
            phase="init",
            cause=cause,
            code=code,
            code_name=name,
            help=advice,
        )
    return RuntimeFailedError(
        executor=EXECUTOR, phase=phase, method=method, code=code, code_name=name, log=log
    )
