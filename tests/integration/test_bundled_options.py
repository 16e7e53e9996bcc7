"""Options in bundled profiles: nobody asked for them, so missing and unused backends do not matter."""

from __future__ import annotations

from pathlib import Path

import pytest
from delegating_programs import delegating_program
from etconfig_upstream.coreml import SPEC as COREML
from etconfig_upstream.xnnpack import SPEC as XNNPACK

import etconfig
from etconfig.app.packing.resolution_bundle import notes_beside_the_map
from etconfig.profile.library import bundled_profiles

SHEETS = Path(__file__).parents[1] / "data" / "sheets"
PIXEL = "google/tensor-g3"
RUNNER = "ci/github-macos"


def sheet_of(profile: str) -> etconfig.FactSheet:
    sheet = etconfig.load_device(profile)
    return sheet.with_overrides({"cpu.available_cores": 8})  # type: ignore[arg-type]  # of the fact's type


def resolve(profile: str, backend: str | None, *specs: etconfig.plugin.v1.BackendSpec) -> etconfig.Resolution:
    """Resolve on a device, for a program with one delegate or for no program."""
    installation = etconfig.Installation().with_backends({spec.id: spec for spec in specs})
    program = (
        None
        if backend is None
        else etconfig.load_program(delegating_program(backend), installation=installation)
    )
    return etconfig.resolve(program, facts=sheet_of(profile), installation=installation)


class TestBackends:
    """The options apply where their backend is installed and used."""

    def test_the_value_and_its_place_are_explained(self) -> None:
        found = resolve(PIXEL, "XnnpackBackend", XNNPACK)
        text = str(found.explain("forward:XnnpackBackend.num_threads"))
        assert text.startswith("forward:XnnpackBackend.num_threads = 5\n  from profile ")
        assert "generic/android.toml:" in text
        assert "beat 5 from recommendation XnnpackBackend" in text

    def test_a_bundle_does_not_depend_on_where_etconfig_is_installed(self) -> None:
        installation = etconfig.Installation().with_backends({"XnnpackBackend": XNNPACK})
        program = etconfig.load_program(delegating_program("XnnpackBackend"), installation=installation)
        bundles = (
            etconfig.pack_bundle(program, profiles=["generic/android"], installation=installation),
            etconfig.pack_resolutions({"phone": resolve(PIXEL, "XnnpackBackend", XNNPACK)}),
        )
        for bundle in bundles:
            data = bundle.to_bytes()
            assert b"profile bundled/generic/android.toml:" in data
            assert str(bundled_profiles().directory).encode() not in data

    @pytest.mark.parametrize("profile", [PIXEL, RUNNER, "qualcomm/sm8650", "apple/m1"])
    def test_a_backend_that_is_not_installed_is_no_problem(self, profile: str) -> None:
        assert resolve(profile, "ReferenceCpuBackend").warnings == ()

    def test_a_backend_that_the_program_does_not_use_is_no_problem(self) -> None:
        found = resolve(PIXEL, "ReferenceCpuBackend", XNNPACK)
        assert found.warnings == ()
        assert "XnnpackBackend" not in found.arguments("forward")

    def test_without_a_program_all_installed_backends_are_resolved(self) -> None:
        found = resolve(PIXEL, None, XNNPACK)
        assert {"XnnpackBackend", "ReferenceCpuBackend"} <= set(found.arguments("*"))

    def test_a_typo_of_its_name_is_still_an_error_in_a_profile_of_the_user(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(
            '[profile]\nname = "mine"\nextends = ["google/tensor-g3"]\n'
            "[options.XnnpackBackends]\nnum_threads = 1\n"
        )
        installation = etconfig.Installation().with_backends({"XnnpackBackend": XNNPACK})
        (problem,) = etconfig.validate_file(path, installation)
        assert problem.help == "did you mean 'XnnpackBackend'?"


class TestOthers:
    """Other commands do not take them for settings of the user either."""

    def test_the_value_of_the_program_is_replaced_without_a_warning(self) -> None:
        program = delegating_program("CoreMLBackend", specs={"compute_units": b"all"})
        installation = etconfig.Installation().with_backends({"CoreMLBackend": COREML})
        found = etconfig.resolve(
            etconfig.load_program(program, installation=installation), facts=sheet_of(RUNNER)
        )
        assert found.warnings == ()
        text = str(found.explain("forward:CoreMLBackend.compute_unit"))
        assert "= 'cpu_only'\n  from profile " in text
        assert "beat 'all' from program " in text

    def test_packing_has_no_note_for_what_the_map_cannot_carry(self) -> None:
        resolution = resolve(PIXEL, "XnnpackBackend", XNNPACK)
        packed = etconfig.pack_resolutions({"pixel": resolution}).configuration("pixel")
        assert notes_beside_the_map([packed]) == []
