"""Expressions of etconfig's own packages are checked ahead of time, which changes no result."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from every import every

from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility
from etconfig.profile.bundled_conditions import bundled_conditions, load_conditions
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.library import ProfileLibrary

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check_conditions.py"))
TEXT = 'os.name == "linux"'


class TestTheFile:
    """It contains every expression of the bundled profiles and of advice, as the checker gives it."""

    def test_it_is_current(self) -> None:
        is_current = TOOL["TARGET"].read_text(encoding="utf-8") == TOOL["file_text"](
            TOOL["parsed_expressions"]()
        )
        assert is_current, "profiles/conditions.json is out of date; run `make docs`"

    @every("text", bundled_conditions().conditions)
    def test_a_condition_of_the_file_is_the_result_of_checking(self, text: str) -> None:
        parsed = parse_expression(text, BUILTIN_FACTS, expect=ExpressionType.BOOL)
        known = bundled_conditions().conditions[text]
        assert known == (parsed.tree, parsed.clause_texts)
        assert repr(known) == repr((parsed.tree, parsed.clause_texts))  # 1 == True == 1.0

    @pytest.mark.parametrize("text", bundled_conditions().values)
    def test_a_value_of_the_file_is_the_result_of_checking(self, text: str) -> None:
        parsed = parse_expression(text, BUILTIN_FACTS)
        assert repr(bundled_conditions().values[text]) == repr((parsed.type, parsed.tree))
        assert parsed.clause_texts == (text,)

    def test_advice_of_the_packages_here_is_in_it(self) -> None:
        assert "min(cpu.available_cores, cpu.performance_cores)" in bundled_conditions().values
        assert 'power.source == "mains"' in bundled_conditions().conditions

    def test_every_kind_of_node_is_written_and_read(self, tmp_path: Path) -> None:
        """The bundled profiles need not use them all."""
        text = (
            'has(gpu.0.name) ? cpu.arch in ["arm64", "x86_64"] && -1.0 < 2.0 : !(size(os.name) > 3 || false)'
        )
        parsed = parse_expression(text, BUILTIN_FACTS, expect=ExpressionType.BOOL)
        path = tmp_path / "conditions.json"
        path.write_text(TOOL["file_text"]([parsed]))
        assert repr(load_conditions(path).conditions) == repr({text: (parsed.tree, parsed.clause_texts)})


class TestUsingTheFile:
    """It is used where the built-in facts mean what they meant when it was written."""

    def test_facts_of_plugins_may_be_added(self) -> None:
        added = FactInfo(name="acme.cores", type=FactType.INT, volatility=Volatility.STATIC, doc="Cores.")
        for registry in (BUILTIN_FACTS, BUILTIN_FACTS.extended([added])):
            assert (
                ProfileReader(ProfileLibrary((), registry)).expressions.checked
                is bundled_conditions().conditions
            )

    def test_other_facts_have_every_condition_checked(self) -> None:
        first, *rest = BUILTIN_FACTS.infos
        for infos in (tuple(rest), (replace(first, doc="Another meaning."), *rest)):
            assert not ProfileReader(ProfileLibrary((), FactRegistry(infos))).expressions.checked

    def test_a_condition_of_the_file_equals_a_parsed_one(self) -> None:
        def nowhere() -> None:
            raise AssertionError("the position was looked up, but nothing asked for it")

        reader = ProfileReader(ProfileLibrary(()))
        checked = reader.expressions.parse(TEXT, nowhere, ExpressionType.BOOL)
        assert checked == parse_expression(TEXT, BUILTIN_FACTS)
        assert [clause.explanation for clause in checked.explain({"os.name": "linux"})] == [
            'os.name == "linux" holds: os.name is "linux"'
        ]
