"""Usage records: the line of the C library is the one that the rules give, in at most 2,048 bytes."""

from __future__ import annotations

import ctypes
import json
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bundle_tables import named_tables
from c_interface import HEADER, Device, Usage, build_library, text_array
from device_stacks import Stack, random_sheet
from effort import scaled
from usage_model import MAX_BYTES, application_fields, decided_fields, expected_line, random_given

import etconfig
from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.tables import Long
from etconfig.errors import EtconfigError
from etconfig.profile.inheritance import ProfileReader

DIGITS = Path(__file__).parents[1] / "data" / "digits"
BINDINGS = device_include_dir().parent / "bindings"
HIDDEN = frozenset(("a.model", "a.features"))
"""The texts of the random registry without choices: its plugin does not say whether they identify."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_library(tmp_path_factory.mktemp("library") / "libetconfig_device.so")


@pytest.fixture
def device(library: ctypes.CDLL) -> Device:
    """An object with the small bundle, whose profile needs `cpu.cores` above 4."""
    return Device(library, write_tables(named_tables()))


def record(device: Device, **given: object) -> dict:
    line = device.usage(**given)
    assert isinstance(line, bytes), line
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    found = json.loads(line)
    assert isinstance(found, dict)
    assert next(iter(found)) == "etconfig_usage"
    assert found.pop("bundle", None) == device.call("id")
    return found


class TestReasons:
    """The record says why these options and this variant were used."""

    def test_a_profile_is_matched_or_named(self, device: Device) -> None:
        device.set("cpu.cores", 6)
        device.call("select")
        device.call("resolve", "forward", None)
        matched = record(device)
        assert (matched["profile"], matched["reason"], matched["facts"]) == (
            "phone",
            "matched",
            {"cpu.cores": 6},
        )
        device.call("use_profile", "phone")
        device.call("resolve", "forward", None)
        assert record(device)["reason"] == "named"

    def test_a_failure_is_an_error_with_the_text_of_the_application_or_the_status(
        self, device: Device
    ) -> None:
        assert device.usage() == "WRONG_ORDER"
        assert record(device, failure=b"no file") == {
            "etconfig_usage": 1,
            "reason": "error",
            "failure": "no file",
        }
        device.call("select")
        assert record(device) == {"etconfig_usage": 1, "reason": "error", "failure": "no profile matches"}
        device.set("cpu.cores", 65)
        device.call("select")
        device.call("resolve", "forward", None)
        assert record(device) == {
            "etconfig_usage": 1,
            "profile": "phone",
            "reason": "error",
            "facts": {"cpu.cores": 65},
            "failure": "invalid value",
        }

    def test_a_configuration_without_conditions_is_fixed(self, library: ctypes.CDLL) -> None:
        resolution = etconfig.resolve(
            facts=etconfig.load_fact_sheet(DIGITS.parent / "sheets" / "raspberry-pi-5.json")
        )
        fixed = Device(library, etconfig.pack_resolutions({"pi5": resolution}).to_bytes())
        fixed.call("use_profile", "pi5")
        assert (record(fixed)["profile"], record(fixed)["reason"]) == ("pi5", "fixed")

    def test_the_variant_after_one_that_failed_is_a_fallback(
        self, library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copy(DIGITS / "digits_xnnpack.pte", tmp_path)
        variants = ("power.source == 'mains'", "cpu.available_cores >= 2", "true")
        (tmp_path / "etconfig.toml").write_text(
            "[model.digits]\nfallback = true\n"
            + "".join(
                f'[[model.digits.variants]]\nfile = "digits_xnnpack.pte"\nwhen = "{each}"\n'
                for each in variants
            )
        )
        monkeypatch.chdir(tmp_path)
        device = Device(library, etconfig.pack_bundle(profiles=["generic/any"]).to_bytes())
        device.set("power.source", "battery")
        device.set("cpu.available_cores", 4)
        device.status("set_backends", text_array(["XnnpackBackend"]), 1)
        device.call("select")
        assert device.model("select_model", "digits")[0] == "OK"
        first = record(device)
        assert (first["reason"], first["model"], first["variant"]) == (
            "named",
            "digits",
            "digits_xnnpack.pte",
        )
        unsuited = "power.source == 'mains' does not hold: power.source is \"battery\""
        assert first["rejected"] == [{"variant": "digits_xnnpack.pte", "reason": unsuited}]
        assert first["facts"] == {"cpu.available_cores": 4, "power.source": "battery"}
        assert device.model("next_variant", "code é\n0x12")[0] == "OK"
        second = record(device)
        assert second["reason"] == "fallback"
        assert [each["reason"] for each in second["rejected"]] == [unsuited, "its load failed: code é\n0x12"]
        assert device.call("usage_reason", None) == 1

    def test_every_language_has_the_same_reasons(self, library: ctypes.CDLL) -> None:
        words = [library.etconfig_device_usage_reason_name(number).decode() for number in range(5)]
        assert words == ["matched", "fallback", "named", "fixed", "error"]
        assert library.etconfig_device_usage_reason_name(5) == b"unknown reason"
        assert re.findall(r"^  ETCONFIG_USAGE_(\w+)", HEADER.read_text(), re.MULTILINE)[:5] == [
            each.upper() for each in words
        ]
        java = (BINDINGS / "java" / "src/main/java/org/etconfig/device/UsageReason.java").read_text()
        assert re.findall(r"^  ([A-Z]+)", java, re.MULTILINE) == [each.upper() for each in words]
        swift = (BINDINGS / "swift" / "Sources" / "Device.swift").read_text()
        assert re.findall(r"^    case (\w+)$", swift, re.MULTILINE) == words


class TestGiven:
    """Facts of the application are written as they are, or refused."""

    @pytest.mark.parametrize("name", ["load_us", "first_run_us", "p50_us", "p95_us"])
    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_duration_that_is_not_finite_is_refused(self, device: Device, name: str, value: float) -> None:
        assert device.usage(failure=b"x", **{name: value}) == "INVALID_VALUE"

    def test_a_record_that_does_not_fit_is_refused_whole(self, device: Device) -> None:
        line = device.usage(failure=b"x")
        assert device.usage(len(line) + 1, failure=b"x") == line
        assert device.usage(len(line), failure=b"x") == "TOO_SMALL"
        assert device.usage(1, failure=b"x") == "TOO_SMALL"
        room = MAX_BYTES - len(line) - len(',"device":""')
        assert len(device.usage(failure=b"x", device=b"d" * room)) == MAX_BYTES
        assert device.usage(failure=b"x", device=b"d" * (room + 1)) == "TOO_SMALL"

    def test_a_failure_is_cut_at_a_whole_character(self, device: Device) -> None:
        assert record(device, failure="é".encode() * 150)["failure"] == "é" * 100
        assert record(device, failure=b"x" + "é".encode() * 150)["failure"] == "x" + "é" * 99

    def test_an_application_with_fewer_fields_is_understood(self, device: Device) -> None:
        """It was compiled when the struct ended after `at_ms`; what lies behind it is not read."""
        given = Usage(device=b"d", at_ms=3, load_us=-7.0, failure=b"not read")
        given.size = Usage.load_us.offset
        buffer = ctypes.create_string_buffer(2049)
        device.call("select")
        assert device.status("usage", ctypes.byref(given), buffer, 2049) == "OK"
        assert json.loads(buffer.value) == {
            "etconfig_usage": 1,
            "device": "d",
            "at": 3,
            "bundle": device.call("id"),
            "reason": "error",
            "failure": "no profile matches",
        }


def test_random_records_are_those_of_the_model(library: ctypes.CDLL, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(scaled(40)):
        rng = random.Random(seed)
        directory = tmp_path / str(seed)
        directory.mkdir()
        try:
            stack = Stack(rng, directory)
            revision = rng.choice((0, 7, 2**53 - 1))
            device = Device(library, write_tables(replace(stack.tables(), revision=Long(revision))))
        except EtconfigError:
            continue
        for number in range(4):
            sheet = random_sheet(rng, directory / f"{number}.json")
            for fact in device.listed("fact_name"):
                device.call("forget", fact)
                if fact in sheet.values:
                    assert device.set(fact, sheet.values[fact]) == "OK"
            is_matched = device.status("select") == "OK"
            name = device.call("profile") if is_matched else rng.choice(sorted(stack.resolvers))
            if not is_matched:
                device.call("use_profile", name)
            chain = ProfileReader(stack.library).chain(stack.library.find(name))
            match = chain[-1].match if is_matched else None
            try:
                resolution = stack.resolve(name, sheet)
            except EtconfigError:
                continue
            for arguments in resolution:
                assert device.status("resolve", arguments.method, arguments.instance) == "OK"
                decided = decided_fields(resolution, arguments, sorted(match.facts) if match else (), HIDDEN)
                decided |= {"profile": name, "reason": "matched" if is_matched else "named"}
                decided |= {"bundle": device.call("id"), **({"revision": revision} if revision else {})}
                for _ in range(10):
                    given = random_given(rng)
                    reason = {"reason": "error"} if "failure" in given else {}
                    expected = expected_line({**decided, **application_fields(given), **reason})
                    found = device.usage(**given)
                    assert found == (expected or "TOO_SMALL"), given
                    seen["all"] += 1
                    seen["hidden"] += b'"value":"(set, not shown)"' in found
                    seen["left out"] += b'"left_out"' in found
                    seen["left out options"] += b'"left_out":{"facts"' in found and b',"options":' in found
    assert seen["all"] > 1000
    assert min(seen["hidden"], seen["left out"], seen["left out options"]) > 20
