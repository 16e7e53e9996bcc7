"""The checks of imports and of missing resources: behavior that their mutants do not show."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from etconfig_reference import plugin
from etconfig_reference.cpu import ReferenceCpuBackend
from kit_checks import subject

from etconfig.conformance.checks import imports, missing_resources
from etconfig.conformance.checks.check import Check
from etconfig.conformance.kit.outcomes import CheckFailedError, NotApplicableError
from etconfig.conformance.process.child_process import Ended
from etconfig.errors import PluginLoadError
from etconfig.plugin.v1 import Availability, BackendRequest, BackendSpec, hookimpl

REFERENCE = "etconfig_reference.plugin"
ASKING = "etconfig.conformance.process.loading.ask_process"


def message_of(check: Check) -> str:
    with pytest.raises(CheckFailedError) as caught:
        check.run(subject())
    return str(caught.value)


class TestLoading:
    """Loading is fast, works in any order, and does not end the process."""

    @pytest.fixture
    def answer(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Replace the answer of the process that loads the plugin."""

        def give(**said: Any) -> None:
            usual = {"problem": None, "seconds": 0.1, "options": [], "places": {}}
            monkeypatch.setattr(ASKING, lambda *given, **named: Ended(answer={**usual, **said}))

        return give

    def test_the_best_time_of_a_slow_plugin_is_reported(self, answer: Callable[..., None]):
        answer(seconds=0.75)
        assert message_of(imports.import_budget) == (
            f"{REFERENCE}: loading it took 0.75 s, expected at most 0.6 s; postpone costly imports, and "
            "whatever waits, until a backend is created"
        )

    @pytest.mark.parametrize(
        ("check", "expected"),
        [
            (imports.import_budget, "ImportError: no module named acme"),
            (
                imports.import_reentrant,
                f"{REFERENCE}, imported before etconfig: ImportError: no module named acme; import "
                "everything that the plugin needs",
            ),
        ],
    )
    def test_the_reason_why_a_plugin_cannot_be_loaded_is_reported(
        self, answer: Callable[..., None], check: Check, expected: str
    ):
        answer(problem="ImportError: no module named acme")
        assert message_of(check) == expected

    def test_a_plugin_with_changing_options_is_reported_with_both(self, answer: Callable[..., None]):
        answer(options=[["num_threads"]])
        message = message_of(imports.import_reentrant)
        assert message.startswith(
            f"{REFERENCE}, imported before etconfig: it declares the options num_threads, "
        )
        assert message.endswith("scratch_bytes, accumulate; declare the same options each time")

    @pytest.mark.posix
    def test_a_plugin_that_ends_the_process_is_reported(self, monkeypatch: pytest.MonkeyPatch):
        ended = Ended(problem="its process ended with signal SIGSEGV")
        monkeypatch.setattr(ASKING, lambda *given, **named: ended)
        assert message_of(imports.import_budget) == (
            f"{REFERENCE}: loading it ends the process: its process ended with signal SIGSEGV; "
            "its import must return"
        )


