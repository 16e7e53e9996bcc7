"""`BackendSpec`: everything that a backend declares about itself."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from etconfig.base.records import record
from etconfig.schema.declaration import MAX_KEY_LENGTH

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from etconfig.base.compile_specs import CompileSpecs
    from etconfig.schema.delegate_memory import DelegateFacts, DelegateMemory
    from etconfig.schema.options import BackendOptions
    from etconfig.schema.payload_description import PayloadDescription

_BACKEND_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@record(frozen=True)
class Advice:
    """The value that a vendor recommends for one option: an expression over facts, and when it applies.

    Expression and condition are written in the language of profiles. Both are checked when the backend's
    plugin is loaded, and never run any code of the plugin, so a device can evaluate them, too.

    Example:
        >>> from etconfig.plugin.v1 import Advice
        >>> Advice(
        ...     "num_threads",
        ...     expr="max(1, min(cpu.available_cores, cpu.performance_cores))",
        ...     reason="Efficiency cores slow the others down.",
        ... ).option
        'num_threads'

    Attributes:
        option: The option's name.
        expr: The value, as an expression over facts.
        when: The condition under which the value is recommended; None for all devices. Where it is
            unknown, or where the value is unknown, the entry does not apply.
        reason: Why, in a sentence for users.

    Raises:
        TypeError: a field is not a text.
        ValueError: a text is empty.
    """

    option: str
    expr: str = field(kw_only=True)
    when: str | None = field(default=None, kw_only=True)
    reason: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        texts = {"option": self.option, "expr": self.expr, "when": self.when, "reason": self.reason}
        for name, text in texts.items():
            if name == "when" and text is None:
                continue
            if not isinstance(text, str):
                raise TypeError(f"{name} of an Advice must be a text, not {text!r:.60}")
            if name != "reason" and not text.strip():
                raise ValueError(f"{name} of an Advice is empty")


@record(frozen=True)
class ApiRange:
    """The versions of the plugin API that a plugin can work with.

    Attributes:
        min: The oldest version that it can work with.
        built: The version that it was built and tested with; newer cores stay compatible with it.
    """

    min: int
    built: int

    def __post_init__(self) -> None:
        if not 1 <= self.min <= self.built:
            raise ValueError(f"{self} is not a range: expected 1 <= min <= built")


class CompileSpecEncoding(enum.Enum):
    """The encoding of the bytes of a compile spec; integers are little-endian."""

    BYTES = "bytes"
    UTF8 = "utf-8"
    BOOL = "bool"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"


_KINDS: Mapping[CompileSpecEncoding, type] = {
    CompileSpecEncoding.BYTES: bytes,
    CompileSpecEncoding.UTF8: str,
    CompileSpecEncoding.BOOL: bool,
}
"""The Python type of a value; of the others it is int."""

_SIZES_BYTES = {
    CompileSpecEncoding.BOOL: 1,
    CompileSpecEncoding.INT32: 4,
    CompileSpecEncoding.UINT32: 4,
    CompileSpecEncoding.INT64: 8,
    CompileSpecEncoding.UINT64: 8,
}


@record(frozen=True, kw_only=True)
class CompileSpecInfo:
    """One compile spec that a backend reads: a key and bytes, fixed ahead of time.

    Attributes:
        doc: Its meaning.
        encoding: The encoding of its bytes.
    """

    doc: str
    encoding: CompileSpecEncoding = CompileSpecEncoding.BYTES

    def decode(self, value: bytes) -> bytes | str | bool | int:
        """Return the value that the bytes encode.

        Raises:
            ValueError: the bytes do not follow the encoding; the message says what is wrong.
        """
        if self.encoding is CompileSpecEncoding.BYTES:
            return value
        if self.encoding is CompileSpecEncoding.UTF8:
            return value.decode()
        size_bytes = _SIZES_BYTES[self.encoding]
        if len(value) != size_bytes:
            raise ValueError(f"expected {size_bytes} bytes ({self.encoding.value}), given {len(value)}")
        if self.encoding is CompileSpecEncoding.BOOL:
            return _decode_bool(value)
        return int.from_bytes(value, "little", signed=not self.encoding.value.startswith("u"))

    def encode(self, value: object) -> bytes:
        """Return the bytes of a value, which `decode` turns back into it.

        Raises:
            ValueError: the value does not suit the encoding; the message says what is wrong.
        """
        kind = _KINDS.get(self.encoding, int)
        # bool is a subclass of int, but the encodings distinguish the two
        if type(value) is not kind:
            raise ValueError(f"expected {kind.__name__} ({self.encoding.value}), given {value!r:.80}")
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode()
        assert isinstance(value, int)
        size_bytes, is_signed = _SIZES_BYTES[self.encoding], not self.encoding.value.startswith("u")
        try:
            return value.to_bytes(size_bytes, "little", signed=is_signed and size_bytes > 1)
        except OverflowError:
            raise ValueError(f"{value} is outside of {self.encoding.value}") from None


def _decode_bool(value: bytes) -> bool:
    if value not in (b"\0", b"\1"):
        raise ValueError(f"expected 0 or 1 (bool), given {value[0]}")
    return value == b"\1"


@record(frozen=True, kw_only=True)
class BackendSpec:
    """The declaration of a backend.

    Attributes:
        id: The backend's id, exactly as programs spell it.
        doc: The description of the backend for users.
        options: The class of its options.
        api: The plugin API versions it can work with.
        compile_specs: The compile specs that its delegates read, by key.
        environment: The environment variables that the backend's runtime reads, each with its effect. For
            users; `etconfig env` and `etconfig exec` set those that an option names as its `env`.
        read_environment: Returns what is in force in an engine that only the environment configures, by
            the name of the option, as `effective` does: `read_environment()`. It is called in a process
            for it alone. None if the engine reports and shows nothing.
        factory: Creates the `Backend`. None makes a schema-only backend: its options can be
            validated, resolved and packed for another device, but it cannot run.
        capabilities: A `Capabilities`, or None if nothing is claimed.
        recommend: Deprecated: declare `advice` instead, which can be packed. Maps the known facts by name to
            recommended values of options by name.
        advice: The vendor's recommendation as data: of the entries of an option, the first one that applies
            decides. An option has entries here, or a value from `recommend`, not both.
        from_program: Maps the compile specs of a delegate to the values of options that they fix, by name.
            These beat the defaults of the schema, and every profile beats them.
        program_beats_recommendation: True if those values also beat the vendor's recommendation.
        build: Creates the engine's own object from options, for use without a program, such as a session:
            `build(options, *arguments, **named)`. The other arguments are the caller's. With none of them, it
            returns what the engine takes as its settings, if the plugin documents that. None if the backend
            creates no such object.
        effective: Returns what is in force in an object that `build` returned: an
            `etconfig.plugin.v1.EffectiveOption` by the name of the option. An option that is left out is
            unknown.
        update: Brings changed options that apply at execute into force in an object that `build` returned:
            `update(built, options, previous, changed)`, where `changed` has their names. If it raises,
            the previous options must still be in force.
        apply: Sets options on an object of the engine that another library made, or on its module:
            `apply(options, target, names)`, where `names` are the options to set. Returns the reason
            for each of them that the object does not take, by name. Raises TypeError for another object. An
            object belongs to the backend if its package is in `engine`.
        runner: Returns how to run an object that `build` returned, for measurements: an
            `etconfig.plugin.v1.ModelRunner`.
        model_files: The endings of the files that `build` takes as a model, such as `.onnx`.
        joint_update: Returns a context manager in which all updates, of delegates and of objects that `build`
            returned, count as one. Options of the whole process may differ between them meanwhile. Its exit
            raises if they disagree at the end, or passes an error of the block on, and then the settings
            of the process are as before. One may be entered inside of another in the same thread:
            the outermost one decides. None if each update stands for itself.
        data_names: Returns the names of the data that a payload leaves to the program or to data files:
            `data_names(payload)`, so that `inspect` lists missing ones; none if it cannot read the payload.
        engine: The distributions of the engine, such as `onnxruntime`, of which one is installed: evidence
            of a measurement names its version. By default the plugin's own.
        memory: Returns the memory that the backend takes for a delegate besides its payload:
            `memory(options, delegate)`, from an `etconfig.plugin.v1.DelegateFacts` to an
            `etconfig.plugin.v1.DelegateMemory`. None if nothing is known of it: then as much as the payload
            is assumed. Of a model's file that is damaged, it raises `InvalidPayloadError`.
        describe_payload: Returns the contents and the needs of a payload, for `inspect` and `validate`:
            `describe_payload(payload, compile_specs)`, an `etconfig.plugin.v1.PayloadDescription`. Some
            compilers write the target only into the compile specs. Of bytes that it cannot read, it raises
            `InvalidPayloadError` or `DelegateInvalidCompatibilityError`. It needs no engine and no device.
        verify_on_device: Returns the reasons why options cannot be used on a device, each a sentence that
            names the options: `verify_on_device(options, facts)`, with the known facts by name.

    Raises:
        TypeError, ValueError: a field breaks its rule; the message names the backend.
    """

    id: str
    doc: str
    options: type[BackendOptions]
    api: ApiRange
    compile_specs: Mapping[str, CompileSpecInfo] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    factory: Callable[[], object] | None = None
    capabilities: object | None = None
    recommend: Callable[[Mapping[str, object]], Mapping[str, object]] | None = None
    from_program: Callable[[CompileSpecs], Mapping[str, object]] | None = None
    program_beats_recommendation: bool = False
    advice: Sequence[Advice] = ()
    build: Callable[..., object] | None = None
    effective: Callable[[Any], Mapping[str, Any]] | None = None
    update: Callable[[Any, Any, Any, frozenset[str]], None] | None = None
    runner: Callable[[Any], Any] | None = None
    model_files: Sequence[str] = ()
    joint_update: Callable[[], AbstractContextManager[object]] | None = None
    data_names: Callable[[bytes], Iterable[str]] | None = None
    verify_on_device: Callable[[Any, Mapping[str, object]], Iterable[str]] | None = None
    engine: Sequence[str] = ()
    memory: Callable[[Any, DelegateFacts], DelegateMemory] | None = None
    read_environment: Callable[[], Mapping[str, Any]] | None = None
    apply: Callable[[Any, Any, frozenset[str]], Mapping[str, str]] | None = None
    describe_payload: Callable[[bytes, CompileSpecs], PayloadDescription] | None = None

    def __post_init__(self) -> None:
        if not _BACKEND_ID.fullmatch(self.id) or len(self.id) > MAX_KEY_LENGTH:
            raise ValueError(
                f"{self.id!r} is not a backend id; expected at most {MAX_KEY_LENGTH} letters, digits, "
                "_ and -, not beginning with a digit or -"
            )
        if not self.doc.strip():
            raise ValueError(f"backend {self.id} needs a doc: say what the backend is")
        from etconfig.schema.options import BackendOptions

        if not (isinstance(self.options, type) and issubclass(self.options, BackendOptions)):
            raise TypeError(f"backend {self.id}: options must be a subclass of BackendOptions")
        if self.options.is_option_table:
            raise TypeError(f"backend {self.id}: options must not be an OptionTable, which is for one option")
        for name in ("effective", "update", "runner"):
            if self.build is None and getattr(self, name) is not None:
                raise ValueError(f"backend {self.id}: {name} takes what build returns; declare build, too")
        for option, info in self.options.option_infos().items():
            for variable in info.env:
                if variable not in self.environment:
                    raise ValueError(
                        f"backend {self.id}: {option} has the variable {variable}; describe it in environment"
                    )

    @property
    def has_implementation(self) -> bool:
        """True if it runs delegates or builds objects of its engine; False if it only declares options."""
        return self.factory is not None or self.build is not None
