"""Descriptions of payloads that ExecuTorch's exporters wrote: `tools/build_payloads.py`."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from effort import scaled
from etconfig_upstream.plugin import schema_of

import etconfig
from etconfig.app.programs.payloads import PayloadReading, read_payload
from etconfig.base.compile_specs import CompileSpecs
from etconfig.diagnostics import Diagnostic
from etconfig.expression import Unknown, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import PayloadDescription

DATA = Path(__file__).parents[3] / "tests" / "data"
PAYLOADS = DATA / "payloads"
CHIPS: Mapping[str, Mapping[str, object]] = json.loads((PAYLOADS / "qnn.json").read_text())
"""The compile spec of each chip, and the version of its HTP, both from ExecuTorch's own Python code."""

BACKENDS = {
    "coreml_ios17": "CoreMLBackend",
    "coreai": "CoreAIBackend",
    "ethos-u55-128": "EthosUBackend",
    "ethos-u85-256": "EthosUBackend",
}


def stored(name: str) -> tuple[bytes, CompileSpecs]:
    """Return a payload and its compile specs."""
    specs = json.loads((PAYLOADS / f"{name}.json").read_text())
    pairs = [(key, bytes.fromhex(value)) for key, value in specs.items()]
    return (PAYLOADS / f"{name}.bin").read_bytes(), CompileSpecs(pairs)


def read(backend: str, payload: bytes, specs: CompileSpecs | None = None) -> PayloadReading:
    return read_payload(schema_of(backend), payload, specs or CompileSpecs(), BUILTIN_FACTS)


def described(name: str) -> PayloadDescription:
    reading = read(BACKENDS[name], *stored(name))
    assert reading.description is not None, reading.problem
    return reading.description


def qnn(chip: str) -> PayloadDescription:
    specs = CompileSpecs([("qnn_compile_spec", bytes.fromhex(str(CHIPS[chip]["qnn_compile_spec"])))])
    found = read("QnnBackend", b"", specs).description
    assert found is not None
    return found


def verdicts(description: PayloadDescription, **facts: object) -> list[object]:
    """Return the result of each need; facts have `_` for the first dot."""
    values = {name.replace("_", ".", 1): value for name, value in facts.items()}
    results = [parse_expression(each.condition, BUILTIN_FACTS).evaluate(values) for each in description.needs]
    return ["unknown" if isinstance(each, Unknown) else each for each in results]


def digits() -> bytes:
    """Return a payload of XNNPACK."""
    with etconfig.load_program(DATA / "digits" / "digits_xnnpack.pte") as program:
        (delegate,) = program.program.plan("forward").delegates
        return bytes(program.program.delegate_data(delegate))


class TestXnnpack:
    """The nodes of XNNPACK's graph are counted by kind."""

    def test_the_nodes_of_digits(self) -> None:
        found = read("XnnpackBackend", digits()).description
        assert found is not None
        assert found.operators == {
            "FullyConnected": 2,
            "Softmax": 1,
            "StaticTranspose": 2,
            "Conv2d": 1,
            "DepthwiseConv2d": 1,
            "MaxPooling2d": 1,
            "Multiply": 1,
            "Subtract": 1,
            "StaticReshape": 1,
        }
        assert (found.target, *found.needs) == (None,)

    def test_other_bytes_are_refused(self) -> None:
        assert read("XnnpackBackend", b"").problem == (
            "it cannot be described: it is damaged, or not a payload of XNNPACK"
        )


