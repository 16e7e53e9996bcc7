"""The runtime's log lines go to a Python logger if it has a handler."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

PROGRAMS = Path(__file__).parents[3] / "tests" / "data" / "programs"

PRELUDE = """
import logging, sys, threading
import numpy as np
import etconfig
from etconfig_executorch.logs import receive
from etconfig_executorch.native import native

records = []

class Collect(logging.Handler):
    def emit(self, record):
        records.append(record)

def load(data):
    return etconfig.load_program(data, executor="executorch").load_method("forward")

def fail(data):
    try:
        load(data)
    except etconfig.EtconfigError as error:
        return error
    raise AssertionError("it can be loaded")

good = open(sys.argv[1], "rb").read()
damaged = good.replace(b"XN01", b"XN\\xff1")
logger = logging.getLogger("etconfig.executorch")
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run code in a process of its own, whose standard error the runtime writes to."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PRELUDE + code, str(PROGRAMS / "xnnpack.pte")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done

    return run


def test_lines_are_records_with_level_and_place(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("""
logger.addHandler(Collect())
error = fail(damaged)
record = next(each for each in records if "identifier" in each.getMessage())
assert record.levelno == logging.ERROR
assert record.getMessage().startswith("XNNPACK Delegate Serialization Format version identifier 'XN\\\\xff1'")
assert (record.name, record.filename, record.thread) == (
    "etconfig.executorch", "XNNCompiler.cpp", threading.get_ident()
)
assert record.lineno > 0
assert record.funcName
assert f"{record.filename}:{record.lineno}: {record.getMessage()}" in str(error)  # the exception has it, too
""")
    assert done.stderr == ""


def test_levels_filter(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    run("""
logger.addHandler(Collect())
lines = [(level, "a.cpp", 1, "f", "text of 100% " + level) for level in "DIEF?"]
for level, names in (
    (logging.DEBUG, ["DEBUG", "INFO", "ERROR", "CRITICAL", "INFO"]),
    (logging.INFO, ["INFO", "ERROR", "CRITICAL", "INFO"]),
    (logging.ERROR, ["ERROR", "CRITICAL"]),
    (logging.CRITICAL, ["CRITICAL"]),
):
    logger.setLevel(level)
    records.clear()
    assert receive(lines) is (level <= logging.ERROR)
    assert [each.levelname for each in records] == names
    assert records[-1].getMessage().startswith("text of 100% ")
logger.setLevel(logging.CRITICAL)
records.clear()
fail(damaged)
assert not records
""")


def test_without_a_handler_nothing_is_logged(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("""
assert "identifier" in str(fail(damaged))
load(good).execute([np.ones((1, 8), np.float32)])
""")
    assert (done.stdout, done.stderr) == ("", "")


def test_a_call_without_lines_costs_nothing(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    run("""
logger.addHandler(Collect())
method = load(good)
calls = []
native.set_log_receiver(lambda lines: calls.append(lines) or True)
method.execute([np.ones((1, 8), np.float32)])
assert not calls
fail(damaged)
assert calls
""")


def test_a_handler_that_fails_does_not_change_the_error(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run("""
class Broken(logging.Handler):
    def handle(self, record):
        raise ValueError("disk full")

logger.addHandler(Broken())
assert type(fail(damaged)) is etconfig.errors.DelegateInvalidCompatibilityError
""")
    assert "ValueError: disk full" in done.stderr


def test_a_handler_may_use_the_method(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    run("""
method = load(good)
x = [np.ones((1, 8), np.float32)]

class Uses(logging.Handler):
    def emit(self, record):
        records.append(method.execute(x)[0].shape)

logger.addHandler(Uses())
fail(damaged)
assert records
""")
