"""`etconfig test`: conditions on options and facts, on each device of a project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import Outcome
from pages import texts

Cli = Callable[..., Outcome]

DIGITS = Path(__file__).parents[1] / "data" / "digits" / "digits.pte"
CORES = """
[[test]]
name = "cores"
assert = "ReferenceCpuBackend.num_threads <= cpu.logical_cores"
"""
THREADS = """
[options.ReferenceCpuBackend]
num_threads = {}
"""


def sheet(name: str, **facts: object) -> None:
    values = {key.replace("__", "."): {"value": value} for key, value in facts.items()}
    Path("sheets").mkdir(exist_ok=True)
    Path(f"sheets/{name}.json").write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": values}))


def project(text: str, threads: object = 4) -> None:
    options = THREADS.format(threads)
    Path("etconfig.toml").write_text(f'programs = ["{DIGITS.as_posix()}"]\n{text}\n{options}')


@pytest.fixture
def devices(place: Path) -> None:
    """A small board, a large one, and one of which nothing is known."""
    sheet("small", cpu__logical_cores=2, os__name="linux")
    sheet("large", cpu__logical_cores=8, os__name="android")


def outcomes(done: Outcome) -> dict[tuple[str, str], str]:
    found = json.loads(done.stdout)["results"]
    return {(each["test"], each["device"]): each["outcome"] for each in found}


@pytest.mark.usefixtures("devices")
class TestResults:
    """A test passes, fails, is undecided, or is for other devices."""

    def test_each_device_of_the_project_is_tried(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}')
        done = cli("test", "--json")
        assert done.status == 1
        assert outcomes(done) == {
            ("resolves", "large"): "passed",
            ("cores", "large"): "passed",
            ("resolves", "small"): "passed",
            ("cores", "small"): "failed",
        }

    def test_a_failing_one_shows_option_value_origin_and_facts(self, cli: Cli) -> None:
        project(f'devices = ["sheets/*.json"]\n{CORES}')
        done = cli("test")
        assert "error[failed-test]: 'cores' does not hold in forward" in done.stdout
        assert "cpu.logical_cores is 2" in done.stdout
        assert "ReferenceCpuBackend.num_threads is 4 from project" in done.stdout
        assert "on small" in done.stdout
        assert "1 of 2 tests holds on every device; all hold on 1 of 2 devices" in done.stderr

    def test_where_leaves_devices_out(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}where = \'os.name == "android"\'')
        done = cli("test", "--json")
        assert (done.status, outcomes(done)["cores", "small"]) == (0, "skipped")

    def test_an_unknown_fact_makes_it_undecided_unless_a_rule_says_otherwise(self, cli: Cli) -> None:
        text = CORES.replace("logical", "available")
        project(f'devices = ["sheets"]\n{text}')
        done = cli("test", "--json")
        assert (done.status, outcomes(done)["cores", "small"]) == (1, "undecided")
        project(f'devices = ["sheets"]\n[rules]\nundecided-test = "warning"\n{text}')
        done = cli("test")
        assert (done.status, "warning[undecided-test]" in done.stdout) == (0, True)

    def test_one_for_no_device_is_a_warning(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}where = "cpu.logical_cores > 8"')
        done = cli("test")
        assert (done.status, "no device tries the test 'cores'" in done.stdout) == (0, True)
        assert "etconfig.toml:6:10" in done.stdout
        assert "1 of 2 tests holds on every device; all hold on 2 of 2 devices" in done.stderr
        assert cli("test", "--fail-on", "warning").status == 1
        project(f'devices = ["sheets"]\n{CORES}where = "power.battery_level > 0.5"')
        assert "`where` needs power.battery_level, which no device has" in cli("test").stdout

    @pytest.mark.parametrize("methods", ['["foward"]', '["forward", "foward"]', '["foward*"]'])
    @pytest.mark.parametrize("command", [("validate",), ("test",)], ids=["validate", "test"])
    def test_a_method_that_no_program_has_is_an_error(
        self, cli: Cli, command: tuple[str, ...], methods: str
    ) -> None:
        project(f'devices = ["sheets"]\n{CORES}methods = {methods}')
        done = cli(*command)
        assert done.status == (1 if command == ("validate",) else 2)
        assert "error[unknown-method]" in done.stdout + done.stderr
        assert "did you mean 'forward'?" in done.stdout + done.stderr

    def test_a_method_of_another_program_is_a_warning_that_names_it(self, cli: Cli) -> None:
        Path("etconfig.toml").write_text(f'devices = ["sheets"]\n{CORES}methods = ["foward"]')
        assert cli("validate").status == 0
        done = cli("test", str(DIGITS))
        assert (done.status, "warning[untried-test]" in done.stdout) == (0, True)
        assert "help: did you mean 'forward'?; no method is called 'foward'" in done.stdout

    def test_a_device_that_does_not_resolve_fails_and_skips_the_tests(self, cli: Cli) -> None:
        project(CORES, threads="{ expr = 'cpu.available_cores' }")
        done = cli("test", "--facts", "sheets/small.json", "--json")
        assert outcomes(done) == {("resolves", "small"): "failed", ("cores", "small"): "skipped"}
        done = cli("test", "--facts", "sheets")
        assert "0 of 2 tests hold on every device; all hold on 0 of 2 devices" in done.stderr
        assert "untried-test" not in done.stdout
        assert "note: on every device" in done.stdout

    @pytest.mark.parametrize("level", ["off", "note"])
    @pytest.mark.parametrize(
        ("code", "threads"),
        [
            ("invalid-value", "4\nscratch_bytes = 'x'"),
            ("unknown-option", "4\nnum_thread = 4"),
            ("unknown-fact-value", "{ expr = 'cpu.available_cores' }"),
            ("unknown-profile", "4"),
            ("wrong-type", "4"),
        ],
    )
    def test_no_rule_and_no_comment_hides_why_a_device_does_not_resolve(
        self, cli: Cli, code: str, threads: str, level: str
    ) -> None:
        Path("profiles/acme").mkdir(parents=True)
        texts = {"unknown-profile": 'extends = ["none"]', "wrong-type": "match = 1"}
        allowed = f"# etconfig: allow {code} because we said so\n"
        Path("profiles/acme/a.toml").write_text(
            f'[profile]\nname = "acme/a"\n{allowed}{texts.get(code, "")}\n'
            + (allowed + THREADS.format(threads)).replace("num_thread", f"{allowed}num_thread")
        )
        head = 'profile = "acme/a"\nprofile_path = ["profiles"]\ndevices = ["sheets"]\n'
        Path("etconfig.toml").write_text(
            f'{head}programs = ["{DIGITS.as_posix()}"]\n[rules]\n{code} = "{level}"'
        )
        for command in (("test",), ("matrix",), ("resolve", "--facts", "sheets/small.json")):
            done = cli(*command)
            assert done.status != 0, command
            assert f"error[{code}]" in done.stdout + done.stderr, command

    def test_findings_of_the_resolution_count_for_fail_on_only(self, cli: Cli) -> None:
        condition = "[[when]]\nif = 'cpu.available_cores > 9'\noptions.ReferenceCpuBackend.num_threads = 1\n"
        project(f'devices = ["sheets"]\n{CORES}{condition}', threads=1)
        done = cli("test")
        assert (done.status, "undecided-condition" in done.stdout) == (0, False)
        page = ("report", "--output", "report.html", "--force")
        assert cli(*page).status == 0
        done = cli("test", "--fail-on", "note")
        assert (done.status, "note[undecided-condition]" in done.stdout) == (1, True)
        assert cli(*page, "--fail-on", "note").status == 1

    def test_lock_takes_the_devices_of_the_project(self, cli: Cli) -> None:
        project('devices = ["sheets", "pi-4"]')
        assert cli("lock").status == 0
        locked = json.loads(Path("etconfig.lock").read_text())["devices"]
        assert {each["name"] for each in locked} == {"small", "large", "raspberry-pi/pi-4"}
        assert cli("lock", "--check").status == 0
        assert cli("lock", "--check", "--facts", "sheets/small.json").status == 1

    def test_results_need_their_directory(self, cli: Cli) -> None:
        project('devices = ["sheets"]')
        done = cli("test", "--junit", "out/results.xml")
        assert (done.status, "create the directory 'out' first" in done.stderr) == (2, True)

    def test_junit_names_files_of_the_repository(self, cli: Cli) -> None:
        Path(".git").mkdir()
        project(f'devices = ["sheets"]\n{CORES}', threads="'x'")
        cli("test", "--junit", "results.xml")
        text = Path("results.xml").read_text()
        assert ">etconfig.toml:" in text
        assert str(Path.cwd()) not in text

    def test_without_a_project_file_or_a_program_there_is_nothing_to_test(self, cli: Cli) -> None:
        done = cli("test")
        assert (done.status, "there is no etconfig.toml here or above" in done.stderr) == (2, True)
        assert cli("test", str(DIGITS)).status == 0

    def test_expected_options_of_other_devices_are_left_out_for_devices_that_are_named(
        self, cli: Cli
    ) -> None:
        project("")
        assert cli("matrix", "--facts", "sheets/small.json", "--write-expect", "expected.toml").status == 0
        project('devices = ["sheets"]\nexpect = "expected.toml"')
        done = cli("test")
        assert (done.status, "the device is not in the file" in done.stdout) == (1, True)
        assert "note: on large" in done.stdout
        assert "etconfig matrix --write-expect expected.toml" in done.stdout
        done = cli("test", "--facts", "sheets/large.json", "--json")
        assert (done.status, outcomes(done)["expected options", "large"]) == (0, "skipped")
        done = cli("test", "--facts", "sheets/small.json", "--json")
        assert (done.status, outcomes(done)["expected options", "small"]) == (0, "passed")

    def test_expected_options_count_too(self, cli: Cli) -> None:
        project("")
        assert cli("matrix", "--facts", "sheets", "--write-expect", "expected.toml").status == 0
        project('devices = ["sheets"]\nexpect = "expected.toml"')
        assert cli("test").status == 0
        project('devices = ["sheets"]\nexpect = "expected.toml"', threads=2)
        done = cli("test", "--json")
        assert (done.status, outcomes(done)["expected options", "small"]) == (1, "failed")

    def test_devices_of_a_directory_are_in_the_order_of_names(self, cli: Cli) -> None:
        names = [f"d{number}" for number in range(40)]
        for name in reversed(names):
            sheet(name)
        project('devices = ["sheets"]')
        found = [each["device"] for each in json.loads(cli("test", "--json").stdout)["results"]]
        assert found == sorted(found)

    def test_a_test_on_facts_alone_needs_no_method(self, cli: Cli) -> None:
        project('devices = ["sheets"]\n[[test]]\nname = "few"\nassert = "cpu.logical_cores < 8"')
        assert outcomes(cli("test", "--json"))["few", "large"] == "failed"

    def test_known_devices_and_those_of_the_command_line(self, cli: Cli) -> None:
        project(f'devices = ["pi-5", "google/*"]\n{CORES}')
        assert {device for _, device in outcomes(cli("test", "--json"))} >= {
            "raspberry-pi/pi-5",
            "google/pixel-8",
        }
        done = cli("test", "--devices", "sheets", "--device", "pi-4", "--json")
        assert {device for _, device in outcomes(done)} == {"small", "large", "raspberry-pi/pi-4"}

    def test_an_empty_directory_is_named_with_its_option(self, cli: Cli) -> None:
        project(CORES)
        Path("empty").mkdir()
        for option in ("--devices", "--facts"):
            assert f"invalid value for '{option}'" in cli("test", option, "empty").stderr

    def test_without_devices_it_is_this_one(self, cli: Cli) -> None:
        project(CORES.replace("<= cpu.logical_cores", "== 4"))
        assert outcomes(cli("test", "--json"))["cores", "this device"] == "passed"

    def test_results_are_junit_xml(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}')
        assert cli("test", "--junit", "results.xml").status == 1
        (suite,) = ElementTree.parse("results.xml").getroot()
        assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
        assert cli("test", "--junit", "results.xml").status == 1  # its own file is replaced
        (case,) = suite.iter("failure")
        lines = str(case.text).splitlines()
        assert len({*lines}) == len(lines)
        Path("other.xml").write_text("<testsuites/>")
        assert cli("test", "--junit", "other.xml").status == 2

    @pytest.mark.parametrize(
        ("level", "status", "failures", "levels"),
        [("error", 1, "1", ["error"]), ("warning", 0, "0", ["warning"]), ("off", 0, "0", [])],
    )
    def test_every_format_has_the_levels_of_the_project(
        self, cli: Cli, level: str, status: int, failures: str, levels: list[str]
    ) -> None:
        project(f'devices = ["sheets"]\n[rules]\nfailed-test = "{level}"\n{CORES}')
        done = cli("test", "--json", "--junit", "results.xml", "--html", "results.html")
        assert done.status == status
        (suite,) = ElementTree.parse("results.xml").getroot()
        assert suite.get("failures") == failures
        found = [each["severity"] for result in done.json["results"] for each in result["problems"]]
        assert found == levels
        assert (f"{level}: etconfig.toml:" in Path("results.html").read_text()) == bool(levels)

    def test_results_are_a_page(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}')
        done = cli("test", "--html", "results.html")
        assert done.status == 1
        page = Path("results.html").read_text()
        for text in ("large", "small", "failed", "does not hold", str(done.stderr.splitlines()[-1])):
            assert text in page
        assert page.index('class="error">failed<') < page.index("<summary>Passed and skipped</summary>")
        assert "u000a" not in page
        assert str(Path.cwd()) not in page

    def test_a_page_has_one_row_for_what_devices_have_in_common(self, cli: Cli) -> None:
        text = '[[test]]\nname = "{}"\nassert = "power.battery_level > 0.5"\nwhere = \'os.name == "{}"\'\n'
        project('devices = ["sheets"]\n' + text.format("a", "linux") + text.format("b", "ios"))
        sheet("other", os__name="linux")
        assert cli("test", "--html", "results.html", "--junit", "results.xml").status == 1
        told = texts(Path("results.html").read_text())
        level = "power.battery_level > 0.5 is unknown: power.battery_level is not known on this device"
        assert f"undecidedaother, smallis undecided; {level}" in told
        assert 'skippedbevery deviceos.name == "ios" does not hold' in told
        assert 'skippedalargeos.name == "linux" does not hold' in told
        skipped = [each.get("message") for each in ElementTree.parse("results.xml").iter("skipped")]
        assert 'os.name == "ios" does not hold' in skipped

    def test_a_backend_that_is_not_installed_or_broken_is_the_reason(self, cli: Cli) -> None:
        project('[[test]]\nname = "a"\nassert = "XnnpackBackend.num_threads > 1"')
        assert "install the plugin that declares XnnpackBackend" in cli("test").stderr
        assert "install the plugin that declares XnnpackBackend" in cli("validate").stdout

    @pytest.mark.parametrize("path", ["etconfig.toml", "sheets/small.json", "expected.toml"])
    @pytest.mark.parametrize(
        "command",
        [("test", "--junit"), ("test", "--html"), ("matrix", "--write-expect"), ("report", "--output")],
        ids=["junit", "html", "matrix", "report"],
    )
    def test_a_file_of_the_project_is_not_replaced(
        self, cli: Cli, command: tuple[str, str], path: str
    ) -> None:
        project("")
        assert cli("matrix", "--facts", "sheets", "--write-expect", "expected.toml").status == 0
        project('devices = ["sheets"]\nexpect = "expected.toml"')
        before = Path(path).read_bytes()
        done = cli(*command, path, "--force")
        if (command[0], path) == ("matrix", "expected.toml"):  # which it is for
            assert done.status == 0
        else:
            assert done.stderr.endswith(f"cannot write {path}: the command reads it; give another file\n")
        assert Path(path).read_bytes() == before

    @pytest.mark.parametrize("command", [("test", "--junit"), ("report", "--output"), ("run", "--output")])
    @pytest.mark.parametrize(
        "path", ["model.pte", "profiles/acme/b.toml", "profiles/acme/base.toml", "m.bin"]
    )
    def test_force_replaces_nothing_that_the_project_names(
        self, cli: Cli, command: tuple[str, str], path: str
    ) -> None:
        shutil.copy(DIGITS, "model.pte")
        Path("etconfig.toml").write_text(
            'programs = ["model.pte"]\nprofile_path = ["profiles"]\nprofile = "acme/b"\n'
            'devices = ["sheets"]\n[model.m]\nbackends = ["ReferenceCpuBackend"]\nfile = "m.bin"\n'
        )
        Path("m.bin").write_bytes(b"weights")
        Path("profiles/acme").mkdir(parents=True)
        Path("profiles/acme/base.toml").write_text('[profile]\nname = "acme/base"\n')
        extends = '[profile]\nname = "acme/b"\nextends = ["acme/base"]\n'
        Path("profiles/acme/b.toml").write_text(extends)
        before = Path(path).read_bytes()
        program = ["model.pte", "--input", DIGITS.parent / "digits.npz"] if command[0] == "run" else []
        done = cli(command[0], *program, command[1], path, "--force")
        assert done.stderr.endswith(f"cannot write {path}: the command reads it; give another file\n")
        assert Path(path).read_bytes() == before

    def test_one_for_no_method_is_not_for_all(self, cli: Cli) -> None:
        project(f'devices = ["sheets"]\n{CORES}methods = []')
        assert outcomes(cli("test", "--json"))["cores", "small"] == "skipped"


@pytest.mark.usefixtures("devices")
class TestDeclaration:
    """Wrong tests are found by `validate`, with the checks of all expressions."""

    @pytest.mark.parametrize(
        ("text", "code", "message"),
        [
            ('name = "a"', "missing-key", "has no 'assert'"),
            ('assert = "true"', "missing-key", "has no 'name'"),
            ('name = ""\nassert = "true"', "invalid-name", "needs a name"),
            ('name = "resolves"\nassert = "true"', "invalid-name", "etconfig adds one"),
            ('name = "expected options"\nassert = "true"', "invalid-name", "etconfig adds one"),
            ('name = "a"\nassert = "true"\nmethod = "x"', "unknown-key", "has no key 'method'"),
            ('name = "a"\nassert = "cpu.arch"', "expression-type", "needs a bool"),
            ('name = "a"\nassert = "ReferenceCpuBackend.num_thread > 1"', "unknown-option", "num_thread'"),
            ('name = "a"\nassert = "Nobody.x > 1"', "unknown-backend", "'Nobody'"),
            (
                'name = "a"\nassert = "forward:ReferenceCpuBackend.num_threads > 1"',
                "invalid-expression",
                'methods = ["forward"]',
            ),
            ('name = "a"\nassert = "ReferenceNpuBackend.precision == 1"', "expression-type", "string"),
            ('name = "a"\nassert = "ReferenceNpuBackend.precision == \'fp17\'"', "expression-type", "never"),
            (
                'name = "a"\nassert = "true"\nwhere = "ReferenceCpuBackend.num_threads > 1"',
                "unknown-fact",
                "no fact is called 'ReferenceCpuBackend.num_threads'; `where` selects devices by facts",
            ),
            ('name = "a"\nassert = 1', "wrong-type", "must be a string"),
            (
                'name = "a"\nassert = "true"\n[[test]]\nname = "a"\nassert = "true"',
                "invalid-name",
                "two tests",
            ),
        ],
    )
    def test_what_is_wrong_is_a_finding(self, cli: Cli, text: str, code: str, message: str) -> None:
        project(f"[[test]]\n{text}")
        done = cli("validate", "--format", "json")
        assert done.status == 1
        assert any(
            each["code"] == code and message in f"{each['message']}; {each['help']}"
            for each in json.loads(done.stdout)
        )
        assert cli("test").status == 2

    def test_no_mistake_of_a_project_file_hides_another(self, cli: Cli) -> None:
        Path("profiles/acme").mkdir(parents=True)
        Path("profiles/acme/a.toml").write_text('[profile]\nname = "acme/a"\nmatch = 1\n')
        Path("sheets/broken.json").write_text("{}")
        project(
            'profile_path = ["profiles"]\ndevices = ["pi-6", "sheets"]\nexpect = "none.toml"\n'
            '[rules]\nunusal-value = "off"\n[[rules.files]]\npaths = ["profile"]\nunusual-value = "off"\n'
            '[[test]]\nname = ""\nassert = "ReferenceCpuBackend.num_thread > 1"\nmethods = ["foward"]\n'
            '[[test]]\nname = "b"\nwhere = "os.nam == 1"\nassert = "cpu.logical_coers > 1"',
            threads="'x'",
        )
        done = cli("validate", "--format", "json")
        found = sorted(each["code"] for each in json.loads(done.stdout))
        assert found == [
            "invalid-name",
            "invalid-rule",
            "invalid-value",
            "unknown-device",
            "unknown-fact",
            "unknown-fact",
            "unknown-method",
            "unknown-option",
            "unreadable-file",
            "unused-allowance",
            "wrong-type",
        ]
        project('devices = ["sheets"]')
        assert "error[invalid-fact-sheet]" in cli("validate").stdout

    def test_an_option_means_no_fact_and_a_fact_means_no_option(self, cli: Cli) -> None:
        project('[[test]]\nname = "a"\nassert = "cpu.skip_copy_output > 1"')
        assert "Backend" not in cli("validate").stdout
        project('[[test]]\nname = "a"\nwhere = "cpu.arch == 64"\nassert = "true"')
        assert "compare a text with a text, in quotes; its usual values are x86_64" in cli("validate").stdout

    def test_a_comment_for_a_finding_of_another_command_is_not_called_unused(self, cli: Cli) -> None:
        project(
            'devices = ["sheets"]\n'
            + CORES.replace("assert", "# etconfig: allow failed-test because of us\nassert")
        )
        assert cli("test").status == 0
        assert cli("validate", "--strict").status == 0

    def test_where_holds_on_some_devices(self, cli: Cli) -> None:
        project(f"{CORES}where = 'os.name == \"embedded\"'")
        done = cli("validate")
        assert (done.status, "warning[unusual-value]" in done.stdout) == (0, True)
        project(f"{CORES}# etconfig: allow unusual-value\nwhere = 'os.name == \"embedded\"'")
        assert cli("validate", "--strict").status == 0

    @pytest.mark.parametrize(
        ("text", "code"),
        [("nobody", "unknown-device"), ("none.json", "unreadable-file"), ("none/*", "unknown-device")],
    )
    def test_devices_exist(self, cli: Cli, text: str, code: str) -> None:
        project(f'devices = ["{text}"]\n{CORES}')
        done = cli("validate", "--format", "json")
        assert [each["code"] for each in json.loads(done.stdout)] == [code]
        assert cli("test").status == 2

    def test_a_missing_file_of_expected_options_is_an_error(self, cli: Cli) -> None:
        project('devices = ["sheets"]\nexpect = "none.toml"')
        assert cli("test").status == 2
