"""The common parts of all schemas in this package."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import ApiRange, BackendOptions, CompileSpecEncoding, CompileSpecInfo

API = ApiRange(min=1, built=1)


class NoOptions(BackendOptions):
    """The options of a backend that reads none at run time."""


def specs(**docs: tuple[str, str]) -> Mapping[str, CompileSpecInfo]:
    """Return compile specs by key, from their encoding and doc; `__` in a key stands for a dot."""
    return {
        key.replace("__", "."): CompileSpecInfo(doc=doc, encoding=CompileSpecEncoding(encoding))
        for key, (encoding, doc) in docs.items()
    }
