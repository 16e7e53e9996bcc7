"""The grammar of option paths: `[METHOD[@INSTANCE]:]BACKEND.OPTION[=VALUE]`.

`--set`, `ETCONFIG_SET`, `explain` and diagnostics all use it.
"""

from __future__ import annotations

import re

from etconfig.base.records import record

_PATH = re.compile(
    r"(?:(?P<method>[^:@=\s]+)(?:@(?P<instance>[^:@=\s]+))?:)?"
    r"(?P<backend>[A-Za-z_][\w-]*)\.(?P<option>[A-Za-z_]\w*)"
)

MODEL_PREFIX = "model."
"""The start of the name of a model where it stands among option paths."""


@record(frozen=True)
class OptionPath:
    """The path of an option, such as `forward@camera0:NpuBackend.core`.

    Attributes:
        backend: The backend id, exactly as in the .pte.
        option: The option's name.
        method: A method's name or a glob over names; None means every method.
        instance: A named instance of `method`; None means every instance.
    """

    backend: str
    option: str
    method: str | None = None
    instance: str | None = None

    def __str__(self) -> str:
        scope = ""
        if self.method is not None:
            scope = self.method if self.instance is None else f"{self.method}@{self.instance}"
            scope += ":"
        return f"{scope}{self.backend}.{self.option}"


def parse_option_path(text: str) -> OptionPath:
    """Parse a path without a value.

    Raises:
        ValueError: `text` is not an option path; the message shows the grammar.
    """
    match = _PATH.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
            "for example forward@camera0:NpuBackend.core"
        )
    return OptionPath(**match.groupdict())


def parse_assignment(text: str) -> tuple[OptionPath, str]:
    """Parse `PATH=VALUE` and return the path and the value, which stays text.

    Raises:
        ValueError: there is no `=`, or the part before it is not an option path.
    """
    path_text, equals, value = text.partition("=")
    path = parse_option_path(path_text)
    if not equals:
        raise ValueError(f"{text!r} has no value; expected PATH=VALUE, for example {path}=1")
    return path, value.strip()
