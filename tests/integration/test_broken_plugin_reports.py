"""A plugin package that breaks a rule gets a report with the file, the symbol, the rule and a fix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from broken_plugins import CASES, FILES
from command_line import Outcome as Outcome_
from delegating_programs import delegating_program
from plugin_data import write_distribution

from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.kit.outcomes import Outcome
from etconfig.conformance.runner.runner import run_check
from etconfig.conformance.subject.subject import Subject

CHECKS = {check.id: check for check in all_checks()}


@pytest.fixture
def subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Subject]]:
    """A function that installs the package, with one piece of one file changed."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(file: str = "plugin.py", right: str = "", wrong: str = "") -> Subject:
        package = tmp_path / "acme_npu"
        (package / "golden").mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "golden" / "add.pte").write_bytes(delegating_program("AcmeBackend"))
        texts = {name: text.lstrip() for name, text in FILES.items()}
        assert right in texts[file]
        texts[file] = texts[file].replace(right, wrong, 1)
        write_distribution(
            tmp_path,
            "acme_npu-1.0.dist-info",
            texts.pop("entry_points.txt"),
            "Name: acme-npu\nVersion: 1.0\n",
        )
        for name, text in texts.items():
            (package / name).write_text(text)
        return Subject(Settings(backend="AcmeBackend", search_path=(str(tmp_path),)))

    yield install
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_npu"]:
        del sys.modules[name]


class TestBrokenPlugins:
    """Each broken rule is reported with the place, the problem and a fix."""

    def test_the_unchanged_package_breaks_no_rule_that_this_process_can_check(
        self, subject: Callable[..., Subject]
    ):
        acme = subject()
        checks = [check for check in all_checks() if check.level == 0 and not check.is_isolated]
        results = {check.id: run_check(check, acme, {}) for check in checks}
        assert {
            name: each.outcome for name, each in results.items() if each.outcome is not Outcome.PASSED
        } == {"program-values": Outcome.NOT_APPLICABLE}  # the package declares no `from_program`

    @pytest.mark.parametrize(("file", "right", "wrong", "rule", "report"), CASES)
    def test_the_report_is_complete(
        self,
        subject: Callable[..., Subject],
        tmp_path: Path,
        file: str,
        right: str,
        wrong: str,
        rule: str,
        report: str,
    ):
        result = run_check(CHECKS[rule], subject(file, right, wrong), {})
        assert result.outcome is Outcome.FAILED
        assert (result.message or "").replace(str(tmp_path), "...") == report

    def test_no_report_sends_the_author_to_the_author(self):
        assert len(CASES) >= 25
        assert [report for *_, report in CASES if "to its author" in report] == []

    @pytest.mark.parametrize("command", [("doctor",), ("schema", "AcmeBackend"), ("backends", "AcmeBackend")])
    def test_in_the_checkout_of_the_vendor_commands_name_symbol_rule_and_fix(
        self,
        subject: Callable[..., Subject],
        tmp_path: Path,
        cli: Callable[..., Outcome_],
        command: tuple[str, ...],
    ):
        subject("plugin.py", "Runs on Acme's NPU.", "")
        recorded = tmp_path / "acme_npu-1.0.dist-info" / "direct_url.json"
        recorded.write_text('{"url": "file:///acme", "dir_info": {"editable": true}}')
        done = cli(*command)
        said = " ".join(f"{done.stdout} {done.stderr}".split())
        assert "acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised ValueError" in said
        assert "correct this line: the hook returns its answer, and raises nothing" in said
        assert "to its author" not in said

    def test_an_author_reads_the_place_once(self, subject: Callable[..., Subject], tmp_path: Path):
        broken = subject("plugin.py", "Runs on Acme's NPU.", "")
        recorded = tmp_path / "acme_npu-1.0.dist-info" / "direct_url.json"
        recorded.write_text('{"url": "file:///acme", "dir_info": {"editable": true}}')
        message = run_check(CHECKS["signature-bind"], broken, {}).message or ""
        assert message.startswith("acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised ")
        assert message.count("plugin.py:13") == 1

    def test_facts_of_a_plugin_that_is_not_installed_may_be_read(self, subject: Callable[..., Subject]):
        reading = 'return {"cores": facts.get("gizmo.count", 2)}'
        acme = subject("plugin.py", 'return {"cores": 2}', reading)
        assert run_check(CHECKS["recommend-valid"], acme, {}).outcome is Outcome.PASSED


class TestDoctor:
    """`etconfig doctor` reports what no other command would before a program is resolved."""

    @pytest.mark.parametrize(
        ("file", "right", "wrong", "lines"),
        [
            (
                "plugin.py",
                'return {"cores": 2}',
                'return {"core": 2}',
                (
                    "  error  backend AcmeBackend: recommend of plugin 'AcmeBackend' (etconfig.backends) "
                    "failed: AcmeBackend has no option 'core'",
                    "         help: in acme_npu.plugin:recommend (plugin.py:8), look facts up with get()",
                ),
            ),
            (
                "entry_points.txt",
                "[etconfig.facts]",
                "[etconfig.fact]",
                (
                    "  error  plugin acme-npu 1.0: it has entry points in the group 'etconfig.fact', which "
                    "etconfig does not read",
                    "         help: write 'etconfig.facts' in pyproject.toml, and install it again",
                ),
            ),
            (
                "facts.py",
                'system.read_int("/sys/acme/cores")',
                '"many"',
                (
                    "warning  facts: detector 'acme' failed: ValueError: acme.cores: expected ",
                    "         help: correct it, or report it to the author of its plugin",
                ),
            ),
            (
                "entry_points.txt",
                "AcmeBackend = acme_npu.kit",
                "AcmeBakend = acme_npu.kit",
                (
                    "warning  backend AcmeBakend: acme-npu 1.0 contributes to its conformance, but no "
                    "installed plugin declares it",
                    "         help: did you mean 'AcmeBackend'?",
                ),
            ),
        ],
    )
    def test_a_mistake_of_the_vendor_is_found(
        self,
        subject: Callable[..., Subject],
        cli: Callable[..., Outcome_],
        file: str,
        right: str,
        wrong: str,
        lines: tuple[str, ...],
    ):
        subject(file, right, wrong)
        said = cli("doctor").stdout
        for line in lines:
            assert f"\n{line}" in said

    def test_a_group_of_a_newer_etconfig_is_no_problem(
        self, subject: Callable[..., Subject], cli: Callable[..., Outcome_]
    ):
        subject("entry_points.txt", "[etconfig.facts]", "[etconfig.schedulers]\nacme = x\n[etconfig.facts]")
        assert "etconfig.schedulers" not in cli("doctor").stdout
