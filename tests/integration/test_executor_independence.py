"""An executor of a plugin needs neither the numpy executor nor its kernels."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from delegating_programs import delegating_program

RUN = """
import json
import sys
import numpy as np
import etconfig

program_file, site, executor = sys.argv[1:]
installation = etconfig.Installation(search_path=[site])
sys.path.append(site)
with etconfig.load_program(program_file, installation=installation, executor=executor) as program:
    with program.load_method("forward") as method:
        method.update({"Api1Full.scale": 4.0})
        print(method.execute([np.array([1, -2], np.float32)])[0].tolist())
print(json.dumps(list(sys.modules)))
"""
BUILT_IN = {"etconfig.numpy_executor", "etconfig.kernels"}


@pytest.fixture
def program_file(tmp_path: Path) -> Path:
    """A program that is one delegate."""
    data = delegating_program(
        "Api1Full",
        struct.pack("<f", 0.5),
        specs={"device": b"board"},
        named_data={"api1.bias": np.array([10, 20], np.float32).tobytes()},
    )
    path = tmp_path / "model.pte"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("executor", "needs_built_in"), [("api1", False), ("numpy", True)])
def test_only_the_built_in_executor_imports_itself_and_its_kernels(
    program_file: Path, api1_site: Path, executor: str, needs_built_in: bool
) -> None:
    command = [sys.executable, "-c", RUN, str(program_file), str(api1_site), executor]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    outputs, modules = done.stdout.splitlines()
    assert outputs == "[12.0, 16.0]"
    assert BUILT_IN & set(json.loads(modules)) == (BUILT_IN if needs_built_in else set())
