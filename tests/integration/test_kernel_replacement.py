"""Kernels of plugins and of the caller in place of etconfig's own."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from plans import PlanBuilder
from plugin_data import write_distribution

import etconfig
from etconfig.analysis.examination import Finding, examine_installation
from etconfig.app.installation.kernel_choice import KernelChoice
from etconfig.errors import DuplicatePluginError, ProfileError
from etconfig.kernel.registry import Kernel, Step
from etconfig.kernels import builtin_kernels
from etconfig.plugin.v1_kernels import ArrayCall, KernelTable, Tensor, kernel

PROGRAM = Path(__file__).parents[1] / "data" / "programs" / "convolution_channels_last.pte"
RELU = "aten::relu.out"
MODULE = """
from functools import partial

import numpy as np

from etconfig.plugin.v1 import ApiRange, KernelsContribution, hookimpl
from etconfig.plugin.v1_kernels import ArrayCall, KernelTable, Step, Tensor, kernel


@kernel("aten::relu.out")
def sevens(self: Tensor, out: Tensor) -> Step:
    out.resize(self.shape)
    return ArrayCall(np.copyto, out.array, np.float32(7))


@hookimpl
def etconfig_kernels(request):
    return KernelsContribution(api=ApiRange(min=1, built=1), table=KernelTable("NAME", (sevens,)))
