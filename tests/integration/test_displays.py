"""Objects show themselves: in one line, as text, and as HTML in notebooks, whatever they contain."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command_line import DATA, DIGITS
from public_api import PUBLIC_MODULES

import etconfig
from etconfig.analysis import VerifiedCase
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.fact import Fact
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.report.html import own_html
from etconfig.report.model import MAX_CELL, Table, View
from etconfig.report.page.page_writer import Page
from etconfig.report.text import MAX_OWN_ROWS, own_text
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.value_provenance import Provenance

PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
ALLOWED = {"div", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table><h1>",
    "$\\href{javascript:alert(1)}{x}$",
    "\x1b[31m\x07\x9b2J",
    "\u202egnp.exe",
    "a\n::warning::owned\r",
    "&lt;b&gt;",
    "\ud800",
    "x" * 100_000,
]


class Checker(HTMLParser):
    """Reads HTML, and fails for a tag that is not allowed, not closed, or closed in a wrong order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "class", "scope"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def program() -> Iterator[etconfig.LoadedProgram]:
    with etconfig.load_program(DIGITS / "digits.pte", installation=etconfig.Installation()) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def config(program: etconfig.LoadedProgram) -> etconfig.Resolution:
    overrides = {"ReferenceNpuBackend.core": 1}
    return etconfig.resolve(program, profile="auto", facts=PI5, overrides=overrides)


class TestOneLine:
    """`repr` has one line that names the object."""

    def test_each(self, program: etconfig.LoadedProgram, config: etconfig.Resolution) -> None:
        arguments = config.arguments("forward")
        assert repr(config) == "<Resolution: profile raspberry-pi/pi-5 (auto); embed, forward; 11 options>"
        assert repr(arguments) == (
            "<Arguments forward: ReferenceNpuBackend.core=1, ReferenceCpuBackend.scratch_bytes=262144; "
            "5 defaults>"
        )
        assert repr(PI5) == (
            "<FactSheet: 37 of 52 facts known; device.model Raspberry Pi 5 Model B Rev 1.0, os.name linux, "
            "cpu.arch arm64, cpu.available_cores 4, power.source mains>"
        )
        assert repr(arguments.provenance("ReferenceCpuBackend", "scratch_bytes")) == (
            "<Provenance: 262144 from recommendation ReferenceCpuBackend (expr max(4096, cpu.cache.l2 / 2)); "
            "beat 1 other value>"
        )
        assert repr(program) == f"<LoadedProgram {DIGITS / 'digits.pte'}: embed, forward>"
        with program.load_method("forward", arguments) as method:
            assert repr(method) == "<Method forward>"
        live = etconfig.LiveArguments(program, profile="auto", facts=PI5)
        assert repr(live) == (
            "<LiveArguments: 0 attached Methods; "
            "<Resolution: profile raspberry-pi/pi-5 (auto); embed, forward; 11 options>>"
        )
        configuration = etconfig.configure(program, profile="auto", facts=PI5)
        assert repr(configuration).startswith("<Configuration: profile raspberry-pi/pi-5 < ")
        assert repr(configuration).endswith("; 2 method instances>")

    def test_empty_objects(self) -> None:
        assert repr(etconfig.FactSheet.empty()).startswith("<FactSheet: 0 of ")
        assert "no backend" in repr(etconfig.Arguments(method="main", instance=None, backends={}))


def results(program: etconfig.LoadedProgram, config: etconfig.Resolution) -> Iterator[object]:
    """Yield what public functions return that a person prints."""
    live = etconfig.LiveArguments(program, profile="auto", facts=PI5)
    configuration = etconfig.configure(program, profile="auto", facts=PI5)
    arguments = config.arguments("forward")
    bundle = etconfig.pack_resolutions({"pi-5": config})
    matrix = etconfig.resolve_devices(program, devices={"pi-5": PI5, "none": etconfig.FactSheet.empty()})
    inspected = etconfig.inspect_program(program)
    with program.load_method("forward", live.arguments("forward")) as method:
        live.attach(method)
        yield live
        yield live.refresh(PI5.with_overrides({"cpu.available_cores": 2}))
        yield method
    yield from (config, arguments, PI5, program, configuration, bundle, matrix, matrix["pi-5"])
    yield from (
        inspected,
        inspected.methods[0],
        etconfig.memory_need(program),
        etconfig.analysis.device_page(matrix),
    )
    yield config.explain("ReferenceCpuBackend.num_threads")
    yield config.what_if({"cpu.available_cores": 2})
    yield arguments.provenance("ReferenceCpuBackend", "scratch_bytes")
    yield etconfig.examine_installation()
    yield etconfig.validate_file("/dev/null")
    yield etconfig.compare(DIGITS / "digits.pte", pairs=6)
    with etconfig.load_program(DATA / "exports" / "bundled.bpte") as bundled:
        yield etconfig.verify_program(bundled)
    yield bundle.configuration("pi-5")


