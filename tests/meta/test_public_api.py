"""Public names are one list: pages and examples import nothing else, and the surface file records it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_surface import parse
from doc_pages import Page
from every import every
from public_api import PUBLIC_MODULES
from write_api_surface import ROOT, SurfaceFiles

from etconfig.plugin import GROUPS

PUBLIC = {module.name: set(module.names) for module in PUBLIC_MODULES}
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "plugins").glob("*/README.md"),
    ]
)
FOR_CONTRIBUTORS = {"architecture.md"}
"""Pages about the inside of etconfig, which may mention private modules."""

EXAMPLES = sorted(path for suffix in ("py", "ipynb") for path in (ROOT / "examples").rglob(f"*.{suffix}"))
_MENTIONED = re.compile(r"`(etconfig(?:\.\w+)+)`")


def code_of(path: Path) -> str:
    """The Python code of a module or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def private_imports(text: str) -> list[str]:
    """The modules and names of etconfig that Python code imports although they are private."""
    tree = ast.parse(text)
    found = [name for node in ast.walk(tree) for name in imported_names(node)]
    return [name for name in found if not is_public(name)]


def imported_names(node: ast.AST) -> Iterator[str]:
    """The dotted names of etconfig that a statement imports, or an expression such as `etconfig.resolve`."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "etconfig":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (each.name for each in node.names if each.name.partition(".")[0] == "etconfig")
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "etconfig":
        yield f"etconfig.{node.attr}"


def is_public(name: str) -> bool:
    """True if a dotted name is a public module, a public name in one, or leads to one."""
    module, _, last = name.rpartition(".")
    return any(f"{each}.".startswith(f"{name}.") for each in PUBLIC) or last in PUBLIC.get(module, set())


def mentions(text: str) -> list[str]:
    """Dotted names in running text that lead into a private module or to a private name."""
    dotted = _MENTIONED.findall(text)
    return [name for name in dotted if is_in_a_module(name) and not is_public(name)]


def is_in_a_module(name: str) -> bool:
    """True if a dotted name begins with the path of a module and is not a file or an entry-point group."""
    path = ROOT.joinpath(*name.split(".")[:2])
    return name not in GROUPS and (path.is_dir() or path.with_suffix(".py").is_file())


class TestList:
    """Each public name exists, and is one that its module offers."""

    @pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.name)
    def test_every_name_is_there_and_in_the_list_of_its_module(self, module):
        assert module.names
        assert [name for name in module.names if not hasattr(module.module, name)] == []
        assert set(module.names) <= set(getattr(module.module, "__all__", module.names))

    def test_the_surface_file_records_the_same_names(self):
        lines = parse(SurfaceFiles(ROOT).surface.read_text(encoding="utf-8"))
        public = {f"{module}.{name}" for module, names in PUBLIC.items() for name in names}
        recorded = {path for path in lines if path.rpartition(".")[0] in PUBLIC}
        assert recorded == public

    def test_no_public_name_begins_with_an_underscore_except_the_version(self):
        private = [name for names in PUBLIC.values() for name in names if name.startswith("_")]
        assert private == ["__version__"]


class TestPages:
    """Documentation and examples use public names only."""

    @every("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
    def test_a_page_imports_public_names_only(self, page):
        blocks = [fence.text for fence in Page(page).fences() if fence.language == "python"]
        assert [name for text in blocks for name in private_imports(text)] == []

    @every("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
    def test_a_page_mentions_public_names_only(self, page):
        assert page.name in FOR_CONTRIBUTORS or mentions(Page(page).prose) == []

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
    def test_an_example_imports_public_names_only(self, path: Path):
        assert private_imports(code_of(path)) == []

    @pytest.mark.parametrize(
        ("code", "found"),
        [
            ("import etconfig.app.programs.api", ["etconfig.app.programs.api"]),
            (
                "from etconfig.app.programs.api import load_program",
                ["etconfig.app.programs.api.load_program"],
            ),
            ("from etconfig.device import PlainValue", ["etconfig.device.PlainValue"]),
            ("import etconfig\netconfig.resolver", ["etconfig.resolver"]),
            ("import etconfig\nfrom etconfig.plugin import v1\netconfig.resolve(1)", []),
            ("from etconfig.device import PackedOption", []),
        ],
    )
    def test_private_names_are_noticed(self, code, found):
        assert private_imports(code) == found

    def test_private_names_in_text_are_noticed(self):
        text = "`etconfig.toml`, `etconfig.resolve`, `etconfig.kernel.registry`, `etconfig.backends`"
        assert mentions(text) == ["etconfig.kernel.registry"]
