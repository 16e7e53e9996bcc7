"""`etdevice model`: a device gets the variant that Python selects, whatever the kind of its file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

from device_comparison import Batch
from device_programs import SANITIZED, device_program
from model_catalogs import expected_variant, random_catalog, random_devices, write_catalog

import etconfig
from etconfig.app.packing.model_content import bundled_models
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent

etdevice = device_program("../../../etconfig/device/etdevice/main.cpp", "-O1", *SANITIZED)
"""`etdevice`, with sanitizers."""


def test_1000_devices_get_the_variants_of_the_independent_model(etdevice: Path, tmp_path: Path) -> None:
    random = Random(11)
    batch, seen = Batch([str(etdevice)]), Counter[int | None]()
    bundle, sheet = tmp_path / "app.etbundle", tmp_path / "sheet.json"
    for _ in range(4):
        entries = random_catalog(random)
        installation = etconfig.Installation().with_project(write_catalog(tmp_path, entries))
        content = BundleContent(
            producer="test",
            registry=installation.fact_registry,
            profiles=(),
            project_facts={},
            models=bundled_models(installation, tmp_path),
        )
        bundle.write_bytes(write_tables(compile_bundle(content)))
        for facts in random_devices(random, 250):
            values = {name: {"value": value} for name, value in facts.items()}
            sheet.write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": values}))
            found = batch.ask("model", bundle, sheet, "m")
            expected = expected_variant(entries, facts)
            assert found["file"] == (None if expected is None else entries[expected - 1].file), facts
            assert [each.get("backend") for each in found["variants"]] == [each.backend for each in entries]
            seen[expected] += 1
    batch.close()
    assert len(seen) >= 6
