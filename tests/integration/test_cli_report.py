"""`etconfig report`: one page that shows what each device gets and why, whatever the texts in it are."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from command_line import DATA, DIGITS, Outcome
from pages import RAN, hostile_markup, structure, texts

import etconfig
from etconfig.analysis.device_matrix import DeviceMatrix, MatrixDevice
from etconfig.analysis.expected_matrix import MatrixDifference
from etconfig.analysis.matrix_page import device_page
from etconfig.analysis.tested_devices import TestReport, TestResult
from etconfig.base.paired_ratio import PairedRatio
from etconfig.cli.rendering.matrix_view import differences_view
from etconfig.diagnostics import Diagnostic, Severity, Span
from etconfig.measuring.saved_measurements import read_measurements
from etconfig.memory.need import PARTS, MemoryAmount, MemoryNeed
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.profile.evidence import TuningEvidence
from etconfig.report.junit import JunitCase, junit_xml
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target

Cli = Callable[..., Outcome]

SHEETS = DATA / "sheets"


def _row(label: str, ratio: float, low: float, high: float | None, verdict: str) -> dict[str, object]:
    """A row of `bench --json`."""
    numbers = {"ratio": ratio, "low": low, "high": high}
    return {"label": label, "ratio": numbers, "failure": None, "verdict": verdict}


BENCH = {
    "etconfig_bench": 2,
    "model": {"path": "model.pte"},
    "method": "forward",
    "noise": {"ratio": 1.01},
    "notes": ["a note"],
    "rows": [
        _row("threads=1", 0.8, 0.7, 0.9, "faster"),
        _row("threads=2", 1.1, 0.9, None, "same"),
        {"label": "core=9", "ratio": None, "failure": "no such core", "verdict": None},
    ],
}
OUTCOMES = [
    {"options": {"A.threads": 1}, "rung": 0, "ratio": 0.9, "low": 0.8, "high": 1.2, "pairs": 1},
    {"options": {"A.threads": 1}, "rung": 1, "ratio": 0.8, "low": 0.7, "high": 0.9, "pairs": 9},
    {"options": {"A.threads": 2}, "failure": "too slow"},
]
TUNE = {
    "etconfig_tune": 1,
    "model": {"path": "model.pte", "method": "forward"},
    "is_better": True,
    "notes": [],
    "outcomes": OUTCOMES,
}


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library that draws, without its 50 MB."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
    monkeypatch.setitem(sys.modules, "vl_convert", SimpleNamespace(vegalite_to_svg=lambda _: svg))


@pytest.fixture
def sheets(place: Path) -> Path:
    directory = place / "sheets"
    directory.mkdir()
    for name in ("pixel-8", "raspberry-pi-5"):
        shutil.copy(SHEETS / f"{name}.json", directory)
    (place / "etconfig.toml").write_text(
        "[[when]]\nif = 'device.model.startsWith(\"Raspberry Pi\") && cpu.available_cores > 1'\n"
        "[when.options.ReferenceCpuBackend]\n"
        'num_threads = { expr = "cpu.available_cores - 1" }\n'
    )
    return directory


def _forget(sheets: Iterable[Path], *names: str) -> None:
    """Remove facts from fact sheets."""
    for path in sheets:
        known = json.loads(path.read_text())
        for name in names:
            known["facts"].pop(name, None)
        path.write_text(json.dumps(known))


class TestContents:
    """A reader who has never seen etconfig finds what decided a value."""

    def test_why_the_pi_gets_three_threads(self, cli: Cli, sheets: Path) -> None:
        done = cli("report", "model.pte", "--facts", "sheets", "--output", "report.html")
        assert done == Outcome(0, "2 devices shown in report.html\n", "")
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        cell = r'<th scope="row">forward:ReferenceCpuBackend.num_threads</th><td>.*?</td><td class="differs">'
        found = re.search(rf'{cell}<a href="#([\w-]+)">3</a>', page)
        assert found is not None
        _, _, reason = page.partition(f'<section id="{found[1]}">')
        told = texts(reason.partition("</section>")[0])
        assert (
            "3 comes from the project file etconfig.toml, line 4, which applies because "
            'device.model.startsWith("Raspberry Pi") and cpu.available_cores > 1 hold. '
            "It is cpu.available_cores - 1, where cpu.available_cores is 4."
        ) in " ".join(told.split())
        assert "wins3project file etconfig.toml, line 4" in told
        assert "overridden4default of ReferenceCpuOptions" in told

    def test_each_part_is_there(self, cli: Cli, sheets: Path) -> None:
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        told = texts(page)
        for part in ("Problems: none", "Devices", "Options", "Why each value", "Profiles", "Facts", "Memory"):
            assert f"<h2>{part}</h2>" in page
        assert "<h2>Program model.pte</h2>" in page
        assert "raspberry-pi/pi-5" in told
        assert 'cpu.arch == "x86_64" does not hold' in told
        assert "Memory plan of forward" in told
        assert page.count("<svg ") == 2
        assert set(re.findall(r'href="(.*?)"', page)) - set(re.findall(r'href="#(.*?)"', page)) - {
            f"#{name}" for name in re.findall(r'id="(.*?)"', page)
        } == {"https://netron.app/"}
        ids = re.findall(r'id="(.*?)"', page)
        assert len(ids) == len({*ids})

    def test_a_device_that_gets_nothing_is_explained(self, cli: Cli, sheets: Path) -> None:
        (sheets / "broken.json").write_text("{")
        done = cli("report", "model.pte", "--facts", "sheets", "--output", "report.html")
        assert (done.status, done.stdout) == (1, "3 devices shown in report.html\n")
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        assert "error: sheets/broken.json" in page
        assert '<td><a class="error" href="#problem-1">error</a></td>' in page
        assert "its options do not resolve" in page

    def test_without_devices_it_is_about_this_one_and_without_a_program_about_what_is_configured(
        self, cli: Cli, place: Path
    ) -> None:
        assert cli("report", "model.pte", "--output", "report.html").status == 0
        assert "this device" in (place / "report.html").read_text(encoding="utf-8")
        assert (
            cli("report", "--set", "ReferenceCpuBackend.num_threads=2", "--output", "report.html").status == 0
        )
        assert "override --set" in texts((place / "report.html").read_text(encoding="utf-8"))

    def test_the_page_of_a_matrix_is_the_same(self, cli: Cli, sheets: Path) -> None:
        page = cli("matrix", "model.pte", "--facts", "sheets", "--format", "html").stdout
        matrix = etconfig.resolve_devices(
            etconfig.load_program("model.pte"), devices=[*sorted(sheets.iterdir())]
        )
        assert device_page(matrix).html == page

    def test_merged_tables_name_the_source_of_each_key(self) -> None:
        matrix = _matrix(["x"], {"a": 1})
        told = texts(device_page(matrix).html)
        assert "comes from the override" in told

    def test_the_tests_of_the_project_are_a_part(self, cli: Cli, sheets: Path) -> None:
        with (sheets.parent / "etconfig.toml").open("a") as file:
            file.write('[[test]]\nname = "few threads"\nassert = "ReferenceCpuBackend.num_threads <= 3"\n')
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        assert "<p>1 of 2 tests holds on every device; all hold on 1 of 2 devices</p>" in page
        assert '<th scope="row" class="error">failed</th><td>few threads</td><td>pixel-8</td>' in page
        assert '<a href="#tests" class="error">1 of 2 tests holds on every device' in page
        assert '<h2>Problems: <a href="#tests">1 test does not hold</a></h2>' in page
        assert str(sheets.parent) not in page

    def test_tests_that_no_device_tries_are_problems(self, cli: Cli, sheets: Path) -> None:
        test = '[[test]]\nname = "none"\nassert = "cpu.available_cores > 1"\nwhere = \'os.name == "ios"\'\n'
        (sheets.parent / "etconfig.toml").write_text(test)
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        told = texts((sheets.parent / "report.html").read_text(encoding="utf-8"))
        assert "Problems: 1 finding" in told
        assert "no device tries the test 'none'" in told

    def test_without_tests_of_the_project_there_is_no_such_part(self, cli: Cli, sheets: Path) -> None:
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        assert 'id="tests"' not in (sheets.parent / "report.html").read_text(encoding="utf-8")

    def test_what_is_unknown_is_not_said_to_be_false(self, cli: Cli, sheets: Path) -> None:
        _forget(sheets.iterdir(), "cpu.available_cores", "device.model")
        (sheets.parent / "etconfig.toml").write_text(
            "[[when]]\nif = 'os.name == \"linux\" && cpu.available_cores > 1'\n"
            '[when.options.ReferenceCpuBackend]\nnum_threads = 2\naccumulate = "fp64"\n'
        )
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        told = texts((sheets.parent / "report.html").read_text(encoding="utf-8"))
        reason = "cpu.available_cores > 1 is unknown: cpu.available_cores is not known on this device"
        assert f'os.name == "linux" holds; {reason}' in told
        assert f'os.name == "linux" does not hold; {reason}' in told
        for device in ("pixel-8", "raspberry-pi-5"):
            done = cli("profiles", "match", "--all", "--json", "--facts", f"sheets/{device}.json")
            reasons = [why for each in done.json["profiles"] for why in each["why"] if " is unknown: " in why]
            assert reasons
            for why in reasons:
                assert f"{why.partition(' is unknown: ')[0]} does not hold" not in told, why

    def test_advice_that_does_not_apply_has_a_reason(self, cli: Cli, sheets: Path) -> None:
        _forget(sheets.iterdir(), "cpu.cache.l2")
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        told = texts((sheets.parent / "report.html").read_text(encoding="utf-8"))
        assert "max(4096, cpu.cache.l2 / 2) is unknown: cpu.cache.l2 is not known on this device" in told
        assert "1048576 (1 MiB) comes from the default of ReferenceCpuOptions" in told
        assert "overridden4default of ReferenceCpuOptions (fact cpu.available_cores)" in told

    def test_a_device_that_does_not_resolve_has_facts(self, cli: Cli, sheets: Path) -> None:
        _forget([sheets / "pixel-8.json"], "cpu.logical_cores")
        (sheets.parent / "etconfig.toml").write_text(
            '[options.ReferenceCpuBackend]\nnum_threads = { expr = "cpu.logical_cores" }\n'
        )
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 1
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        facts = page.partition('<section id="facts">')[2].partition("</section>")[0]
        assert re.search('<th scope="row">pixel-8</th>.*<td>unknown</td>', facts)
        assert '<th scope="row">pixel-8</th><td class="short">unknown</td>' in page

    def test_a_sentence_lists_the_values_that_devices_have(self, cli: Cli, sheets: Path) -> None:
        _forget(sheets.iterdir(), "cpu.available_cores")  # the default
        (sheets.parent / "etconfig.toml").write_text(
            '[options.ReferenceCpuBackend]\nnum_threads = { expr = "min(cpu.logical_cores, 2)" }\n'
        )
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        told = texts((sheets.parent / "report.html").read_text(encoding="utf-8"))
        assert "It is min(cpu.logical_cores, 2), where cpu.logical_cores is one of 9, 4." in told

    def test_it_names_its_program_and_profiles(self, cli: Cli, sheets: Path) -> None:
        (sheets.parent / "etconfig.toml").write_text('profile_path = ["profiles"]\n')
        profile = sheets.parent / "profiles" / "my" / "board.toml"
        profile.parent.mkdir(parents=True)
        profile.write_text('[profile]\nname = "my/board"\nmatch = "true"\n')
        assert cli("report", "model.pte", "--facts", "sheets", "--output", "report.html").status == 0
        told = texts((sheets.parent / "report.html").read_text(encoding="utf-8"))
        assert hashlib.sha256((sheets.parent / "model.pte").read_bytes()).hexdigest()[:12] in told
        assert f"Written by etconfig {etconfig.__version__}." in told
        assert "my/boardprofiles/my/board.tomlit matches every device" in told.replace("\n", "")
        assert "generic/linux-arm64it matches, but my/board goes first" in told

    def test_without_the_library_nothing_is_written(
        self, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "jinja2", None)
        for arguments in (
            ("report", "model.pte", "--output", "r.html"),
            ("matrix", "model.pte", "--facts", "device.json", "--format", "html"),
            ("conformance", "ReferenceCpuBackend", "--report", "r.html"),
            ("bench", "model.pte", "--output", "r.html"),
        ):
            done = cli(*arguments)
            assert (done.status, done.stdout) == (2, ""), arguments
            assert "error: an HTML page needs the package jinja2, which is not installed" in done.stderr
            assert "[report]'" in done.stderr
            assert not (place / "r.html").exists()


class TestMeasurements:
    """`--bench` takes what `bench` and `tune` wrote, and refuses everything else."""

    @pytest.mark.parametrize("form", ["bench", "tune", "study"])
    def test_each_kind_of_file(self, cli: Cli, place: Path, form: str) -> None:
        path = place / f"{form}.json"
        if form == "study":
            head = {"etconfig_study": 1, "method": "forward"}
            path.write_text("".join(f"{json.dumps(each)}\n" for each in (head, *OUTCOMES)) + '{"options"')
        else:
            path.write_text(json.dumps(BENCH if form == "bench" else TUNE))
        assert cli("report", "model.pte", "--bench", path, "--output", "report.html").status == 0
        page = (place / "report.html").read_text(encoding="utf-8")
        told = texts(page)
        assert "<td>0.800</td><td>[0.700, 0.900]</td><td>faster</td>" in page
        assert ("failed: no such core" if form == "bench" else "failed: too slow") in told
        assert "Measurements: " in told
        assert page.count("<svg ") == 3

    @pytest.mark.parametrize(
        "content",
        [
            *(
                "",
                "{",
                "[]",
                "1",
                "{}",
                '{"etconfig_bench": 2}',
                '{"etconfig_study": 1}\n',
                "\ud800",
                "[" * 9999,
            ),
            *(
                json.dumps({**BENCH, key: value})
                for key in BENCH
                for value in (1, None, [1], {"a": 1})
                if key != "notes"
            ),
            json.dumps({**BENCH, "rows": [_row("x", -1, 1, 1, "same")]}),
            json.dumps({**BENCH, "rows": [_row("x", float("nan"), 0, 1, "same")]}),
            json.dumps({**TUNE, "outcomes": [{"options": 1}]}),
            json.dumps({**BENCH, "noise": {"ratio": 10**400}}),
        ],
        ids=range(len(BENCH) * 4 + 9),
    )
    def test_another_file_is_refused_or_shown(self, cli: Cli, place: Path, content: str) -> None:
        (place / "m.json").write_bytes(content.encode("utf-8", "surrogatepass"))
        done = cli("report", "model.pte", "--bench", "m.json", "--output", "report.html")
        if done.status:
            assert (done.status, done.stdout) == (2, "")
            assert "error: m.json cannot be measured: " in done.stderr or "m.json" in done.stderr
            assert not (place / "report.html").exists()

    def test_a_missing_file_is_refused(self, cli: Cli, place: Path) -> None:
        done = cli("report", "model.pte", "--bench", "none.json", "--output", "report.html")
        assert done.status == 2
        assert "none.json" in done.stderr


class NotedOptions(BackendOptions):
    """Options that are texts."""

    note: str | None = option(None, applies="load", doc="A text.")


def _matrix(names: list[str], value: object = None) -> DeviceMatrix:
    """A device for each text, with the text in every place that it can come from."""
    spec = BackendSpec(id="NotedBackend", options=NotedOptions, doc="Noted.", api=ApiRange(1, 1))
    registry = etconfig.FactSheet.empty()
    devices = []
    for at, text in enumerate(names):
        note = f"{at}: {text}".encode("utf-8", "replace").decode()  # others are refused
        layer = layer_from_overrides({"NotedBackend.note": str(value or note)})
        target = Target(method="forward", backends=("NotedBackend",), instances=())
        model = f"{at}: " + "".join(each for each in text if each.isprintable())[:200]
        facts = registry.with_overrides({"device.model": model, "memory.available": 1})
        resolution = Resolver.compile({"NotedBackend": spec}, (layer,), (target,)).resolve(facts)
        evidence = TuningEvidence(
            made=datetime.date(2026, 1, 1),
            model=text,
            engine=text,
            device={text: text},
            noise=1.0,
            objective="latency",
            whole=PairedRatio(ratio=0.5, low=0.4, high=0.6, pairs=9),
            options={text: PairedRatio(ratio=0.5, low=0.4, high=0.6, pairs=9)},
            find_span=lambda: Span(file="x"),
        )
        problem = Diagnostic(
            code="unknown-option",
            message=f"{at}: {text}",
            spans=(Span(file=text.replace("\0", ""), line=1, column=1, length=1, text=text),),
            notes=(text,),
            help=text,
            severity=Severity.WARNING,
        )
        amount = MemoryAmount(at + 1)
        parts = dict.fromkeys((*PARTS, "peak"), amount)
        devices.append(
            MatrixDevice(
                device=f"{at}: {text}",
                profile=text,
                selected_by=text,
                problems=(problem,),
                options={"forward:NotedBackend.note": f"{at}: {text}"},
                need=MemoryNeed(program=text, **parts, holders={text: amount}, notes=(text,)),
                resolution=replace(resolution, profile=text, evidence=(evidence,)),
            )
        )
    return DeviceMatrix(devices)


def _page(names: list[str], place: Path) -> str:
    """The page of such devices, with a program and measurements that have the first texts."""
    matrix = _matrix(names)
    differences = [
        MatrixDifference(
            device=text, part="option", option=text, expected=text, got=text, span=Span(file=text)
        )
        for text in names
    ]
    rows = [_row(text, 1.0, 0.5, 2.0, text) for text in names]
    file = place / "hostile.json"
    file.write_text(json.dumps({**BENCH, "method": names[0], "notes": names, "rows": rows}))
    further = [(differences_view(differences), ""), read_measurements(file)]
    tests = TestReport([_result(matrix.devices[at], name) for at, name in enumerate(names)], {})
    return device_page(matrix, tests=tests, further=further, programs=[_program(names)]).html


def _result(device: MatrixDevice, name: str) -> TestResult:
    """A failed test whose name and problems are hostile."""
    return TestResult(test=name, device=device.device, outcome="failed", problems=device.problems)


def _program(names: list[str]) -> etconfig.analysis.ProgramReport:
    """The report of a program whose methods, operators and backends have these names."""
    with etconfig.load_program(DIGITS / "digits.pte") as loaded:
        report = etconfig.analysis.inspect_program(loaded)
    method = report.methods[0]
    delegate = method.delegates[0]
    methods = [
        replace(
            method,
            name=text,
            inputs=(text,),
            outputs=(text,),
            operators={text: 1},
            delegates=(replace(delegate, backend=text),),
        )
        for text in names
    ]
    return replace(report, path=names[0].replace("/", ""), methods=tuple(methods))


class TestHostileTexts:
    """Every text is a text, wherever it comes from."""

    def test_the_elements_and_attributes_are_those_of_a_harmless_page(self, place: Path) -> None:
        hostile = hostile_markup()
        harmless = [f"text {at}" for at in range(len(hostile))]
        page = _page(hostile, place)
        assert structure(page) == structure(_page(harmless, place))
        assert all(line.isprintable() for line in page.split("\n"))
        assert "&lt;script&gt;" in page

    @pytest.mark.weekly
    def test_no_script_runs_in_a_browser(self, place: Path) -> None:
        canary = "<!DOCTYPE html><html><body><script>" + RAN + "</script></body></html>"
        assert "data-ran" in _dom(place, canary)
        found = _dom(place, _page(hostile_markup(), place))
        assert "<h2" in found
        assert "data-ran" not in found
        assert 'class="filter"' in found  # the page's own script runs


def _dom(place: Path, page: str) -> str:
    """Return the document of a page after its scripts ran."""
    names = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("no headless browser: install chromium, or name one in CHROMIUM")
    file = place / "shown.html"
    file.write_text(page, encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place / 'browser'}")
    done = subprocess.run(
        [browser, *options, "--virtual-time-budget=5000", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=110,
    )
    return done.stdout


class TestAccessibility:
    """axe-core finds nothing to complain about."""

    @pytest.mark.weekly
    def test_axe_finds_no_violation(self, cli: Cli, sheets: Path) -> None:
        axe = os.environ.get("AXE_CORE")
        if axe is None:
            pytest.skip("name the file axe.min.js of the npm package axe-core in AXE_CORE")
        cli("report", "model.pte", "--facts", "sheets", "--output", "report.html")
        page = (sheets.parent / "report.html").read_text(encoding="utf-8")
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        run = (
            "for (const each of document.querySelectorAll('details')) each.open = true;"
            "axe.run().then((found) => { document.documentElement.dataset.axe = JSON.stringify("
            "found.violations.map((each) => each.id)); });"
        )
        script = Path(axe).read_text(encoding="utf-8")
        found = _dom(
            sheets.parent, page.replace("</body>", f"<script>{script}</script><script>{run}</script></body>")
        )
        assert 'data-axe="[]"' in found


class TestSize:
    """A page of many devices is small: what they have in common is written once."""

    def test_fifty_devices_have_at_most_a_megabyte(self, cli: Cli, sheets: Path) -> None:
        known = json.loads((sheets / "raspberry-pi-5.json").read_text())
        for at in range(50 - 2):
            known["facts"]["cpu.available_cores"]["value"] = at + 1
            known["facts"]["device.model"]["value"] = f"Board {at}"
            (sheets / f"board-{at:02}.json").write_text(json.dumps(known))
        done = cli("report", "model.pte", "--facts", "sheets", "--output", "report.html")
        assert done.stdout == "50 devices shown in report.html\n"
        assert (sheets.parent / "report.html").stat().st_size < 1_000_000


def test_junit_has_the_elements_and_attributes_that_pytest_writes(place: Path) -> None:
    (place / "test_each.py").write_text(
        "import pytest\ndef test_a(record_property): record_property('a', 1); print(1)\n"
        "def test_b(): assert 0\n@pytest.mark.skip\ndef test_c(): pass\n"
        "@pytest.fixture\ndef broken(): raise ValueError\ndef test_d(broken): pass\n"
    )
    options = ("-p", "no:cacheprovider", "--junitxml=theirs.xml", "-o", "junit_logging=all")
    subprocess.run([sys.executable, "-m", "pytest", *options, "test_each.py"], capture_output=True, cwd=place)
    cases = [
        JunitCase(name="a", group="g", text="printed"),
        JunitCase(name="b", group="g", outcome="failure", message="m", text="t", seconds=0.5),
        JunitCase(name="c", group="g", outcome="skipped", message="m"),
        JunitCase(name="d", group="g", outcome="error", message="m"),
    ]
    ours = ElementTree.fromstring(junit_xml("suite", cases))
    assert {*_names(ours)} <= {*_names(ElementTree.parse(place / "theirs.xml").getroot())}
    counts = {name: ours[0].get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "0.500"}


def _names(root: ElementTree.Element) -> Iterator[tuple[str, str]]:
    return ((each.tag, name) for each in root.iter() for name in ("", *each.attrib))
