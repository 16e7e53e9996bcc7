"""Models that engines run, in a file of models: they have backends in place of variants."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import tomli

from etconfig.app.installation.model_catalog import catalog_of_file
from etconfig.app.validating.document_schema import models_schema
from etconfig.errors import ModelError, ProfileError
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import ModelCatalog

TEXT = """\
[model.detector]
backends = ["TinyEngine", "OtherEngine"]

[model.digits]
variants = [{ file = "digits.pte" }]
"""


def read(path: Path, text: str) -> ModelCatalog:
    path.write_text(text)
    return catalog_of_file(path, BUILTIN_FACTS)


class TestReading:
    """`backends` makes a model one of an engine, `variants` one of programs."""

    def test_both_kinds_are_read(self, tmp_path: Path) -> None:
        catalog = read(tmp_path / "models.toml", TEXT)
        assert [*catalog.of_engines.models] == ["detector"]
        assert [*catalog.with_variants.models] == ["digits"]
        backends = catalog.find("detector").backends
        assert [(each.target, each.span.line, each.span.column) for each in backends] == [
            ("TinyEngine", 2, 13),
            ("OtherEngine", 2, 27),
        ]

    def test_a_model_of_an_engine_has_no_variants_to_select(self, tmp_path: Path) -> None:
        catalog = read(tmp_path / "models.toml", TEXT)
        assert catalog.find_selectable("digits").name == "digits"
        with pytest.raises(ModelError) as caught:
            catalog.find_selectable("detector")
        (problem,) = caught.value.diagnostics
        assert problem.message == (
            "model 'detector' has no variants: TinyEngine, OtherEngine runs it without a program"
        )

    @pytest.mark.parametrize(
        ("text", "code", "place", "message"),
        [
            ("backends = []", "wrong-type", (2, 12), "'backends' must name a backend, but is empty"),
            ('backends = ["A", "A"]', "wrong-type", (2, 18), "'backends' names 'A' twice"),
            ('backends = ["a b"]', "invalid-name", (2, 13), "'a b' cannot be a backend"),
            (
                'backends = "A"',
                "wrong-type",
                (2, 12),
                "'model.detector.backends' must be an array of strings, but is a string",
            ),
            (
                'backends = ["A"]\nfallback = true',
                "unknown-key",
                (3, 1),
                "[model.detector] has no key 'fallback' beside 'backends'",
            ),
            (
                'backends = ["A"]\nvariants = [{ file = "a.pte" }]',
                "unknown-key",
                (3, 1),
                "[model.detector] has no key 'variants' beside 'backends'",
            ),
            ('backend = ["A"]', "unknown-key", (2, 1), "[model.detector] has no key 'backend'"),
        ],
    )
    def test_a_mistake_is_reported_at_its_place(
        self, tmp_path: Path, text: str, code: str, place: tuple[int, int], message: str
    ) -> None:
        with pytest.raises(ProfileError) as caught:
            read(tmp_path / "models.toml", f"[model.detector]\n{text}\n")
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == (code, message)
        assert (problem.spans[0].line, problem.spans[0].column) == place

    @pytest.mark.parametrize("text", ["[model.detector]", "[model.detector]\nfallback = true"])
    def test_a_model_without_either_is_refused(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(
            ProfileError, match=r"or backends = \[\.\.\.\] if an engine runs it without a program"
        ):
            read(tmp_path / "models.toml", text)


class TestSchema:
    """The JSON Schema for editors knows both kinds, and refuses a mixture."""

    def test_both_kinds_fit(self) -> None:
        jsonschema.validate(tomli.loads(TEXT), models_schema())

    @pytest.mark.parametrize(
        "text",
        ["backends = []", 'backends = "A"', 'backends = ["A"]\nfallback = true', "fallback = true"],
    )
    def test_mistakes_do_not(self, text: str) -> None:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomli.loads(f"[model.detector]\n{text}\n"), models_schema())
