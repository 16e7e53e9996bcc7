"""The first files of a project, for models of engines."""

from __future__ import annotations

from typing import Any

import tomli
from budgets import SPECS

from etconfig.scaffold.first_files import NewProject, project_files


def project_file(**given: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "directory": "d", "programs": (), "models": {}, "devices": ("pi-5",), "values": {},
        "backends": (SPECS["PoolBackend"],), "packages": ("etconfig",),
    }  # fmt: skip
    return tomli.loads(project_files(NewProject(**{**settings, **given}))["etconfig.toml"])


def test_each_option_of_threads_has_a_test_with_a_name_of_its_own() -> None:
    tests = project_file()["test"]
    assert len(tests) > 1
    assert len({each["name"] for each in tests}) == len(tests)


def test_a_model_has_the_file_in_which_it_was_found() -> None:
    models = project_file(models={"rec": ("PoolBackend", 'a "b"/rec.onnx')})["model"]
    assert models == {"rec": {"backends": ["PoolBackend"], "file": 'a "b"/rec.onnx'}}
