from __future__ import annotations

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.markdown import facts_markdown
from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility


class TestReference:
    """The reference of facts is generated from the registry."""

    def test_each_fact_is_a_row(self):
        registry = FactRegistry(
            (
                FactInfo(
                    name="acme.mode",
                    type=FactType.STRING,
                    doc="Fast | slow.",
                    volatility=Volatility.LIVE,
                    choices=("a", "b"),
                ),
                FactInfo(
                    name="acme.<n>.size",
                    type=FactType.INT,
                    doc="Size.",
                    volatility=Volatility.STATIC,
                    unit="bytes",
                ),
            )
        )
        assert facts_markdown(registry) == (
            "| fact | type | unit | volatility | meaning |\n"
            "|---|---|---|---|---|\n"
            "| `acme.mode` | string |  | live | Fast \\| slow. One of `a`, `b`. |\n"
            "| `acme.<n>.size` | int | bytes | static | Size. |\n"
        )

    def test_every_builtin_fact_is_in_it(self):
        assert len(facts_markdown(BUILTIN_FACTS).splitlines()) == len(BUILTIN_FACTS.infos) + 2
