"""The target and the operations of a payload of Arm Ethos-U: a stream of blocks that Vela compiled.

Source: backends/arm/arm_vela.py of ExecuTorch; ethosu/vela/driver_actions.py and ethos_u55_regs.py of
ethos-u-vela 5.1.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping

from etconfig.plugin.v1 import CompileSpecs, InvalidPayloadError, PayloadDescription, PayloadNeed

_HEADER = struct.Struct("<16sIB11s")
_BEGIN, _END = "vela_bin_stream", "vela_end_stream"
_ALIGNMENT = 16
_MAGIC = b"COP1"
_CONFIG, _STREAM = 1, 2
"""Actions of the driver: compare the configuration of the device, and run a stream of commands."""
_PRODUCTS = {0: "u55", 1: "u65", 2: "u85"}
_OPERATIONS = {2: "conv", 3: "depthwise", 5: "pool", 6: "elementwise", 7: "resize", 16: "dma"}
_HAS_PAYLOAD = 0x4000
"""The bit of commands that a word of data follows, none of which starts an operation."""
_NUMBER = 0x3FF
_NAME = re.compile(r"ethos-u[0-9]{1,4}-[0-9]{1,6}")


def describe(payload: bytes, compile_specs: CompileSpecs) -> PayloadDescription:
    """Return the target and operations of a stream. Raises InvalidPayloadError: it is damaged, or another."""
    try:
        blocks = dict(_blocks(payload))
        target, operations = _commands(blocks.get("cmd_data", b""))
        scratch_bytes = struct.unpack("<I", blocks["scratch_size"])[0]
    except (struct.error, UnicodeDecodeError, KeyError, ValueError) as error:
        raise InvalidPayloadError(cause="it is damaged, or not a stream of Vela") from error
    declared = b"".join(compile_specs.every("target")[:1]).decode("utf-8", "replace")
    target = target or (declared if _NAME.fullmatch(declared) else None)
    if target is None:
        return PayloadDescription(operators=operations)
    notes = [f"{scratch_bytes} bytes of scratch memory"]
    if declared and declared != target:
        notes.append(f"compile spec target says {declared!r}, and the commands are for {target}")
    # only names that Vela writes are compared: systems have others
    condition = f'npu.0.name == "{target}" || !npu.0.name.startsWith("ethos-u")'
    need = PayloadNeed(condition, reason=f"it is compiled for {target}", found="npu.0.name")
    return PayloadDescription(operators=operations, target=target, needs=[need], notes=notes)


def _blocks(payload: bytes) -> Iterator[tuple[str, bytes]]:
    at, name = 0, ""
    while name != _END:
        raw, size, is_external, _ = _HEADER.unpack_from(payload, at)
        name = raw.rstrip(b"\0").decode()
        if at == 0 and name != _BEGIN:
            raise ValueError(f"it does not begin with {_BEGIN}")
        at += _HEADER.size
        if size > len(payload) - at:
            raise ValueError(f"block {name!r} ends behind it")
        if not is_external:  # else its bytes are in a data file
            yield name, payload[at : at + size]
        at += size + -size % _ALIGNMENT


def _commands(data: bytes) -> tuple[str | None, Mapping[str, int]]:
    """Return the target and the operations of a stream of commands; nothing without commands."""
    if not data:
        return None, {}
    if data[:4] != _MAGIC:
        raise ValueError("its commands do not begin with COP1")
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    target, at = None, 1
    while at < len(words) and words[at] & 0xFF != _STREAM:
        if words[at] & 0xFF == _CONFIG:
            config = words[at + 1] if at + 1 < len(words) else 0
            product = _PRODUCTS.get(config >> 28)
            target = product and f"ethos-{product}-{1 << (config & 0xF)}"
            at += 2
        at += 1
    found, at = Counter[str](), at + 1
    while at < len(words):
        number, has_payload = words[at] & _NUMBER, words[at] & _HAS_PAYLOAD
        if not has_payload and number in _OPERATIONS:
            found[_OPERATIONS[number]] += 1
        at += 2 if has_payload else 1
    return target, dict(sorted(found.items()))
