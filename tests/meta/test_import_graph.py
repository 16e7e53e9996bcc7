"""The reader of imports sees every way in which a module can need another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from import_graph import ImportGraph

LAZY = "from acme.lazy import lazy_names\n"


@pytest.fixture
def graph_of(tmp_path: Path) -> Callable[[Mapping[str, str]], ImportGraph]:
    """Write a package `acme` of these files and read its imports."""

    def write(files: Mapping[str, str]) -> ImportGraph:
        for name, text in {"__init__.py": "", **files}.items():
            path = tmp_path / "acme" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return ImportGraph(tmp_path / "acme", [tmp_path / "acme" / "templates"])

    return write


class TestImports:
    """Each import is listed with the module that it needs."""

    @pytest.mark.parametrize(
        ("statement", "needed"),
        [
            ("import acme.part", "acme.part"),
            ("from acme import part", "acme.part"),
            ("from acme.part import thing", "acme.part"),
            ("from acme.room import inner", "acme.room.inner"),
            ("from acme.room import thing", "acme.room"),
            ("from acme import thing", "acme"),
            ("import numpy.linalg as la", "numpy"),
            ("from rich.console import Console", "rich"),
        ],
    )
    def test_a_statement_needs_the_module_that_it_names(self, graph_of, statement, needed):
        files = {"part.py": "", "room/__init__.py": "", "room/inner.py": "", "user.py": statement}
        assert graph_of(files).imports["acme.user"] == {needed: False}

    def test_imports_for_type_checkers_are_marked_unless_they_also_happen(self, graph_of):
        text = "import numpy\nif TYPE_CHECKING:\n    import numpy, acme.part\nelse:\n    import rich\n"
        needed = graph_of({"part.py": "", "user.py": text}).imports["acme.user"]
        assert needed == {"numpy": False, "acme.part": True, "rich": False}

    def test_imports_in_functions_and_for_type_checkers_do_not_happen_at_once(self, graph_of):
        text = "import numpy\nif TYPE_CHECKING:\n    import rich\ndef f():\n    import acme.part\n"
        graph = graph_of({"part.py": "", "user.py": text})
        assert graph.imports_at_once(graph.paths["acme.user"]) == {"numpy"}

    def test_files_of_an_excluded_directory_are_left_out(self, graph_of):
        assert graph_of({"templates/part.py": "import acme"}).paths.keys() == {"acme"}

    def test_a_relative_import_is_refused(self, graph_of):
        with pytest.raises(AssertionError, match="imports are absolute"):
            _ = graph_of({"user.py": "from . import part"}).imports

    def test_a_computed_import_of_unknown_names_means_every_module_there(self, graph_of):
        text = "from importlib import import_module\nimport_module(f'acme.room.{name}')\n"
        files = {"room/__init__.py": "", "room/a.py": "", "room/b.py": "", "user.py": text}
        assert graph_of(files).imports["acme.user"].keys() == {"importlib", "acme.room.a", "acme.room.b"}

    def test_a_computed_import_of_listed_names_means_these_modules(self, graph_of):
        text = "from importlib import import_module\nALL = ('a',)\nimport_module(f'{__name__}.{ALL[0]}')\n"
        files = {"room/__init__.py": text, "room/a.py": "", "room/b.py": ""}
        assert graph_of(files).imports["acme.room"].keys() == {"importlib", "acme.room.a"}


class TestCircles:
    """A circle is found whichever way its modules need each other."""

    @pytest.mark.parametrize(
        "back",
        [
            "import acme.a",
            "from acme import a",
            "from acme.a import thing",
            "def function():\n    from acme.a import thing\n",
            "class Cls:\n    import acme.a\n",
            "if TYPE_CHECKING:\n    from acme.a import thing\n",
            "try:\n    import acme.a\nexcept ImportError:\n    pass\n",
            "import importlib\nmodule = importlib.import_module('acme.a')\n",
            "from importlib import import_module\nmodule = import_module(f'acme.{name}')\n",
        ],
    )
    def test_an_import_that_leads_back_closes_one(self, graph_of, back):
        graph = graph_of({"a.py": "import acme.b", "b.py": "import acme.c", "c.py": back})
        assert set(graph.circle()) == {"acme.a", "acme.b", "acme.c"}

    def test_the_lazy_table_of_a_package_closes_one(self, graph_of):
        table = f"{LAZY}_HOME = {{'Thing': 'inner'}}\n__getattr__, __dir__ = lazy_names(__name__, _HOME)\n"
        files = {"lazy.py": "", "room/__init__.py": table, "room/inner.py": "from acme.room import Other"}
        assert set(graph_of(files).circle()) == {"acme.room", "acme.room.inner"}

    @pytest.mark.parametrize("text", ["from acme import __version__", "import acme"])
    def test_the_facade_closes_one(self, graph_of, text):
        table = (
            f"{LAZY}_HOME = {{'Thing': 'room.inner'}}\n__getattr__, __dir__ = lazy_names(__name__, _HOME)\n"
        )
        files = {"__init__.py": table, "lazy.py": "", "room/__init__.py": "", "room/inner.py": text}
        assert set(graph_of(files).circle()) == {"acme", "acme.room.inner"}

    def test_each_module_is_followed_by_one_that_it_imports(self, graph_of):
        graph = graph_of({"a.py": "import acme.b", "b.py": "import acme.c", "c.py": "import acme.a"})
        circle = graph.circle()
        assert circle[0] == circle[-1]
        assert all(needed in graph.imports[name] for name, needed in pairwise(circle))

    def test_modules_in_order_make_none(self, graph_of):
        assert graph_of({"a.py": "import acme.b\nimport acme.c", "b.py": "import acme.c"}).circle() == []
