"""A resolution as a profile: TOML that resolves to the same arguments wherever it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from etconfig.resolver.deciding.arguments import ANY_METHOD, Arguments

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def profile_text(name: str, resolved: Iterable[Arguments]) -> str:
    """Return a profile that sets every option of every method instance."""
    instances = {(arguments.method, arguments.instance): arguments for arguments in resolved}
    blocks = [f"[profile]\nname = {toml_value(name)}\n"]
    for (method, instance), arguments in instances.items():
        wider = [instances.get((ANY_METHOD, None)), instances.get((method, None)) if instance else None]
        blocks += _blocks(arguments, [a for a in wider if a is not None and a is not arguments])
    return "\n".join(blocks)


def toml_key(name: str) -> str:
    """Return a key as TOML writes it: quoted unless it is bare."""
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Return a value as TOML writes it; None, which TOML lacks, leaves an option at its default."""
    if value is None:
        return "{ unset = true }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        # a table of options has None where an option has no value
        known = ((key, item) for key, item in value.items() if item is not None)
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in known)
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def _blocks(arguments: Arguments, wider: Sequence[Arguments]) -> Iterator[str]:
    """Yield the tables of one method instance.

    Args:
        arguments: Its arguments.
        wider: Others whose options it inherits unless it sets them; the narrowest last.
    """
    scope = ""
    if arguments.instance is not None:
        scope = f"instances.{toml_key(arguments.instance)}."
        yield f"[{scope[:-1]}]\nmethod = {toml_value(arguments.method)}\n"
    elif arguments.method != ANY_METHOD:
        scope = f"methods.{toml_key(arguments.method)}."
    for backend in arguments:
        options = arguments[backend].to_jsonable()
        inherited = next((a[backend].to_jsonable() for a in reversed(wider) if backend in a), options)
        header = f"{scope}options.{toml_key(backend)}]\n"
        # A table would merge with the inherited one, so that one is unset first. Only overlays allow a
        # profile to set one option twice.
        tables = {k: v for k, v in options.items() if isinstance(v, dict) and v != inherited[k]}
        yield f"[{header}" + _lines({k: v for k, v in options.items() if k not in tables})
        if tables:
            yield from (
                f'[[when]]\nif = "true"\n[when.{header}' + _lines(values)
                for values in (dict.fromkeys(tables), tables)
            )


def _lines(options: Mapping[str, object]) -> str:
    return "".join(f"{name} = {toml_value(value)}\n" for name, value in options.items())
