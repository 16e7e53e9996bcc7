from __future__ import annotations

import pytest

from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import CatalogModel
from etconfig.models.checking import disagreements, unreachable_variants
from etconfig.models.needs import MethodSignature, ValueSignature, VariantNeeds
from etconfig.models.reading import parse_models
from etconfig.profile.document import parse_document

IMAGE = ValueSignature(kind="Tensor", dtype="float32", sizes=(1, 3), dim_order=(0, 1))


def model_of(*conditions: str | None, fallback: bool = False) -> CatalogModel:
    lines = ["[model.m]", f"fallback = {str(fallback).lower()}"]
    for number, condition in enumerate(conditions, 1):
        lines += ["[[model.m.variants]]", f'file = "{number}.pte"']
        lines += [] if condition is None else [f"when = '{condition}'"]
    document = parse_document("\n".join(lines), "models.toml")
    return parse_models(document, ExpressionParser(BUILTIN_FACTS)).find("m")


def needing(*backends: str, methods: tuple[MethodSignature, ...] = ()) -> VariantNeeds:
    return VariantNeeds(backends=backends, methods=methods)


def unreachable(model: CatalogModel, *needs: VariantNeeds | None) -> list[str]:
    known = {number: each for number, each in enumerate(needs, 1) if each is not None}
    return [str(problem.spans[0].underlined) for problem in unreachable_variants(model, known, BUILTIN_FACTS)]


class TestUnreachable:
    """An earlier variant that suits wherever a later one does leaves it unreachable."""

    @pytest.mark.parametrize(
        ("earlier", "later", "is_reported"),
        [
            (None, None, True),
            (None, 'os.name == "linux"', True),
            ('os.name == "linux"', None, False),
            ('os.name == "linux"', 'os.name == "linux"', True),
            ("cpu.available_cores >= 2", "cpu.available_cores >= 4", True),
            ("cpu.available_cores >= 4", "cpu.available_cores >= 2", False),
            ('os.name in ["linux", "android"]', 'os.name == "linux" || os.name == "android"', True),
            ("has(gpu.count)", "gpu.count > 0", True),
            ("gpu.count > 0", "has(gpu.count)", False),
            ('os.name == "linux"', 'os.name == "linux" && gpu.count > 0', True),
        ],
    )
    def test_a_condition_that_implies_an_earlier_one(
        self, earlier: str | None, later: str | None, is_reported: bool
    ) -> None:
        model = model_of(earlier, later)
        assert unreachable(model, needing(), needing()) == (['"2.pte"'] if is_reported else [])

    def test_only_the_first_100_variants_are_compared(self) -> None:
        model = model_of(
            *(f'os.name == "linux" && gpu.count > {n}' for n in range(100)), "gpu.count > 9", None, None
        )
        assert len(unreachable(model, *[needing()] * 103)) == 99

    def test_an_earlier_variant_with_further_needs_leaves_it_reachable(self) -> None:
        model = model_of(None, None)
        assert unreachable(model, needing("XnnpackBackend"), needing()) == []
        assert unreachable(model, needing("XnnpackBackend"), needing("QnnBackend")) == []
        assert unreachable(model, needing(), needing("QnnBackend")) == ['"2.pte"']

    def test_a_program_that_cannot_be_read_proves_nothing(self) -> None:
        assert unreachable(model_of(None, None), None, needing()) == []
        assert unreachable(model_of(None, None), needing(), None) == []

    def test_missing_data_keep_the_earlier_one_from_being_selected(self) -> None:
        lacking = VariantNeeds(backends=(), methods=(), missing_data=("weight",), data_problem="gone")
        assert unreachable(model_of(None, None), lacking, needing()) == []

    def test_with_fallback_a_later_one_is_there_for_a_failed_load(self) -> None:
        assert unreachable(model_of(None, None, fallback=True), needing(), needing()) == []

    def test_each_variant_is_reported_once(self) -> None:
        assert unreachable(model_of(None, None, None), needing(), needing(), needing()) == [
            '"2.pte"',
            '"3.pte"',
        ]


class TestDisagreements:
    """Variants of one model agree in methods, inputs and outputs."""

    def differing(self, one: MethodSignature, other: MethodSignature) -> list[str]:
        needs = {1: needing(methods=(one,)), 2: needing(methods=(other,))}
        return [note for problem in disagreements(model_of(None, None), needs) for note in problem.notes]

    def test_equal_signatures_agree(self) -> None:
        method = MethodSignature(name="forward", inputs=(IMAGE,), outputs=(IMAGE,))
        assert self.differing(method, method) == []

    @pytest.mark.parametrize(
        ("other", "shown"),
        [
            (
                ValueSignature(kind="Tensor", dtype="float16", sizes=(1, 3), dim_order=(0, 1)),
                "float16 [1, 3]",
            ),
            (
                ValueSignature(kind="Tensor", dtype="float32", sizes=(1, 4), dim_order=(0, 1)),
                "float32 [1, 4]",
            ),
            (
                ValueSignature(kind="Tensor", dtype="float32", sizes=(1, 3), dim_order=(1, 0)),
                "float32 [1, 3] in order [1, 0]",
            ),
            (
                ValueSignature(
                    kind="Tensor",
                    dtype="float32",
                    sizes=(1, 3),
                    dim_order=(0, 1),
                    dynamism="dynamic_bound",
                ),
                "float32 [1, 3], dynamic bound",
            ),
            (ValueSignature(kind="Int"), "Int"),
        ],
    )
    def test_a_different_value_is_named_on_both_sides(self, other: ValueSignature, shown: str) -> None:
        one = MethodSignature(name="forward", inputs=(IMAGE, IMAGE), outputs=())
        two = MethodSignature(name="forward", inputs=(IMAGE, other), outputs=())
        assert self.differing(one, two) == [
            f"method 'forward': input 1 is float32 [1, 3] in 1.pte, and {shown} in 2.pte"
        ]

    def test_missing_methods_and_counts_are_named(self) -> None:
        one = MethodSignature(name="forward", inputs=(IMAGE,), outputs=(IMAGE,))
        assert self.differing(one, MethodSignature(name="encode", inputs=(), outputs=())) == [
            "only 1.pte has method 'forward'",
            "only 2.pte has method 'encode'",
        ]
        assert self.differing(one, MethodSignature(name="forward", inputs=(IMAGE,), outputs=())) == [
            "method 'forward': 1.pte has 1 output, 2.pte has 0"
        ]

    def test_a_variant_that_cannot_be_read_is_left_out(self) -> None:
        method = MethodSignature(name="forward", inputs=(IMAGE,), outputs=(IMAGE,))
        other = MethodSignature(name="other", inputs=(), outputs=())
        needs = {2: needing(methods=(method,)), 3: needing(methods=(other,))}
        (problem,) = disagreements(model_of(None, None, None), needs)
        assert "variant 3" in problem.message
        assert "variant 2" in problem.message
