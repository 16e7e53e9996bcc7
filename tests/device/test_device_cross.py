"""`device.h` from clang, and on arm64 and arm32 under an emulator: the answers are the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_comparison import Batch, check_same_answers
from device_expressions import check_same_explanations
from device_mutants import check_same_verdicts
from device_programs import TOOLCHAINS, Toolchain
from effort import scaled

pytestmark = [pytest.mark.device, pytest.mark.timeout(900)]
ETDEVICE = "../../../etconfig/device/etdevice/main.cpp"


@pytest.fixture(params=TOOLCHAINS, ids=lambda toolchain: toolchain.compiler)
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """A compiler, with its emulator."""
    found: Toolchain = request.param
    return found


def built(toolchain: Toolchain, source: str, target: Path) -> list[str]:
    """Compile a program, and return the command that runs it."""
    program = toolchain.compile(source, target, "-O2")
    return [*([toolchain.emulator] if toolchain.emulator else []), str(program)]


class TestOtherCompilers:
    """A device decides as Python does, whatever its processor and compiler."""

    def test_damaged_bundles_have_the_same_verdicts(self, toolchain: Toolchain, tmp_path: Path) -> None:
        check_same_verdicts(built(toolchain, "verify_bundles.cpp", tmp_path / "verify"), scaled(300))

    def test_expressions_have_the_same_explanations(self, toolchain: Toolchain, tmp_path: Path) -> None:
        check_same_explanations(
            built(toolchain, "explain_expressions.cpp", tmp_path / "explain"), tmp_path, scaled(300)
        )

    def test_stacks_have_the_same_answers(self, toolchain: Toolchain, tmp_path: Path) -> None:
        batch = Batch(built(toolchain, ETDEVICE, tmp_path / "etdevice"))
        check_same_answers(batch, tmp_path, 50)
        batch.close()
