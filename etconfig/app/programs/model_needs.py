"""`read_needs`: what a variant of a model needs, read from its file and the data files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from etconfig.app.configuring.default_program import OpenedProgram
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.memory_needs import memory_need, need_of_engine_file
from etconfig.diagnostics import Diagnostic
from etconfig.errors import BackendUnavailableError, ConfigError, ProgramError, UnreadableProgramError
from etconfig.facts.memory_fit import with_margin
from etconfig.models.catalog import ModelVariant
from etconfig.models.needs import MethodSignature, ValueSignature, VariantNeeds
from etconfig.program.flat_tensor import open_data_file
from etconfig.program.metadata import MethodMeta, TensorInfo, delegated_backends
from etconfig.program.model import SerializedTensor, TensorShapeDynamism
from etconfig.program.program import Program, Verification, open_program
from etconfig.program.program_errors import unreadable

_SUFFIX = ".ptd"
_FoundData: TypeAlias = "tuple[tuple[Path, ...], tuple[str, ...], str | None]"
"""The data files, the tensors whose data are not found, and why."""

_MAX_NAMED = 3
"""The most tensors that a message names."""


def read_needs(variant: ModelVariant, installation: Installation | None = None) -> VariantNeeds:
    """Return what a variant needs: its backends, its methods' signatures, its data files, and memory.

    If the variant must fit, its memory is the declared one. Without that, it is estimated if an installation
    is given, with the defaults of the installed backends. Of a file that an engine runs, the
    backend is declared.

    If the variant names no data files, they are the file with the program's name, `detector.ptd` for
    `detector.pte`, if there is one, and the other .ptd files beside the program with the tensors
    that are still missing, if each of these is in one file only.

    Raises:
        ProgramError: the file is not there; a program cannot be read, or is malformed; or the memory of an
            engine's file is to be estimated, and cannot be.
        PluginError: the memory is to be estimated, and a plugin is broken.
    """
    memory_bytes, margin = variant.memory_bytes, variant.fits_margin
    estimating = installation if margin is not None and memory_bytes is None else None
    if variant.backend is not None:
        memory_bytes = _engine_memory(variant, variant.backend.target, estimating) or memory_bytes
        needed = None if margin is None or memory_bytes is None else with_margin(memory_bytes, margin)
        return VariantNeeds(backends=(variant.backend.target,), methods=(), memory_bytes=needed)
    with open_program(variant.path, verification=Verification.Minimal) as program:
        metas = [MethodMeta(program.plan(name)) for name in program.method_names]
        tensors = _external_tensors(program)
        backends = tuple(sorted(delegated_backends(program)))
        if estimating is not None:
            memory_bytes = memory_need(OpenedProgram(program, estimating)).peak.size_bytes
    data, missing, problem = _find_data(variant, tensors)
    return VariantNeeds(
        backends=backends,
        methods=tuple(map(_signature, metas)),
        data=data,
        missing_data=missing,
        data_problem=problem,
        memory_bytes=None if margin is None or memory_bytes is None else with_margin(memory_bytes, margin),
    )


def _engine_memory(variant: ModelVariant, backend: str, estimating: Installation | None) -> int | None:
    """Check that an engine's file is there, and estimate its memory if an installation is given."""
    found, help = unreadable("unreadable-file", ""), None
    try:
        variant.path.stat()
        if estimating is not None:
            found.reason, help = "its memory cannot be estimated: ", """write it: memory = "512 MiB\""""
            return need_of_engine_file(variant.path, backend, estimating).peak.size_bytes
    except UnreadableProgramError as error:
        found.reason += error.reason
    except (OSError, ValueError, BackendUnavailableError, ConfigError) as error:
        found.reason += getattr(error, "strerror", None) or str(error)
    else:
        return None
    found.path, found.help = str(variant.path), help
    raise found


def missing_data_problem(variant: ModelVariant, needs: VariantNeeds) -> Diagnostic | None:
    """Return the problem of a variant whose data are not there or cannot be read; None if there is none."""
    if needs.data_problem is None:
        return None
    return Diagnostic(
        code="missing-data-file",
        message=f"{variant} lacks data: {needs.data_problem}",
        spans=tuple(each.span for each in variant.data or ()) or (variant.span,),
        help="name the .ptd files that were exported with it: data = [...]",
    )


def _external_tensors(program: Program) -> tuple[str, ...]:
    values = (value for name in program.method_names for value in program.plan(name).values)
    names = (v.fully_qualified_name for v in values if isinstance(v, SerializedTensor) and v.external)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _find_data(variant: ModelVariant, tensors: Sequence[str]) -> _FoundData:
    """Return the data files, the tensors whose data are not found, and why."""
    own = variant.path.with_suffix(_SUFFIX)
    given = variant.data_paths if variant.data is not None else (own,) if own.is_file() else ()
    try:
        found = {key for path in given for key in _keys(path)}
    except ProgramError as error:
        return given, tuple(tensors), f"its data cannot be read: {error.message}"
    missing = tuple(name for name in tensors if name not in found)
    if not missing:
        return given, (), None
    if variant.data is None:
        return _find_beside(variant.path.parent, given, missing)
    named = " and ".join(path.name for path in given) or "none"
    return given, missing, f"its program needs the data of {_named(missing)}, and its data files are {named}"


def _find_beside(directory: Path, own: tuple[Path, ...], tensors: Sequence[str]) -> _FoundData:
    homes: dict[str, list[Path]] = {name: [] for name in tensors}
    unreadable: list[ProgramError] = []
    for path in sorted(directory.glob(f"[!.]*{_SUFFIX}")):  # without hidden files
        try:
            keys = _keys(path)
        except ProgramError as error:  # it may be for another program
            unreadable.append(error)
        else:
            for key in keys & homes.keys():
                homes[key].append(path)
    missing = tuple(name for name, paths in homes.items() if not paths)
    if missing:
        reason = f"its program needs the data of {_named(missing)}, and no .ptd file beside it has them"
        return own, missing, "; ".join((reason, *(f"cannot read {error.message}" for error in unreadable)))
    several = tuple(name for name, paths in homes.items() if len(paths) > 1)
    if several:
        files = " and ".join(path.name for path in homes[several[0]])
        reason = f"the data of {_named(several)} are in {files}; name the right ones: data = [...]"
        return own, several, reason
    return tuple(dict.fromkeys((*own, *(path for paths in homes.values() for path in paths)))), (), None


def _keys(path: Path) -> set[str]:
    return set(open_data_file(path).blobs)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(map(repr, names[:_MAX_NAMED]))}{more}"


def _signature(meta: MethodMeta) -> MethodSignature:
    return MethodSignature(
        name=meta.name(),
        inputs=tuple(
            _value(tag, meta.input_tensor_meta(index) if tag == "Tensor" else None)
            for index, tag in ((index, meta.input_tag(index)) for index in range(meta.num_inputs()))
        ),
        outputs=tuple(
            _value(tag, meta.output_tensor_meta(index) if tag == "Tensor" else None)
            for index, tag in ((index, meta.output_tag(index)) for index in range(meta.num_outputs()))
        ),
    )


def _value(kind: str, tensor: TensorInfo | None) -> ValueSignature:
    if tensor is None:
        return ValueSignature(kind=kind)
    dynamism, sizes = tensor.shape_dynamism(), tensor.sizes()
    return ValueSignature(
        kind=kind,
        dtype=tensor.dtype().dtype_name,
        # sizes of an unbounded shape mean nothing
        sizes=(-1,) * len(sizes) if dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND else sizes,
        dim_order=tensor.dim_order(),
        dynamism=dynamism.name.lower(),
    )
