from __future__ import annotations

from types import SimpleNamespace

from example_npu.facts import DRIVER, read_driver

VERSION_FILE = "/sys/module/example_npu/version"


class TestDriver:
    """The driver's version is a fact if the driver is loaded, else unknown with a reason."""

    def test_the_version_is_read_from_the_file(self) -> None:
        (reading,) = read_driver(SimpleNamespace(read_line={VERSION_FILE: "2.1"}.get))
        assert (reading.name, reading.value, reading.source) == (DRIVER.name, "2.1", VERSION_FILE)

    def test_without_a_driver_the_reason_is_given(self) -> None:
        (reading,) = read_driver(SimpleNamespace(read_line={}.get))
        assert (reading.value, reading.reason) == (None, "the driver is not loaded")
