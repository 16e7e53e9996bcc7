"""`TvmTarget`: the processor that a model is compiled for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from etconfig.aot import HostConstraints
from etconfig_tvm.aot.schedule import VectorUnits
from etconfig_tvm.errors import TargetError

LINUX_NAMES = {
    "x86_64": {
        "adx": "adx",
        "aes": "aes",
        "amx-bf16": "amx_bf16",
        "amx-int8": "amx_int8",
        "amx-tile": "amx_tile",
        "avx": "avx",
        "avx2": "avx2",
        "avx512bf16": "avx512_bf16",
        "avx512bitalg": "avx512_bitalg",
        "avx512bw": "avx512bw",
        "avx512cd": "avx512cd",
        "avx512dq": "avx512dq",
        "avx512f": "avx512f",
        "avx512fp16": "avx512_fp16",
        "avx512ifma": "avx512ifma",
        "avx512vbmi": "avx512vbmi",
        "avx512vbmi2": "avx512_vbmi2",
        "avx512vl": "avx512vl",
        "avx512vnni": "avx512_vnni",
        "avx512vpopcntdq": "avx512_vpopcntdq",
        "avxvnni": "avx_vnni",
        "bmi": "bmi1",
        "bmi2": "bmi2",
        "cx16": "cx16",
        "f16c": "f16c",
        "fma": "fma",
        "gfni": "gfni",
        "lzcnt": "abm",
        "movbe": "movbe",
        "pclmul": "pclmulqdq",
        "popcnt": "popcnt",
        "sha": "sha_ni",
        "sse3": "pni",
        "sse4.1": "sse4_1",
        "sse4.2": "sse4_2",
        "ssse3": "ssse3",
        "vaes": "vaes",
        "vpclmulqdq": "vpclmulqdq",
    },
    "arm64": {
        "aes": "aes",
        "bf16": "bf16",
        "crc": "crc32",
        "dotprod": "asimddp",
        "fp-armv8": "fp",
        "fullfp16": "asimdhp",
        "i8mm": "i8mm",
        "lse": "atomics",
        "neon": "asimd",
        "rdm": "asimdrdm",
        "sha2": "sha2",
        "sve": "sve",
        "sve2": "sve2",
    },
}
"""The names in `cpu.features` of the extensions that generated code may use, by LLVM's names."""

_TRIPLE_BEGINNINGS = {"arm64": "aarch64"}
_TRIPLE_ENDINGS = {
    "linux": "unknown-linux-gnu",
    "android": "linux-android",
    "macos": "apple-darwin",
    "windows": "pc-windows-msvc",
}


