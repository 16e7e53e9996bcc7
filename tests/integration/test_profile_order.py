"""The order of what a profile extends, as `profiles show`, `explain` and `resolve` have it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ON_DEVICE, Outcome

LISTS = {
    "linux": "",
    "quiet": 'extends = ["acme/linux"]',
    "camera": 'extends = ["acme/linux"]',
    "product": 'extends = ["acme/quiet", "acme/camera"]',
}
ORDER = ["acme/linux", "acme/quiet", "acme/camera", "acme/product"]
WHERE = ("--profile-path", "profiles")


@pytest.fixture
def diamond(place: Path) -> Path:
    folder = place / "profiles" / "acme"
    folder.mkdir(parents=True)
    for number, (name, extends) in enumerate(LISTS.items(), 1):
        options = f"[options.ReferenceCpuBackend]\nnum_threads = {number}\n" if name != "product" else ""
        (folder / f"{name}.toml").write_text(f'[profile]\nname = "acme/{name}"\n{extends}\n{options}')
    return place


def test_profiles_show_has_the_order(diamond: Path, cli: Callable[..., Outcome]) -> None:
    done = cli("profiles", "show", "acme/product", *WHERE)
    heads = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("# acme/")]
    assert [head.rstrip(":") for head in heads] == ORDER
    data = cli("profiles", "show", "acme/product", *WHERE, "--json").json
    assert [each["name"] for each in data] == ORDER


def test_explain_shows_what_was_beaten_in_the_order(diamond: Path, cli: Callable[..., Outcome]) -> None:
    path = ("ReferenceCpuBackend.num_threads", "--profile", "acme/product", *WHERE, *ON_DEVICE)
    (found,) = cli("explain", *path, "--json").json
    assert found["value"] == 3
    assert [each["value"] for each in found["beat"]][:2] == [2, 1]


def test_lists_without_an_order_are_an_error_of_validate(diamond: Path, cli: Callable[..., Outcome]) -> None:
    broken = diamond / "profiles" / "acme" / "product.toml"
    broken.write_text('[profile]\nname = "acme/product"\nextends = ["acme/camera", "acme/linux"]\n')
    done = cli("validate", str(broken))
    assert done.status == 1
    assert "error[extends-conflict]: no order of what 'acme/product' extends" in done.stdout
    assert (
        "help: list them in the same order everywhere, each before the profiles that extend it" in done.stdout
    )
