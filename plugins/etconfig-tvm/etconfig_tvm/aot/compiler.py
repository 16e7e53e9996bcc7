"""`compile_model`: from a model of PyTorch to a shared library that TVM's virtual machine runs."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from etconfig.aot import EngineRange, Envelope
from etconfig_tvm.aot.importer import import_program
from etconfig_tvm.aot.schedule import schedule_module
from etconfig_tvm.aot.target import TvmTarget
from etconfig_tvm.errors import CompileError, TargetError
from etconfig_tvm.library_file import check_end, check_kind, open_library
from etconfig_tvm.payload import BACKEND_ID, ENGINE, FIRST_UNKNOWN_ENGINE, OLDEST_ENGINE, VERSION
from etconfig_tvm.seal import KIND, read_seal, seal

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
        """Write the library with its checksum to a file, which `build` of `TvmBackend` loads.

        A file of that name is replaced, not changed: processes that have loaded it keep the old one.

        Raises:
            OSError: the file cannot be written; there is no part of it then.
        """
        write_library(Path(path), self.library, self.target)


def compile_model(
    program: Any, *, target: TvmTarget | None = None, settings: CompileSettings | None = None
) -> CompiledModel:
    """Compile a model to a shared library.

    Args:
        program: What `torch.export.export` returns, or a `tvm.IRModule` in Relax with a function `main`.
        target: The processor; by default the one at hand.
        settings: How to compile.

    Raises:
        CompileError: it is something else, or TVM does not support an operator, or there is no linker.
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
    library = _link(executable, settings.linker, target)
    return CompiledModel(library=library, target=target, rules=rules)


def seal_library(path: str | os.PathLike[str], *, target: TvmTarget | None = None) -> None:
    """Add a checksum to a library that TVM's `export_library` wrote.

    Args:
        path: The library. The file is replaced at once, and keeps its mode; a link stays one.
        target: The processor that it was compiled for; by default the one at hand.

    Raises:
        OSError: the file cannot be read or written; it is as it was then.
        CompileError: it has a checksum already.
        LibraryError: it is not a shared library, or for another architecture, or it is cut off or damaged; it
            is as it was then.
    """
    path, target = Path(path), target or TvmTarget()
    with open_library(path) as file:
        check_kind(file, path, target.host.arch)
        if read_seal(file, path) is not None:
            raise CompileError(problem=f"{str(path)!r} has a checksum already", help="leave it as it is")
        check_end(file, path)
        file.seek(0)
        library, mode = file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    write_library(path.resolve(), library, target, mode)


def write_library(path: Path, library: bytes, target: TvmTarget, mode: int = 0o755) -> None:
    """Write a library and its seal to a file at once, with a mode. Raises OSError."""
    sealed = seal(library, describe(target, KIND))
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(sealed)
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def describe(target: TvmTarget, kind: str) -> Envelope:
    """Return the envelope of a library: the devices and the versions of TVM that it is for."""
    return Envelope(
        backend=BACKEND_ID,
        kind=kind,
        version=VERSION,
        engine=EngineRange(
            name=ENGINE, built=metadata.version(ENGINE), min=OLDEST_ENGINE, below=FIRST_UNKNOWN_ENGINE
        ),
        host=target.host,
        metadata={"processor": target.processor},
    )


def _lower(module: Any, settings: CompileSettings) -> Any:
    """Turn operators into loops, and fuse loops that follow each other."""
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


def _link(executable: Any, linker: str, target: TvmTarget) -> bytes:
    if linker and shutil.which(linker) is None:
        raise CompileError(problem=f"the linker {linker!r} is not installed", help=_install(linker))
    if not linker and not _is_this_machine(target):
        usual = _usual_linker(target)
        raise CompileError(
            problem=f"the target is {target.triple}, and no linker for it is set",
            help=f"set linker in CompileSettings, such as {usual!r}; {_install(usual)}",
        )
    with tempfile.TemporaryDirectory(prefix="etconfig-tvm-") as directory:
        path = Path(directory) / "model.so"
        try:
            executable.export_library(str(path), **({"cc": linker} if linker else {}))
        except (RuntimeError, ValueError, OSError) as error:
            raise CompileError(
                problem=f"{linker or 'the C compiler'} cannot link the library: {_reason(error)}",
                help="install a C compiler, such as gcc, or set linker" if not linker else _install(linker),
            ) from error
        return path.read_bytes()


def _is_this_machine(target: TvmTarget) -> bool:
    here, other = TvmTarget().host, target.host
    return (here.arch, here.os, here.abi) == (other.arch, other.os, other.abi)


def _usual_linker(target: TvmTarget) -> str:
    arch, *others = target.triple.split("-")
    if target.host.os == "android":
        return f"{arch}-linux-android24-clang"
    return "-".join((arch, *others[-2:], "gcc"))


def _install(linker: str) -> str:
    """Return how to get a C compiler, by the names that Debian and its relatives give its packages."""
    name = Path(linker).name
    if "android" in name:
        return "it is a part of the Android NDK; give its whole path"
    triple = name.removesuffix("-gcc")
    if triple != name and _is_known(triple):
        return f"on Debian and Ubuntu, `apt-get install gcc-{triple.replace('_', '-')}`"
    return "install it, or name another"


def _is_known(triple: str) -> bool:
    try:
        TvmTarget(mtriple=triple)
    except TargetError:
        return False
    return True


def _reason(error: Exception) -> str:
    """Return the line of a linker's output that names the problem."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "cannot" in line]
    return (telling or lines or [type(error).__name__])[0].strip()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
