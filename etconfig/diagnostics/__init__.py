"""Problems as data: the message, the place and the fix; renderers are separate."""

from etconfig.diagnostics.codes import CODES, CodeInfo
from etconfig.diagnostics.fix import Edit, Fix, Respelling, Rewriting, removed_item
from etconfig.diagnostics.model import Diagnostic, Severity
from etconfig.diagnostics.span import Span
from etconfig.diagnostics.suggest import did_you_mean, did_you_mean_backend, nearest, nearest_backend

__all__ = [
    "CODES",
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
    "nearest",
    "nearest_backend",
    "removed_item",
]
