"""`device.h`: selects, resolves and updates as Python's resolver does, on random stacks of profiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from device_comparison import Batch, check_same_answers
from device_programs import SANITIZED, compile_device_program

ETDEVICE = "../../../etconfig/device/etdevice/main.cpp"


@pytest.fixture(scope="module")
def etdevice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    """The program that answers, with sanitizers."""
    target = tmp_path_factory.mktemp("etdevice") / "etdevice"
    batch = Batch([str(compile_device_program(ETDEVICE, target, "-O1", *SANITIZED))])
    yield batch
    batch.close()


class TestRandomStacks:
    """Selected profile, reasons, values, origins, problems and changes are those of Python's resolver.

    A case is a stack on one of five fact sheets.
    """

    def test_on_300_cases(self, etdevice: Batch, tmp_path: Path) -> None:
        check_same_answers(etdevice, tmp_path, 60)

    @pytest.mark.weekly
    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("part", range(20))
    def test_on_50000_cases(self, etdevice: Batch, tmp_path: Path, part: int) -> None:
        check_same_answers(etdevice, tmp_path, 500, 1_000 + 500 * part)