class TestAllResults:
    """Each result has a short line; a table shows itself as one in notebooks."""

    def test_each_is_short_and_tables_are_tables(
        self, program: etconfig.LoadedProgram, config: etconfig.Resolution
    ) -> None:
        shown = set()
        for each in results(program, config):
            text = repr(each)
            assert text.count("\n") < 10, type(each)
            assert len(text) <= 800, (type(each), text)
            shown.add(type(each))
            if hasattr(each, "_repr_html_") and not isinstance(each, Page):
                Checker(each._repr_html_())
        known = {
            cls for module in PUBLIC_MODULES[:3] for cls in module.values.values() if isinstance(cls, type)
        }
        tables = {cls for cls in known if hasattr(cls, "to_jsonable")} - {VerifiedCase}
        assert {cls for cls in tables if not hasattr(cls, "_repr_html_")} == set()
        elsewhere = {
            "AppliedOptions",
            "BudgetUse",
            "ModelChoice",
            "Models",
            "TuneReport",
        }  # tested beside what makes them
        assert {cls.__name__ for cls in tables - shown} <= elsewhere


class TestText:
    """`str` lists the contents; nothing in it controls a terminal."""

    def test_a_resolution_lists_every_option_with_its_origin(self, config: etconfig.Resolution) -> None:
        lines = str(config).splitlines()
        assert lines[0] == "Resolution: profile raspberry-pi/pi-5 (auto), 2 method instances"
        row = "ReferenceNpuBackend  core           1           override resolve(overrides)"
        assert f"  {row} (ReferenceNpuBackend.core)" in lines

    def test_a_sheet_lists_known_facts_with_origin_and_unknown_ones_with_the_reason(self) -> None:
        text = str(PI5)
        assert "cpu.available_cores" in text
        assert "15 unknown facts:" in text

    def test_a_program_and_a_method_list_what_a_notebook_shows(
        self, program: etconfig.LoadedProgram, config: etconfig.Resolution
    ) -> None:
        lines = str(program).splitlines()
        assert lines[0].startswith(f"LoadedProgram: {DIGITS / 'digits.pte'}, ")
        assert lines[-1].split()[0] == "forward"
        assert lines[-1].endswith("ReferenceNpuBackend, ReferenceCpuBackend")
        with program.load_method("forward", config.arguments("forward")) as method:
            lines = str(method).splitlines()
        assert lines[:2] == ["Method forward", "  inputs: float32 [1, 1, 8, 8]"]
        assert lines[-1].split() == ["ReferenceCpuBackend", "accumulate", "fp32"]

    def test_where_a_value_comes_from(self, config: etconfig.Resolution) -> None:
        found = config.arguments("forward").provenance("ReferenceCpuBackend", "num_threads")
        assert str(found).splitlines() == [
            "4 from default ReferenceCpuOptions (fact cpu.available_cores)",
            "  depends on cpu.available_cores",
            "",
            "        VALUE  FROM",
            "  wins  4      default ReferenceCpuOptions (fact cpu.available_cores)",
        ]


class TestNotebook:
    """`_repr_html_` is plain HTML: tables that any frontend shows."""

    def test_each(self, program: etconfig.LoadedProgram, config: etconfig.Resolution) -> None:
        arguments = config.arguments("forward")
        with program.load_method("forward", arguments) as method:
            shown: list[Any] = [
                *(config, arguments, PI5, program, method),
                arguments.provenance("ReferenceCpuBackend", "scratch_bytes"),
                config.explain("ReferenceCpuBackend.num_threads"),
                config.what_if({"cpu.available_cores": 2}),
            ]
            words = [" ".join(Checker(each._repr_html_()).words) for each in shown]
        for text, expected in zip(
            words,
            [
                "ReferenceNpuBackend core 1",
                "scratch_bytes 262144",
                "cpu.available_cores 4",
                "forward float32 [1, 1, 8, 8] float32 [1, 10] ReferenceNpuBackend, ReferenceCpuBackend",
                "outputs: float32 [1, 10]",
                "wins 262144",
                "depends on FACT VALUE FROM cpu.available_cores 4",
                "forward:ReferenceCpuBackend.num_threads 4",
            ],
            strict=True,
        ):
            assert expected in text

    def test_a_closed_program_and_one_that_is_not_verified_are_shown(self, tmp_path: Path) -> None:
        closed = etconfig.load_program(DIGITS / "digits.pte")
        closed.close()
        assert "forward" in " ".join(Checker(closed._repr_html_()).words)
        with closed, pytest.raises(etconfig.ProgramError):
            closed.metadata("forward")