"""


def install(directory: Path, name: str) -> None:
    """Write a distribution whose kernel for relu fills its output with 7."""
    module = name.replace("-", "_")
    metadata = f"Name: {name}\nVersion: 1.0\n"
    points = f"[etconfig.kernels]\n{name} = {module}\n"
    write_distribution(directory, f"{module}-1.0.dist-info", points, metadata)
    (directory / f"{module}.py").write_text(MODULE.replace("NAME", name))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory of installed distributions, which is also that of the project file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("acme_kernels", "bolt_kernels"):
        sys.modules.pop(name, None)


def installation_in(directory: Path, project: str = "") -> etconfig.Installation:
    path = directory / "etconfig.toml"
    path.write_text(project)
    return etconfig.Installation(search_path=[str(directory)]).with_project(path)


def outputs(installation: etconfig.Installation) -> np.ndarray:
    with (
        etconfig.load_program(PROGRAM, installation=installation, executor="numpy") as program,
        program.load_method("forward") as method,
    ):
        info = method.metadata.input_tensor_meta(0)
        x = np.zeros([info.sizes()[dim] for dim in info.dim_order()], np.float32)
        return method.execute([x.transpose(np.argsort(info.dim_order()))])[0]


class TestPreference:
    """`[kernels.prefer]` decides between kernels; without it, an operator with several cannot be called."""

    def test_without_a_preference_the_error_has_the_line_to_write(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        with pytest.raises(DuplicatePluginError) as caught:
            outputs(installation_in(directory))
        text = re.sub(r"etconfig \d\S*", "etconfig VERSION", str(caught.value))
        assert text == (
            "'aten::relu.out' in etconfig.kernels is claimed by etconfig VERSION and acme-kernels 1.0; "
            'choose in etconfig.toml, below [kernels.prefer]: "aten::relu.out" = "etconfig" or '
            '"aten::relu.out" = "acme-kernels"'
        )

    def test_programs_that_do_not_call_the_operator_run(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        installation = installation_in(directory)
        path = PROGRAM.parent / "linear.pte"
        with etconfig.load_program(path, installation=installation, executor="numpy") as program:
            program.load_method(program.method_names[0]).close()

    @pytest.mark.parametrize("name", ["acme-kernels", "Acme_Kernels"])
    def test_the_preferred_distribution_wins(self, directory: Path, name: str) -> None:
        install(directory, "acme-kernels")
        project = f'[kernels.prefer]\n"{RELU}" = "{name}"\n'
        assert (outputs(installation_in(directory, project)) == 7).all()

    def test_etconfig_can_be_preferred(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        project = f'[kernels.prefer]\n"{RELU}" = "etconfig"\n'
        assert not (outputs(installation_in(directory, project)) == 7).any()

    def test_a_preference_decides_between_three(self, directory: Path) -> None:
        for name in ("acme-kernels", "bolt-kernels"):
            install(directory, name)
        chosen = installation_in(directory, f'[kernels.prefer]\n"{RELU}" = "bolt-kernels"\n').kernels
        assert (chosen.source(RELU), chosen.contested) == ("bolt-kernels 1.0", {})

    def test_a_preference_that_cannot_be_followed_is_an_error(self, directory: Path) -> None:
        project = f'[kernels.prefer]\n"{RELU}" = "acme-kernels"\n'
        with pytest.raises(DuplicatePluginError, match="names 'acme-kernels', which does not decide"):
            outputs(installation_in(directory, project))

    def test_a_table_that_is_none_is_a_problem_of_the_file(self, directory: Path) -> None:
        with pytest.raises(ProfileError, match="prefer"):
            outputs(installation_in(directory, '[kernels]\nprefer = "acme-kernels"\n'))

    def test_an_operator_without_quotes_gets_them(self, directory: Path) -> None:
        path = directory / "etconfig.toml"
        path.write_text('[kernels.prefer]\naten::relu.out = "etconfig"\n')
        (problem,) = etconfig.validate_file(path)
        assert (problem.code, problem.help) == (
            "invalid-toml",
            "quote parts with other characters than letters, digits, _ and -, and operators as a whole: "
            '"aten::relu.out" = "etconfig"',
        )
        assert problem.fix is not None
        path.write_text('[kernels.prefer]\n"aten::relu.out" = "etconfig"\n')
        assert etconfig.validate_file(path) == ()

    def test_a_key_that_is_unknown_is_a_problem_of_the_file(self, directory: Path) -> None:
        with pytest.raises(ProfileError, match="did you mean 'prefer'"):
            outputs(installation_in(directory, "[kernels.preferr]\n"))


def kernel_findings(installation: etconfig.Installation) -> list[Finding]:
    return [each for each in examine_installation(installation).findings if each.subject == "kernels"]


class TestReports:
    """inspect and doctor say which kernel serves an operator."""

    def test_inspect_names_the_distributions(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        project = f'[kernels.prefer]\n"{RELU}" = "acme-kernels"\n'
        installation = installation_in(directory, project)
        with etconfig.load_program(PROGRAM, installation=installation, executor="numpy") as program:
            (method,) = etconfig.inspect_program(program).methods
        assert method.kernel_sources.pop(RELU) == "acme-kernels 1.0"
        assert all(source.startswith("etconfig ") for source in method.kernel_sources.values())
        assert method.obstacles == ()

    def test_inspect_names_a_conflict(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        installation = installation_in(directory)
        with etconfig.load_program(PROGRAM, installation=installation, executor="numpy") as program:
            (method,) = etconfig.inspect_program(program).methods
        (obstacle,) = method.obstacles
        assert obstacle.what == f"operator {RELU}"
        assert "acme-kernels 1.0" in obstacle.why
        assert '"aten::relu.out" = "acme-kernels"' in (obstacle.help or "")

    def test_doctor_counts_and_reports_conflicts(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        found = kernel_findings(installation_in(directory))
        assert [each.status for each in found] == ["ok", "error"]
        project = f'[kernels.prefer]\n"{RELU}" = "acme-kernels"\n"aten::mul.out" = "acme-kernels"\n'
        found = kernel_findings(installation_in(directory, project))
        assert "1 of them by acme-kernels 1.0" in found[0].detail
        assert [each.status for each in found] == ["ok", "error"]
        assert "'acme-kernels' has no kernel for 'aten::mul.out'" in found[1].detail

    def test_a_choice_beside_another_executor_is_a_warning(self, directory: Path) -> None:
        write_distribution(directory, "far-1.0.dist-info", "[etconfig.executors]\nfar = far\n")
        (directory / "far.py").write_text("")
        project = f'executor = "far"\n[kernels.prefer]\n"{RELU}" = "etconfig"\n'
        installation = installation_in(directory, project)
        found = kernel_findings(installation)
        assert [each.status for each in found] == ["ok", "warning"]
        assert "[kernels.prefer] has no effect: executor 'far' brings its own kernels" in found[1].detail
        (problem,) = etconfig.validate_file(directory / "etconfig.toml", installation=installation)
        assert (problem.code, problem.severity.value) == ("ignored-kernel-choice", "warning")

    def test_a_broken_executor_is_a_finding_of_the_project_file_too(self, directory: Path) -> None:
        write_distribution(directory, "far-1.0.dist-info", "[etconfig.executors]\nfar = far\n")
        (directory / "far.py").write_text("")
        findings = examine_installation(installation_in(directory, 'executor = "far"\n')).findings
        found = {each.subject: each for each in findings if "executor" in each.subject}
        assert [each.status for each in found.values()] == ["error", "error"]
        assert found["executor"].detail.endswith("etconfig.toml:1:12, has a broken plugin")
        assert "far has no etconfig_executor" in found["executor far"].detail

    def test_a_misspelled_built_in_executor_is_a_problem_of_its_own(self, directory: Path) -> None:
        project = f'executor = "numpi"\n[kernels.prefer]\n"{RELU}" = "etconfig"\n'
        installation = installation_in(directory, project)
        (problem,) = etconfig.validate_file(directory / "etconfig.toml", installation=installation)
        assert problem.code == "unknown-executor"


CALLS: list[str] = []


def note() -> None:
    CALLS.append("called")


def copy_and_note(target: np.ndarray, source: np.ndarray) -> None:
    note()
    np.copyto(target, source)


@kernel("aten::permute_copy.out", takes_any_strides=True)
def noted_permute(self: Tensor, dims: tuple[int, ...], out: Tensor) -> Step:
    out.resize(tuple(self.shape[dim] for dim in dims))
    source, target = self.array.transpose(dims), out.array
    return ArrayCall(copy_and_note, target, source)


def replaced(name: str) -> Kernel:
    """Return etconfig's own kernel, which notes its calls."""
    own = builtin_kernels()[name]

    def run(step: Callable[[], object]) -> None:
        note()
        step()

    @functools.wraps(own.binder)
    def binder(*arguments: object, **keywords: object) -> Step:
        return ArrayCall(run, own.binder(*arguments, **keywords))

    binder.__annotations__ = get_type_hints(own.binder, include_extras=True)
    return Kernel((name,), binder)


