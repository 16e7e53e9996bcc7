"""Names of methods in settings are looked up; only patterns are compared with every method."""

from __future__ import annotations

import pytest

from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.deciding import program_check
from etconfig.resolver.deciding.program_check import verify_assignment

METHODS = {"encode": ("CpuBackend",), "decode": ("CpuBackend",)}
INSTALLED = ("CpuBackend",)


def problems(path: str) -> list[str]:
    (assignment,) = layer_from_overrides([f"{path}=1"]).assignments
    return [each.message for each in verify_assignment(assignment, METHODS, INSTALLED)]


class TestNames:
    """A plain name is compared with no other."""

    def test_a_name_is_looked_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(program_check, "name_matcher")
        assert problems("decode:CpuBackend.threads") == []
        assert problems("CpuBackend.threads") == []
        assert problems("decod:CpuBackend.threads") == ["the program has no method 'decod'"]

    def test_a_pattern_means_all_that_it_matches(self) -> None:
        assert problems("*code:CpuBackend.threads") == []
        assert problems("[ed]ncode:CpuBackend.threads") == []
        assert problems("x*:CpuBackend.threads") == ["the program has no method 'x*'"]
