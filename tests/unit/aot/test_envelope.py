"""The envelope of payloads: what is sealed comes back, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import scaled

from etconfig.aot.envelope import ALIGNMENT_BYTES
from etconfig.errors import DelegateError
from etconfig.expression import parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import (
    DelegateInvalidCompatibilityError,
    EngineRange,
    Envelope,
    HostConstraints,
    InvalidPayloadError,
    open_envelope,
)

FULL = Envelope(
    backend="AcmeBackend",
    kind="acme graph",
    version=3,
    engine=EngineRange(name="acme", built="1.4.2", min="1.2", below="2"),
    host=HostConstraints.of_triple("x86_64-unknown-linux-gnu", ["avx2", "fma"]),
    metadata={"inputs": "x y"},
)
PAYLOAD = bytes(range(256)) * 2 + b"end"
HOST = {"cpu.arch": "x86_64", "os.name": "linux", "abi": "gnu", "cpu.features": ("avx2", "fma", "sse4_2")}
REFUSALS = (DelegateInvalidCompatibilityError, InvalidPayloadError)


def opened(data: bytes, **settings: Any) -> bytes:
    return bytes(open_envelope(data, backend_id="AcmeBackend", host=HOST, **settings))


def sealed_again(text: bytes, payload: bytes = PAYLOAD) -> bytes:
    """An envelope around any description, written from the table of its docstring."""
    start = -(-(52 + len(text)) // 64) * 64
    fixed = struct.pack("<4sHHIQ", b"ETAP", 1, 0, len(text), start + len(payload))
    text += bytes(start - 52 - len(text))
    checksum = hashlib.sha256(fixed + text + hashlib.sha256(payload).digest()).digest()
    return fixed + checksum + text + payload


class TestWhatIsSealedComesBack:
    """The payload and its description are the same after sealing and opening."""

    @pytest.mark.parametrize("envelope", [FULL, Envelope(backend="AcmeBackend", kind="onnx")])
    @pytest.mark.parametrize("payload", [b"", b"x", PAYLOAD, bytearray(b"abc"), memoryview(PAYLOAD)[5:77]])
    def test_the_payload_and_its_description(self, envelope: Envelope, payload: bytes) -> None:
        data = envelope.seal(payload)
        read, view = Envelope.read(data)
        assert (read, bytes(view)) == (envelope, bytes(payload))
        assert opened(data) == bytes(payload)
        assert read.sha256 == hashlib.sha256(payload).hexdigest()

    def test_random_payloads(self) -> None:
        random.seed(4)
        for size in random.sample(range(5000), 200):
            payload = random.randbytes(size)
            assert opened(FULL.seal(payload)) == payload

    def test_equal_envelopes_give_equal_bytes(self) -> None:
        one = Envelope(backend="B", kind="k", metadata={"a": "1", "b": "2"})
        other = Envelope(backend="B", kind="k", metadata={"b": "2", "a": "1"})
        assert one.seal(PAYLOAD) == other.seal(PAYLOAD)

    def test_the_format_is_the_one_of_the_table(self) -> None:
        text = json.dumps({"backend": "B", "kind": "k", "version": 1}, separators=(",", ":")).encode()
        assert Envelope(backend="B", kind="k").seal(PAYLOAD) == sealed_again(text)

    def test_the_payload_is_aligned_and_not_a_copy(self) -> None:
        data = FULL.seal(PAYLOAD)
        payload = open_envelope(data, backend_id="AcmeBackend", host=HOST)
        whole = np.frombuffer(data, np.uint8)
        part = np.frombuffer(payload, np.uint8)
        assert np.shares_memory(whole, part)
        assert (part.ctypes.data - whole.ctypes.data) % ALIGNMENT_BYTES == 0
        assert payload.readonly

    def test_it_pickles(self) -> None:
        assert pickle.loads(pickle.dumps(FULL)) == FULL


class TestDamage:
    """A changed envelope is refused, whatever changed."""

    def test_every_single_bit_flip_is_refused(self) -> None:
        data = FULL.seal(PAYLOAD)
        for index in range(len(data)):
            for bit in range(8):
                flipped = bytearray(data)
                flipped[index] ^= 1 << bit
                with pytest.raises(REFUSALS):
                    opened(flipped)

    def test_every_truncation_is_refused(self) -> None:
        data = FULL.seal(PAYLOAD)
        for length in range(len(data)):
            with pytest.raises(InvalidPayloadError, match=r"begins with|truncated"):
                opened(data[:length])

    def test_bytes_that_follow_are_refused(self) -> None:
        with pytest.raises(InvalidPayloadError):
            opened(FULL.seal(PAYLOAD) + b"\0")

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(InvalidPayloadError, match=r"begins with b'ETAP', this one with b'PK\\x03\\x04'"):
            opened(b"PK\x03\x04 and more")

    @pytest.mark.parametrize(("version", "fix"), [(0, "export the program again"), (2, "update etconfig")])
    def test_another_version_of_the_envelope(self, version: int, fix: str) -> None:
        data = bytearray(FULL.seal(PAYLOAD))
        data[4] = version
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            opened(data)
        assert caught.value.help == fix
        assert f"format version {version}, this etconfig reads 1" in caught.value.cause

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (b"[]", "expected an object, found list"),
            (b"{", "Expecting property name"),
            (b"\xff", "can't decode byte"),
            (b"[" * 100_000, "recursion"),
            (b'{"backend":"B","kind":"k"}', "version: expected int, found None"),
            (b'{"backend":"B","kind":"k","version":true}', "version: expected int, found True"),
            (b'{"backend":"B","kind":"k","version":0}', "expected 1 to 65535"),
            (b'{"backend":"","kind":"k","version":1}', "needs the backend's id"),
            (b'{"backend":"B","kind":"k","version":1,"driver":"4"}', "unknown field 'driver'"),
            (b'{"backend":"B","kind":"k","version":1,"metadata":{"a":1}}', "metadata: expected texts"),
            (b'{"backend":"B","kind":"k","version":1,"host":{"features":"avx2"}}', "host: expected texts"),
            (b'{"backend":"B","kind":"k","version":1,"host":{"cpu":"x"}}', "unknown field 'cpu'"),
            (
                b'{"backend":"B","kind":"k","version":1,"engine":{"name":"e","min":2}}',
                "engine: expected texts",
            ),
            (b'{"backend":"B","kind":"k","version":1,"engine":{"name":"e","min":"x"}}', "is not a version"),
        ],
    )
    def test_a_forged_description_is_refused(self, text: bytes, problem: str) -> None:
        with pytest.raises(InvalidPayloadError, match=problem):
            Envelope.read(sealed_again(text))

    def test_lengths_that_contradict_each_other(self) -> None:
        fixed = struct.pack("<4sHHIQ", b"ETAP", 1, 0, 1000, 60)
        digest = hashlib.sha256(fixed + b"\0" * 8 + hashlib.sha256(b"").digest()).digest()
        with pytest.raises(InvalidPayloadError, match="contradict"):
            Envelope.read(fixed + digest + b"\0" * 8)

    def test_damage_is_an_error_of_delegates(self) -> None:
        with pytest.raises(DelegateError) as caught:
            Envelope.read(b"nothing")
        assert (caught.value.code, caught.value.code_name) == (0x23, "InvalidProgram")
        assert pickle.loads(pickle.dumps(caught.value)).cause == caught.value.cause


class TestWhatItIsFor:
    """A whole payload for something else is refused, with the fix."""

    def test_another_backend(self) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError, match="for backend 'AcmeBackend', and 'Other'"):
            open_envelope(FULL.seal(PAYLOAD), backend_id="Other", host=HOST)

    def test_another_kind(self) -> None:
        assert opened(FULL.seal(PAYLOAD), kind="acme graph") == PAYLOAD
        with pytest.raises(DelegateInvalidCompatibilityError, match=r"of kind 'acme graph', .* reads 'onnx'"):
            opened(FULL.seal(PAYLOAD), kind="onnx")

    @pytest.mark.parametrize(
        ("versions", "fix"), [((1, 2), "update its plugin"), ((4,), "export the program again")]
    )
    def test_another_version_of_the_format(self, versions: tuple[int, ...], fix: str) -> None:
        assert opened(FULL.seal(PAYLOAD), versions=(2, 3)) == PAYLOAD
        with pytest.raises(DelegateInvalidCompatibilityError, match="version 3 of its format") as caught:
            opened(FULL.seal(PAYLOAD), versions=versions)
        assert caught.value.help == fix

    @pytest.mark.parametrize(
        "version", ["1.2", "1.2.0", "1.2.0.post1", "1.10", "1.99.1", "1.4.2+cpu", "1.9rc1"]
    )
    def test_versions_of_the_engine_in_the_range(self, version: str) -> None:
        assert opened(FULL.seal(PAYLOAD), engine_version=version) == PAYLOAD

    @pytest.mark.parametrize("version", ["1.1.9", "1", "0.9", "2", "2.0.0", "10.1"])
    def test_versions_of_the_engine_outside_of_it(self, version: str) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            opened(FULL.seal(PAYLOAD), engine_version=version)
        assert str(caught.value) == (
            f"the payload needs acme >=1.2, <2 (made with 1.4.2); version {version} is installed; "
            f"install 'acme>=1.2,<2', or export the program again with acme {version}"
        )

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"cpu.arch": "arm64"}, "with cpu.arch 'x86_64', and of this device cpu.arch is 'arm64'"),
            ({"cpu.arch": None}, "and of this device cpu.arch is unknown"),
            ({"os.name": "windows"}, "with os.name 'linux', and of this device os.name is 'windows'"),
            ({"abi": "musl"}, "with abi 'gnu', and of this device abi is 'musl'"),
            (
                {"cpu.features": ("fma",)},
                "with the instructions avx2, and of this device the processor lacks",
            ),
            (
                {"cpu.features": None},
                "the instructions avx2, fma, and of this device the fact cpu.features is",
            ),
        ],
    )
    def test_another_device(self, changes: dict[str, Any], reason: str) -> None:
        with pytest.raises(DelegateInvalidCompatibilityError) as caught:
            open_envelope(FULL.seal(PAYLOAD), backend_id="AcmeBackend", host=HOST | changes)
        assert "(target x86_64-unknown-linux-gnu)" in caught.value.cause
        assert reason in caught.value.cause
        assert caught.value.help == "export the program again for this device"

    def test_this_device_is_detected_if_the_payload_depends_on_it(self) -> None:
        wrong = Envelope(backend="B", kind="k", host=HostConstraints(features=("no_such_instruction",)))
        with pytest.raises(
            DelegateInvalidCompatibilityError, match="no_such_instruction, and of this device"
        ):
            open_envelope(wrong.seal(b""), backend_id="B")


class TestHostConstraints:
    """A compiler's target becomes facts."""

    @pytest.mark.parametrize(
        ("triple", "arch", "os", "abi"),
        [
            ("x86_64-unknown-linux-gnu", "x86_64", "linux", "gnu"),
            ("aarch64-linux-gnu", "arm64", "linux", "gnu"),
            ("armv7l-unknown-linux-gnueabihf", "arm", "linux", "gnu"),
            ("aarch64-unknown-linux-musl", "arm64", "linux", "musl"),
            ("aarch64-linux-android34", "arm64", "android", None),
            ("arm64-apple-darwin23.1.0", "arm64", "macos", None),
            ("arm64-apple-macosx14.0", "arm64", "macos", None),
            ("x86_64-pc-windows-msvc", "x86_64", "windows", "msvc"),
            ("riscv64-unknown-linux-gnu", "riscv64", "linux", "gnu"),
        ],
    )
    def test_triples(self, triple: str, arch: str, os: str, abi: str | None) -> None:
        constraints = HostConstraints.of_triple(triple, ["b", "a", "b"])
        assert (constraints.arch, constraints.os, constraints.abi) == (arch, os, abi)
        assert (constraints.triple, constraints.features) == (triple, ("a", "b"))

    @pytest.mark.parametrize("triple", ["x86_64", "", "hexagon-unknown-elf"])
    def test_a_triple_of_an_unknown_system_is_an_error(self, triple: str) -> None:
        with pytest.raises(ValueError, match="has no known system"):
            HostConstraints.of_triple(triple)

    def test_a_name_that_the_fact_never_has_is_an_error(self) -> None:
        with pytest.raises(ValueError, match=r"cpu.arch is never 'aarch64'; write 'arm64'"):
            HostConstraints(arch="aarch64")

    def test_no_constraints_fit_every_device(self) -> None:
        HostConstraints().check({})


