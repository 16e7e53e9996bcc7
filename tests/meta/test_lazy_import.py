"""`import etconfig` loads no third party package, and neither does `etconfig --version`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import etconfig

THIRD_PARTY = {
    *("annotated_types", "click", "ml_dtypes", "numpy", "platformdirs", "pluggy"),
    *("pydantic", "rich", "tomli"),
}


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running `code`."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stderr)}


@pytest.mark.parametrize(
    "code",
    ["import etconfig", "from etconfig.cli.main import main; main(['--version'])", "import etconfig.errors"],
)
def test_no_third_party_package_is_loaded(code: str) -> None:
    assert not modules_after(code) & THIRD_PARTY


def test_listing_backends_loads_neither_pydantic_nor_numpy() -> None:
    loaded = modules_after(
        "from pathlib import Path\nfrom etconfig.installation import Installation\n"
        "assert Installation(Path('/')).backend_ids"
    )
    assert not loaded & (THIRD_PARTY - {"click"})


def test_resolving_loads_no_numpy() -> None:
    """A release engineer's machine may check configuration without it."""
    assert "numpy" not in modules_after("import etconfig.resolver, etconfig.installation")


def test_every_public_name_is_there_and_lives_where_it_says() -> None:
    from importlib import import_module

    assert sorted(etconfig._HOME) == sorted(set(etconfig.__all__) - {"__version__"})
    for name, home in etconfig._HOME.items():
        assert getattr(etconfig, name) is getattr(import_module(home), name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'etconfig' has no attribute 'no_such'"):
        etconfig.no_such  # noqa: B018
