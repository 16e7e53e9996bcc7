"""Backends and their declarations given in code, beside those of entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delegating_programs import delegating_program

import etconfig
from etconfig.errors import BackendUnavailableError
from etconfig.plugin.v1 import (
    ApiRange,
    Availability,
    Backend,
    BackendOptions,
    BackendSpec,
    ExecuteContext,
    InitContext,
    Processed,
    Value,
    option,
)

DIGITS = Path(__file__).parents[1] / "data" / "digits" / "digits.pte"
ONES = np.ones(2, np.float32)


class ScalingOptions(BackendOptions):
    """Options of a backend that scales."""

    factor: int = option(2, applies="execute", doc="The factor.")


class Alien:
    """Has the methods of a backend without being one."""

    def execute(self) -> None:
        """Do nothing."""


class Scaling(Backend[Any, str]):
    """Multiplies its input by its option, or by five without one."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> str:
        return type(context.options).__name__

    def execute(self, context: ExecuteContext[Any], handle: str, args: Sequence[Value]) -> None:
        source, out = args
        assert isinstance(source, np.ndarray)
        assert isinstance(out, np.ndarray)
        out[:] = source * getattr(context.options, "factor", 5)


SPEC = BackendSpec(
    id="MyBackend",
    doc="Scales.",
    options=ScalingOptions,
    api=ApiRange(min=1, built=1),
    factory=Scaling,
    recommend=lambda facts: {"factor": 3} if facts.get("device.model") == "Test Board" else {},
)
PROGRAM = delegating_program("MyBackend")


def outputs(method: etconfig.Method) -> list[float]:
    with method:
        return [float(value) for value in method.execute([ONES])[0]]


class TestLoadMethod:
    """`load_method(backends=...)` takes objects, declarations and bound backends."""

    def test_an_object_without_a_schema_runs_without_options(self) -> None:
        with etconfig.load_program(PROGRAM) as program:
            assert outputs(program.load_method("forward", backends={"MyBackend": Scaling()})) == [5, 5]

    def test_a_declaration_brings_its_options(self) -> None:
        with etconfig.load_program(PROGRAM) as program:
            assert outputs(program.load_method("forward", backends={"MyBackend": SPEC})) == [2, 2]

    def test_an_object_has_the_options_that_a_plugin_declares(self) -> None:
        with etconfig.load_program(delegating_program("ReferenceCpuBackend")) as program:
            method = program.load_method("forward", backends={"ReferenceCpuBackend": Scaling()})
            assert type(method.options("ReferenceCpuBackend")).__name__ == "ReferenceCpuOptions"
            assert outputs(method) == [5, 5]

    def test_the_others_are_those_that_are_installed(self) -> None:
        with etconfig.load_program(DIGITS) as program:
            bound = program.bind("forward", etconfig.resolve(program).arguments("forward"))
            npu = {"ReferenceNpuBackend": bound["ReferenceNpuBackend"]}
            images = [np.zeros((1, 1, 8, 8), np.float32)]
            with (
                program.load_method("forward", backends=npu) as method,
                program.load_method("forward") as usual,
            ):
                assert np.array_equal(method.execute(images)[0], usual.execute(images)[0])

    @pytest.mark.parametrize(
        ("backends", "message"),
        [
            ([SPEC], r"^backends: expected backends by id, as \{.*, given list$"),
            ({"MyBackend": Scaling}, r"given the class Scaling; make an object of it$"),
            ({3: Scaling()}, r"^backends: expected texts as keys, the ids of backends, given int$"),
            (
                {"MyBackend": Alien()},
                r"given an object of Alien; derive the class from etconfig.plugin.v1.Backend$",
            ),
            ({"MyBackend": 3}, r"^backends\['MyBackend'\]: expected .*, given int$"),
        ],
    )
    def test_what_is_not_a_backend_is_refused(self, backends: Any, message: str) -> None:
        with etconfig.load_program(PROGRAM) as program, pytest.raises(TypeError, match=message):
            program.load_method("forward", backends=backends)

    def test_an_id_that_the_program_does_not_use_is_refused(self) -> None:
        with (
            etconfig.load_program(PROGRAM) as program,
            pytest.raises(ValueError, match=r"delegates to 'MyBackand'; did you mean 'MyBackend'"),
        ):
            program.load_method("forward", backends={"MyBackand": Scaling()})

    def test_arguments_of_another_declaration_are_refused(self) -> None:
        with etconfig.load_program(PROGRAM, backends={"MyBackend": Scaling()}) as program:
            arguments = etconfig.resolve(program).arguments("forward")
            with pytest.raises(ValueError, match="expected options of ScalingOptions for MyBackend, given"):
                program.load_method("forward", arguments, backends={"MyBackend": SPEC})

    def test_the_core_checks_it_as_it_checks_a_plugin(self) -> None:
        class Wrong(Scaling):
            def execute(self, context: Any) -> None:  # type: ignore[override]
                """Take too few arguments."""

        class Absent(Scaling):
            def availability(self) -> Availability:
                return Availability.no("no such chip", "plug one in")

        with etconfig.load_program(PROGRAM) as program:
            with pytest.raises(
                etconfig.PluginError, match=r"\(given in code\) failed: [\w.]*test_given_backends:"
            ):
                program.load_method("forward", backends={"MyBackend": Wrong()})
            with pytest.raises(BackendUnavailableError, match="no such chip; plug one in"):
                program.load_method("forward", backends={"MyBackend": Absent()})


