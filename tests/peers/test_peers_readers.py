"""The reader that `etconfig schema BACKEND --emit cpp` writes, in ExecuTorch's own runtime.

README lists three mistakes that ExecuTorch accepts without an error: each is refused here, before XNNPACK is
loaded.
"""

from __future__ import annotations

import enum
import random
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import pytest
from compilers import compiled
from effort import scaled, seeds
from typed_schemas import hostile_spec

from etconfig.app.installation.installation import Installation
from etconfig.device.typed import typed_code
from etconfig.plugin.v1 import (
    ApiRange,
    BackendOptions,
    BackendSpec,
    Ge,
    Gt,
    Le,
    Len,
    Lt,
    MultipleOf,
    Wire,
    option,
)

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
]

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "examples" / "phone_and_pi" / "digits.pte"
KEYS = "workspace_sharing_mode, weight_cache_enabled, packed_cache_path"


def build(target: Path, *arguments: str | Path, runs: bool = True) -> Path:
    """Compile C++ against the executorch that is installed."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    wheel = Path(spec.submodule_search_locations[0])
    include = wheel / "include"
    libraries = [f"-lexecutorch{name}" for name in ("", "_backend_xnnpack", "_kernels_optimized")]
    linked = ("-Wl,--no-as-needed", f"-L{wheel}/lib", *libraries, f"-Wl,-rpath,{wheel}/lib")
    command = (
        *("g++", "-std=c++17", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"),
        *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-isystem", include),
        *("-isystem", include / "executorch" / "runtime" / "core" / "portable_type" / "c10"),
        *(*arguments, *(linked if runs else ("-c",))),
    )
    return compiled(command, target)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Load the program with options, and return the lines that are printed."""
    directory = tmp_path_factory.mktemp("readers")
    (directory / "xnnpack.h").write_text(
        typed_code(Installation().plugins.backend_spec("XnnpackBackend"), "cpp", "etconfig")
    )
    program = directory / "checked.pte"
    program.write_bytes(PROGRAM.read_bytes().replace(b"XnnpackBackend", b"CheckedXnnpack"))
    defines = ("-DSPACE=etconfig_xnnpack_backend", '-DREADER="xnnpack.h"', f"-I{directory}")
    runner = build(directory / "run", *defines, HERE / "device" / "read_options.cpp")

    def run(backend: str, *options: str) -> list[str]:
        done = subprocess.run(
            [runner, program, backend, *options], capture_output=True, text=True, check=False, cwd=directory
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


class TestMistakesOfTheFrontPage:
    """A misspelled key, a value of the wrong type and a wrong id end the load with an error and a message."""

    def test_a_correct_option_reaches_xnnpack(self, load: Callable[..., list[str]]) -> None:
        found = load(
            "CheckedXnnpack", "weight_cache_enabled", "bool", "true", "packed_cache_path", "text", "p"
        )
        assert found[-3:] == ["weight_cache_enabled 1", "packed_cache_path p", "load 0x0"]
        assert load("CheckedXnnpack", "workspace_sharing_mode", "int", "2")[-1] == "load 0x0"

    def test_a_misspelled_key(self, load: Callable[..., list[str]]) -> None:
        assert load("CheckedXnnpack", "weight_cache_enable", "bool", "true")[-2:] == [
            f"init: weight_cache_enable: no such option of XnnpackBackend (there are {KEYS})",
            "load 0x12",
        ]

    def test_a_value_of_the_wrong_type(self, load: Callable[..., list[str]]) -> None:
        assert load("CheckedXnnpack", "weight_cache_enabled", "int", "1")[-2:] == [
            "init: weight_cache_enabled: expected true or false, given 1 (an integer)",
            "load 0x12",
        ]

    def test_a_wrong_id(self, load: Callable[..., list[str]]) -> None:
        (found,) = load("XNNPackBackend", "weight_cache_enabled", "bool", "true")
        assert found.startswith("map: XNNPackBackend: this runtime has no such backend; it has ")
        assert "CheckedXnnpack" in found


class TestOtherMistakes:
    """Every problem of a call is in its message."""

    def test_several_problems_are_reported_together(self, load: Callable[..., list[str]]) -> None:
        found = load(
            "CheckedXnnpack",
            *("workspace_sharing_mode", "int", "3", "packed_cache_path", "bool", "false"),
            *("weight_cache_enabled", "text", "yes\n", "weight_cache_enabled", "bool", "true"),
        )
        assert found[-2:] == [
            "init: workspace_sharing_mode: expected one of 0 (disabled), 1 (per_model), 2 (global), given 3 "
            "(an integer); weight_cache_enabled: given twice; weight_cache_enabled: expected true or false, "
            'given "yes?" (a text); packed_cache_path: expected a text, given false',
            "load 0x12",
        ]

    def test_keys_and_texts_without_an_end_are_bounded(self, load: Callable[..., list[str]]) -> None:
        found = load("CheckedXnnpack", "k" * 64, "text", "v" * 256)
        assert found[-2] == f"init: {'k' * 64}: no such option of XnnpackBackend (there are {KEYS})"
        found = load(
            "CheckedXnnpack", "packed_cache_path", "text", "v" * 256, "weight_cache_enabled", "int", "2"
        )
        assert found[-2] == "init: weight_cache_enabled: expected true or false, given 2 (an integer)"

    def test_options_of_a_method_are_refused_for_the_process(self, load: Callable[..., list[str]]) -> None:
        found = load("CheckedXnnpack", "workspace_sharing_mode", "int", "2")
        assert found[-2] == (
            "set_option: workspace_sharing_mode: of a method, which the map sets when it is loaded"
        )


class Mode(enum.Enum):
    LOW = "low"
    HIGH = "high"


class CaseOptions(BackendOptions):
    """An option of each type, as `read_cases.cpp` prints them."""

    mode: Mode | None = option(
        None, applies="load", wire=Wire(key="m", values={"low": 0, "high": 2}), doc="A number."
    )
    word: Literal["a", "bc"] = option("bc", applies="load", doc="A text.")
    count: Annotated[int, Ge(1), Lt(65)] | None = option(None, applies="load", doc="Bounds.")
    step: Annotated[int, Gt(-9), Le(8), MultipleOf(4)] | None = option(None, applies="load", doc="Steps.")
    big: Annotated[int, Ge(0)] | None = option(
        None, applies="load", wire=Wire(key="big", as_text=True), doc="64 bits."
    )
    flag: bool = option(True, applies="load", doc="A flag.")
    text: Annotated[str, Len(1, 3)] | None = option(None, applies="load", doc="Characters.")
    must: int = option(applies="load", doc="No default.")
    place: str | None = option(None, applies="load", scope="process", doc="Of the process.")


Case = list[tuple[str, "bool | int | str"]]

KEYS_OF_CASES = ("m", "word", "count", "step", "big", "flag", "text", "must", "place", "mode", "FLAG", "")
VALUES: tuple[bool | int | str, ...] = (
    *(True, False, 0, 1, 2, 3, 4, 8, 12, 64, 65, -1, -4, -8, -12, 2**31 - 1, -(2**31)),
    *("a", "bc", "b", "", "0", "2", "64", "-1", "+1", " 1", "1 ", "0x1", "9223372036854775807"),
    *("9223372036854775808", "true", "é", "ééé", "éééé", "abcd", "\N{GRINNING FACE}" * 3),
)


def model(case: Case) -> tuple[dict[str, object], set[str]]:
    """Return what a reader must read, and the keys that it must name, by the words of the declarations."""
    read: dict[str, object] = {"word": 1, "flag": 1}
    wrong = set() if any(key == "must" for key, _ in case) else {"must"}
    for key, value in case:
        if sum(key == other for other, _ in case) > 1 or key in ("place", "mode", "FLAG", ""):
            wrong.add(key)
        elif key == "m" and type(value) is int and value in (0, 2):
            read["mode"] = value // 2
        elif key == "word" and value in ("a", "bc"):
            read["word"] = ("a", "bc").index(str(value))
        elif key == "count" and type(value) is int and value in range(1, 65):
            read["count"] = value
        elif key == "step" and type(value) is int and value in (-8, -4, 0, 4, 8):
            read["step"] = value
        elif key == "big" and type(value) is int and value >= 0:
            read["big"] = value
        elif key == "big" and isinstance(value, str) and value.isdecimal() and int(value) < 2**63:
            read["big"] = int(value)
        elif key == "flag" and type(value) is bool:
            read["flag"] = int(value)
        elif key == "text" and isinstance(value, str) and 1 <= len(value) <= 3:
            read["text"] = value
        elif key == "must" and type(value) is int:
            read["must"] = value
        else:
            wrong.add(key)
    return read, wrong


class TestAnyOptions:
    """A reader accepts what the schema accepts, and names everything else; hostile schemas make code."""

    def test_random_options_are_read_as_declared(self, tmp_path: Path) -> None:
        spec = BackendSpec(id="CaseBackend", doc="Cases.", options=CaseOptions, api=ApiRange(min=1, built=1))
        (tmp_path / "cases.h").write_text(typed_code(spec, "cpp", "etconfig"))
        defines = ("-DSPACE=etconfig_case_backend", '-DREADER="cases.h"', f"-I{tmp_path}")
        runner = build(tmp_path / "run", *defines, HERE / "device" / "read_cases.cpp")
        chosen = random.Random(29)
        cases: list[Case] = [
            [("must", 1)] * (chosen.random() < 0.8)
            + [(chosen.choice(KEYS_OF_CASES), chosen.choice(VALUES)) for _ in range(chosen.randint(0, 3))]
            for _ in range(scaled(10_000))
        ]
        lines = (
            "\t".join(f"{key}\t{type(value).__name__}\t{value}" for key, value in case) for case in cases
        )
        done = subprocess.run(
            [runner],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
        accepted = 0
        for case, line in zip(cases, done.stdout.splitlines(), strict=True):
            read, wrong = model(case)
            if wrong:
                assert {problem.partition(":")[0] for problem in line.split("; ")} == wrong, case
            else:
                names = ("mode", "word", "count", "step", "big", "flag", "text", "must")
                shown = (f" {name}={read[name]}" for name in names if name in read)
                assert line == "Ok" + "".join(shown), case
                accepted += 1
        assert len(cases) // 20 < accepted < len(cases) // 2

    def test_hostile_names_and_texts_stay_in_their_place(self, tmp_path: Path) -> None:
        for seed in seeds(30):
            (tmp_path / f"{seed}.h").write_text(typed_code(hostile_spec(seed), "cpp", "etconfig"))
        (tmp_path / "all.cpp").write_text("".join(f'#include "{seed}.h"\n' for seed in seeds(30)))
        build(tmp_path / "all.o", tmp_path / "all.cpp", runs=False)
