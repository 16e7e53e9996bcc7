"""The conditions of the bundled profiles are checked ahead of time, and that changes nothing."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from etconfig.facts import BUILTIN_FACTS, FactInfo, FactRegistry, FactType, Volatility
from etconfig.profile import ExpressionType, ProfileLibrary, ProfileReader, parse_expression
from etconfig.profile.expression.ready import READY

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check_conditions.py"))
TEXT = 'os.name == "linux"'


class TestTheTable:
    """It holds every condition of the bundled profiles, as the checker gives it."""

    def test_it_is_current(self) -> None:
        is_current = TOOL["TARGET"].read_text(encoding="utf-8") == TOOL["module_text"]()
        assert is_current, "etconfig/profile/expression/ready.py is out of date; run `make docs`"

    @pytest.mark.parametrize("text", READY)
    def test_what_is_ready_is_what_checking_gives(self, text: str) -> None:
        checked = parse_expression(text, BUILTIN_FACTS, expect=ExpressionType.BOOL)
        assert READY[text] == (checked.tree, checked.clause_texts)
        assert repr(READY[text]) == repr((checked.tree, checked.clause_texts))  # 1 == True == 1.0


class TestUsingTheTable:
    """It is used where the built-in facts mean what they meant when it was made."""

    def test_facts_of_plugins_may_be_added(self) -> None:
        added = FactInfo(name="acme.cores", type=FactType.INT, volatility=Volatility.STATIC, doc="Cores.")
        for registry in (BUILTIN_FACTS, BUILTIN_FACTS.extended([added])):
            assert ProfileReader(ProfileLibrary((), registry)).expressions.ready is READY

    def test_other_facts_have_every_condition_checked(self) -> None:
        first, *rest = BUILTIN_FACTS.infos
        for infos in (tuple(rest), (replace(first, doc="Another meaning."), *rest)):
            assert not ProfileReader(ProfileLibrary((), FactRegistry(infos))).expressions.ready

    def test_a_ready_expression_equals_a_parsed_one(self) -> None:
        def nowhere() -> None:
            raise AssertionError("nobody asked where it stands")

        reader = ProfileReader(ProfileLibrary(()))
        ready = reader.expressions.parse(TEXT, nowhere, ExpressionType.BOOL)
        assert ready == parse_expression(TEXT, BUILTIN_FACTS)
        assert [clause.explanation for clause in ready.explain({"os.name": "linux"})] == [
            'os.name == "linux" holds: os.name is "linux"'
        ]