class TestLoadProgram:
    """`load_program(backends=...)` makes them known to everything that configures the program."""

    def test_its_options_resolve_validate_and_update(self, tmp_path: Path) -> None:
        profile = tmp_path / "p.toml"
        profile.write_text('[profile]\nname = "app/p"\n[methods.forward.options.MyBackend]\nfactor = 7\n')
        with etconfig.load_program(PROGRAM, backends={"MyBackend": SPEC}) as program:
            configuration = etconfig.configure(program, profile=profile)
            assert configuration.explain("forward:MyBackend.factor").value == 7
            method = program.load_method("forward", configuration.resolve().arguments("forward"))
            method.update({"MyBackend.factor": 4})
            assert outputs(method) == [4, 4]
            with pytest.raises(etconfig.ConfigError, match="MyBackend has no option 'facter'"):
                etconfig.resolve(program, profile=profile, overrides={"MyBackend.facter": 1})

    def test_its_recommendation_counts(self) -> None:
        with etconfig.load_program(PROGRAM, backends={"MyBackend": SPEC}) as program:
            resolved = etconfig.resolve(program, profile="generic/any", fact_overrides={"device.model": "Test Board"})
            assert resolved.arguments("forward")["MyBackend"].to_jsonable() == {"factor": 3}

    def test_it_wins_over_an_installed_backend_that_the_project_refuses(self, tmp_path: Path) -> None:
        (tmp_path / "etconfig.toml").write_text('[plugins]\ndeny = ["ReferenceCpuBackend"]\n')
        installation = etconfig.Installation(tmp_path)
        assert "ReferenceCpuBackend" not in installation.backend_ids
        given = installation.with_backends({"ReferenceCpuBackend": Scaling()})
        assert "ReferenceCpuBackend" in given.backend_ids
        assert "ReferenceCpuBackend" not in installation.backend_ids
        program = etconfig.load_program(delegating_program("ReferenceCpuBackend"), installation=given)
        assert outputs(program.load_method("forward")) == [5, 5]

    def test_a_later_one_wins_and_the_others_stay(self) -> None:
        first = etconfig.Installation().with_backends({"MyBackend": Scaling(), "OtherBackend": Scaling()})
        second = first.with_backends({"MyBackend": SPEC})
        assert {"MyBackend", "OtherBackend", "ReferenceCpuBackend"} <= set(second.backend_ids)
        assert second.plugins.backend_spec("MyBackend") is SPEC
        assert first.plugins.backend_spec("MyBackend") is not SPEC

    def test_another_project_file_keeps_them(self, tmp_path: Path) -> None:
        project = tmp_path / "other.toml"
        project.write_text("")
        given = etconfig.Installation().with_backends({"MyBackend": SPEC}).with_project(project)
        assert given.plugins.backend_spec("MyBackend") is SPEC

    def test_a_declaration_of_another_id_is_refused(self) -> None:
        with pytest.raises(ValueError, match="has the id 'MyBackend'; use one id for both"):
            etconfig.Installation().with_backends({"Other": SPEC})
