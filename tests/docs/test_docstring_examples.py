"""The `Example:` blocks of docstrings run and print what they show, and public functions have one.

They run beside programs, `model.pte` and `bundled.bpte`, data, `weights.ptd`, a fact sheet, `pi-5.json`, and
a profile with a typing error, `camera.toml`; `etconfig`, `np` and `Path` are there.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import etconfig

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
METHODS = [
    "Arguments",
    "Configuration.resolve",
    "FactSheet.from_json",
    "Installation",
    "LiveArguments",
    "LoadedProgram.bind",
    "LoadedProgram.load_method",
    "Method.execute",
    "Method.update",
    "Resolution.arguments",
]
FUNCTIONS = [name for name in etconfig.__all__ if inspect.isfunction(getattr(etconfig, name))]


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring of the package that holds examples."""
    for path in sorted((ROOT / "etconfig").rglob("*.py")):
        if ">>>" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found = doctest.DocTestFinder().find(importlib.import_module(name), name)
            yield from (each for each in found if each.examples)


def docstring(name: str) -> str:
    found: object = etconfig
    for part in name.split("."):
        found = getattr(found, part)
    return inspect.getdoc(found) or ""


@pytest.mark.parametrize("example", [*examples()], ids=lambda each: each.name.removeprefix("etconfig."))
def test_an_example_prints_what_it_shows(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DATA / "digits" / "digits.pte", tmp_path / "model.pte")
    shutil.copy(DATA / "exports" / "bundled.bpte", tmp_path / "bundled.bpte")
    shutil.copy(DATA / "exports" / "external_constants.ptd", tmp_path / "weights.ptd")
    profile = '[profile]\nname = "acme/camera"\n[options.ReferenceCpuBackend]\nnum_thread = 2\n'
    (tmp_path / "camera.toml").write_text(profile)
    shutil.copy(DATA / "sheets" / "raspberry-pi-5.json", tmp_path / "pi-5.json")
    files = ("digits_xnnpack.pte", "digits_portable.pte")
    for name in files:
        shutil.copy(DATA / "digits" / name, tmp_path / name)
    models = "".join(f'[[model.digits.variants]]\nfile = "{name}"\n' for name in files)
    (tmp_path / "models.toml").write_text(models)
    monkeypatch.chdir(tmp_path)
    example.globs = {"etconfig": etconfig, "np": np, "Path": Path}
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_public_functions_show_their_use(name: str) -> None:
    assert "\nExample:\n    >>> " in docstring(name)


def test_resolve_explains_every_parameter_as_configure_does() -> None:
    resolve, configure = (inspect.signature(each) for each in (etconfig.resolve, etconfig.configure))
    assert resolve.parameters == configure.parameters
    explained = docstring("resolve").partition("\nArgs:\n")[2].partition("\nReturns:\n")[0]
    assert explained == docstring("configure").partition("\nArgs:\n")[2].partition("\nReturns:\n")[0]
    assert all(f"\n    {name}: " in f"\n{explained}" for name in resolve.parameters)
