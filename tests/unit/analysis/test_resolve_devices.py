"""`resolve_devices`, and the object that it returns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from command_line import DATA

import etconfig
from etconfig.analysis.device_matrix import value_text
from etconfig.analysis.expected_matrix import expected_text, load_expected
from etconfig.app.configuring.device_names import name_devices

PROGRAM = DATA / "digits" / "digits.pte"
SHEETS = (DATA / "sheets" / "pixel-8.json", DATA / "sheets" / "raspberry-pi-5.json")
THREADS = "forward:ReferenceCpuBackend.num_threads"


@pytest.fixture
def program() -> etconfig.LoadedProgram:
    return etconfig.load_program(PROGRAM, installation=etconfig.Installation(environ={}))


class TestResolveDevices:
    """Devices are sheets or their paths, and arguments mean what they mean for `resolve`."""

    def test_devices_may_be_paths_sheets_or_both(self, program: etconfig.LoadedProgram) -> None:
        sheet = etconfig.load_fact_sheet(SHEETS[0])
        by_path = etconfig.resolve_devices(program, devices=SHEETS)
        by_name = etconfig.resolve_devices(program, devices={"pixel-8": sheet, "raspberry-pi-5": SHEETS[1]})
        texts = etconfig.resolve_devices([program], devices=map(str, SHEETS))
        assert by_path.to_jsonable() == by_name.to_jsonable() == texts.to_jsonable()

    def test_without_a_program_any_method_is_resolved(self) -> None:
        matrix = etconfig.resolve_devices(devices=SHEETS, installation=etconfig.Installation(environ={}))
        assert all(path.startswith("*:") for device in matrix for path in device.options)

    def test_arguments_hold_on_every_device(self, program: etconfig.LoadedProgram) -> None:
        matrix = etconfig.resolve_devices(
            program,
            devices=SHEETS,
            profile="generic/any",
            fact_overrides={"cpu.available_cores": 3},
            overrides={"ReferenceNpuBackend.core": 2},
        )
        assert {device.profile for device in matrix} == {"generic/any"}
        assert {device.options[THREADS] for device in matrix} == {3}
        assert {device.options["forward:ReferenceNpuBackend.core"] for device in matrix} == {2}

    def test_devices_that_get_the_same_share_one_object(self, program: etconfig.LoadedProgram) -> None:
        sheet = etconfig.load_fact_sheet(SHEETS[0])
        many = etconfig.resolve_devices(program, devices={str(number): sheet for number in range(50)})
        assert len({id(device.options) for device in many}) == 1
        assert len(many.results) == 1

    def test_a_broken_sheet_does_not_stop_the_others(
        self, program: etconfig.LoadedProgram, tmp_path: Path
    ) -> None:
        matrix = etconfig.resolve_devices(program, devices=[tmp_path / "gone.json", *SHEETS])
        assert [device.has_errors for device in matrix] == [True, False, False]
        assert matrix.has_errors
        assert [problem.code for problem in matrix["gone"].problems] == ["unreadable-file"]
        assert matrix.summary == "3 devices, 2 profiles, 2 different results, 1 with errors"

    def test_the_error_of_a_profile_is_that_of_each_device_with_it(
        self, program: etconfig.LoadedProgram
    ) -> None:
        matrix = etconfig.resolve_devices(
            program, devices=SHEETS, overrides={"ReferenceCpuBackend.num_thread": 1}
        )
        assert [device.profile for device in matrix] == ["google/tensor-g3", "raspberry-pi/pi-5"]
        ((problem, devices),) = matrix.problems.items()
        assert (problem.code, devices) == ("unknown-option", ["pixel-8", "raspberry-pi-5"])

    @pytest.mark.parametrize("devices", ["pixel-8.json", 3, [3], {"a": 3}, b"a"])
    def test_other_devices_are_a_type_error(self, devices: Any) -> None:
        with pytest.raises(TypeError, match="devices: expected paths of fact sheets, or sheets by name"):
            etconfig.resolve_devices(devices=devices)

    def test_other_arguments_of_a_wrong_type_are_refused(self) -> None:
        with pytest.raises(TypeError, match="require_match"):
            etconfig.resolve_devices(devices=SHEETS, require_match=cast("bool", 1))
        with pytest.raises(TypeError, match="program"):
            etconfig.resolve_devices(cast("Any", ["model.pte"]), devices=SHEETS)


class TestDisplay:
    """It shows itself as text and in notebooks, whatever its parts contain."""

    def test_text_and_html_have_the_devices_and_the_options_that_differ(
        self, program: etconfig.LoadedProgram
    ) -> None:
        matrix = etconfig.resolve_devices(program, devices={"<b>": SHEETS[0], "pi\x1b": SHEETS[1]})
        assert repr(matrix) == "<DeviceMatrix: 2 devices, 2 profiles, 2 different results>"
        for shown in (str(matrix), matrix._repr_html_()):
            assert THREADS in shown
            assert "raspberry-pi/pi-5" in shown
            assert "pi\\u001b" in shown
        assert "<b>" not in matrix._repr_html_()

    def test_it_is_a_sequence_of_devices_that_are_found_by_name(
        self, program: etconfig.LoadedProgram
    ) -> None:
        matrix = etconfig.resolve_devices(program, devices=SHEETS)
        assert (len(matrix), [*matrix][1]) == (2, matrix["raspberry-pi-5"])
        with pytest.raises(KeyError, match="no device 'pixel'; known: pixel-8, raspberry-pi-5"):
            matrix["pixel"]

    def test_values_that_look_alike_are_told_apart(self) -> None:
        assert value_text(None) == "none"
        assert value_text("a" * 300).endswith("(102 more characters)")

    def test_plain_data_is_json(self, program: etconfig.LoadedProgram) -> None:
        matrix = etconfig.resolve_devices(program, devices=SHEETS)
        assert json.loads(json.dumps(matrix.to_jsonable()))["devices"][0]["device"] == "pixel-8"


class TestNames:
    """Every device has a name of its own."""

    @pytest.mark.parametrize(
        ("paths", "names"),
        [
            (["a.json", "b/c.json"], ["a", "c"]),
            (["/x/a/c.json", "/x/b/c.json", "/d.json"], ["a/c", "b/c", "d"]),
            (["/x/a/m/c.json", "/x/b/m/c.json", "/y/n/c.json"], ["a/m/c", "b/m/c", "n/c"]),
            (["/c.json", "/a/c.json"], ["/c", "a/c"]),
            (["/a.json", "/a.txt"], ["/a", "/a (2)"]),
            (["/a\u202e.json", "/b\u3164.json"], ["a\\u202e", "b\\u3164"]),
        ],
    )
    def test_directories_tell_sheets_of_one_name_apart(self, paths: list[str], names: list[str]) -> None:
        assert name_devices([Path(path) for path in paths]) == names

    def test_taken_names_are_left_alone(self) -> None:
        assert name_devices([Path("/x/google/pixel-8.json")], ["pixel-8"]) == ["google/pixel-8"]

    def test_many_sheets_of_one_name_have_different_names(self) -> None:
        paths = [Path(f"/x/{a}/{b}/sheet.json") for a in range(30) for b in range(30)]
        assert len({*name_devices(paths)}) == 900


class TestExpected:
    """A file of expected options is read back as it was written."""

    def test_every_kind_of_value_is_kept(self, tmp_path: Path) -> None:
        options = {
            "f:B.none": None,
            "f:B.yes": True,
            "f:B.int": -(2**62),
            "f:B.float": 1e22,
            "f:B.small": 0.1,
            "f:B.text": 'a"\\\n\x7f\u00e9',
            "f:B.list": ["a", 1, [None]],
            "f:B.table": {"a b": 1, "unset": False},
            "f@i:B-2.empty": {},
        }
        device = etconfig.analysis.MatrixDevice(device='a "b" c.d', profile="p", options=options)
        matrix = etconfig.DeviceMatrix([device])
        (tmp_path / "golden.toml").write_text(expected_text(matrix), "utf-8")
        assert load_expected(tmp_path / "golden.toml").differences(matrix) == ()

    def test_true_one_and_one_point_zero_differ(self, tmp_path: Path) -> None:
        def matrix(value: object) -> etconfig.DeviceMatrix:
            device = etconfig.analysis.MatrixDevice(device="a", profile="p", options={"f:B.x": value})
            return etconfig.DeviceMatrix([device])

        values = (True, 1, 1.0, "1", None, [1], {"a": 1}, {"unset": 1}, "x" * 300, "x" * 300 + "y")
        for value in values:
            (tmp_path / "golden.toml").write_text(expected_text(matrix(value)), "utf-8")
            expected = load_expected(tmp_path / "golden.toml")
            for other in values:
                found = expected.differences(matrix(other))
                assert bool(found) == (json.dumps(value) != json.dumps(other)), (value, other)
                assert all(each.expected != each.got for each in found)

    def test_positions_are_those_of_the_lines(self, program: etconfig.LoadedProgram, tmp_path: Path) -> None:
        shutil.copy(SHEETS[0], tmp_path / "a.json")
        matrix = etconfig.resolve_devices(program, devices=[tmp_path / "a.json"])
        text = expected_text(matrix).replace(f'"{THREADS}" = 9', f'"{THREADS}" = 8')
        (tmp_path / "golden.toml").write_text(text, "utf-8")
        (found,) = load_expected(tmp_path / "golden.toml").differences(matrix)
        assert text.splitlines()[found.span.line - 1] == f'"{THREADS}" = 8'
        assert (found.expected, found.got) == ("8", "9")
