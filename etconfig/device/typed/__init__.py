"""Typed code from the options of a backend: a reader for its C++ code, and builders for apps."""

from etconfig.device.typed.typed_code import LANGUAGES, typed_code

__all__ = ["LANGUAGES", "typed_code"]
