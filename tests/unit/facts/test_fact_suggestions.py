from __future__ import annotations

import pytest

from etconfig.diagnostics import Span
from etconfig.errors import FactError
from etconfig.facts.assignment import parse_fact_assignment
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.problems import unknown_fact
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility
from etconfig.mistakes.fact_guesses import likely_facts

CORES = [name for name in BUILTIN_FACTS.names if name.startswith("cpu.") and name.endswith("_cores")]


class TestLikelyFacts:
    """A name that no fact has is matched by its words, then by its letters."""

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("cpu.logical_core", "cpu.logical_cores"),
            ("cpu.avail_cores", "cpu.available_cores"),
            ("memory.avialable", "memory.available"),
            ("available_cores.cpu", "cpu.available_cores"),
            ("total.memory", "memory.total"),
            ("cpu.cores_available", "cpu.available_cores"),
            ("cpu.cores.logical", "cpu.logical_cores"),
            ("ram.total", "memory.total"),
            ("os.arch", "cpu.arch"),
            ("battery.level", "power.battery_level"),
            ("os", "os.name"),
            ("gpu.name", "gpu.0.name"),
            ("gpu.3.nam", "gpu.3.name"),
            ("gpu.nam", "gpu.0.name"),
        ],
    )
    def test_one_fact_fits_best(self, name: str, meant: str) -> None:
        assert likely_facts(name, BUILTIN_FACTS) == (meant,)

    @pytest.mark.parametrize("name", ["cpu.cores", "cpu.core_count", "cores.cpu", "cpu.num_cores"])
    def test_facts_that_fit_equally_well_are_all_candidates(self, name: str) -> None:
        assert list(likely_facts(name, BUILTIN_FACTS)) == CORES

    @pytest.mark.parametrize("name", ["memory", "cpu.count"])
    def test_a_namespace_without_a_name_of_its_own_offers_its_facts(self, name: str) -> None:
        namespace = name.partition(".")[0]
        of_namespace = [fact for fact in BUILTIN_FACTS.names if fact.startswith(f"{namespace}.")]
        assert list(likely_facts(name, BUILTIN_FACTS)) == of_namespace

    @pytest.mark.parametrize("name", ["something.else.entirely", "zebra", "", "...", "__", "x" * 1000])
    def test_a_name_that_resembles_none_gets_nothing(self, name: str) -> None:
        assert likely_facts(name, BUILTIN_FACTS) == ()

    def test_a_suggestion_is_always_the_name_of_a_fact(self) -> None:
        family = FactInfo(
            name="npu.<n>.cores", type=FactType.INT, doc="Its cores.", volatility=Volatility.STATIC
        )
        registry = FactRegistry((family,))
        assert likely_facts("npu.n.cores", registry) == ("npu.0.cores",)
        assert likely_facts("npu.cores", registry) == ("npu.0.cores",)


class TestDiagnostics:
    """A single candidate is a fix to review; several are only listed."""

    def test_a_single_candidate_is_an_unsafe_fix(self) -> None:
        text = "cores_available.cpu"
        problem = unknown_fact(text, BUILTIN_FACTS, Span(file="p", length=len(text), text=text))
        assert problem.help == "did you mean 'cpu.available_cores'?"
        assert problem.fix is not None
        assert (problem.fix.replacement, problem.fix.is_safe) == ("cpu.available_cores", False)

    def test_several_candidates_are_listed_without_a_fix(self) -> None:
        problem = unknown_fact("cpu.cores", BUILTIN_FACTS, Span(file="p", length=9, text="cpu.cores"))
        assert problem.help == f"similar facts are {', '.join(CORES)}"
        assert problem.fix is None

    def test_a_long_list_is_cut(self) -> None:
        problem = unknown_fact("cpu.count", BUILTIN_FACTS)
        assert problem.help is not None
        assert problem.help.endswith(" more")

    def test_the_help_for_a_wrong_word_lists_the_words_of_the_fact(self) -> None:
        with pytest.raises(FactError) as caught:
            parse_fact_assignment("power.source=wall")
        assert caught.value.diagnostics[0].help == "its values are mains, battery"
