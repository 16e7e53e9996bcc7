"""`compile_model`: from a model of PyTorch to a shared library that TVM's virtual machine runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from etconfig_tvm.aot.importer import import_program
from etconfig_tvm.aot.schedule import schedule_module
from etconfig_tvm.aot.target import TvmTarget
from etconfig_tvm.errors import CompileError

_CHANNELS_LAST = {"relax.nn.conv2d": ["NHWC", "HWIO"]}


@dataclass(frozen=True, kw_only=True)
class CompileSettings:
    """The settings of a compilation.

    Attributes:
        layout: `channels_last` moves the channels of images last, so that vectors run along them;
            `as_exported` leaves them where they are.
        schedule: `vectors` uses the rules of `etconfig_tvm.aot.schedule`; `none` leaves TVM's plain loops.
        opt_level: The level of TVM's passes, from 0 to 4.
        pass_config: Entries of TVM's PassContext, such as `{"tirx.disable_assert": True}`; TVM refuses
            unknown names and values of a wrong type.
        linker: The C compiler that links the library, such as `aarch64-linux-gnu-gcc` for another device;
            empty for the one at hand.

    Raises:
        CompileError: a value is not one of those.
    """

    layout: Literal["channels_last", "as_exported"] = "channels_last"
    schedule: Literal["vectors", "none"] = "vectors"
    opt_level: int = 3
    pass_config: Mapping[str, object] = field(default_factory=dict)
    linker: str = ""

    def __post_init__(self) -> None:
        for name, given, known in (
            ("layout", self.layout, ("channels_last", "as_exported")),
            ("schedule", self.schedule, ("vectors", "none")),
            ("opt_level", self.opt_level, range(5)),
        ):
            if given not in known:
                raise CompileError(
                    problem=f"{name} is {given!r}", help=f"choose one of {', '.join(map(str, known))}"
                )


@dataclass(frozen=True, kw_only=True)
class CompiledModel:
    """A compiled model.

    Attributes:
        library: The shared library, whose function `main` takes the inputs and returns the outputs.
        target: The processor that it is for.
        rules: The rule that scheduled each function, by its name; `none` for those left as plain loops.
    """

    library: bytes
    target: TvmTarget
    rules: Mapping[str, str]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the library to a file, which `build` of `TvmBackend` loads.

        A file of that name is replaced, not changed: processes that have loaded it keep the old one.
        """
        target = Path(path)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as file:
            file.write(self.library)
        Path(file.name).chmod(0o755)
        Path(file.name).replace(target)


def compile_model(
    program: Any, *, target: TvmTarget | None = None, settings: CompileSettings | None = None
) -> CompiledModel:
    """Compile a model to a shared library.

    Args:
        program: What `torch.export.export` returns, or a `tvm.IRModule` in Relax with a function `main`.
        target: The processor; by default the one at hand.
        settings: How to compile.

    Raises:
        CompileError: TVM does not support an operator, or there is no linker.
        TargetError: the target is unknown.
    """
    import tvm

    target, settings = target or TvmTarget(), settings or CompileSettings()
    module = program if isinstance(program, tvm.IRModule) else import_program(program)
    tvm_target = target.to_tvm()
    try:
        context = tvm.transform.PassContext(opt_level=settings.opt_level, config=dict(settings.pass_config))
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise CompileError(problem=f"pass_config: {_first_line(error)}") from error
    with context, tvm_target:
        module = _lower(module, settings)
        rules: dict[str, str] = {}
        if settings.schedule == "vectors":
            module, rules = schedule_module(module, target.vector_units)
        executable = tvm.compile(module, target=tvm_target)
    return CompiledModel(library=_link(executable, settings.linker), target=target, rules=rules)


def _lower(module: Any, settings: CompileSettings) -> Any:
    """Turn operators into loops, and fuse those that follow each other."""
    import tvm
    from tvm.relax import transform

    layout = [transform.ConvertLayout(_CHANNELS_LAST)] if settings.layout == "channels_last" else []
    passes = [
        transform.DecomposeOpsForInference(),
        transform.CanonicalizeBindings(),
        *layout,
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        transform.FoldConstant(),
        transform.FuseOps(),
        transform.FuseTIR(),
        transform.DeadCodeElimination(),
    ]
    return tvm.transform.Sequential(passes)(module)


def _link(executable: Any, linker: str) -> bytes:
    if linker and shutil.which(linker) is None:
        raise CompileError(
            problem=f"the linker {linker!r} is not installed", help="install it, or name another"
        )
    with tempfile.TemporaryDirectory(prefix="etconfig-tvm-") as directory:
        path = Path(directory) / "model.so"
        try:
            executable.export_library(str(path), **({"cc": linker} if linker else {}))
        except (RuntimeError, ValueError, OSError) as error:
            raise CompileError(
                problem=f"the library cannot be linked: {_first_line(error)}",
                help="install a C compiler, such as gcc, or set linker",
            ) from error
        return path.read_bytes()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