class TestOptimizer:
    """A replaced kernel runs in each run, also where etconfig's own would be computed ahead or fused."""

    def test_a_constant_result_is_not_computed_ahead_of_time(self) -> None:
        for kernels, expected in ((KernelChoice(builtin_kernels()), 0), (choice(noted_permute), 3)):
            CALLS.clear()
            builder = PlanBuilder()
            x = builder.tensor(2, 3)
            weight = builder.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
            turned, out = builder.tensor(2, 3), builder.tensor(2, 3)
            builder.call("aten::permute_copy.out", weight, builder.ints(1, 0), turned, turned)
            builder.call("aten::mul.out", x, turned, out, out)
            builder.inputs.append(x)
            builder.outputs.append(out)
            method = builder.load(kernels=kernels)
            for _ in range(3):
                result = method.execute([np.ones((2, 3), np.float32)])[0]
            assert result.tolist() == [[0, 2, 4], [1, 3, 5]]
            assert len(CALLS) == expected

    def test_a_batch_norm_is_not_folded_into_a_replaced_convolution(self) -> None:
        path = PROGRAM.parent.parent / "architectures" / "resnet.pte"
        for name in ("aten::convolution.out", "aten::_native_batch_norm_legit_no_training.out"):
            CALLS.clear()
            with etconfig.load_program(path, kernels=[replaced(name)]) as program:
                calls = etconfig.inspect_program(program).methods[0].operators[name]
                with program.load_method("forward") as method:
                    info = method.metadata.input_tensor_meta(0)
                    method.execute([np.zeros(info.sizes(), np.float32)])
            assert len(CALLS) == calls


def choice(*given: Kernel) -> KernelChoice:
    return KernelChoice(builtin_kernels(), given=given)