class TestPurity:
    """State that loading changes is named."""

    @pytest.fixture
    def loading(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
        """Let the plugin do something when it is loaded, without permanent audit hooks."""
        monkeypatch.setattr(imports, "watch_actions", list)
        monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)

        def do(work: Callable[[], object]) -> None:
            @hookimpl
            def etconfig_backend(request: BackendRequest) -> BackendSpec:
                work()
                return plugin.SPECS[request.name]

            monkeypatch.setattr(plugin, "etconfig_backend", etconfig_backend)

        return do

    def test_items_that_were_added_are_shown(self, loading: Callable[..., None]):
        before = list(sys.path)
        loading(lambda: sys.path.append("/opt/acme"))
        assert message_of(imports.import_pure) == (
            f"{REFERENCE}: loading it changes sys.path: /opt/acme; do not change the process, and do what a "
            "delegate needs in Backend.init"
        )
        sys.path[:] = before

    def test_state_without_items_is_named(self, loading: Callable[..., None]):
        loading(random.random)
        assert message_of(imports.import_pure).startswith(
            f"{REFERENCE}: loading it changes the random state; do not"
        )

    def test_printed_text_is_shown(self, loading: Callable[..., None]):
        loading(lambda: sys.stdout.write("Acme SDK 1.0\n"))
        assert message_of(imports.import_pure) == (
            f"{REFERENCE}: loading it prints 'Acme SDK 1.0\\n'; use a logger"
        )

    def test_written_files_and_started_processes_are_reported_with_their_place(
        self, loading: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(imports, "watch_actions", lambda: ["acme.py:3: writes /tmp/acme.log"])
        loading(lambda: None)
        assert message_of(imports.import_pure) == (
            "acme.py:3: writes /tmp/acme.log while the plugin is loaded; do it in Backend.init"
        )


class TestSurroundings:
    """Missing resources are reported with a reason and a fix."""

    @pytest.fixture(autouse=True)
    def _keep_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(missing_resources, "cut_network", list)
        monkeypatch.setattr(missing_resources, "hide_devices", lambda: None)

    def test_an_unavailable_backend_says_why(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(ReferenceCpuBackend, "availability", lambda self: Availability.no("no chip", " "))
        assert message_of(missing_resources.no_device).endswith(
            "without device files: ReferenceCpuBackend is not available, but availability() "
            "does not say why and what to do; return Availability.no(reason, fix)"
        )

    def test_a_backend_may_be_unavailable(self, monkeypatch: pytest.MonkeyPatch):
        no = Availability.no("no chip", "plug it in")
        monkeypatch.setattr(ReferenceCpuBackend, "availability", lambda self: no)
        missing_resources.no_device.run(subject())

    def test_a_schema_without_a_backend_needs_no_device(self, declare: Callable[..., None]):
        declare(factory=None)
        with pytest.raises(
            NotApplicableError, match=r"etconfig-reference .* contributes no detector of facts"
        ):
            missing_resources.no_device.run(subject())

    def test_devices_that_are_not_files_cannot_be_hidden(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "platform", "win32")
        with pytest.raises(NotApplicableError, match="on Windows devices are not files, so they cannot be"):
            missing_resources.no_device.run(subject())

    def test_a_plugin_that_cannot_be_loaded_does_not_pass(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(plugin, "etconfig_backend", None)
        with pytest.raises(PluginLoadError, match="has no etconfig_backend"):
            missing_resources.no_network.run(subject())

    def test_requirements_are_followed_without_extras(self):
        required = missing_resources.required_distributions("etconfig-reference")
        assert {"etconfig-reference", "etconfig", "numpy", "pydantic", "typing-extensions"} <= required
        assert required.isdisjoint({"executorch", "pytest", "hypothesis"})


GUARDED = """
import os, socket, subprocess, sys
from importlib.util import find_spec
from urllib.request import urlopen
from etconfig.conformance.process import guards

imported = guards.watch_imports({"acme_sdk"})
find_spec("acme_sdk")
print(imported)
try:
    import acme_sdk
except ImportError:
    print(imported)
actions = guards.watch_actions()
open(os.devnull).close()
print(actions)
open(os.devnull, "w").close()
subprocess.run([sys.executable, "-c", ""])
print(actions)
tried = guards.cut_network()
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
print(tried)
try:
    urlopen("http://192.0.2.1/")
except OSError as error:
    print(error.reason, tried)
guards.hide_devices()
open("/dev/null").close()
try:
    open(b"/dev/../dev/full")
except FileNotFoundError as error:
    print(error)
"""


class TestGuards:
    """Guards block or record actions of Python code, with file and line."""

    @pytest.mark.posix
    def test_each_guard_sees_python_code(self, tmp_path: Path):
        script = tmp_path / "acme.py"
        script.write_text(GUARDED)
        ran = subprocess.run(
            [sys.executable, str(script)], env=dict(os.environ), capture_output=True, text=True, check=True
        )
        assert ran.stdout.replace(str(script), "acme.py").splitlines() == [
            "{}",
            "{'acme_sdk': 'acme.py:11'}",
            "[]",
            "['acme.py:17: writes /dev/null', 'acme.py:18: starts a process (subprocess.Popen)']",
            "[]",
            "[Errno 101] Network is unreachable ['acme.py:25: socket.getaddrinfo 192.0.2.1']",
            "[Errno 2] No such file or directory: b'/dev/../dev/full'",
        ]
