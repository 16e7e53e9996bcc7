"""The sources of `etconfig new-backend --cpp`, after changes that a vendor makes first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_libraries import Payload, init_context

from etconfig.c_interface.backend import CBackend
from etconfig.c_interface.backend_error import CBackendError
from etconfig.plugin.v1 import BackendOptions, option
from etconfig.plugin.v1_c import include_dir
from etconfig.program.program import open_program

TEMPLATE = Path(__file__).parents[3] / "etconfig" / "templates" / "example-cpp"

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (c++) on the PATH")


class MoreOptions(BackendOptions):
    """Options of which the library knows one."""

    word: str = option("fast", applies="load", doc="An option that the library does not report yet.")
    num_threads: int = option(3, applies="execute", doc="An option that it reports.")


def load(directory: Path, old: str = "", new: str = "") -> tuple[CBackend, Any]:
    """Build the sources, after an edit of `backend.cpp`, and load a program of the template."""
    native = directory / "native"
    shutil.copytree(TEMPLATE / "native", native)
    source = native / "backend.cpp"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new, 1))
    library = directory / "lib.so"
    flags = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared")
    sources = sorted(native.glob("*.cpp"))
    subprocess.run(["c++", *flags, f"-I{native}", f"-I{include_dir()}", *sources, "-o", library], check=True)
    program = open_program(next(TEMPLATE.glob("src/*/golden/add.pte")))
    (delegate,) = program.plan("forward").delegates
    context = init_context(MoreOptions())
    backend = CBackend(library, "ExampleCppBackend")
    return backend, backend.init(
        context, Payload(bytes(program.delegate_data(delegate))), context.compile_specs
    )


def test_an_exception_of_any_type_becomes_an_error(tmp_path: Path) -> None:
    check = "if (request->compile_spec_count > 0) {"
    with pytest.raises(CBackendError, match=r"Internal \(0x01\): an exception of an unknown type"):
        load(tmp_path, check, "if (request->payload_size > 0) throw 42;\n    " + check)


def test_a_new_option_is_not_reported_with_the_value_of_another(tmp_path: Path) -> None:
    backend, handle = load(tmp_path)
    assert backend.effective_options(handle) == {"num_threads": 3}