class TestQnn:
    """The chip of a QNN payload is in its compile spec; older HTPs do not run it, newer ones do."""

    def test_the_target(self) -> None:
        assert qnn("SM8650").target == "HTP v75 of SM8650"
        assert qnn("SM8650").notes == ["up to 8 MB of VTCM"]

    def test_each_pair_of_chips_as_the_versions_say(self) -> None:
        """Model: a context for one version loads on the same or a newer one."""
        for compiled, chip in CHIPS.items():
            need = qnn(compiled)
            for device, other in CHIPS.items():
                fits = int(str(other["htp_arch"])) >= int(str(chip["htp_arch"]))
                assert verdicts(need, soc_model=device) == [fits], (compiled, device)

    @pytest.mark.parametrize(
        ("facts", "verdict"),
        [
            ({}, "unknown"),
            ({"soc_model": "SM7675", "soc_vendor": "QTI"}, True),  # nothing is certain of it
            ({"soc_model": "SM7675"}, "unknown"),
            ({"soc_model": "Tensor G3", "soc_vendor": "Google"}, False),
            ({"soc_vendor": "Google"}, "unknown"),
        ],
    )
    def test_chips_that_executorch_does_not_list(self, facts: Mapping[str, object], verdict: object) -> None:
        assert verdicts(qnn("SM8650"), **facts) == [verdict]

    def test_without_a_compile_spec(self) -> None:
        assert read("QnnBackend", b"x").problem == (
            "it cannot be described: the delegate has no compile spec qnn_compile_spec"
        )


class TestApple:
    """A model of Core ML says its operations and the first systems; Core AI's manifest its architectures."""

    def test_core_ml(self) -> None:
        found = described("coreml_ios17")
        assert {name: found.operators[name] for name in ("conv", "relu", "max_pool", "linear")} == {
            "conv": 1,
            "relu": 1,
            "max_pool": 1,
            "linear": 1,
        }
        assert (found.target, found.sdk_version) == ("macOS 14 and iOS 17, or later", "coremltools 9.0")
        assert verdicts(found, os_name="macos", os_version="13.6") == [True, False]
        assert verdicts(found, os_name="macos", os_version="9.10") == [True, False]
        assert verdicts(found, os_name="macos", os_version="14.0") == [True, True]
        assert verdicts(found, os_name="ios") == [True, True]
        assert verdicts(found, os_name="android") == [False, True]
        assert verdicts(found, os_name="macos") == [True, "unknown"]

    def test_core_ai_portable(self) -> None:
        found = described("coreai")
        assert found.target == "Apple's systems, portable"
        assert found.notes == ["the model is in the program's named data"]
        assert verdicts(found, os_name="linux") == [False]

    def test_core_ai_per_architecture(self) -> None:
        """Built from `_preprocess_aot_compiled` in backends/apple/coreai/compiler/preprocess.py: xcrun is
        not here.
        """
        manifest = {
            "packaging": "aot_compiled_sidecar",
            "hash": "7d8f",
            "platform": "iOS",
            "min_deployment_version": "27.0",
            "archs": {"h17p": "7d8f/model.h17p.aimodelc", "h16p": "7d8f/model.h16p.aimodelc"},
        }
        found = read("CoreAIBackend", json.dumps(manifest).encode()).description
        assert found is not None
        assert found.target == "h16p, h17p; from iOS 27.0 on"
        assert found.notes == ["the model is beside the program"]
        assert verdicts(found, os_name="ios") == [True]
        assert verdicts(found, os_name="macos") == [False]

    def test_a_shared_model_of_core_ml_is_a_reference(self) -> None:
        found = read("CoreMLBackend", b'CMJR{"version": 1}').description
        assert found is not None
        assert found.notes == ["the model is in the program's named data, since several methods share it"]


class TestEthosU:
    """Vela's blob says its processor and operations."""

    @pytest.mark.parametrize("name", ["ethos-u55-128", "ethos-u85-256"])
    def test_the_target_is_in_the_commands(self, name: str) -> None:
        payload, _ = stored(name)
        without_specs = read("EthosUBackend", payload).description
        assert without_specs is not None
        assert without_specs.target == described(name).target == name
        assert {"conv", "pool"} <= without_specs.operators.keys()
        assert verdicts(without_specs, npu_0="x") == ["unknown"]
        facts = {"npu.0.name": name}
        assert verdicts(without_specs, **{"npu_0.name": facts["npu.0.name"]}) == [True]
        assert verdicts(without_specs, **{"npu_0.name": "ethos-u65-256"}) == [False]
        assert verdicts(without_specs, **{"npu_0.name": "Arm NPU"}) == [True]

    def test_another_target_in_the_compile_specs_is_a_note(self) -> None:
        payload, _ = stored("ethos-u55-128")
        found = read("EthosUBackend", payload, CompileSpecs([("target", b"ethos-u55-256")])).description
        assert found is not None
        assert found.notes[1] == (
            "compile spec target says 'ethos-u55-256', and the commands are for ethos-u55-128"
        )


