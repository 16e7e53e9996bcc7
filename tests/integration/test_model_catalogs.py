"""A catalog of ten variants over many kinds of files is selected as its page says, device by device."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from model_catalogs import expected_variant, random_catalog, random_devices, write_catalog

import etconfig
from etconfig.app.programs.model_needs import read_needs
from etconfig.app.programs.variant_conditions import read_models
from etconfig.errors import ModelError
from etconfig.facts.sheet import FactSheet
from etconfig.models.variant_selection import choose_variant


@pytest.mark.parametrize("seed", range(4))
def test_1000_devices_get_the_variants_of_the_independent_model(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    entries, devices = random_catalog(random), random_devices(random, 1_000)
    installation = etconfig.Installation().with_project(write_catalog(tmp_path, entries))
    model, (read,), needs = installation.models.find("m"), read_models(installation), cache(read_needs)
    seen: Counter[int | None] = Counter()
    for facts in devices:
        expected = expected_variant(entries, facts)
        try:
            found: int | None = choose_variant(model, facts, needs).variant.number
        except ModelError:
            found = None
        assert found == expected, facts
        assert read.choose(facts) == expected, facts
        seen[expected] += 1
    assert len(seen) >= 4
    for facts in devices[:20]:
        sheet = FactSheet.from_values(facts, "sheet", installation.fact_registry)
        expected = expected_variant(entries, facts)
        if expected is None:
            with pytest.raises(ModelError, match="no variant of model 'm' suits"):
                etconfig.select_model("m", facts=sheet, installation=installation)
        else:
            choice = etconfig.select_model("m", facts=sheet, installation=installation)
            assert choice.variant.number == expected
            assert choice.to_jsonable()["variant"].get("backend") == entries[expected - 1].backend
