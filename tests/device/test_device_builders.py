"""The builders that `etconfig schema BACKEND --emit kotlin` writes, compiled and called."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import pytest
from compilers import kotlin_compiler
from doc_pages import ROOT
from effort import seeds
from typed_schemas import hostile_spec

from etconfig.device.typed import typed_code
from etconfig.errors import OptionError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, Ge, Wire, option

SOURCES = ROOT / "tests" / "data" / "device" / "kotlin"


class Xnnpack(BackendOptions):
    workspace_sharing_mode: Literal["disabled", "global"] | None = option(
        None,
        applies="load",
        wire=Wire(key="workspace_sharing_mode", values={"disabled": 0, "global": 2}),
        doc="Sharing.",
    )
    num_threads: Annotated[int, Ge(1)] | None = option(
        None, applies="load", wire=Wire(key=None), doc="Threads."
    )


@pytest.mark.device
@pytest.mark.skipif(shutil.which("java") is None, reason="no java on the PATH")
def test_builders_call_the_android_binding(tmp_path: Path) -> None:
    """Builders of hostile schemas compile, each in a package; the builder of XNNPACK sets threads, too."""
    compiler = kotlin_compiler()
    spec = BackendSpec(id="XnnpackBackend", doc="XNNPACK.", options=Xnnpack, api=ApiRange(min=1, built=1))
    (tmp_path / "Xnnpack.kt").write_text(typed_code(spec, "kotlin", "etconfig"))
    for seed in seeds(12):
        with suppress(OptionError):  # the binding carries none of its options
            code = typed_code(hostile_spec(seed), "kotlin", "etconfig")
            (tmp_path / f"Hostile{seed}.kt").write_text(f"package hostile{seed}\n{code}", encoding="utf-8")
    jar = tmp_path / "use.jar"
    sources = sorted([*SOURCES.glob("*.kt"), *tmp_path.glob("*.kt")])
    subprocess.run([compiler, "-Werror", "-include-runtime", "-d", jar, *sources], check=True)
    done = subprocess.run(
        ["java", "-cp", jar, "UseOptionsKt"], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.stdout.splitlines() == [
        "a.pte [XnnpackBackend.workspace_sharing_mode = 2] 0 3",
        "a.pte [XnnpackBackend.workspace_sharing_mode = 2] 1 5",
        "[Other.key = 1, XnnpackBackend.workspace_sharing_mode = 2]",
        "num_threads: expected an integer from 1 to 2147483647, given 0",
    ]
