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

from etconfig import Installation
from etconfig.base import packages
from etconfig.base.packages import (
    BACKEND_PACKAGES,
    OWN_NEEDS,
    OWN_PACKAGES,
    REMOVED_BACKENDS,
    declaring_plugin,
    how_to_declare,
    how_to_get_backend,
    how_to_install,
    pip_install,
)
from etconfig.errors import UnknownPluginError

ROOT = Path(__file__).parents[2]
LINES = [line for page in EVERY_PAGE for line in install_lines(page)]
FOREIGN = {"build", "executorch==1.5.1", "openvino", "torch==2.13.*"}
"""What lines install from the registry by name."""
INVENTED = {"acme-broken", "broken-imports"}
"""Packages of examples, which messages say to install again."""
TEMPLATES = "etconfig/templates/"
"""The packages that `etconfig new-backend` writes install from wheels that they contain."""


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
    "examples/acme_probe": set(),
    "examples/tensorrt_schema": set(),
    "examples/tiny_engine": set(),
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
            "docs/install.md",
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

    def test_our_packages_are_directories_of_a_checkout_until_they_are_published(self) -> None:
        wrong = []
        for line in LINES:
            is_template = line.place.startswith(TEMPLATES)
            names = {word.partition("[")[0] for word in line.requirements} & set(OURS)
            written = {word.partition("[")[0] for word in line.words} & set(OURS)
            needed = {need for name in names for need in OWN_NEEDS[name]} - {"etconfig"}
            if (
                written
                or not needed <= names
                or (line.sources != ["wheels"] if is_template else line.sources)
            ):
                wrong.append(line.place)
        assert wrong == []

    def test_only_these_pages_say_that_they_are_not_published(self) -> None:
        found = [
            page.relative_to(ROOT).as_posix()
            for page in EVERY_PAGE
            for _ in re.findall(r"\bPyPI yet\b", page.read_text(encoding="utf-8"))
        ]
        assert found == ["README.md", "docs/README.md", "docs/install.md"]

    def test_a_page_that_installs_them_leads_there(self) -> None:
        for page in EVERY_PAGE:
            names = {word.partition("[")[0] for line in install_lines(page) for word in line.requirements}
            if names & set(OURS):
                text = page.read_text(encoding="utf-8")
                assert page.name == "install.md" or re.search(r"\([\w./-]*install\.md\)", text), page


class TestOneConstant:
    """`etconfig.base.packages.IS_PUBLISHED` decides about every line and every message."""

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

    def test_a_package_that_is_installed_is_not_to_be_installed(self) -> None:
        installed = {"etconfig-upstream"}
        assert how_to_get_backend("AcmeBackend", installed) == (
            "that of its vendor (etconfig-upstream, which declares ExecuTorch's own backends, is installed)"
        )
        assert how_to_get_backend("VgfBackend", installed) == (
            "etconfig-upstream is installed, and this version of it does not declare VgfBackend; update it"
        )
        assert how_to_get_backend("TvmBackend", installed) == how_to_install("etconfig-tvm")

    def test_a_backend_that_executorch_removed_is_named_as_such(self) -> None:
        assert not set(REMOVED_BACKENDS) & set(BACKEND_PACKAGES)
        for backend, message in REMOVED_BACKENDS.items():
            with pytest.raises(UnknownPluginError) as caught:
                Installation(search_path=()).index.find("etconfig.backends", backend)
            assert caught.value.help == message
            assert backend in message
            assert how_to_declare(backend) == message
        assert how_to_declare("AcmeBackend") == "install the plugin that declares AcmeBackend"

    def test_our_packages_need_those_of_ours_that_their_metadata_names(self) -> None:
        for name, project in OURS.items():
            direct = {word for word in project.get("dependencies", ()) if word in OWN_PACKAGES}
            assert OWN_NEEDS[name] == direct.union(*(OWN_NEEDS[each] for each in direct)), name

    def test_until_then_a_command_names_directories_of_a_checkout(self) -> None:
        expected = {
            ("etconfig",): "pip install .",
            ("'etconfig[fleet]'",): "pip install '.[fleet]'",
            ("etconfig-upstream",): "pip install . ./plugins/etconfig-upstream",
            ("'etconfig-tvm[aot]'",): "pip install . './plugins/etconfig-tvm[aot]'",
            (
                "etconfig-executorch",
            ): "pip install . ./plugins/etconfig-upstream ./plugins/etconfig-executorch",
            ("--force-reinstall", "--no-deps", "etconfig-tvm"): (
                "pip install --force-reinstall --no-deps ./plugins/etconfig-tvm"
            ),
        }
        assert {words: pip_install(*words) for words in expected} == expected
        for command in expected.values():
            directories = [word.strip("'").partition("[")[0] for word in command.split() if "." in word]
            assert all((ROOT / each / "pyproject.toml").is_file() for each in directories), command

    def test_a_message_helps_users_with_and_without_a_checkout(self) -> None:
        assert how_to_install("etconfig-upstream") == (
            "pip install . ./plugins/etconfig-upstream (at the root of a checkout of etconfig; without one, "
            "from its wheels: pip install --find-links DIRECTORY etconfig-upstream)"
        )

    def test_once_published_pages_and_messages_name_packages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages, "IS_PUBLISHED", True)
        assert how_to_install("etconfig-upstream") == "pip install etconfig-upstream"
        assert how_to_install("etconfig-executorch") == "pip install etconfig-executorch"
        lines = []
        for page in GENERATED:
            text = install_docs.with_current_sources(with_current_parts(page.read_text(encoding="utf-8")))
            text = re.sub(r"<!-- .*? -->", "", text)
            lines += re.findall(r"pip install [^\n#`]*", text)
            assert not re.search(
                r"--find-links|\$CHECKOUT|not on PyPI|pip install[^\n]*\./plugins|--from \.", text
            ), page
            assert not re.search(r"root of a checkout", "".join(re.findall(r"\n.*pip install.*", text))), page
        assert {
            *(
                "pip install etconfig-upstream",
                "pip install 'etconfig[conformance]'",
                "pip install -e examples/tiny_engine",
            ),
            *(
                "pip install 'etconfig-tvm[aot]'",
                "pip install 'etconfig[fleet]'",
                "pip install --quiet dist/*.whl",
            ),
            *("pip install etconfig", "pip install etconfig-executorch", "pip install -e '.[test]'"),
        } <= {line.strip() for line in lines}

    def test_no_code_has_a_line_of_its_own(self) -> None:
        pattern = re.compile(rf"pip install[^\n]*\b({'|'.join(OURS)})\b")
        sources = [*ROOT.glob("etconfig/**/*.py"), *ROOT.glob("plugins/*/etconfig_*/**/*.py")]
        found = [path for path in sources if pattern.search(path.read_text(encoding="utf-8"))]
        assert found == []