@dataclass(frozen=True, kw_only=True)
class TvmTarget:
    """The processor that a model is compiled for, checked when it is made; by default the one at hand.

    TVM takes an unknown `mcpu` without an error, and compiles for a generic processor.

    Attributes:
        mcpu: The processor, as LLVM names it, such as `x86-64-v3` or `cortex-a76`. Empty for the one at hand,
            or, with another `mtriple`, for a generic one.
        mtriple: The system, such as `aarch64-linux-gnu`; empty for the one at hand.
        mattr: Instruction set extensions to add (`+avx512vnni`) or to leave out (`-avx512f`).
        opt_level: LLVM's level of optimization, from 0 to 3.
        fast_math: Let LLVM reorder sums, and assume that there are no infinities and NaN.

    Raises:
        TargetError: a value is unknown to LLVM.
    """

    mcpu: str = ""
    mtriple: str = ""
    mattr: tuple[str, ...] = ()
    opt_level: int = 3
    fast_math: bool = False

    def __post_init__(self) -> None:
        if self.opt_level not in range(4):
            raise TargetError(problem=f"opt_level is {self.opt_level!r}; expected 0 to 3")
        _check_triple(self.triple)
        target = self._made(self._base())
        known = sorted(map(str, _codegen().llvm_get_cpu_archlist(target)))
        if self.mcpu and self.mcpu not in known:
            raise TargetError(
                problem=f"mcpu is {self.mcpu!r}, which LLVM does not know for {self.triple}",
                help=_guess(self.mcpu, known),
            )
        for attribute in self.mattr:
            if attribute[:1] not in ("+", "-") or len(attribute) < 2:
                raise TargetError(
                    problem=f"mattr has {attribute!r}",
                    help="write + or - before the name of an extension, such as +avx512vnni",
                )

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> TvmTarget:
        """Return the target of a device, with the instruction set extensions that its facts name.

        The facts are `cpu.arch`, `os.name` and `cpu.features`, such as the `values` of a sheet that
        `etconfig.load_device` returns. Without features, the code runs on any processor of the architecture.

        Raises:
            TargetError: the architecture or the system is unknown, or TVM has no name for it.
        """
        arch, system = facts.get("cpu.arch"), facts.get("os.name")
        missing = [name for name in ("cpu.arch", "os.name") if facts.get(name) is None]
        if missing:
            raise TargetError(
                problem=f"the fact {missing[0]} is unknown", help="give it, or make a TvmTarget of a triple"
            )
        if system not in _TRIPLE_ENDINGS or arch not in LINUX_NAMES:
            raise TargetError(
                problem=f"there is no target for the architecture {arch!r} and the system {system!r}",
                help="make a TvmTarget of the compiler's triple",
            )
        found = facts.get("cpu.features")
        features = {*map(str, found)} if isinstance(found, (tuple, list, set, frozenset)) else set()
        named = sorted(llvm for llvm, name in LINUX_NAMES[str(arch)].items() if name in features)
        ending = _TRIPLE_ENDINGS[str(system)]
        return cls(
            mtriple=f"{_TRIPLE_BEGINNINGS.get(str(arch), arch)}-{ending}",
            mcpu="x86-64" if arch == "x86_64" else "generic",
            mattr=tuple(f"+{llvm}" for llvm in named),
        )

    @property
    def triple(self) -> str:
        """The system that code is generated for."""
        return self.mtriple or str(_codegen().llvm_get_system_triple())

    @property
    def processor(self) -> str:
        """The processor that code is generated for, as LLVM names it."""
        if self.mcpu or self.mtriple:
            return self.mcpu
        return str(_codegen().llvm_get_system_cpu())

    @property
    def features(self) -> tuple[str, ...]:
        """The instruction set extensions that the code may use, as LLVM names them."""
        found = {str(each) for each in _codegen().llvm_get_cpu_features(self.to_tvm())}
        for attribute in self.mattr:
            found = found | {attribute[1:]} if attribute[0] == "+" else found - {attribute[1:]}
        return tuple(sorted(found))

    @property
    def host(self) -> HostConstraints:
        """The devices that the code runs on, in the words of facts."""
        host = HostConstraints.of_triple(self.triple)
        names = LINUX_NAMES.get(host.arch or "", {})
        features = {names[feature] for feature in self.features if feature in names}
        return HostConstraints.of_triple(self.triple, features)

    @property
    def vector_units(self) -> VectorUnits:
        """The vector registers that schedules are made for."""
        return VectorUnits.of_features(self.features, self.host.arch or "")

    def to_tvm(self) -> Any:
        """Return the `tvm.target.Target`."""
        config = self._base()
        if self.processor:
            config["mcpu"] = self.processor
        if self.mattr:
            config["mattr"] = list(self.mattr)
        return self._made({**config, "opt-level": self.opt_level, "fast-math": self.fast_math})

    def _base(self) -> dict[str, object]:
        return {"kind": "llvm", "mtriple": self.triple}

    def _made(self, config: dict[str, object]) -> Any:
        from tvm.target import Target

        try:
            return Target(config)
        except (ValueError, TypeError, RuntimeError) as error:
            raise TargetError(problem=str(error).strip().partition("\n")[0]) from error


def _check_triple(triple: str) -> None:
    """Refuse a system that LLVM does not know: it would end the process."""
    known = [str(each) for each in _codegen().llvm_get_targets()]
    arch = triple.partition("-")[0].lower()
    name = "arm" if arch.startswith("armv") else _ARCHITECTURES.get(arch, arch)
    try:
        HostConstraints.of_triple(triple)
    except ValueError as error:
        raise TargetError(problem=f"mtriple: {error}") from None
    if name not in known:
        raise TargetError(
            problem=f"mtriple is {triple!r}, and LLVM does not know {arch!r}", help=_guess(arch, known)
        )


def _guess(given: str, known: Sequence[str]) -> str:
    close = get_close_matches(given, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"it knows {', '.join(known)}"


_ARCHITECTURES = {"arm64": "aarch64", "i486": "i386", "i586": "i386", "i686": "i386"}
"""Other names of architectures in triples, and LLVM's."""


def _codegen() -> Any:
    from tvm.target import codegen

    return codegen
