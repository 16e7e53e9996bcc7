"""A provider in a library, compiled here without ONNX Runtime's headers, in the real ONNX Runtime."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compilers import compiled
from onnxruntime_registry import RegistryOnly

pytest.importorskip("onnxruntime")

import onnxruntime as ort
from etconfig_onnxruntime import ModelRefusedError, OnnxRuntimeOptions, ProviderFallbackWarning, build_session
from etconfig_onnxruntime.effective import effective_options
from etconfig_onnxruntime.facts import DETECTOR, FACTS
from etconfig_onnxruntime.pools import _RELU
from etconfig_onnxruntime.provider_libraries import VARIABLE
from etconfig_onnxruntime.provider_tables import PluginProvider

from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.detecting.detection import detect
from etconfig.plugin.v1 import BackendUnavailableError, EffectiveSource

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(sys.platform != "linux", reason="the library is compiled for Linux"),
]

NAME = "AcmeExecutionProvider"
DESCRIPTION = f"""\
name = "{NAME}"
library = "libacme.so"
[options.power]
doc = "The clock."
choices = ["low", "high"]
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The description of a library that is not registered yet."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) on the PATH")
    source = Path(__file__).parent / "acme_ep.c"
    compiled(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source], tmp_path / "libacme.so"
    )
    file = tmp_path / "acme.toml"
    file.write_text(DESCRIPTION)
    monkeypatch.setenv(VARIABLE, str(file))
    yield file
    gc.collect()  # sessions end before their library
    if any(each.ep_name == NAME for each in ort.get_ep_devices()):
        ort.unregister_execution_provider_library(NAME)


def options(
    *, others: tuple[str, ...] = ("cpu",), absent: str = "error", **values: object
) -> OnnxRuntimeOptions:
    tables = [{"provider": "plugin", "name": NAME, **values}, *({"provider": each} for each in others)]
    return OnnxRuntimeOptions(providers=tables, absent_providers=absent)  # type: ignore[arg-type]


class TestSessions:
    """`build` registers the library of a provider that the options name, and passes the options on."""

    def test_options_arrive_and_are_read_back(self, acme: Path) -> None:
        asked = options(options={"power": "low"}, unchecked={"newest": "1"}, device_type="cpu")
        session = build_session(asked, _RELU)
        assert session.get_providers() == [NAME, "CPUExecutionProvider"]
        assert session.get_provider_options()[NAME] == {"power": "low", "newest": "1"}
        found = effective_options(session)["providers"]
        assert found.source is EffectiveSource.READ_BACK
        assert found.value == asked.providers
        (table, _) = found.value  # type: ignore[misc]  # a tuple
        assert isinstance(table, PluginProvider)
        assert (table.options, table.unchecked) == ({"power": "low"}, {"newest": "1"})

    def test_a_second_session_and_detection_register_nothing(self, acme: Path) -> None:
        for _ in range(2):
            assert NAME in build_session(options(), _RELU).get_providers()
        detect(registry=BUILTIN_FACTS.extended(FACTS), detectors=[DETECTOR])
        assert [each.ep_name for each in ort.get_ep_devices()].count(NAME) == 1

    def test_the_provider_s_own_error_arrives(self, acme: Path) -> None:
        with pytest.raises(ModelRefusedError, match="the power supply of this board is too weak"):
            build_session(options(options={"power": "high"}), _RELU)

    def test_nodes_that_it_cannot_run_are_an_error_without_the_cpu(self, acme: Path) -> None:
        with pytest.raises(ModelRefusedError, match="fallback to CPU EP has been explicitly disabled"):
            build_session(options(others=()), _RELU)

    def test_a_kind_of_device_that_it_lacks(self, acme: Path) -> None:
        with pytest.raises(
            BackendUnavailableError,
            match=rf"{NAME} has no device of the type 'npu' on this machine; it has cpu; change device_type",
        ):
            build_session(options(device_type="npu"), _RELU)

    @pytest.mark.parametrize(
        ("library", "reason"), [(b"broken", "file too short"), (None, "undefined symbol: CreateEpFactories")]
    )
    def test_a_library_that_cannot_be_registered(
        self, acme: Path, library: bytes | None, reason: str
    ) -> None:
        path = acme.parent / "libacme.so"
        if library is None:
            subprocess.run(["cc", "-shared", "-o", path, "-xc", os.devnull], check=True)
        else:
            path.write_bytes(library)
        with pytest.raises(BackendUnavailableError) as caught:
            build_session(options(), _RELU)
        assert f"there is no provider '{NAME}': ONNX Runtime cannot use its library: " in str(caught.value)
        assert reason in str(caught.value)
        with pytest.warns(ProviderFallbackWarning, match=reason):
            session = build_session(options(absent="skip"), _RELU)
        assert session.get_providers() == ["CPUExecutionProvider"]

    def test_without_a_description(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(VARIABLE, raising=False)
        with pytest.raises(BackendUnavailableError, match=f"there is no provider '{NAME}': this build"):
            build_session(options(), _RELU)


class TestFacts:
    """The devices of described libraries are facts, with what their providers say."""

    def test_the_device_is_detected(self, acme: Path) -> None:
        sheet = detect(registry=BUILTIN_FACTS.extended(FACTS), detectors=[DETECTOR])
        (number,) = (index for index, each in enumerate(ort.get_ep_devices()) if each.ep_name == NAME)
        found = {
            name: sheet[f"onnxruntime.device.{number}.{name}"].value
            for name in ("provider", "type", "provider_vendor", "metadata")
        }
        assert found == {
            "provider": NAME,
            "type": "cpu",
            "provider_vendor": "Acme",
            "metadata": ("arch=v73", "version=1.2.0"),  # without the path of the library
        }
        assert NAME in sheet["onnxruntime.providers"].value  # type: ignore[operator]  # a tuple


def test_the_simulated_functions_are_those_of_the_wheel() -> None:
    """The real ones are written in C++; their first line of documentation has the signature."""
    for name in ("get_available_providers", "get_ep_devices", "register_execution_provider_library"):
        documented = getattr(ort, name).__doc__.splitlines()[0].partition("->")[0].strip()
        own = inspect.signature(getattr(RegistryOnly, name))
        names = [each for each in own.parameters if each != "self"]
        assert documented == f"{name}({', '.join(f'{each}: str' for each in names)})"


def test_the_wheel_has_no_headers() -> None:
    """If one has them, compile `acme_ep.c` with them."""
    assert [*Path(ort.__file__).parent.rglob("*.h")] == []


def registered_twice(path: str) -> Any:
    ort.register_execution_provider_library(NAME, path)


def test_a_registered_library_is_refused_by_its_name_only(acme: Path) -> None:
    path = str(acme.parent / "libacme.so")
    registered_twice(path)
    with pytest.raises(Exception, match=f"already registered under {NAME}"):
        registered_twice(path)