@pytest.mark.parametrize(
    "settings",
    [
        {"name": ""},
        {"name": "e", "min": "x"},
        {"name": "e", "min": "2", "below": "2.0"},
        {"name": "e", "built": ""},
    ],
)
def test_a_range_that_makes_no_sense_is_an_error(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"needs a name|is not a version|no version of e"):
        EngineRange(**settings)


def test_a_description_of_more_than_a_mebibyte_is_an_error() -> None:
    with pytest.raises(ValueError, match="at most 1048576 are allowed"):
        Envelope(backend="B", kind="k", metadata={"a": "x" * (1 << 20)}).seal(b"")


def test_a_damaged_payload_names_the_backend_and_the_method(tmp_path: Path) -> None:
    from etconfig.method.delegate import blame

    with pytest.raises(InvalidPayloadError) as caught, blame("AcmeBackend", "forward", "init"):
        Envelope.read(b"nothing")
    assert str(caught.value).startswith(
        "backend 'AcmeBackend' failed in init of method 'forward': a payload in"
    )


class TestDescription:
    """The needs of an envelope are those that `HostConstraints.check` compares, as far as facts know them."""

    def test_it_has_the_target_the_engine_and_the_kind(self) -> None:
        host = HostConstraints.of_triple("aarch64-unknown-linux-gnu", ["asimddp"])
        engine = EngineRange(name="acme", built="1.4.2")
        found = Envelope(backend="B", kind="library", engine=engine, host=host).describe({"conv": 2}, "more")
        assert (found.operators, found.target) == ({"conv": 2}, "aarch64-unknown-linux-gnu")
        assert (found.sdk_version, found.notes) == ("acme 1.4.2", ("library", "more"))
        (need,) = found.needs
        assert need.condition == 'cpu.arch == "arm64" && os.name == "linux" && "asimddp" in cpu.features'
        assert Envelope(backend="B", kind="onnx").describe().needs == []

    def test_the_need_decides_as_check_does(self) -> None:
        chance = random.Random(4)
        known = [f"f{number}" for number in range(45)]
        for _ in range(scaled(400)):
            features = chance.sample(known, chance.choice((0, 1, 3, 45)))
            arch, system = chance.choice((None, "arm64")), chance.choice((None, "linux"))
            host = HostConstraints(arch=arch, os=system, features=tuple(features))
            device: dict[str, object] = {
                "cpu.arch": chance.choice(("arm64", "x86_64")),
                "os.name": chance.choice(("linux", "macos")),
                "cpu.features": tuple(chance.sample(known, chance.choice((45, 44, 10)))),
            }
            try:
                host.check(device)
            except DelegateInvalidCompatibilityError:
                fits = False
            else:
                fits = True
            for need in host.needs():
                assert parse_expression(need.condition, BUILTIN_FACTS).evaluate(device) is fits
                assert isinstance(parse_expression(str(need.found), BUILTIN_FACTS).evaluate(device), str)
            assert fits or host.needs()
