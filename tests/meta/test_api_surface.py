"""The public surface is checked in, and the promise to plugins is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_breaks import IMPLEMENTED_BY_PLUGINS, breaks
from api_surface import Surface, as_text, parse, surface
from write_api_surface import COMMAND, NOT_FROZEN, ROOT, SurfaceFiles

FILES = SurfaceFiles(ROOT)
REWRITE = f"describe it in CHANGELOG.md, then run: {COMMAND}"


@pytest.fixture(scope="module")
def now() -> Surface:
    return surface()


def differences(before: Surface, now: Surface) -> list[str]:
    """The additions, removals and changes, one per line."""
    return [
        *(f"added: {path} {now[path]}" for path in now if path not in before),
        *(f"removed: {path} {before[path]}" for path in before if path not in now),
        *(f"changed: {p} {before[p]} -> {now[p]}" for p in now if p in before and before[p] != now[p]),
    ]


class TestSurface:
    """tests/data/api/surface.txt is the public surface, line by line."""

    def test_it_is_the_one_that_is_checked_in(self, now):
        changed = differences(parse(FILES.surface.read_text()), now)
        assert not changed, "\n".join([*changed, REWRITE])

    def test_changes_are_listed(self):
        before = {"m.Kept": "class", "m.Old": "class", "m.f": "def () -> int"}
        after = {"m.Kept": "class", "m.New": "class", "m.f": "def () -> str"}
        assert differences(before, after) == [
            "added: m.New class",
            "removed: m.Old class",
            "changed: m.f def () -> int -> def () -> str",
        ]

    def test_the_text_can_be_read_back(self, now):
        assert parse(as_text(now)) == now

    def test_no_line_contains_an_address_or_depends_on_the_run(self, now):
        assert [path for path, form in now.items() if " at 0x" in form or "\n" in form] == []

    def test_it_covers_every_kind_of_thing(self, now):
        api = "etconfig.plugin.v1"
        lines = {
            f"{api}.Backend": "class (ABC, Generic)",
            f"{api}.Backend.destroy": "def (self, handle: HandleT) -> None",
            f"{api}.RunnableMethod.release": "abstract def (self) -> None",
            f"{api}.ApiRange.built": "field 1: int",
            f"{api}.BackendSpec.compile_specs": "field: Mapping[str, CompileSpecInfo] = dict()",
            f"{api}.Availability": "frozen record",
            f"{api}.Availability.yes": "classmethod def (cls) -> Availability",
            f"{api}.ExecuteContext": "frozen record (Generic)",
            f"{api}.OptionError": "record (ConfigError)",
            f"{api}.DelegateError.help": "field: str | None = None",
            f"{api}.Processed": "protocol (Protocol)",
            f"{api}.Processed.data": "property: memoryview",
            f"{api}.Scope.METHOD": "member = 'method'",
            f"{api}.Ge": "class of annotated_types",
            f"{api}.EXECUTORCH": "object: RuntimeLimits",
            f"{api}_kernels.Ints": "alias tuple[int, ...]",
            "etconfig.__version__": "text",
        }
        assert {path: now.get(path) for path in lines} == lines


class TestPromise:
    """tests/data/api/v1-frozen.txt is kept for as long as plugin API 1 is understood."""

    def test_it_is_kept(self, now):
        broken = breaks(parse(FILES.frozen.read_text()), now)
        assert not broken, "\n".join(map(str, broken))

    def test_the_names_left_out_of_it_exist(self, now):
        assert now.keys() >= NOT_FROZEN

    def test_every_abstract_class_is_known_as_one_that_plugins_write(self, now):
        owners = {path.split(".")[-2] for path, form in now.items() if form.startswith("abstract")}
        assert owners <= IMPLEMENTED_BY_PLUGINS

    @pytest.mark.parametrize(
        ("added", "told"),
        [
            (
                {"m.Spec.limit": "field: int"},
                "new required field: m.Spec.limit: 'field: int' needs a default: plugins do not give it",
            ),
            (
                {"m.Backend.flush": "abstract def (self) -> None"},
                "new abstract method: m.Backend.flush: 'abstract def (self) -> None' must do something by "
                "itself: plugins lack it",
            ),
            (
                {"m.Detector.priority": "property: int"},
                "new abstract method: m.Detector.priority: 'property: int' must do something by itself: "
                "plugins lack it",
            ),
            (
                {"m.Spec.id": "field: bytes"},
                "changed: m.Spec.id: promised is 'field: str', here is 'field: bytes'",
            ),
            (
                {"m.option": "def (doc: str, kind: str) -> int"},
                "changed signature: m.option: promised is 'def (doc: str) -> int', here is "
                "'def (doc: str, kind: str) -> int'",
            ),
            (
                {"m.option": "def (doc: str, *kinds: str, size: int) -> int"},
                "changed signature: m.option: promised is 'def (doc: str) -> int', here is "
                "'def (doc: str, *kinds: str, size: int) -> int'",
            ),
            (
                {"m.option": "def (doc: str) -> str"},
                "changed signature: m.option: promised is 'def (doc: str) -> int', here is "
                "'def (doc: str) -> str'",
            ),
            (
                {"m.Backend.init": "def (self, more: int = 0) -> int"},
                "changed signature: m.Backend.init: promised is 'def (self) -> int', here is "
                "'def (self, more: int = 0) -> int'",
            ),
        ],
    )
    def test_a_break_is_reported_with_its_kind(self, added, told):
        assert [str(each) for each in breaks(PROMISED, {**PROMISED, **added})] == [told]

    def test_a_missing_name_is_a_break(self):
        now = {path: form for path, form in PROMISED.items() if path != "m.option"}
        assert [str(each) for each in breaks(PROMISED, now)] == [
            "removed: m.option: promised is 'def (doc: str) -> int'; "
            "keep it, and deprecate it for the next API"
        ]

    @pytest.mark.parametrize(
        "added",
        [
            {"m.New": "class", "m.New.x": "field: int", "m.New.f": "abstract def (self) -> None"},
            {"m.Spec.limit": "field: int | None = None"},
            {"m.Backend.flush": "def (self) -> None"},
            {"m.Processed.size": "property: int"},
            {"m.option": "def (doc: str, *, kind: str = 'a', sizes: tuple[int, int] = (1, 2)) -> int"},
            {"m.option": "def (doc: str, *kinds: str, size: int = 1, **more: object) -> int"},
        ],
    )
    def test_growth_is_not_a_break(self, added):
        assert breaks(PROMISED, {**PROMISED, **added}) == []


PROMISED = {
    "m.Spec": "frozen record",
    "m.Spec.id": "field: str",
    "m.Backend": "class (ABC)",
    "m.Backend.init": "def (self) -> int",
    "m.Detector": "protocol (Protocol)",
    "m.Processed": "protocol (Protocol)",
    "m.option": "def (doc: str) -> int",
}
"""A small promise."""


class TestTool:
    """A change of the surface needs an entry in CHANGELOG.md, and the promise only grows."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> SurfaceFiles:
        files = SurfaceFiles(tmp_path)
        files.surface.parent.mkdir(parents=True)
        files.changelog.write_text("nothing\n")
        files.write_surface(PROMISED)
        return files

    def test_it_refuses_a_change_that_the_changelog_does_not_describe(self, files):
        before = files.surface.read_text()
        with pytest.raises(SystemExit, match=r"the public surface changed: describe it in CHANGELOG\.md"):
            files.write_surface({})
        assert files.surface.read_text() == before

    def test_it_writes_a_change_that_the_changelog_mentions(self, files):
        files.changelog.write_text("nothing is left\n")
        assert files.write_surface({"m.New": "class"}) == "surface.txt written"
        assert parse(files.surface.read_text()) == {"m.New": "class"}

    def test_it_leaves_a_current_file_alone(self, files):
        before = files.surface.read_text()
        files.changelog.write_text("something else\n")
        assert (files.write_surface(PROMISED), files.surface.read_text()) == (
            "surface.txt is current",
            before,
        )

    def test_it_freezes_names_for_plugins_but_not_those_that_only_the_core_calls(self, files):
        now = {
            "etconfig.load_program": "def () -> None",
            "etconfig.plugin.v1.System": "class",
            "etconfig.plugin.v1.System.__init__": "def (self) -> None",
        }
        assert files.freeze(now) == "v1-frozen.txt promises 1 more"
        assert parse(files.frozen.read_text()) == {"etconfig.plugin.v1.System": "class"}

    def test_it_freezes_nothing_while_a_promise_is_broken(self, files):
        files.freeze({"etconfig.plugin.v1.System": "class"})
        with pytest.raises(SystemExit, match=r"^removed: etconfig\.plugin\.v1\.System: "):
            files.freeze({})
