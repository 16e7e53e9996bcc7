"""Mutants whose defect is the cause of many failures; the tests run all checks on them."""

from __future__ import annotations

from collections.abc import Mapping

from mutants.answers import WrongSums
from mutants.mutant import BACKEND, Mutant


def recommend_text(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Recommend a text for a number."""
    return {"num_threads": "many"}


def recommend_without_care(facts: Mapping[str, object]) -> Mapping[str, object]:
    """Fail on every device."""
    return {"num_threads": facts["npu.cores"]}


def stop(*args: object) -> None:
    """Fail."""
    raise ModuleNotFoundError("No module named 'torch'", name="torch")


WRONG_SUMS = Mutant("answers", "off by", backend=WrongSums)
BAD_TYPE = Mutant("recommend-valid", "many", declared={"recommend": recommend_text})
BAD_RECOMMEND = Mutant("recommend-valid", "npu.cores", declared={"recommend": recommend_without_care})
BROKEN = Mutant(
    "loads",
    "",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_broken"},
    files={"mutant_broken.py": "1 / 0"},
)
NO_FACTORY = Mutant("signature-bind", "", declared={"factory": stop})
