"""The files of a new package: copies of a working package, such as `example-npu`, under other names.

`example-npu` is a package like any other, so it is linted, type-checked and tested in its place. The other
templates have some of its files under their own names. All names are replaced in one pass, so that a new name
may contain an old one. Templates and licenses are listed here, too.
"""

from __future__ import annotations

import io
import keyword
import os
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

from etconfig.base.packages import IS_PUBLISHED
from etconfig.base.records import record
from etconfig.base.written_files import directory_beside, replace_files
from etconfig.c_interface.headers import include_dir
from etconfig.errors import ScaffoldError
from etconfig.program.editing.replacing import rename_backend
from etconfig.scaffold.package_names import PackageNames


@record(frozen=True, kw_only=True)
class Template:
    """A package below `etconfig/templates`, in the directory called like its distribution.

    Attributes:
        names: The names in it.
        from_python: The files that it has from the package of `PYTHON`, by their paths there. Its directory
            lacks them.
        level: The level of the conformance kit that its own tests require.
        your_part: The file that its user replaces first, under its names, and what with.
        includes_header: True if it compiles C or C++ with a copy of `etconfig/backend.h`, in `native`.
    """

    names: PackageNames
    level: int
    your_part: str
    includes_header: bool = False
    from_python: tuple[str, ...] = ()


PYTHON = Template(
    names=PackageNames(distribution="example-npu", package="example_npu", backend_id="ExampleNpuBackend"),
    level=1,
    your_part="replace src/{package}/device.py with calls to your driver",
)
"""A backend in Python, with both halves."""

SCHEMA_ONLY = Template(
    names=PackageNames(
        distribution="example-schema", package="example_schema", backend_id="ExampleSchemaBackend"
    ),
    level=0,
    your_part="declare in src/{package}/options.py what your C++ code reads",
    from_python=(".gitignore", "src/example_npu/py.typed", "tests/xfails.txt"),
)
"""The options of a backend that is part of an ExecuTorch build."""

CPP = Template(
    names=PackageNames(distribution="example-cpp", package="example_cpp", backend_id="ExampleCppBackend"),
    level=1,
    your_part="replace native/device.cpp with calls to your driver",
    includes_header=True,
    from_python=(
        ".github/workflows/ci.yml",
        "src/example_npu/aot.py",
        "src/example_npu/conformance.py",
        "src/example_npu/profiles/example-npu/board.toml",
        "src/example_npu/py.typed",
        "tests/test_conformance.py",
        "tests/test_options.py",
        "tests/xfails.txt",
    ),
)
"""A backend in C++, with both halves."""


@record(frozen=True)
class License:
    """A license.

    Attributes:
        identifier: The SPDX expression for `pyproject.toml`.
        file: Its text below `etconfig/templates/licenses`, with the placeholders `{year}` and `{author}`.
    """

    identifier: str
    file: str


LICENSES: Mapping[str, License] = {
    "apache-2.0": License("Apache-2.0", "apache-2.0.txt"),
    "mit": License("MIT", "mit.txt"),
    "bsd-3-clause": License("BSD-3-Clause", "bsd-3-clause.txt"),
    "proprietary": License("LicenseRef-Proprietary", "proprietary.txt"),
}
"""The licenses by their names in `etconfig new-backend --license`."""


_TEMPLATES = Path(__file__).parents[1] / "templates"
_AUTHOR = "Example Author"
_LICENSE = "LicenseRef-Example"
_CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
_UNSAFE_IN_TOML = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]')
"""Characters that end a string or a line, and surrogates, which stand for bytes that are not UTF-8."""
_UNTIL_PUBLISHED = re.compile(
    r"^(?:#|<!--) until etconfig is on PyPI(?: -->)?\n(?P<lines>.*?)^(?:#|<!--) end(?: -->)?\n",
    re.MULTILINE | re.DOTALL,
)
"""Lines of the template that only a package needs whose etconfig does not come from PyPI."""


class _Renaming:
    """Replaces each spelling of the template's names, all in one pass."""

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self._replacements = dict(replacements)
        longest_first = sorted(replacements, key=len, reverse=True)
        self._spelling = re.compile("|".join(map(re.escape, longest_first)))

    def changes(self, text: str) -> bool:
        """True if the text has one of the template's names."""
        return self._spelling.search(text) is not None

    def __call__(self, text: str) -> str:
        return self._spelling.sub(lambda found: self._replacements[found[0]], text)


