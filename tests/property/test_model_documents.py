"""Random tables of models: the reader and the JSON Schema accept the same ones, and problems have places."""

from __future__ import annotations

import json
from random import Random

import jsonschema
import pytest

from etconfig.app.validating.document_schema import models_schema
from etconfig.diagnostics.render import FORMATS, render
from etconfig.errors import ProfileError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import ModelCatalog
from etconfig.models.reading import parse_models
from etconfig.profile.document import Document, parse_document

EXPRESSIONS = ExpressionParser(BUILTIN_FACTS)
SCHEMA = jsonschema.Draft202012Validator(models_schema())
VALUES = (
    '"a.pte"',
    '""',
    "3",
    "true",
    "[]",
    '["a.ptd"]',
    "[1]",
    '{ file = "a.pte" }',
    '[{ file = "a.pte" }]',
)
OF_CONDITIONS = ("invalid-expression", "expression-type", "unknown-fact")
VARIANT_KEYS = ("file", "when", "data", "fallback", "path", "if")
FILES = (
    "a.pte",
    "a.PTE",
    "a.bpte",
    "a",
    "d.v1/a",
    "x/.a",
    "a.onnx",
    "a b.xml",
    "größe.tflite",
    "d.pte/a.so",
    "a.",
)
ENGINE_KEYS: dict[str, tuple[str, ...]] = {
    "backend": ('"OnnxRuntimeBackend"', '"Acme-2"', '"a b"', '["A"]'),
    "fits": ("true", "0.2", "false", "-1"),
    "memory": ('"512 MiB"', "1", "0", '"1 XB"', "1.5"),
    "bytes": ("1", "0", '"1 KiB"', "true"),
    "sha256": (f'"{"0a" * 32}"', f'"{"0A" * 32}"', f'"{"0a" * 31}"'),
    "source": ('"https://example.org/a.onnx"', '"s3://b/k"', '"a.onnx"', '"https://a b"'),
}
NAMES = ("detector", "a-1", '"a b"', '"a@b"', '"x.y"', '"größe"')


def random_value(random: Random, key: str) -> str:
    if random.random() < 0.2:
        return random.choice(VALUES)
    good = {"file": '"a.pte"', "when": "'os.name == \"linux\"'", "data": '["a.ptd"]', "fallback": "true"}
    return good.get(key, "1")


def random_variant(random: Random) -> list[str]:
    """A variant of any kind of file; most are right."""
    file = random.choice(FILES)
    lines = [f'file = "{file}"']
    for key, values in ENGINE_KEYS.items():
        is_wanted = random.random() < 0.3
        if key == "backend":
            is_wanted = not file.lower().endswith("pte") if random.random() < 0.85 else is_wanted
        elif key == "memory" and random.random() < 0.85:
            is_wanted &= lines[-1] in ("fits = true", "fits = 0.2")
        if is_wanted:
            lines.append(f"{key} = {values[0] if random.random() < 0.7 else random.choice(values)}")
    return lines


def random_document(random: Random) -> str:
    lines = []
    for name in random.sample(NAMES, random.randint(1, 2)):
        if random.random() < 0.4:
            lines += [f"[model.{name}]", f"fallback = {random_value(random, 'fallback')}"]
            lines += [f"{random.choice(('fallbak', 'file'))} = 1"] if random.random() < 0.1 else []
        shape = random.random()
        header = f"[[model.{name}.variants]]" if shape < 0.9 else f"[model.{name}.variants]"
        count = random.randint(0, 3) if shape < 0.9 else 1
        for _ in range(count):
            keys = ["file", *random.sample(VARIANT_KEYS[1:4], random.randint(0, 1))]
            keys = random.sample(VARIANT_KEYS, 2) if random.random() < 0.1 else keys
            if random.random() < 0.5:
                lines += [header, *random_variant(random)]
                continue
            lines += [header, *(f"{key} = {random_value(random, key)}" for key in keys)]
    if random.random() < 0.05:
        lines += ["[options.XnnpackBackend]"]
    return "\n".join(lines)


def read(document: Document) -> ModelCatalog | ProfileError:
    try:
        return parse_models(document, EXPRESSIONS)
    except ProfileError as error:
        return error


@pytest.mark.parametrize("seed", range(4))
def test_the_reader_and_the_schema_agree(seed: int) -> None:
    random = Random(seed)
    accepted = refused = 0
    for _ in range(400):
        document = parse_document(random_document(random), "models.toml")
        outcome = read(document)
        problems = [] if isinstance(outcome, ModelCatalog) else list(outcome.diagnostics)
        # a schema knows neither conditions, nor that a document without models is pointless
        structural = [p for p in problems if p.code not in OF_CONDITIONS]
        has_models = "model" in document.data
        assert SCHEMA.is_valid(document.data) == (has_models and not structural), document.source.text
        accepted += not problems
        refused += bool(problems)
        for problem in problems:
            (span,) = problem.spans
            assert span.text == document.source.text.split("\n")[span.line - 1]
            assert 1 <= span.column <= len(span.text) + 1
            assert problem.help or problem.code in ("wrong-type", *OF_CONDITIONS)
        for form in FORMATS:
            assert json.loads(render(problems, form)) is not None if form == "json" else True
    assert min(accepted, refused) > 40