class TestHostileContents:
    """Names and values are escaped; none of them is markup, and none reaches the frontend raw."""

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_everywhere(self, text: str) -> None:
        origin = Origin(OriginKind.PROFILE, text, detail=text)
        provenance = Provenance(winner=Sourced(text, origin), beaten=(Sourced(text, origin),), facts=(text,))
        table = Table(caption=text, headers=(text,), rows=[(text,)], is_folded=True)
        for shown in (provenance, View(title=text, lines=(text,), tables=(table,))):
            html = shown._repr_html_() if isinstance(shown, Provenance) else own_html(shown)
            line = str(shown) if isinstance(shown, Provenance) else own_text(shown)
            checked = Checker(html)
            assert html.startswith('<div class="tex2jax_ignore mathjax_ignore">')
            assert all(word.isprintable() for word in checked.words)
            assert all(each.isprintable() for each in line.splitlines())
            assert not any(each.lstrip().startswith("::") for each in line.splitlines())
            html.encode()
            assert len(html) < 8_000
            assert len(repr(shown)) < 1_000 or isinstance(shown, View)

    def test_a_sheet_of_hostile_values(self) -> None:
        sheet = PI5.with_overrides({"device.model": HOSTILE[0], "soc.model": HOSTILE[1]})
        assert "&lt;script&gt;" in sheet._repr_html_()
        Checker(sheet._repr_html_())


def _many(count: int) -> type[BackendOptions]:
    fields = {f"option_{index:03}": option(index, applies="load", doc="A number.") for index in range(count)}
    types = dict.fromkeys(fields, int)
    return type("ManyOptions", (BackendOptions,), {"__doc__": "Many.", "__annotations__": types, **fields})


class TestSize:
    """Large objects stay readable: what is set comes first, defaults are folded, and rows are limited."""

    def resolved(self, count: int, instances: tuple[str, ...] = ()) -> etconfig.Resolution:
        spec = BackendSpec(id="ManyBackend", options=_many(count), doc="Many.", api=ApiRange(1, 1))
        layer = layer_from_overrides({"ManyBackend.option_100": 7})
        target = Target(method="forward", backends=("ManyBackend",), instances=instances)
        return Resolver.compile({"ManyBackend": spec}, (layer,), (target,)).resolve(PI5)

    def test_a_resolution_of_135_options(self) -> None:
        config = self.resolved(135)
        assert repr(config) == "<Resolution: no profile; forward; 135 options>"
        assert repr(config.arguments("forward")) == (
            "<Arguments forward: ManyBackend.option_100=7; 134 defaults>"
        )
        html = config._repr_html_()
        words = Checker(html).words
        assert len(html) < 60_000
        first = words.index("option_100")
        assert "forward, 134 defaults" in words[first:]
        assert html.count("<details>") == 1
        assert words.index("option_000") > first

    def test_many_instances(self) -> None:
        config = self.resolved(135, tuple(f"camera{index}" for index in range(300)))
        assert repr(config) == (
            "<Resolution: no profile; forward, forward@camera0, forward@camera1, forward@camera2 "
            "and 297 more; 40,635 options>"
        )
        assert len(config._repr_html_()) < 120_000
        assert "and 251 more method instances" in str(config)
        assert len(str(config).splitlines()) < 2 * MAX_OWN_ROWS

    def test_a_sheet_of_200_facts(self) -> None:
        infos = [
            FactInfo(name=f"mine.fact_{index:03}", type=FactType.INT, doc="A.", volatility=Volatility.STATIC)
            for index in range(200)
        ]
        registry = BUILTIN_FACTS.extended(infos)
        origin = Origin(OriginKind.SHEET, "board.json")
        facts = {info.name: Fact.known(info.name, info, 1, origin) for info in infos}
        sheet = etconfig.FactSheet({**PI5.facts, **facts}, registry)
        assert repr(sheet).startswith("<FactSheet: 237 of 252 facts known; device.model Raspberry Pi 5")
        assert len(sheet._repr_html_()) < 100_000
        words = Checker(sheet._repr_html_()).words
        assert {*sheet} <= {*words}
        assert "15 unknown facts" in words

    def test_more_rows_than_anybody_reads_are_counted(self) -> None:
        tables = [
            Table(caption=name, headers=("N",), rows=((str(row),) for row in range(400)))
            for name in ("first", "second")
        ]
        assert own_text(View(title="Many", tables=tables[:1])).splitlines()[-1] == "  and 100 more"
        tables[0] = Table(caption="first", headers=("N",), rows=[("1",)] * (MAX_OWN_ROWS - 1))
        text = own_text(View(title="Many", tables=tables))
        assert text.splitlines()[-3:] == ["  N", "  0", "  and 399 more"]

    def test_a_long_text_is_cut_and_the_rest_counted(self) -> None:
        sheet = PI5.with_overrides({"device.model": "m" * 5_000})
        assert f"{'m' * MAX_CELL}... (4,880 more characters)" in str(sheet)
        assert len(repr(sheet)) < 400


class TestPickle:
    """A resolution pickles; only what it would need to be repeated stays behind."""

    def test_a_copy_is_equal_and_shows_itself(self, config: etconfig.Resolution) -> None:
        copy = pickle.loads(pickle.dumps(config))
        assert copy == config
        assert (repr(copy), str(copy), copy._repr_html_()) == (
            repr(config),
            str(config),
            config._repr_html_(),
        )
        with pytest.raises(ValueError, match=r"cannot be repeated: call etconfig\.resolve"):
            copy.what_if({"power.source": "battery"})
