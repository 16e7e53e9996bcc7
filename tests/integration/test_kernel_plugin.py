"""Kernels from another distribution, by way of the entry-point group `etconfig.kernels`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from plugin_data import write_distribution

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import MissingOperatorError

PROGRAM = Path(__file__).parents[1] / "data" / "programs" / "convolution_channels_last.pte"
MODULE = """
from functools import partial

import numpy as np

from etconfig.plugin.v1 import ApiRange, KernelsContribution, hookimpl
from etconfig.plugin.v1_kernels import KernelTable, Step, Tensor, kernel


@kernel("{operator}")
def clip(self: Tensor, out: Tensor) -> Step:
    out.resize(self.shape)
    return partial(np.maximum, self.array, 0, out=out.array)


@hookimpl
def etconfig_kernels(request):
    table = KernelTable("acme-kernels 1.0", (clip,))
    return KernelsContribution(api=ApiRange(min=1, built=1), table=table)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the distribution acme-kernels, whose module is still to be written."""
    write_distribution(
        tmp_path,
        "acme_kernels-1.0.dist-info",
        "[etconfig.kernels]\nacme = acme_kernels_plugin\n",
        "Name: acme-kernels\nVersion: 1.0\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("acme_kernels_plugin", None)


def load(directory: Path) -> etconfig.Method:
    """A program whose operator `aten::relu.out` is called `acme::relu.out`, which is as long."""
    data = PROGRAM.read_bytes()
    assert data.count(b"aten::relu") == 1
    installation = Installation(search_path=[str(directory)])
    program = etconfig.load_program(data.replace(b"aten::relu", b"acme::relu"), installation=installation)
    return program.load_method("forward")


class TestKernelPlugins:
    """An operator that etconfig lacks runs with the kernel of an installed plugin."""

    def test_a_plugin_supplies_an_operator(self, installed: Path) -> None:
        (installed / "acme_kernels_plugin.py").write_text(MODULE.format(operator="acme::relu.out"))
        with etconfig.load_program(PROGRAM) as program, program.load_method("forward") as builtin:
            info = builtin.metadata.input_tensor_meta(0)
            shape = [info.sizes()[dim] for dim in info.dim_order()]
            x = np.random.default_rng(0).standard_normal(shape, np.float32)
            x = x.transpose(np.argsort(info.dim_order()))
            expected = builtin.execute([x])
        with load(installed) as method:
            np.testing.assert_array_equal(method.execute([x])[0], expected[0])

    def test_without_it_the_error_names_the_group(self, tmp_path: Path) -> None:
        with pytest.raises(MissingOperatorError) as caught:
            load(tmp_path)
        assert str(caught.value) == (
            "method 'forward' needs 1 operator(s) that no installed kernel implements: acme::relu.out; "
            "install a package that provides them in the entry-point group 'etconfig.kernels'"
        )

    def test_a_plugin_that_fails_is_named_too(self, installed: Path) -> None:
        (installed / "acme_kernels_plugin.py").write_text("raise RuntimeError('no licence')\n")
        with pytest.raises(MissingOperatorError) as caught:
            load(installed)
        assert str(caught.value).endswith(
            "in the entry-point group 'etconfig.kernels'; one that is installed is broken: 'acme' of "
            "acme-kernels 1.0: acme_kernels_plugin.py:1: its import raised RuntimeError: no licence"
        )

    @pytest.mark.parametrize(
        ("table", "problem"),
        [
            ("[clip]", "its table is a list"),
            ('KernelTable("acme-kernels 1.0", (clip, "clip"))', "its table contains a value of type str"),
            (
                'KernelTable("acme-kernels 1.0", (kernel("acme::x")(lambda self: None),))',
                "kernel etconfig_kernels.<locals>.<lambda>: no argument of a program is a self: None",
            ),
        ],
    )
    def test_a_table_that_is_none_is_named_too(self, installed: Path, table: str, problem: str) -> None:
        text = MODULE.format(operator="acme::relu.out")
        text = text.replace('KernelTable("acme-kernels 1.0", (clip,))', table)
        (installed / "acme_kernels_plugin.py").write_text(text)
        with pytest.raises(MissingOperatorError) as caught:
            load(installed)
        assert str(caught.value).endswith(f"is broken: 'acme' of acme-kernels 1.0: {problem}")
        installation = Installation(search_path=[str(installed)])
        assert "acme::relu.out" not in installation.kernels
        assert [str(each) for each in installation.kernel_failures] == [
            f"acme-kernels 1.0: acme (etconfig.kernels): {problem}; "
            "give an etconfig.plugin.v1_kernels.KernelTable of functions that @kernel decorates"
        ]