class TestGivenInCode:
    """`kernels=` wins over all others, and only the built-in executor takes it."""

    def test_given_kernels_win(self, directory: Path) -> None:
        install(directory, "acme-kernels")
        with etconfig.load_program(PROGRAM, kernels=KernelTable("mine", (replaced(RELU),))) as program:
            (method,) = etconfig.inspect_program(program).methods
            assert method.kernel_sources[RELU] == "kernels given in code"

    @pytest.mark.parametrize("kernels", ["aten::mul.out", 3, [print], {"aten::mul.out": print}])
    def test_other_objects_are_refused(self, kernels: object) -> None:
        with pytest.raises(TypeError, match="kernels: expected a KernelTable"):
            etconfig.load_program(PROGRAM, kernels=kernels)  # type: ignore[arg-type]

    def test_two_for_one_operator_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"2 of them claim 'aten::relu\.out'"):
            etconfig.load_program(PROGRAM, kernels=[replaced(RELU), replaced(RELU)])

    def test_an_executor_with_kernels_of_its_own_takes_none(self) -> None:
        with pytest.raises(ValueError, match="executor 'executorch' brings its own kernels"):
            etconfig.load_program(PROGRAM, executor="executorch", kernels=[replaced(RELU)])

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("aten::rellu.out", "aten::relu.out"),
            ("aten::relu", "aten::relu.out"),
            ("relu.out", "aten::relu.out"),
            ("aten::mul", "aten::mul.out"),
            ("aten::convolution.out_", "aten::convolution.out"),
        ],
    )
    def test_a_misspelled_operator_is_refused(self, name: str, meant: str) -> None:
        kernels = [replaced(RELU), as_operators(name)]
        with pytest.raises(ValueError, match=f"does not call {name!r}.*did you mean {meant!r}"):
            etconfig.load_program(PROGRAM, kernels=kernels)

    def test_a_second_misspelled_operator_of_a_kernel_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"did you mean 'aten::mul\.Scalar_out'"):
            etconfig.load_program(PROGRAM, kernels=[as_operators(RELU, "aten::mul.Scalra_out")])

    def test_an_operator_that_nobody_knows_is_refused_with_the_way_to_share_it(self) -> None:
        library = [replaced(RELU), as_operators("acme::gather_rows.out")]
        with pytest.raises(ValueError, match=r"give kernels .* share to Installation\.with_kernels"):
            etconfig.load_program(PROGRAM, kernels=library)
        installation = etconfig.Installation().with_kernels(library)
        with etconfig.load_program(PROGRAM, installation=installation) as program:
            assert program.installation.kernels.source(RELU) == "kernels given in code"

    def test_known_operators_that_the_program_does_not_call_are_fine_beside_one_that_it_calls(self) -> None:
        library = [replaced(RELU), replaced("aten::permute_copy.out")]
        etconfig.load_program(PROGRAM, kernels=library).close()

    def test_kernels_without_any_effect_are_a_warning(self) -> None:
        library = [replaced("aten::permute_copy.out"), replaced("aten::mul.out")]
        with pytest.warns(
            etconfig.UnusedKernelsWarning,
            match=r"\(aten::permute_copy\.out, aten::mul\.out\), so they have no",
        ) as caught:
            etconfig.load_program(PROGRAM, kernels=library).close()
        assert caught[0].filename == __file__

    def test_the_warning_suggests_a_similar_operator_that_the_program_calls(self) -> None:
        with pytest.warns(etconfig.UnusedKernelsWarning, match=r"no effect; did you mean 'aten::relu\.out'"):
            etconfig.load_program(PROGRAM, kernels=[replaced("aten::gelu.out")]).close()

    def test_kernels_given_before_stay(self) -> None:
        first = etconfig.Installation().with_kernels([replaced(RELU), replaced("aten::mul.out")])
        second = first.with_kernels([as_operators("aten::mul.out")]).kernels
        assert {second.source(RELU), second.source("aten::mul.out")} == {"kernels given in code"}
        assert second["aten::mul.out"].binder is not first.kernels["aten::mul.out"].binder


def as_operators(*names: str) -> Kernel:
    """Return etconfig's kernel for relu under other names."""
    return Kernel(names, builtin_kernels()[RELU].binder)
