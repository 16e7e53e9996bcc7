"""Code for other languages that hands a method's options to ExecuTorch, without a file to read."""

from etconfig.transport.builders.build import LANGUAGES, emit

__all__ = ["LANGUAGES", "emit"]
