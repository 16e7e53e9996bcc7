"""The reasoning about a document is bounded by steps, which are equally many on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from heavy_documents import alternatives_of_one_fact, heavy_documents, ordinary_conditions

from etconfig import Diagnostic, Installation
from etconfig.app.validating.validation import Validator
from etconfig.expression import parse_expression
from etconfig.expression.proof.assumptions import Assumptions
from etconfig.expression.proof.example_devices import example_devices
from etconfig.expression.proof.proof_steps import ProofLimitError, ProofSteps
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile import condition_checks
from etconfig.resolver.proving import combinations, expression_fit

KINDS = (
    "100 different conditions",
    "12 nested conditions",
    "200 overlays about one fact",
)
"""Documents that need more steps than there are; others of the kind take longer to read."""


def validated(directory: Path, text: str) -> tuple[tuple[Diagnostic, ...], dict[str, int]]:
    path = directory / "heavy.toml"
    path.write_text(text, "utf-8")
    validator = Validator(installation=Installation(directory))
    problems = validator.problems(path)
    checks = ("conditions", "expressions", "combinations")
    return problems, {name: vars(validator)[name].steps.taken for name in checks if name in vars(validator)}


def test_no_document_takes_more_steps_than_allowed_and_what_is_left_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (condition_checks, expression_fit, combinations):
        monkeypatch.setattr(module, "_MAX_STEPS", 20_000)
    documents = heavy_documents()
    for kind in KINDS:
        problems, taken = validated(tmp_path, documents[kind])
        assert "unchecked-combinations" in {each.code for each in problems}, kind
        assert sum(taken.values()) < 63_000, (kind, taken)


def test_ordinary_conditions_take_few_steps(tmp_path: Path) -> None:
    problems, taken = validated(tmp_path, ordinary_conditions(100))
    assert sum(taken.values()) < 300_000, taken
    (said,) = [each for each in problems if each.code == "unchecked-combinations"]
    assert "pairs of them were tried" in said.message


def test_equal_documents_take_equal_steps(tmp_path: Path) -> None:
    text = alternatives_of_one_fact(12)
    assert validated(tmp_path, text) == validated(tmp_path, text)


def test_steps_are_renewed_and_some_are_reserved() -> None:
    steps = ProofSteps(10)
    with pytest.raises(ProofLimitError), steps.reserving(0.5):
        steps.spend(6)
    steps.spend(4)
    with pytest.raises(ProofLimitError):
        steps.spend()
    steps.renew()
    steps.spend_once("block", 6)
    steps.spend_once("block", 6)
    assert steps.taken == 6


def test_conditions_without_a_fact_in_common_are_all_combined() -> None:
    """Their examples agree, so 12 of them take 4,096 combinations and not as many searches."""
    conditions = [parse_expression(f"gpu.{n}.memory > {n}", BUILTIN_FACTS) for n in range(12)]
    steps = ProofSteps()
    found, skipped = example_devices(conditions, Assumptions.none(BUILTIN_FACTS, steps), 4096)
    assert (len(found), skipped) == (4096, None)
    assert len({tuple(each.evaluate(facts) is True for each in conditions) for facts in found}) == 4096
    assert steps.taken < 20_000
