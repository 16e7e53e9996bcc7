"""The tests of a new project."""

from __future__ import annotations

from budgets import SPECS

from etconfig.scaffold.first_files import NewProject, project_files


def test_an_option_that_may_be_none_does_not_leave_its_test_undecided() -> None:
    spec = SPECS["PoolBackend"]
    infos = spec.options.option_infos()
    project = NewProject(
        directory="d", programs=(), models={}, devices=("pi-5",), backends=(spec,), values={}, packages=()
    )
    text = project_files(project)["etconfig.toml"]
    assert any(info.type.is_optional for info in infos.values())
    for name, info in infos.items():
        option = f"{spec.id}.{name}"
        if f"{option} <= cpu.logical_cores" in text:
            assert (f"!has({option}) || {option} <=" in text) is info.type.is_optional