def render_package(
    names: PackageNames,
    license_: License,
    *,
    author: str | None,
    year: int,
    template: Template = PYTHON,
) -> Mapping[Path, bytes]:
    """Return the content of each file, by its path in the package.

    Args:
        names: The names of the package.
        license_: Its license.
        author: The owner of the copyright; by default the authors of the package.
        year: The year of the copyright.
        template: The package to copy.

    Raises:
        ScaffoldError: the package's own code needs a name for something else, or the author cannot be
            written.
    """
    author = f"the {names.distribution} authors" if author is None else author.strip()
    if not author or _UNSAFE_IN_TOML.search(author):
        raise ScaffoldError(
            problem=f"the author {author!r} cannot be written into pyproject.toml",
            help="give a name in UTF-8, without quotes, backslashes and line breaks",
        )
    replacements = {_AUTHOR: author, _LICENSE: license_.identifier}
    for old in {PYTHON.names, template.names}:
        replacements[old.distribution] = names.distribution
        replacements[old.package] = names.package
        replacements[old.class_prefix] = names.class_prefix
    rename = _Renaming(replacements)
    files = dict(_template_files(template))
    _check_names_are_free(files, rename)
    license_text = (_TEMPLATES / "licenses" / license_.file).read_text(encoding="utf-8")
    ids = (template.names.backend_id, names.backend_id)
    rendered = {Path(rename(path.as_posix())): _rendered(path, files[path], rename, ids) for path in files}
    if template.includes_header:
        header = Path("etconfig", "backend.h")
        rendered["native" / header] = (include_dir() / header).read_bytes()
    rendered[Path("LICENSE")] = license_text.format(year=year, author=author).encode()
    return rendered


def write_package_files(directory: Path, files: Mapping[Path, bytes]) -> None:
    """Write `files` into `directory`, which is new or empty; a failure leaves nothing behind.

    Raises:
        ScaffoldError: the directory is not empty, or cannot be written.
    """
    # not resolve(): `.` needs a name here, but a symbolic link above it must stay one
    target = Path(os.path.abspath(directory))  # noqa: PTH100
    try:
        _check_is_free(directory)
        target.parent.mkdir(parents=True, exist_ok=True)
        # beside the target, so that both are on one file system and renaming cannot fail halfway
        with directory_beside(target) as beside:
            for folder in dict.fromkeys(path.parent for path in files):
                (beside / folder).mkdir(parents=True, exist_ok=True)
                replace_files({beside / path: files[path] for path in files if path.parent == folder})
            if target.exists():  # keep the directory itself: it may be the current one of a shell
                for path in beside.iterdir():
                    path.rename(target / path.name)
            else:
                beside.rename(target)
    except OSError as error:
        is_file_above = isinstance(error, FileExistsError)  # so mkdir says that a directory above is a file
        raise ScaffoldError(
            problem=f"cannot write {directory}: {'Not a directory' if is_file_above else error.strerror}",
            help="choose another --directory",
        ) from error


def _check_is_free(directory: Path) -> None:
    is_empty = directory.is_dir() and not any(directory.iterdir())
    if directory.is_symlink() or (directory.exists() and not is_empty):
        raise ScaffoldError(
            problem=f"{directory} exists and is not an empty directory",
            help="remove it, or choose another --directory",
        )


def _template_files(template: Template) -> Iterator[tuple[Path, bytes]]:
    for name in template.from_python:
        yield Path(name), (_TEMPLATES / PYTHON.names.distribution / name).read_bytes()
    root = _TEMPLATES / template.names.distribution
    for path in sorted(root.rglob("*")):
        if path.is_file() and not _CACHES & set(path.relative_to(root).parts):
            yield path.relative_to(root), path.read_bytes()


def _rendered(path: Path, content: bytes, rename: _Renaming, ids: tuple[str, str]) -> bytes:
    if path.suffix == ".pte":
        return rename_backend(content, *ids)
    return rename(_for_this_release(content.decode())).encode()


def _for_this_release(text: str) -> str:
    """Return the text with or without the lines on where etconfig comes from, until it is on PyPI."""
    if IS_PUBLISHED:
        return _UNTIL_PUBLISHED.sub("", text).replace(" --find-links wheels", "")
    return _UNTIL_PUBLISHED.sub(lambda found: found["lines"], text)


def _check_names_are_free(files: Mapping[Path, bytes], rename: _Renaming) -> None:
    """Check that the code uses no new name for something else, such as `BackendOptions`."""
    sources = (content for path, content in files.items() if path.suffix == ".py")
    words = {word for source in sources for word in _identifiers(source)}
    kept = {word for word in words if not rename.changes(word)}
    for taken in sorted({rename(word) for word in words - kept} & kept):
        raise ScaffoldError(
            problem=f"the package needs the name {taken} for something of its own, but it means another "
            "thing in its code",
            help="choose another name or --id",
        )


def _identifiers(source: bytes) -> Iterator[str]:
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield token.string
