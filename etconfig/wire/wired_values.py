"""`wire_options`: typed options as the keys and plain values that a runtime reads."""

from __future__ import annotations

from collections.abc import Collection

from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.schema.declaration import OptionInfo, Scope
from etconfig.schema.options import BackendOptions
from etconfig.wire.runtime_limits import RuntimeLimits, WireValue


@record(frozen=True)
class WireOption:
    """One option as a runtime reads it.

    Attributes:
        name: The option's name.
        key: The key under which the runtime looks for it.
        value: The value.
        scope: One method instance, or the whole process.
    """

    name: str
    key: str
    value: WireValue
    scope: Scope


def wire_options(
    backend_id: str, options: BackendOptions, carrier: RuntimeLimits, handled: Collection[str] = ()
) -> tuple[list[WireOption], list[Diagnostic]]:
    """Return the options of one backend for a runtime, and a problem for each that it cannot carry.

    Options whose value is None are left out, so the runtime's own default applies.

    Args:
        backend_id: The backend.
        options: Its options.
        carrier: The limits of the binding that carries them.
        handled: Options that the caller applies by other means.
    """
    wired: list[WireOption] = []
    problems: list[Diagnostic] = []
    for name, info in options.option_infos().items():
        value = getattr(options, name)
        if value is None or name in handled:
            continue
        plain = sent_value(info, jsonable(value))
        reason = _no_key(info) if info.wire.key is None else carrier.problem(plain)
        if reason is None:
            assert info.wire.key is not None
            assert isinstance(plain, (bool, int, str))
            wired.append(WireOption(name, info.wire.key, plain, info.scope))
        elif info.wire.key is not None or value != info.default:
            help_text = (
                value_help(name) if info.wire.key is not None else f"leave {name} unset for this target"
            )
            problems.append(cannot_carry(carrier, backend_id, name, reason, help_text))
    return wired, problems


def _no_key(info: OptionInfo) -> str:
    """Return why a runtime has no key for an option."""
    return "it consists of tables" if info.type.has_tables else "the runtime has no key for it"


def sent_value(info: OptionInfo, value: object) -> object:
    """Return an option's plain value as it is sent: a choice by its wire value, an array as one text.

    An integer is a text of its digits if its wire says so.
    """
    if info.wire.values is not None and isinstance(value, str):
        return info.wire.values[value]
    if info.wire.separator is not None and isinstance(value, list):
        return info.wire.separator.join(map(str, value))
    return str(value) if info.wire.as_text and value is not None else value


def value_help(name: str) -> str:
    """Return the help for an option whose value does not fit, while others may."""
    return f"leave {name} at its default for this target, or choose a value that fits"


def cannot_carry(
    limits: RuntimeLimits, backend_id: str, name: str, reason: str, help_text: str
) -> Diagnostic:
    """Return the problem for an option that a binding cannot carry."""
    return Diagnostic(
        code="cannot-carry",
        message=f"{limits.name} cannot carry {backend_id}.{name}: {reason}",
        help=help_text,
    )
