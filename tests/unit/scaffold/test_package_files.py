"""The files of a new package."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from etconfig.errors import ScaffoldError
from etconfig.program.program import open_program
from etconfig.scaffold import (
    CPP,
    LICENSES,
    PYTHON,
    SCHEMA_ONLY,
    PackageNames,
    Template,
    derive_names,
    render_package,
    write_package_files,
)

TEMPLATES = Path(__file__).parents[3] / "etconfig" / "templates"
TEMPLATE = TEMPLATES / "example-npu"
KINDS = {each.names.distribution: each for each in (PYTHON, SCHEMA_ONLY, CPP)}
TEMPLATE_WORD = re.compile("example", re.IGNORECASE)


_MARK = re.compile(r"^(#|<!--) (until etconfig is on PyPI|end)( -->)?\n", re.MULTILINE)
"""The lines around what a package needs only until etconfig is on PyPI."""


def render(
    name: str,
    backend_id: str | None = None,
    license_name: str = "mit",
    template: Template = PYTHON,
    **given: str,
) -> Mapping[str, bytes]:
    names = derive_names(name, backend_id)
    files = render_package(
        names, LICENSES[license_name], author=given.get("author"), year=2031, template=template
    )
    return {path.as_posix(): content for path, content in files.items()}


def _as_named(text: str, old: PackageNames, new: PackageNames) -> str:
    """Return a text of a package under the names of another one."""
    for former, name in (
        (old.package, new.package),
        (old.distribution, new.distribution),
        (old.class_prefix, new.class_prefix),
    ):
        text = text.replace(former, name)
    return text


def texts(files: Mapping[str, bytes]) -> Mapping[str, str]:
    return {path: content.decode() for path, content in files.items() if not path.endswith(".pte")}


class TestPublication:
    """Until etconfig is on PyPI, a package says where it comes from; one constant decides."""

    @pytest.mark.parametrize("template", KINDS.values(), ids=KINDS)
    def test_until_then_the_workflow_and_the_readme_name_the_wheels(self, template: Template) -> None:
        files = texts(render("acme-npu", template=template))
        assert "\nenv:\n  PIP_FIND_LINKS: wheels" in files[".github/workflows/ci.yml"]
        assert "pip install --find-links wheels -e '.[test]'" in files["README.md"]
        assert '[tool.hatch.build.targets.sdist]\nexclude = ["/wheels"]\n\n[tool.' in files["pyproject.toml"]
        assert [path for path, text in files.items() if "until etconfig" in text or "<!-- end" in text] == []

    @pytest.mark.parametrize("template", KINDS.values(), ids=KINDS)
    def test_then_nothing_does(self, monkeypatch: pytest.MonkeyPatch, template: Template) -> None:
        monkeypatch.setattr("etconfig.scaffold.package.IS_PUBLISHED", True)
        files = texts(render("acme-npu", template=template))
        assert [path for path, text in files.items() if "wheels" in text or "FIND_LINKS" in text] == []
        assert "pip install -e '.[test]'\npytest\n" in files["README.md"]


class TestRename:
    """Every name of the template is replaced, once."""

    @pytest.mark.parametrize("template", KINDS.values(), ids=KINDS)
    def test_no_word_of_the_template_is_left(self, template: Template) -> None:
        files = dict(render("acme-npu", template=template))
        assert [path for path in files if TEMPLATE_WORD.search(path)] == []
        assert [path for path, text in texts(files).items() if TEMPLATE_WORD.search(text)] == []

    def test_paths_are_named_after_the_package(self) -> None:
        files = render("acme-npu")
        assert "src/acme_npu/plugin.py" in files
        assert "src/acme_npu/profiles/acme-npu/board.toml" in files

    @pytest.mark.parametrize("template", KINDS.values(), ids=KINDS)
    @pytest.mark.parametrize(
        ("name", "backend_id"),
        [
            ("{distribution}", None),
            ("{distribution}-two", None),
            ("my-{distribution}", "{prefix}{prefix}Backend"),
            ("AcmeX-NPU", None),
        ],
    )
    def test_a_name_that_contains_a_word_of_the_template_is_not_replaced_again(
        self, name: str, backend_id: str | None, template: Template
    ) -> None:
        """Renaming back gives the template, or the file of `example-npu` that it has."""
        old = template.names
        shared = {_as_named(path, PYTHON.names, old): path for path in template.from_python}
        name = name.format(distribution=old.distribution)
        backend_id = None if backend_id is None else backend_id.format(prefix=old.class_prefix)
        names = derive_names(name, backend_id)
        for path, text in texts(render(name, backend_id, template=template)).items():
            text, path = _as_named(text, names, old), _as_named(path, names, old)
            # these contain the license's name, too, and the header is not in the template
            if path not in ("LICENSE", "pyproject.toml", "native/etconfig/backend.h"):
                source = TEMPLATES / old.distribution / path
                if path in shared:
                    assert not source.exists()
                    source = TEMPLATE / shared[path]
                assert text == _MARK.sub("", _as_named(source.read_text(), PYTHON.names, old)), path

    def test_templates_repeat_no_file(self) -> None:
        """Every file that is as in the template in Python comes from there."""
        python = render("acme-npu")
        for template in (CPP, SCHEMA_ONLY):
            other = render("acme-npu", template=template)
            alike = {path for path in python.keys() & other.keys() if python[path] == other[path]}
            shared = {
                _as_named(path, PYTHON.names, derive_names("acme-npu")) for path in template.from_python
            }
            assert alike == {*shared, "LICENSE"}

    def test_golden_programs_delegate_to_the_new_backend(self) -> None:
        programs = {path: data for path, data in render("acme-npu").items() if path.endswith(".pte")}
        assert programs
        for data in programs.values():
            program = open_program(data)
            delegates = [each for name in program.method_names for each in program.plan(name).delegates]
            assert {each.id for each in delegates} == {"AcmeNpuBackend"}

    @pytest.mark.parametrize(
        ("name", "backend_id", "taken"),
        [
            ("numpy", None, "numpy"),
            ("etconfig", None, "etconfig"),
            ("acme", "BackendBackend", "BackendOptions"),
        ],
    )
    def test_a_name_that_the_code_needs_for_something_else_is_refused(
        self, name: str, backend_id: str | None, taken: str
    ) -> None:
        with pytest.raises(ScaffoldError) as caught:
            render(name, backend_id)
        assert str(caught.value) == (
            f"the package needs the name {taken} for something of its own, but it means another thing in its "
            "code; choose another name or --id"
        )

    @pytest.mark.parametrize("template", KINDS.values(), ids=KINDS)
    def test_sources_stay_python(self, template: Template) -> None:
        for path, text in texts(render("a" * 40, template=template)).items():
            if path.endswith(".py"):
                ast.parse(text)


def test_caches_of_tools_in_the_template_are_not_part_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = set(render("acme"))
    shutil.copytree(TEMPLATE.parent, tmp_path / "templates")
    for cache in ("src/example_npu/__pycache__", ".ruff_cache", ".mypy_cache/3.10", ".pytest_cache"):
        left = tmp_path / "templates" / TEMPLATE.name / cache / "left"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"\xff")
    monkeypatch.setattr("etconfig.scaffold.package._TEMPLATES", tmp_path / "templates")
    assert set(render("acme")) == expected


class TestLicense:
    """The license is the requested one, with year and author."""

    @pytest.mark.parametrize("license_name", LICENSES)
    def test_its_text_and_its_name_are_there(self, license_name: str) -> None:
        files = texts(render("acme-npu", license_name=license_name, author="Acme Ltd. & friends"))
        assert f'license = "{LICENSES[license_name].identifier}"' in files["pyproject.toml"]
        assert re.search(r"Copyright (\(c\) )?2031,? Acme Ltd. & friends", files["LICENSE"])
        assert "{" not in files["LICENSE"]

    def test_by_default_the_authors_are_those_of_the_package(self) -> None:
        files = texts(render("acme-npu"))
        assert "Copyright (c) 2031 the acme-npu authors" in files["LICENSE"]
        assert 'authors = [{ name = "the acme-npu authors" }]' in files["pyproject.toml"]

    @pytest.mark.parametrize("author", ["", 'A "B"', "A\\B", "A\nB", "A\udcffB"])
    def test_an_author_that_toml_would_read_otherwise_is_refused(self, author: str) -> None:
        with pytest.raises(ScaffoldError) as caught:
            render("acme-npu", author=author)
        assert str(caught.value) == (
            f"the author {author!r} cannot be written into pyproject.toml; give a name in UTF-8, without "
            "quotes, backslashes and line breaks"
        )


class TestWrite:
    """All files are written, or none."""

    FILES: Mapping[Path, bytes] = {Path("a"): b"1", Path("b/c"): b"2"}

    @pytest.mark.parametrize("exists", [False, True])
    def test_a_new_or_empty_directory_is_filled(self, tmp_path: Path, exists: bool) -> None:
        directory = tmp_path / "acme"
        if exists:
            directory.mkdir()
        write_package_files(directory, self.FILES)
        assert (directory / "a").read_bytes() == b"1"
        assert (directory / "b" / "c").read_bytes() == b"2"
        assert list(tmp_path.iterdir()) == [directory]

    def test_the_current_directory_can_be_filled(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write_package_files(Path(), self.FILES)
        assert Path("b/c").read_bytes() == b"2"

    def test_directories_above_it_are_made(self, tmp_path: Path) -> None:
        write_package_files(tmp_path / "backends" / "acme", self.FILES)
        assert (tmp_path / "backends" / "acme" / "a").exists()

    @pytest.mark.parametrize("kind", ["file", "full directory", "link"])
    def test_existing_files_are_left_as_they_are(self, tmp_path: Path, kind: str) -> None:
        directory, other = tmp_path / "acme", tmp_path / "other"
        other.mkdir()
        if kind == "file":
            directory.write_text("mine")
        elif kind == "link":
            directory.symlink_to(other)
        else:
            directory.mkdir()
            (directory / "mine").touch()
        with pytest.raises(ScaffoldError) as caught:
            write_package_files(directory, self.FILES)
        assert str(caught.value) == (
            f"{directory} exists and is not an empty directory; remove it, or choose another --directory"
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["acme", "other"]
        assert list(other.iterdir()) == []

    def test_nothing_is_left_of_a_failure(self, tmp_path: Path) -> None:
        with pytest.raises(ScaffoldError) as caught:
            write_package_files(tmp_path / "acme", {**self.FILES, Path("a/b"): b"3"})  # a is a file
        assert str(caught.value).startswith(f"cannot write {tmp_path / 'acme'}: ")
        assert list(tmp_path.iterdir()) == []

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ScaffoldError) as caught:
            write_package_files(tmp_path / "file" / "acme", self.FILES)
        assert str(caught.value) == (
            f"cannot write {tmp_path / 'file' / 'acme'}: Not a directory; choose another --directory"
        )
