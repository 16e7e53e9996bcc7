"""`QnnBackend`: Qualcomm AI Engine Direct. Source: backends/qualcomm/runtime, qc_compiler_spec.fbs."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Any

from etconfig.plugin.v1 import Advice, BackendOptions, BackendSpec, Ge, Wire, option
from etconfig_upstream.api import API, specs
from etconfig_upstream.qnn_payload import describe

LOW_BATTERY = 0.2
"""The battery level below which the recommendation is to save power."""


class LogLevel(enum.Enum):
    """The verbosity of the runtime's log; each level includes those before it."""

    OFF = "off"
    ERROR = "error"
    WARN = "warn"
    INFO = "info"
    VERBOSE = "verbose"
    DEBUG = "debug"


class HtpPerformanceMode(enum.Enum):
    """The clocking of the HTP."""

    DEFAULT = "default"
    SUSTAINED_HIGH = "sustained_high_performance"
    BURST = "burst"
    HIGH = "high_performance"
    POWER_SAVER = "power_saver"
    LOW_POWER_SAVER = "low_power_saver"
    HIGH_POWER_SAVER = "high_power_saver"
    LOW_BALANCED = "low_balanced"
    BALANCED = "balanced"


class ProfileLevel(enum.Enum):
    """The detail of profiles."""

    OFF = "off"
    BASIC = "basic"
    DETAILED = "detailed"
    OPTRACE = "optrace"


class LpaiClient(enum.Enum):
    """The kind of work of the low-power AI engine."""

    UNDEFINED = "undefined"
    REAL_TIME = "real_time"
    NON_REAL_TIME = "non_real_time"


class LpaiAffinity(enum.Enum):
    """The strictness of a core selection."""

    UNDEFINED = "undefined"
    SOFT = "soft"
    HARD = "hard"


def _numbered(key: str, choices: type[enum.Enum]) -> Wire:
    """Return the wire form of a choice that is sent as its position."""
    members: Sequence[enum.Enum] = list(choices)
    return Wire(key=key, values={member.value: number for number, member in enumerate(members)})


def _names(prefix: str, choices: type[enum.Enum], **others: str) -> dict[str, str]:
    """Return the choice of each name that ExecuTorch has for one, such as `kHtpBurst`."""
    camel = {member.value: "".join(map(str.capitalize, member.value.split("_"))) for member in choices}
    return {others.get(value, f"k{prefix}{word}"): value for value, word in camel.items()}


def _qnn_option(doc: str, wire: str | Wire, **extra: Any) -> Any:
    """Declare an option of the whole process; without a value, the choice made ahead of time applies."""
    return option(None, applies="load", scope="process", doc=doc, wire=wire, **extra)


class QnnOptions(BackendOptions):
    """Options of `QnnBackend`. Without a value, the choice made ahead of time applies."""

    log_level: LogLevel | None = _qnn_option(
        "The verbosity of the runtime's log.",
        _numbered("qnn_runtime_log_level", LogLevel),
        also_called=_names("LogLevel", LogLevel, off="kLogOff"),
    )
    htp_performance_mode: HtpPerformanceMode | None = _qnn_option(
        "The clocking of the HTP: speed against power.",
        _numbered("qnn_runtime_htp_performance_mode", HtpPerformanceMode),
        also_called=_names("Htp", HtpPerformanceMode),
    )
    profile_level: ProfileLevel | None = _qnn_option(
        "The detail of the profile when a method is loaded and when it executes.",
        _numbered("qnn_runtime_profile_level", ProfileLevel),
        also_called=_names("Profile", ProfileLevel),
    )
    lpai_fps: Annotated[int, Ge(1)] | None = _qnn_option(
        "The number of inferences per second on the low-power AI engine.", "qnn_runtime_lpai_fps", unit="fps"
    )
    lpai_ftrt_ratio: Annotated[int, Ge(1)] | None = _qnn_option(
        "The speed of the low-power AI engine relative to real time, in the unit of its SDK.",
        "qnn_runtime_lpai_ftrt_ratio",
    )
    lpai_client_perf_type: LpaiClient | None = _qnn_option(
        "The kind of work of the low-power AI engine: in real time or not.",
        _numbered("qnn_runtime_lpai_client_perf_type", LpaiClient),
        also_called=_names("", LpaiClient),
    )
    lpai_affinity: LpaiAffinity | None = _qnn_option(
        "The strictness of lpai_core_selection.",
        _numbered("qnn_runtime_lpai_affinity", LpaiAffinity),
        also_called=_names("", LpaiAffinity),
    )
    lpai_core_selection: Annotated[int, Ge(0)] | None = _qnn_option(
        "The cores of the low-power AI engine, as its SDK numbers them.", "qnn_runtime_lpai_core_selection"
    )
    heap_profiling_path: str | None = _qnn_option(
        "A file for a profile of the heap.", "qnn_runtime_heap_profiling_path"
    )


ADVICE = (
    Advice(
        "htp_performance_mode",
        expr='"sustained_high_performance"',
        when='power.source == "mains"',
        reason="Power does not matter on mains.",
    ),
    Advice(
        "htp_performance_mode",
        expr='"power_saver"',
        when=f'power.source == "battery" && power.battery_level < {LOW_BATTERY}',
        reason="The battery is low.",
    ),
    Advice(
        "htp_performance_mode",
        expr='"balanced"',
        when='power.source == "battery"',
        reason="Speed and power both matter on battery.",
    ),
)
"""Full speed on mains, a balance on battery, and saving power when it is low."""


SPEC = BackendSpec(
    id="QnnBackend",
    doc="Qualcomm AI Engine Direct: HTP, GPU and low-power AI engine of Snapdragon chips. Methods that share "
    "a context binary also share their options.",
    options=QnnOptions,
    api=API,
    compile_specs=specs(
        qnn_compile_spec=("bytes", "A FlatBuffer with the chip, the kind of accelerator and its settings.")
    ),
    advice=ADVICE,
    describe_payload=describe,
)