class TestDamage:
    """Changed, cut and random bytes are described or refused, and never fail the plugin."""

    @pytest.mark.parametrize("backend", ["XnnpackBackend", *sorted({*BACKENDS.values()}), "QnnBackend"])
    def test_any_bytes(self, backend: str) -> None:
        chance = random.Random(backend)
        wholes = [stored(name)[0] for name, each in BACKENDS.items() if each == backend]
        wholes = wholes or [digits(), bytes.fromhex(str(CHIPS["SM8650"]["qnn_compile_spec"]))]
        for _ in range(scaled(300)):
            damaged = bytearray(chance.choice(wholes))
            damaged = damaged[: chance.choice((len(damaged), chance.randrange(len(damaged) + 1)))]
            for _ in range(chance.randrange(6) if damaged else 0):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            specs = CompileSpecs([("qnn_compile_spec", bytes(damaged)), ("target", bytes(damaged[:20]))])
            reading = read(backend, bytes(damaged), specs)
            assert not reading.is_plugins, (reading.problem, bytes(damaged).hex())

    @pytest.mark.parametrize("backend", ["XnnpackBackend", *sorted({*BACKENDS.values()})])
    def test_a_million_random_bytes(self, backend: str) -> None:
        heads = {"EthosUBackend": b"vela_bin_stream\0", "XnnpackBackend": b"\0\0\0\0XH00"}
        noise = heads.get(backend, b"") + random.Random(1).randbytes(10**6)
        for payload in (noise, b"[" * 10**6, b"{" * 10**6, bytes(10**6)):
            reading = read(backend, payload)
            assert reading.problem is not None
            assert not reading.is_plugins


def test_validate_says_which_device_has_what(tmp_path: Path) -> None:
    """The sentence of the README of payloads: compiled for v75, the device has v73."""
    from delegating_programs import delegating_program

    from etconfig.app.programs.payloads import payload_problems
    from etconfig.facts.sheet import FactSheet

    spec = bytes.fromhex(str(CHIPS["SM8650"]["qnn_compile_spec"]))
    path = tmp_path / "qnn.pte"
    path.write_bytes(delegating_program("QnnBackend", specs={"qnn_compile_spec": spec}))
    installation = etconfig.Installation(search_path=()).with_backends(
        {"QnnBackend": schema_of("QnnBackend")}
    )

    def problems(**facts: object) -> list[Diagnostic]:
        values = {name.replace("_", ".", 1): value for name, value in facts.items()}
        sheet = FactSheet.from_values(values, "test")  # type: ignore[arg-type]  # texts
        with etconfig.load_program(path, installation=installation) as program:
            return [*payload_problems(program, sheet)]

    (problem,) = problems(soc_model="SM8550")
    assert (problem.code, problem.is_error) == ("payload-mismatch", True)
    assert problem.message.endswith(
        "qnn.pte: forward: the payload of QnnBackend #0 does not fit this device: it is compiled for HTP "
        "v75, and the device has v73"
    )
    assert problems(soc_model="SM8750") == []
    (undecided,) = problems()
    assert undecided.code == "undecided-condition"
    assert undecided.message.endswith(
        "qnn.pte: forward: the payload of QnnBackend #0 may not fit this device: it is compiled for "
        "HTP v75, and soc.model or soc.vendor is not known"
    )
