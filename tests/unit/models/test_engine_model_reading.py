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
from etconfig.profile.names import NAME_RULES

TEXT = """\
[model.detector]
backends = ["TinyEngine", "OtherEngine"]

[model.digits]
variants = [{ file = "digits.pte" }]
"""


def read(path: Path, text: str) -> ModelCatalog:
    path.write_text(text, encoding="utf-8")
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


VARIANT = '[[model.m.variants]]\nfile = "m.onnx"\nbackend = "OnnxRuntimeBackend"\n'


class TestVariants:
    """A variant is a program, or a file of an engine with its backend."""

    def test_all_keys_are_read(self, tmp_path: Path) -> None:
        keys = 'fits = 0.5\nmemory = "1.5 KiB"\nbytes = 12\nsource = "s3://bucket/m.onnx"\n'
        text = f'{VARIANT}{keys}sha256 = "{"0f" * 32}"\n[[model.m.variants]]\nfile = "m.pte"\n'
        catalog = read(tmp_path / "models.toml", text)
        model = catalog.find("m")
        first, second = model.variants
        assert first.backend is not None
        assert (first.backend.target, first.backend.span.line) == ("OnnxRuntimeBackend", 3)
        assert (first.memory_bytes, first.size_bytes, first.fits_margin) == (1536, 12, 0.5)
        assert (first.sha256, first.source) == ("0f" * 32, "s3://bucket/m.onnx")
        assert second.backend is None
        assert [each.target for each in model.backends] == ["OnnxRuntimeBackend"]
        assert [*catalog.of_engines.models] == [*catalog.with_variants.models] == ["m"]
        assert model.path == tmp_path / "m.onnx"

    def test_backends_with_a_file_are_short_for_variants(self, tmp_path: Path) -> None:
        text = '[model.m]\nbackends = ["A", "B"]\nfile = "m.onnx"\n'
        variants = read(tmp_path / "models.toml", text).find("m").variants
        found = [(each.number, str(each), each.backend and each.backend.target) for each in variants]
        assert found == [(1, "m.onnx", "A"), (2, "m.onnx", "B")]

    @pytest.mark.parametrize("file", ["m.pte", "m.PTE", "m.bpte", "m", "a.b/m"])
    def test_a_program_is_recognized_by_its_name(self, tmp_path: Path, file: str) -> None:
        read(tmp_path / "models.toml", f'[[model.m.variants]]\nfile = "{file}"\n')

    @pytest.mark.parametrize(
        ("text", "place", "message", "help"),
        [
            (
                '[[model.m.variants]]\nfile = "größe 1.onnx"\n',
                (2, 8),
                "'größe 1.onnx' is not a program (.pte), and [[model.m.variants]] has no 'backend'",
                'write backend = "OnnxRuntimeBackend", the id of the backend whose engine runs the file',
            ),
            (
                '[[model.m.variants]]\nfile = "m.pte"\nbackend = "A"\n',
                (3, 1),
                "'m.pte' is a program, not a file of an engine: its backends are read from it",
                "remove backend, or name an engine's file",
            ),
            (
                '[model.m]\nbackends = ["A"]\nfile = "m.pte"\n',
                (2, 1),
                "'m.pte' is a program, not a file of an engine: its backends are read from it",
                "remove backends, or name an engine's file",
            ),
            (
                f'{VARIANT}data = ["m.ptd"]\n',
                (4, 1),
                "[[model.m.variants]] has 'data' beside 'backend': only programs have data files",
                "remove data",
            ),
            (
                f'{VARIANT}memory = "1 MiB"\n',
                (4, 1),
                "[[model.m.variants]] has 'memory', which nothing reads without 'fits'",
                "add fits = true",
            ),
            (
                f'{VARIANT}fits = true\nmemory = "0 B"\n',
                (5, 10),
                "'model.m.variants.memory' must be bytes from 1 to 9007199254740991, but is '0 B'",
                'write memory = "512 MiB", or a number of bytes',
            ),
            (
                f"{VARIANT}bytes = true\n",
                (4, 9),
                "'model.m.variants.bytes' must be bytes from 1 to 9007199254740991, but is True",
                "write bytes = 1048576, the size of the file",
            ),
            (
                f'{VARIANT}sha256 = "ABC"\n',
                (4, 10),
                "'sha256' must be 64 hexadecimal digits in lower case, but is 'ABC'",
                "write what sha256sum prints of the file",
            ),
            (
                f'{VARIANT}source = "m.onnx"\n',
                (4, 10),
                "'source' must be a URL, but is 'm.onnx'",
                'write source = "https://...", which is shown and never fetched',
            ),
            (
                f"{VARIANT}needs = {{}}\n",
                (4, 1),
                "[[model.m.variants]] has no key 'needs'",
                "write what the device must have as its when",
            ),
            (
                '[[model.m.variants]]\nfile = "m.onnx"\nbackend = "a b"\n',
                (3, 11),
                "'a b' cannot be a backend",
                NAME_RULES["backend"],
            ),
        ],
    )
    def test_a_mistake_has_its_place_and_a_help(
        self, tmp_path: Path, text: str, place: tuple[int, int], message: str, help: str
    ) -> None:
        with pytest.raises(ProfileError) as caught:
            read(tmp_path / "models.toml", text)
        (problem,) = caught.value.diagnostics
        assert (problem.message, problem.help) == (message, help)
        assert (problem.spans[0].line, problem.spans[0].column) == place


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
