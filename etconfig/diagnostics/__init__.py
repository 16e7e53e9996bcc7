"""Problems as data: what is wrong, where, and how to fix it. Renderers stand apart."""

from etconfig.diagnostics.codes import CODES, CodeInfo
from etconfig.diagnostics.model import Diagnostic, Severity, Span
from etconfig.diagnostics.suggest import did_you_mean, nearest

__all__ = ["CODES", "CodeInfo", "Diagnostic", "Severity", "Span", "did_you_mean", "nearest"]
