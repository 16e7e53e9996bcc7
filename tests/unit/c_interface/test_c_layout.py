"""etconfig/backend.h compiles as C and C++ without a warning, and its structs are those of `structs`."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
from c_libraries import COMPILERS, compile_with

from etconfig.base.scalar_types import ScalarType
from etconfig.c_interface import backend_error, structs
from etconfig.c_interface.headers import include_dir

HEADER = (include_dir() / "etconfig" / "backend.h").read_text(encoding="utf-8")
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "EtconfigMessage": structs.CMessage,
    "EtconfigTensor": structs.CTensor,
    "EtconfigValue": structs.CValue,
    "EtconfigOption": structs.COption,
    "EtconfigCompileSpec": structs.CCompileSpec,
    "EtconfigServices": structs.CServices,
    "EtconfigInit": structs.CInit,
    "EtconfigRun": structs.CRun,
    "EtconfigBackend": structs.CTable,
    "EtconfigHost": structs.CHost,
}
MEMBERS = {"content": "as"}
"""Names that differ because Python has a keyword of the name."""


def expected() -> dict[str, int]:
    """Every size and offset, as ctypes has them."""
    sizes = {f"sizeof({name})": ctypes.sizeof(struct) for name, struct in STRUCTS.items()}
    offsets = {
        f"offsetof({name}, {MEMBERS.get(field[0], field[0])})": getattr(struct, field[0]).offset
        for name, struct in STRUCTS.items()
        for field in struct._fields_
    }
    return {**sizes, **offsets}


def constants() -> dict[str, int]:
    """Every number that both sides name."""
    kinds = {f"ETCONFIG_{name}": value for name, value in vars(structs).items() if name.startswith("KIND_")}
    declared = set(re.findall(r"\bETCONFIG_([A-Z0-9]+) = \d+", HEADER))
    dtypes = {f"ETCONFIG_{each.name}": int(each) for each in ScalarType if each.name in declared}
    assert len(dtypes) == 13
    status = {
        "ETCONFIG_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(): code
        for code, name in backend_error.STATUS_NAMES.items()
    }
    versions = {"ETCONFIG_ABI_MAJOR": structs.ABI_MAJOR, "ETCONFIG_ABI_MINOR": structs.ABI_MINOR}
    return {**kinds, **dtypes, **status, **versions}


@pytest.mark.parametrize("language", COMPILERS)
def test_sizes_offsets_and_numbers_are_those_of_the_header(language: str, tmp_path: Path) -> None:
    wanted = {**expected(), **constants()}
    lines = [f'  printf("%lu\\n", (unsigned long)({each}));' for each in wanted]
    source = tmp_path / ("layout.c" if language == "c" else "layout.cpp")
    source.write_text(
        "#include <etconfig/backend.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
    )
    compile_with(language, source, target=tmp_path / "layout")
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    assert dict(zip(wanted, map(int, printed.split()), strict=True)) == wanted


def test_every_struct_of_the_header_is_compared() -> None:
    assert set(re.findall(r"^\} (Etconfig\w+);", HEADER, re.MULTILINE)) == set(STRUCTS)


def test_the_header_names_every_error_code_and_kind() -> None:
    named = set(re.findall(r"\b(ETCONFIG_[A-Z0-9_]+) = ", HEADER))
    assert set(constants()) - {"ETCONFIG_ABI_MAJOR", "ETCONFIG_ABI_MINOR"} <= named
    assert named - set(constants()) == {
        "ETCONFIG_OK",
        "ETCONFIG_LOG_DEBUG",
        "ETCONFIG_LOG_INFO",
        "ETCONFIG_LOG_ERROR",
    }
