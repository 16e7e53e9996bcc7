"""Cache keys: what they depend on, their stability, and their declaration."""

from __future__ import annotations

import enum
import hashlib
import json
import random
from typing import Any

import pytest

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, cache_key, option
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.options_reference import markdown_reference


class Precision(enum.Enum):
    FP32 = "fp32"
    FP16 = "fp16"


class Options(BackendOptions):
    precision: Precision = option("fp32", applies="load", invalidates_cache=True, doc="The type.")
    tile: int | None = option(None, applies="load", invalidates_cache=True, doc="Rows of a tile.")
    layers: tuple[str, ...] = option((), applies="load", invalidates_cache=True, doc="Layers to fuse.")
    log: bool = option(False, applies="load", doc="Log messages.")


ENGINE = {"payload_hash": "00ff", "engine_version": "2.1.0"}
SPEC = BackendSpec(id="B", doc="A backend.", options=Options, api=ApiRange(min=1, built=1))

VECTORS = [
    (Options(), ENGINE, "84bd364636509d9304a3f831c104482eedc42f1132858a002b7a59486eedc54b"),
    (
        Options(precision=Precision.FP16, tile=8),
        {**ENGINE, "driver": "npu 1.2"},
        "69d77bdc3b0899ffe980687ddff564c158ea8d33a2250623d1e84c7423354e13",
    ),
    (Options(layers=("ä", "b")), ENGINE, "d1f85e26522bdba754170c48adf2cba1a4fa445ad3fd5243c0ca0dd91a6e3398"),
]
"""A key that changes makes every cache of every user stale."""


@pytest.mark.parametrize(("options", "engine", "key"), VECTORS)
def test_the_keys_stay_the_same(options: Options, engine: dict[str, str], key: str) -> None:
    assert cache_key(options, **engine) == key


class TestDependencies:
    """A key changes with each marked option, payload, engine and driver, and with nothing else."""

    @pytest.mark.parametrize(
        "other", [Options(precision=Precision.FP16), Options(tile=0), Options(layers=("a",))]
    )
    def test_a_marked_option_changes_it(self, other: Options) -> None:
        assert cache_key(other, **ENGINE) != cache_key(Options(), **ENGINE)

    def test_another_option_does_not(self) -> None:
        assert cache_key(Options(log=True), **ENGINE) == cache_key(Options(), **ENGINE)

    @pytest.mark.parametrize("name", ["payload_hash", "engine_version", "driver"])
    def test_payload_engine_and_driver_change_it(self, name: str) -> None:
        assert cache_key(Options(), **{**ENGINE, name: "other"}) != cache_key(Options(), **ENGINE)

    def test_a_new_option_without_a_value_keeps_it(self) -> None:
        class Grown(Options):
            fuse: bool | None = option(None, applies="load", invalidates_cache=True, doc="Fuse layers.")

        assert cache_key(Grown(), **ENGINE) == cache_key(Options(), **ENGINE)
        assert cache_key(Grown(fuse=False), **ENGINE) != cache_key(Options(), **ENGINE)

    def test_parts_do_not_run_into_each_other(self) -> None:
        one = cache_key(Options(), payload_hash="a", engine_version="bc")
        assert one != cache_key(Options(), payload_hash="ab", engine_version="c")
        assert one != cache_key(Options(), payload_hash="a", engine_version="b", driver="c")

    def test_is_what_the_page_says_on_random_options(self) -> None:
        """A second implementation, written from docs/options.md, gives the same keys."""
        rng = random.Random(17)
        for _ in range(2000):
            values: dict[str, Any] = {
                "precision": rng.choice(list(Precision)),
                "tile": rng.choice([None, 0, 1, rng.randrange(-(2**62), 2**62)]),
                "layers": tuple(rng.choice(["", "a", 'q"', "ä\n"]) for _ in range(rng.randrange(3))),
                "log": rng.random() < 0.5,
            }
            texts = {name: str(rng.random()) for name in ("payload_hash", "engine_version", "driver")}
            assert cache_key(Options(**values), **texts) == model_key(values, texts), values


def model_key(values: dict[str, Any], texts: dict[str, str]) -> str:
    """The key as the page describes it, by hand."""
    marked = [
        f'"layers":[{",".join(map(json.dumps, values["layers"]))}]',
        f'"precision":"{values["precision"].value}"',
    ]
    if values["tile"] is not None:
        marked.append(f'"tile":{values["tile"]}')
    text = (
        f'{{"driver":"{texts["driver"]}","engine":"{texts["engine_version"]}","format":1,'
        f'"options":{{{",".join(marked)}}},"payload":"{texts["payload_hash"]}"}}'
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class TestRefusals:
    """A key that would say nothing is refused."""

    @pytest.mark.parametrize("name", ["payload_hash", "engine_version"])
    def test_empty_texts(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name} of a cache key is empty"):
            cache_key(Options(), **{**ENGINE, name: ""})

    @pytest.mark.parametrize("name", ["payload_hash", "engine_version", "driver"])
    def test_other_types(self, name: str) -> None:
        with pytest.raises(TypeError, match=f"{name} of a cache key must be a text, not bytes"):
            cache_key(Options(), **{**ENGINE, name: b"00"})  # type: ignore[arg-type]

    def test_a_mark_that_is_not_a_bool(self) -> None:
        with pytest.raises(TypeError, match="invalidates_cache of option\\(\\) is 1; expected True or False"):
            option(1, applies="load", doc="A.", invalidates_cache=1)  # type: ignore[arg-type]


class TestDocuments:
    """The mark is in the reference and in the JSON Schema."""

    def test_the_reference_says_so(self) -> None:
        rows = {
            line.split("|")[1].strip(): line for line in markdown_reference(SPEC).splitlines() if "|" in line
        }
        assert rows["`precision`"].endswith("The type. Another value compiles anew. |")
        assert "compiles anew" not in rows["`log`"]

    def test_the_schema_says_so(self) -> None:
        properties = json_schema(SPEC)["properties"]
        assert properties["tile"]["x-etconfig-invalidatesCache"] is True
        assert "x-etconfig-invalidatesCache" not in properties["log"]
