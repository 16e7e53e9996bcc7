"""Plugins built for plugin API 1, as wheels that are never built again, work with this etconfig."""

from __future__ import annotations

import hashlib
import logging
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delegating_programs import delegating_program
from plugin_wheels import WHEELS
from program_writer import instruction, plan, table, tensor, write

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.runner.runner import run_check
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import BackendUnavailableError, DelegateError, OptionError, RuntimeFailedError
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.contributions import EXECUTOR_HOOK

X = np.array([1, -2], np.float32)
SLOPPY = "Api1_Sloppy-2"
FULL_PROGRAM = delegating_program(
    "Api1Full",
    struct.pack("<f", 0.5),
    specs={"device": b"board"},
    named_data={"api1.bias": np.array([10, 20], np.float32).tobytes()},
)


@pytest.fixture
def installation(api1_site: Path) -> Installation:
    return Installation(search_path=[str(api1_site)])


@pytest.fixture
def facts(installation: Installation) -> FactSheet:
    """Return a device with one known fact: the cores that api1-full counts."""
    given = Sourced(8, Origin(OriginKind.OVERRIDE, "test"))
    return FactSheet.empty(installation.fact_registry).with_overrides({"api1.cores": given})


@pytest.fixture
def events(api1_site: Path) -> list[str]:
    """Return the log of calls that the core made to api1-full."""
    from api1_full.backend import EVENTS  # type: ignore[import-not-found]  # installed by the fixture

    return EVENTS


def resolve(program: etconfig.LoadedProgram, facts: FactSheet, **options: Any) -> etconfig.Resolution:
    """Resolve these options of the backend that the program delegates to."""
    (backend,) = program.backends("forward")
    overrides = {f"{backend}.{name}": value for name, value in options.items()}
    return etconfig.resolve(program, facts=facts, overrides=overrides)


def load(
    installation: Installation, facts: FactSheet, data: bytes, executor: str = "numpy", **options: Any
) -> etconfig.Method:
    """Load the method `forward` with these options."""
    program = etconfig.load_program(data, installation=installation, executor=executor)
    return program.load_method("forward", resolve(program, facts, **options).arguments("forward"))


class TestWheels:
    """The wheels are the recorded ones."""

    def test_no_wheel_has_changed(self):
        lines = (WHEELS / "SHA256SUMS").read_text().splitlines()
        recorded = {name: digest for digest, name in (line.split("  ") for line in lines)}
        there = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in WHEELS.glob("*.whl")}
        assert there == recorded, (
            "a published wheel never changes: restore it, and add a new version beside it"
        )

    def test_the_sources_beside_them_are_their_contents(self):
        for wheel in WHEELS.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
            source = WHEELS / "sources" / wheel.name.partition("-")[0].replace("_", "-")
            assert held == {name: (source / name).read_bytes() for name in held}


class TestListing:
    """Old plugins are found without being imported, and nothing about them is broken."""

    def test_all_are_listed_without_an_import(self, installation):
        assert installation.backend_ids == ("Api1Absent", "Api1Full", "Api1Minimal", "Api1Schema", SLOPPY)
        assert installation.index.failures == ()
        assert [name for name in sys.modules if name in ("api1_minimal", "api1_full", "api1_sloppy")] == []

    def test_all_specs_facts_kernels_and_executors_are_accepted(self, installation):
        specs = [installation.plugins.backend_spec(name) for name in installation.backend_ids]
        assert [spec.id for spec in specs] == list(installation.backend_ids)
        assert {"api1.cores", "api1.name", "sloppy.cores"} <= set(installation.fact_registry.names)
        assert {"api1::clip.out", "api1::sum.out"} <= set(installation.kernels)
        assert (
            type(installation.plugins.contribution(EXECUTOR_HOOK, "api1").executor).__name__ == "FullExecutor"
        )
        assert installation.plugins.failures == ()

    def test_their_detectors_run(self, installation):
        found = installation.detect_facts()
        assert (found["api1.cores"].value, found["sloppy.cores"].value) == (8, 2)
        assert "no such device tree" in str(found["api1.name"])


class TestConformance:
    """They pass the kit's checks of level 0, which need no golden programs."""

    @pytest.mark.parametrize("backend", ["Api1Minimal", "Api1Full"])
    def test_a_backend_passes_the_checks_that_need_no_separate_process(self, api1_site, backend):
        subject = Subject(Settings(backend=backend, kit="1.0", search_path=(str(api1_site),)))
        checks = [each for each in all_checks() if each.level == 0 and not each.is_isolated]
        results = [run_check(each, subject, {}) for each in checks]
        assert [each for each in results if not each.outcome.is_good] == []
        assert {"signature-bind", "api-range", "schema-roundtrip"} <= {each.check_id for each in results}


class TestMinimal:
    """The shortest backend of plugin API 1 still works."""

    def test_it_runs(self, installation, facts):
        with load(installation, facts, delegating_program("Api1Minimal")) as method:
            assert method.execute([X])[0].tolist() == [2, -4]
            assert method.effective_options() == {"Api1Minimal": {}}


