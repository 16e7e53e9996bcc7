"""The payloads of the digits program, as ExecuTorch serialized them, give PyTorch's answers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from etconfig_reference.cpu import ReferenceCpuBackend
from etconfig_reference.npu import ReferenceNpuBackend
from etconfig_reference.options import PowerMode, Precision, ReferenceCpuOptions, ReferenceNpuOptions
from etconfig_reference.payload import MAGIC, decode_graph

DIGITS = Path(__file__).parents[3] / "tests" / "data" / "digits"
FEATURES_INPUT = (1, 1, 8, 8)
CLASSIFIER_INPUT = (1, 32, 4, 4)


@pytest.fixture(scope="module")
def data() -> Any:
    with np.load(DIGITS / "digits.npz") as archive:
        return dict(archive)


def find_payload(program: bytes, input_shape: tuple[int, ...]) -> bytes:
    """Return the only payload in a program whose delegate has an input of this shape."""
    starts = [i for i in range(len(program)) if program.startswith(MAGIC, i)]
    payloads = [program[i : i + struct.unpack_from("<Q", program, i + 12)[0]] for i in starts]
    (found,) = [payload for payload in payloads if takes(payload, input_shape)]
    return found


def takes(payload: bytes, input_shape: tuple[int, ...]) -> bool:
    graph = decode_graph(memoryview(payload))
    return [graph.values[value].shape for value in graph.inputs] == [input_shape]


def run_features(harness: Any, payload: bytes, images: Any) -> Any:
    handle = harness.init(payload)
    features = np.zeros((len(images), *CLASSIFIER_INPUT[1:]), np.float32)
    for image, out in zip(images, features, strict=True):
        harness.execute(handle, image[np.newaxis] * np.float32(0.0625) - np.float32(0.5), out[np.newaxis])
    return features


@pytest.mark.parametrize("program", ["digits.pte", "digits_inline.pte"])
class TestDigits:
    """Features on the NPU, classifier on the CPU."""

    def test_the_answers_are_those_of_pytorch(self, make_harness: Any, data: Any, program: str) -> None:
        content = (DIGITS / program).read_bytes()
        npu = make_harness(ReferenceNpuBackend(sleep=lambda _: None), ReferenceNpuOptions())
        cpu = make_harness(ReferenceCpuBackend(), ReferenceCpuOptions())
        features = run_features(npu, find_payload(content, FEATURES_INPUT), data["images"])
        np.testing.assert_allclose(features.mean(axis=(2, 3)), data["embed"], atol=1e-5)

        classifier = cpu.init(find_payload(content, CLASSIFIER_INPUT))
        for image_features, expected in zip(features, data["forward"], strict=True):
            logits = np.zeros((1, 10), np.float32)
            cpu.execute(classifier, image_features[np.newaxis], logits)
            powers = np.exp(logits[0] - logits.max())
            np.testing.assert_allclose(powers / powers.sum(), expected, atol=1e-5)


def test_fp16_features_differ_visibly_but_little(make_harness: Any, data: Any) -> None:
    payload = find_payload((DIGITS / "digits.pte").read_bytes(), FEATURES_INPUT)
    options = ReferenceNpuOptions(precision=Precision.FP16)
    npu = make_harness(ReferenceNpuBackend(sleep=lambda _: None), options)
    embedding = run_features(npu, payload, data["images"]).mean(axis=(2, 3))
    error = np.abs(embedding - data["embed"]).max()
    assert 1e-5 < error < 1e-2


@pytest.mark.parametrize("core", [0, 3])
def test_an_image_takes_the_device_between_a_fifth_and_four_milliseconds(
    make_harness: Any, core: int
) -> None:
    payload = find_payload((DIGITS / "digits.pte").read_bytes(), FEATURES_INPUT)
    npu = make_harness(ReferenceNpuBackend(sleep=lambda _: None), ReferenceNpuOptions(core=core))
    handle = npu.init(payload)
    for mode in PowerMode:
        busy_before = handle.busy_seconds
        image = np.zeros(FEATURES_INPUT, np.float32)
        npu.execute(handle, image, np.zeros(CLASSIFIER_INPUT, np.float32), power_mode=mode)
        assert 2e-4 < handle.busy_seconds - busy_before < 4e-3
