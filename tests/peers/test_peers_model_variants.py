"""Models in several variants on ExecuTorch's own runtime: XNNPACK first, the portable kernels next."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import DIGITS

import etconfig
from etconfig.errors import DelegateInvalidCompatibilityError

pytestmark = pytest.mark.peers

_XNNPACK_HEADER = b"XH00"
"""The start of a payload of XNNPACK."""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with both programs, one whose payload no version of XNNPACK reads, and their models."""
    monkeypatch.chdir(tmp_path)
    for name in ("digits_xnnpack.pte", "digits_portable.pte"):
        shutil.copy(DIGITS / name, tmp_path / name)
    content = (DIGITS / "digits_xnnpack.pte").read_bytes()
    assert _XNNPACK_HEADER in content
    (tmp_path / "foreign.pte").write_bytes(content.replace(_XNNPACK_HEADER, b"ZZ99"))
    lines = []
    for model, first, fallback in (
        ("digits", "digits_xnnpack.pte", "false"),
        ("foreign", "foreign.pte", "false"),
        ("lenient", "foreign.pte", "true"),
    ):
        lines += [f"[model.{model}]", f"fallback = {fallback}"]
        for file in (first, "digits_portable.pte"):
            lines += [f"[[model.{model}.variants]]", f'file = "{file}"']
    (tmp_path / "models.toml").write_text("\n".join(lines))
    return tmp_path


def answers(model: etconfig.LoadedModel) -> Any:
    with np.load(DIGITS / "digits.npz") as archive:
        image = archive["images"][:1]
    (scores,) = model.method("forward").execute([image])
    return scores


def test_the_real_runtime_brings_xnnpack(models: Path) -> None:
    choice = etconfig.select_model("digits", models="models.toml", executor="executorch")
    assert (str(choice.variant), choice.reasons) == (
        "digits_xnnpack.pte",
        ("XnnpackBackend is in runtime.backends",),
    )
    choice = etconfig.select_model("digits", models="models.toml", executor="numpy")
    assert str(choice.variant) == "digits_portable.pte"


def test_both_variants_agree_and_give_equal_answers(models: Path) -> None:
    with etconfig.load_model("digits", models="models.toml", executor="executorch") as model:
        assert str(model.report.running) == "digits_xnnpack.pte"
        delegated = answers(model)
    facts = {"runtime.backends": []}
    with etconfig.load_model(
        "digits", models="models.toml", executor="executorch", fact_overrides=facts
    ) as model:
        assert str(model.report.running) == "digits_portable.pte"
        portable = answers(model)
    np.testing.assert_allclose(delegated, portable, rtol=1e-4, atol=1e-4)


def test_a_payload_of_another_version_hands_over_with_the_runtimes_code(models: Path) -> None:
    with etconfig.load_model("lenient", models="models.toml", executor="executorch") as model:
        (failure,) = model.report.failures
        assert (str(failure.variant), failure.code) == ("foreign.pte", "DelegateInvalidCompatibility")
        assert str(model.report.running) == "digits_portable.pte"
        assert answers(model).shape == (1, 10)


def test_without_fallback_the_runtimes_error_is_the_error(models: Path) -> None:
    with pytest.raises(DelegateInvalidCompatibilityError):
        etconfig.load_model("foreign", models="models.toml", executor="executorch")


def test_options_of_the_failed_variants_backend_do_not_stop_the_next(models: Path) -> None:
    overrides = {"XnnpackBackend.num_threads": 1}
    with etconfig.load_model(
        "lenient", models="models.toml", executor="executorch", overrides=overrides
    ) as model:
        assert str(model.report.running) == "digits_portable.pte"
