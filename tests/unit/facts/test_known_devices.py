"""Known devices: the fact sheets that come with etconfig, by name."""

from __future__ import annotations

import pytest

import etconfig
from etconfig.errors import FactError
from etconfig.facts.known_devices import describe_devices, find_device, short_names

NAMES = ("acme/board", "acme/board-2", "google/pixel-8", "google/pixel-9", "other/board")


class TestNames:
    """A device has the name of its profile; its last part suffices if no other name ends with it."""

    @pytest.mark.parametrize(
        ("name", "found"),
        [("acme/board", "acme/board"), ("board-2", "acme/board-2"), ("pixel-9", "google/pixel-9")],
    )
    def test_a_name_and_its_last_part_stand_for_a_device(self, name: str, found: str) -> None:
        assert find_device(name, NAMES) == found

    @pytest.mark.parametrize(
        ("name", "message", "help"),
        [
            ("board", "'board' stands for 2 devices", "write one of acme/board, other/board"),
            (
                "pixel",
                "no known device is called 'pixel'",
                "similar names are google/pixel-8, google/pixel-9",
            ),
            ("pixle-8", "no known device is called 'pixle-8'", "did you mean 'google/pixel-8'?"),
            ("Pixel-8", "no known device is called 'Pixel-8'", "did you mean 'google/pixel-8'?"),
            ("acme/bord", "no known device is called 'acme/bord'", "did you mean 'acme/board'?"),
            ("zzz", "no known device is called 'zzz'", "`etconfig devices list` shows the known ones"),
            ("", "no known device is called ''", "`etconfig devices list` shows the known ones"),
            (
                "pi5.json",
                "no known device is called 'pi5.json'",
                "give the path of a fact sheet to --facts; names of devices do not end in .json",
            ),
        ],
    )
    def test_other_names_are_refused_with_what_may_be_meant(self, name: str, message: str, help: str) -> None:
        with pytest.raises(FactError) as caught:
            find_device(name, NAMES)
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message, problem.help) == ("unknown-device", message, help)

    def test_short_names_stand_for_one_device_each(self) -> None:
        assert short_names(NAMES) == ("board-2", "pixel-8", "pixel-9")

    def test_every_name_is_of_a_vendor_and_a_device(self) -> None:
        assert all(name.count("/") == 1 for name in etconfig.device_names())


class TestSheets:
    """`load_device` reads the sheet of a device; origins cite the source of each value."""

    def test_a_sheet_is_loaded_by_its_name_and_by_its_last_part(self) -> None:
        sheet = etconfig.load_device("google/pixel-8")
        assert sheet["device.model"].value == "Pixel 8"
        assert etconfig.load_device("pixel-8") == sheet

    def test_an_origin_names_the_device_and_the_source(self) -> None:
        origin = etconfig.load_device("pixel-8")["soc.model"].origin
        assert origin.source == "google/pixel-8"
        assert str(origin.detail).startswith("captured https://")

    def test_a_name_that_is_not_text_is_refused(self) -> None:
        with pytest.raises(TypeError, match="name"):
            etconfig.load_device(3)  # type: ignore[arg-type]

    def test_a_program_gets_the_profile_of_the_device(self) -> None:
        resolution = etconfig.resolve(facts=etconfig.load_device("pixel-8"), profile="auto")
        assert resolution.profile == "google/tensor-g3"

    def test_each_device_has_a_summary(self) -> None:
        found = describe_devices()
        assert [each.name for each in found] == list(etconfig.device_names())
        pixel = next(each for each in found if each.name == "google/pixel-8")
        assert pixel.to_jsonable() == {
            "name": "google/pixel-8",
            "system": "android arm64",
            "model": "Pixel 8",
            "facts": 13,
            "sources": ["captured"],
        }
        assert {source for each in found for source in each.sources} == {"captured", "cited"}
