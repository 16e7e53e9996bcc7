"""Problems as data: the message, the place and the fix; renderers are separate."""

from etconfig.diagnostics.codes import CODES, CodeInfo
from etconfig.diagnostics.diagnostic import Diagnostic, Severity, on_devices
from etconfig.diagnostics.fix import Edit, Fix, Respelling, Rewriting, guessed, guessed_fix
from etconfig.diagnostics.span import Span
from etconfig.diagnostics.suggest import (
    MAX_NAMES,
    did_you_mean,
    did_you_mean_backend,
    is_certain,
    nearest,
    nearest_backend,
    nearest_word,
    shown_names_near,
)

__all__ = [
    "CODES",
    "MAX_NAMES",
    "CodeInfo",
    "Diagnostic",
    "Edit",
    "Fix",
    "Respelling",
    "Rewriting",
    "Severity",
    "Span",
    "did_you_mean",
    "did_you_mean_backend",
    "guessed",
    "guessed_fix",
    "is_certain",
    "nearest",
    "nearest_backend",
    "nearest_word",
    "on_devices",
    "shown_names_near",
]
