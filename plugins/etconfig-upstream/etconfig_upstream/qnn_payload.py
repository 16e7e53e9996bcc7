"""The chip that a payload of QNN was compiled for, from its compile spec.

Source: backends/qualcomm/serialization/qc_compiler_spec.fbs, and the chips' HTPs in qc_schema.py. The payload
itself is a context binary of Qualcomm's SDK, whose format is not public.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter

from etconfig.plugin.v1 import CompileSpecs, InvalidPayloadError, PayloadDescription, PayloadNeed
from etconfig_upstream.flatbuffers import root, scalar, target

_SPEC = "qnn_compile_spec"
_SOC, _BACKEND, _ONLINE_PREPARE = 0, 1, 4
"""The numbers of the fields `soc_info`, `backend_options` and `online_prepare` of `QnnExecuTorchOptions`."""
_HTP_INFO, _LPAI_INFO, _VTCM = 1, 2, 1
"""The numbers of the fields `SocInfo.htp_info`, `SocInfo.lpai_info` and `HtpInfo.vtcm_size_in_mb`."""
_KINDS = {1: "GPU", 2: "HTP", 3: "DSP", 4: "LPAI"}
_HTP = 2
_CHIPS: Mapping[int, tuple[str, int]] = {
    30: ("SM8350", 68),
    36: ("SM8450", 69),
    39: ("SA8295", 68),
    42: ("SM8475", 69),
    43: ("SM8550", 73),
    45: ("SXR1230P", 73),
    46: ("SSG2115P", 73),
    52: ("SA8255", 73),
    53: ("SXR2230P", 69),
    57: ("SM8650", 75),
    58: ("SSG2125P", 73),
    60: ("SC8380XP", 73),
    69: ("SM8750", 79),
    72: ("SA8797", 81),
    75: ("SXR2330P", 79),
    77: ("QCS9100", 73),
    87: ("SM8850", 81),
    93: ("QCM6490", 68),
    95: ("SAR2230P", 81),
    96: ("SW6100", 81),
    97: ("SM8845", 81),
}
"""The name and the version of the HTP of each `QcomChipset`."""
_VENDORS = ("QTI", "Qualcomm", "qcom")
"""The values of `soc.vendor` of these chips, by Android's property and Linux's device trees."""


def describe(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the target of a delegate. Raises InvalidPayloadError: its compile spec is missing or damaged."""
    options = next(iter(compile_specs.every(_SPEC)), None)
    if options is None:
        raise InvalidPayloadError(cause=f"the delegate has no compile spec {_SPEC}")
    try:
        top = root(options)
        soc, backend = target(options, top, _SOC), target(options, top, _BACKEND)
        chip = 0 if soc is None else scalar(options, soc, 0, "i")
        kind = 0 if backend is None else scalar(options, backend, 0, "i")
        htp = None if soc is None else target(options, soc, _HTP_INFO)
        version, vtcm = (0 if htp is None else scalar(options, htp, at, "i") for at in (0, _VTCM))
        lpai = None if soc is None else target(options, soc, _LPAI_INFO)
        lpai_version = 0 if lpai is None else scalar(options, lpai, 0, "i")
        is_prepared_there = scalar(options, top, _ONLINE_PREPARE, "B") != 0
    except struct.error as error:
        raise InvalidPayloadError(cause=f"compile spec {_SPEC} is damaged") from error
    name, version = _CHIPS.get(chip, (f"chip {chip}", version))  # the SDK lets the chip decide, too
    processor = _KINDS.get(kind, f"backend {kind}")
    suffix = {"HTP": version, "LPAI": lpai_version}.get(processor, 0)
    whole = f"{processor} v{suffix}" if suffix else processor
    notes = [f"up to {vtcm} MB of VTCM"] if vtcm > 0 and kind == _HTP else []
    if is_prepared_there:
        notes.append("the graph is compiled on the device")
    needs = [_need(version)] if kind == _HTP and version and not is_prepared_there else []
    return PayloadDescription(target=f"{whole} of {name}", needs=needs, notes=notes)


def _need(version: int) -> PayloadNeed:
    """Return the need of an HTP: by default QNN refuses a context for a newer one, and accepts an older one.

    Source: QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE in QnnContext.h, and
    https://github.com/pytorch/executorch/issues/1176, where v68 runs on v69 and v73 does not. Nothing is
    certain of a chip that ExecuTorch does not list.
    """
    by_version = sorted((found, name) for name, found in _CHIPS.values())
    fit = [name for found, name in by_version if found >= version]
    old = [name for found, name in by_version if found < version]
    others = f"soc.vendor in {_listed(_VENDORS)}" + (f" && !(soc.model in {_listed(old)})" if old else "")
    condition = f"soc.model in {_listed(fit)} || ({others})"
    groups = groupby(by_version, key=itemgetter(0))
    cases = [f'soc.model in {_listed([name for _, name in group])} ? "v{v}" : ' for v, group in groups]
    found = "".join(cases) + '"no HTP that is known: soc.model is " + soc.model'
    return PayloadNeed(condition, reason=f"it is compiled for HTP v{version}", found=found)


def _listed(names: object) -> str:
    return str(list(names)).replace("'", '"')  # type: ignore[call-overload]  # any iterable of names
