"""Every line of the documentation that installs something says where from, and what it names exists.

tests/peers/test_peers_install_lines.py runs the lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import install_docs
import pytest
import tomli
from every import every
from generate_docs import PAGES as GENERATED
from generate_docs import with_current_parts
from install_lines import EVERY_PAGE, InstallLine, install_lines

from etconfig import packages
from etconfig.packages import (
    BACKEND_PACKAGES,
    OWN_PACKAGES,
    WHEELS,
    declaring_plugin,
    how_to_get_backend,
    how_to_install,
    pip_install,
)

ROOT = Path(__file__).parents[2]
LINES = [line for page in EVERY_PAGE for line in install_lines(page)]
FOREIGN = {"build", "executorch==1.5.1", "openvino", "torch==2.13.*"}
"""What lines install from the registry by name."""
INVENTED = {"acme-broken", "broken-imports"}
"""Packages of examples, which messages say to install again."""
SOURCES = {WHEELS, f"$CHECKOUT/{WHEELS}", "wheels"}
"""`wheels` is in the package that `etconfig new-backend` writes."""


def manifest(directory: Path) -> dict:
    return tomli.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))["project"]


OURS = {
    each["name"]: each for each in map(manifest, [ROOT, *(p.parent for p in ROOT.glob("plugins/*/*.toml"))])
}
WRITTEN = {
    ".": {"aot", "test"},  # the package of `etconfig new-backend`
    "acme-npu": {"aot", "test"},
    "acme-dsp": {"test"},
    "acme-gpu": {"aot", "test"},
    "acme-vector": {"aot"},
    "tiny-engine": set(),
}
"""Packages that a reader has written, by their path, with their extras."""


class TestLines:
    """Each line is one that works."""

    def test_they_are_found(self) -> None:
        assert len(LINES) > 20
        assert {line.place.partition(":")[0] for line in LINES} >= {
            "README.md",
            "docs/ci.md",
            "docs/matrix.md",
            "docs/backends.md",
        }

    @every("line", LINES, ids=lambda line: line.place)
    def test_what_it_installs_exists(self, line: InstallLine) -> None:
        for word in line.requirements:
            name, _, extras = word.rstrip("]").partition("[")
            if name in OURS:
                assert set(filter(None, extras.split(","))) <= set(
                    OURS[name].get("optional-dependencies", {})
                )
            elif name in WRITTEN:
                assert set(filter(None, extras.split(","))) <= WRITTEN[name]
            else:
                assert word in FOREIGN | INVENTED or word == "dist/*.whl", word

    @every("line", LINES, ids=lambda line: line.place)
    def test_it_says_where_our_packages_come_from(self, line: InstallLine) -> None:
        if {word.partition("[")[0] for word in line.requirements} & set(OURS):
            assert len(line.sources) == 1
        assert set(line.sources) <= SOURCES

    def test_a_page_with_a_source_says_how_to_build_it(self) -> None:
        for page in EVERY_PAGE:
            if any(set(line.sources) - {"wheels"} for line in install_lines(page)):
                assert re.search(r"^make (-C .+ )?dist$", page.read_text(encoding="utf-8"), re.MULTILINE), (
                    page
                )


class TestOneConstant:
    """`etconfig.packages.WHEELS` decides about every line and every message."""

    def test_our_packages_are_those_of_the_repository(self) -> None:
        assert set(OURS) == OWN_PACKAGES

    def test_backends_belong_to_the_packages_that_declare_them(self) -> None:
        declared = {
            (backend, name)
            for name, manifest in OURS.items()
            for backend in manifest.get("entry-points", {}).get("etconfig.backends", {})
        }
        assert declared >= set(BACKEND_PACKAGES.items())
        ours = {backend for backend, name in declared if name != "etconfig-reference"}
        assert set(BACKEND_PACKAGES) == ours

    def test_a_backend_of_ours_names_its_package(self) -> None:
        assert how_to_get_backend("TvmBackend") == how_to_install("etconfig-tvm")
        assert how_to_get_backend("OpenvinoBackend") == (
            f"{how_to_install('etconfig-openvino')} or, for ExecuTorch's own delegates, etconfig-upstream"
        )
        assert how_to_get_backend("AcmeBackend") == (
            f"for ExecuTorch's own backends, {how_to_install('etconfig-upstream')}; "
            "for others, that of their vendor"
        )
        assert declaring_plugin("TorchBackend") == (
            f"the plugin that declares TorchBackend: {how_to_install('etconfig-torch')}"
        )
        assert declaring_plugin("AcmeBackend") == "the plugin that declares AcmeBackend"

    def test_a_command_names_the_wheels(self) -> None:
        assert pip_install("etconfig-upstream") == "pip install --find-links dist etconfig-upstream"
        assert how_to_install("etconfig") == (
            "pip install --find-links dist etconfig (in a checkout of etconfig, after `make dist`)"
        )

    def test_once_published_no_page_and_no_message_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "WHEELS", None)
        monkeypatch.setattr(install_docs, "WHEELS", None)
        assert how_to_install("etconfig-upstream") == "pip install etconfig-upstream"
        for page in GENERATED:
            text = install_docs.with_current_sources(with_current_parts(page.read_text(encoding="utf-8")))
            text = re.sub(r"<!-- .*? -->", "", text)
            assert not re.search(r"--find-links|^make .*dist|\$CHECKOUT|not on PyPI", text, re.MULTILINE), (
                page
            )

    def test_no_code_has_a_line_of_its_own(self) -> None:
        pattern = re.compile(rf"pip install[^\n]*\b({'|'.join(OURS)})\b")
        sources = [*ROOT.glob("etconfig/**/*.py"), *ROOT.glob("plugins/*/etconfig_*/**/*.py")]
        found = [path for path in sources if pattern.search(path.read_text(encoding="utf-8"))]
        assert found == []
