"""What all schemas of this package share."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.plugin.v1 import ApiRange, BackendOptions, CompileSpecEncoding, CompileSpecInfo

API = ApiRange(min=1, built=1)


class NoOptions(BackendOptions):
    """A backend that reads nothing at run time."""


def specs(**docs: tuple[str, str]) -> Mapping[str, CompileSpecInfo]:
    """Compile specs by key, each from its encoding and its doc; `__` in a key stands for a dot."""
    return {
        key.replace("__", "."): CompileSpecInfo(doc=doc, encoding=CompileSpecEncoding(encoding))
        for key, (encoding, doc) in docs.items()
    }