class TestFull:
    """A plugin that uses all of plugin API 1 still works."""

    def test_its_delegate_lives_from_init_to_destroy(self, installation, facts, events):
        with load(installation, facts, FULL_PROGRAM, num_threads=2, label="one") as method:
            assert method.execute([X])[0].tolist() == [11.5, 17]
            method.update({"Api1Full.scale": 4.0})
            assert method.execute([X])[0].tolist() == [12, 16]
            assert method.effective_options() == {"Api1Full": {"scale": 4.0, "label": "one"}}
        assert events == [
            "init forward@None/0 on board",
            "update forward@None/0: scale from 3.0",
            "destroy forward@None/0",
        ]

    def test_an_update_that_it_refuses_leaves_the_options_in_force(self, installation, facts):
        with load(installation, facts, FULL_PROGRAM) as method:
            with pytest.raises(DelegateError, match="RuntimeError: 13 brings bad luck"):
                method.update({"Api1Full.scale": 13.0})
            assert method.execute([X])[0].tolist() == [11.5, 17]

    def test_it_gives_a_dynamic_output_its_size(self, installation, facts):
        data = delegating_program(
            "Api1Full",
            struct.pack("<f", 1.0),
            specs={"device": b"board"},
            named_data={"api1.bias": bytes(8)},
            is_dynamic=True,
        )
        with load(installation, facts, data) as method:
            assert method.execute([X[:1]])[0].tolist() == [3]
            assert method.execute([X])[0].tolist() == [3, -6]

    def test_its_profile_advice_and_facts_configure_it(self, installation, facts):
        with etconfig.load_program(FULL_PROGRAM, installation=installation) as program:
            resolution = resolve(program, facts)
        options: Any = resolution.arguments("forward")["Api1Full"]
        assert resolution.profile == "api1/board"
        assert (options.scale, options.num_threads, options.cache_bytes) == (3.0, 2, 65536)

    def test_its_rules_for_options_apply(self, installation, facts):
        with pytest.raises(OptionError, match=r"scale must be at most 10\.0 when mode is slow"):
            load(installation, facts, FULL_PROGRAM, mode="slow", scale=11.0)
        with etconfig.load_program(FULL_PROGRAM, installation=installation) as program:
            resolution = resolve(program, facts, rows=16, trace=True)
        assert [each.message for each in resolution.warnings] == [
            "Api1Full.rows was renamed to tile",
            "Api1Full.trace is deprecated",
        ]
        assert resolution.arguments("forward")["Api1Full"].to_jsonable()["tile"] == 16

    def test_its_executor_runs_programs_and_fails_as_an_executor(self, installation, facts, events):
        with load(installation, facts, FULL_PROGRAM, executor="api1") as method:
            assert method.execute([X])[0].tolist() == [11.5, 17]
            method.update({"Api1Full.scale": 4.0})
            assert method.execute([X])[0].tolist() == [12, 16]
        with pytest.raises(RuntimeFailedError):
            load(installation, facts, FULL_PROGRAM, executor="api1", label="refused")
        assert [each for each in events if each.startswith(("init", "destroy"))] == [
            "init forward@None/0 on board",
            "destroy forward@None/0",
        ] * 2

    def test_its_kernels_run(self, installation):
        planned = [
            table("AllocationDetails", memory_id=1, memory_offset_low=16 * index) for index in range(3)
        ]
        method = plan(
            values=[tensor(allocation_info=each) for each in planned],
            inputs=[0, 1],
            outputs=[2],
            operators=[table("Operator", name="api1::sum", overload="out")],
            instructions=[instruction("KernelCall", op_index=0, args=[0, 1, 2, 2])],
        )
        program = etconfig.load_program(write(method), installation=installation)
        with program, program.load_method("forward") as loaded:
            assert loaded.execute([X, X])[0].tolist() == [2, -4]

    def test_a_backend_that_cannot_run_here_gives_the_reason(self, installation, facts):
        with pytest.raises(BackendUnavailableError, match=r"there is no /dev/api1; plug it in$"):
            load(installation, facts, delegating_program("Api1Absent"))
        with pytest.raises(BackendUnavailableError, match=r"api1-full 1\.2\.3 only declares its options"):
            load(installation, facts, delegating_program("Api1Schema"))


class TestSloppy:
    """Odd code that was legal stays legal."""

    def test_it_runs_and_is_updated(self, installation, facts, caplog):
        with caplog.at_level(logging.INFO, "api1_sloppy"):
            method = load(installation, facts, delegating_program(SLOPPY, b"abc"), maxIterations=2)
        assert caplog.messages == [f"asked for {SLOPPY} by plugin API 1"]
        with method:
            assert method.execute([X])[0].tolist() == [9, -18]
            method.update({f"{SLOPPY}.Factor": 2.0})
            assert method.execute([X])[0].tolist() == [4, -8]
            assert method.effective_options() == {SLOPPY: {"maxIterations": 2}}
