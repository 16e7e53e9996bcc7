"""Positions in documents are looked up for explanations only: resolving does not need them."""

from __future__ import annotations

import pytest
from resolving import SPECS, make_facts

from etconfig.errors import OptionError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile import document
from etconfig.profile.document import parse_document
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.resolution import Resolution

TEXT = """
[profile]
name = "acme/board"

[options.CpuBackend]
num_threads = { expr = "min(cpu.available_cores, 4)" }
scratch_bytes = { unset = true }
log_level = 3
labels = { rack = "1" }

[options.NpuBackend]
core = 0

[instances.left]
method = "forward"

[[when]]
if = 'power.source == "battery"'
[when.options.CpuBackend]
num_threads = { expr = "1 + 1" }
labels = { power = "low" }
"""


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts whose positions were looked up."""
    scanned: list[str] = []
    scan = document.scan_positions

    def counting_scan(text: str) -> object:
        scanned.append(text)
        return scan(text)

    monkeypatch.setattr(document, "scan_positions", counting_scan)
    return scanned


def resolve(text: str = TEXT, method: str = "forward") -> Resolution:
    profile = parse_profile(parse_document(text, "board.toml"), ExpressionParser(BUILTIN_FACTS))
    resolver = Resolver.compile(SPECS, layers_of([profile]), [Target(method=method, backends=tuple(SPECS))])
    for power in ("battery", "mains"):
        resolution = resolver.resolve(make_facts(cpu__available_cores=8, power__source=power))
    return resolution


class TestPositionsAreFoundOnDemand:
    """Reading, compiling and resolving scan no document; the first explanation or error scans it once."""

    @pytest.mark.parametrize("method", ["forward", ANY_METHOD])
    def test_resolving_looks_up_no_position(self, method: str, scans: list[str]) -> None:
        text = TEXT if method == "forward" else TEXT.replace("[instances.left]\nmethod", "[facts]\n#")
        resolution = resolve(text, method)
        assert resolution.arguments(method)["CpuBackend"].to_jsonable()["num_threads"] == 4
        assert resolution.fingerprint()
        assert scans == []

    def test_an_origin_looks_them_up_once(self, scans: list[str]) -> None:
        arguments = resolve().arguments("forward")
        assert arguments.origin("CpuBackend", "num_threads").place == "board.toml:6:1"
        assert arguments.origin("NpuBackend", "core").place == "board.toml:12:1"
        assert len(scans) == 1

    def test_an_error_points_into_the_document(self, scans: list[str]) -> None:
        with pytest.raises(OptionError, match=r"board\.toml") as failure:
            resolve(TEXT.replace("min(cpu.available_cores, 4)", "4 - cpu.available_cores"))
        assert failure.value.diagnostics[0].spans[0].line == 6
        assert len(scans) == 1
