"""`Built`: what `build_session` knows of a session that ONNX Runtime does not report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etconfig_onnxruntime.options import OnnxRuntimeOptions

_ATTRIBUTE = "etconfig_built"

Axis = tuple[str, int]
"""The name of an input, and the index of one of its dimensions."""


@dataclass
class Built:
    """A session as it was built; it belongs to the session.

    Attributes:
        options: The options that were passed on.
        axes: For each option that fixes dimensions, the axes that each of its keys fixes.
    """

    options: OnnxRuntimeOptions
    axes: Mapping[str, Mapping[str, Sequence[Axis]]]


def remember(session: Any, built: Built) -> None:
    """Note how a session was built."""
    setattr(session, _ATTRIBUTE, built)


def built_of(session: Any) -> Built | None:
    """Return how a session was built; None if `build_session` did not build it."""
    return getattr(session, _ATTRIBUTE, None)
