"""The commands that install etconfig's own packages, for messages and the documentation."""

from __future__ import annotations

WHEELS: str | None = "dist"
"""The directory of a checkout in which `make dist` puts the wheels; None as soon as they are on PyPI.

Then run `make docs`: messages, pages and new packages follow.
"""

OWN_PACKAGES = frozenset(
    {
        "etconfig",
        "etconfig-executorch",
        "etconfig-onnxruntime",
        "etconfig-openvino",
        "etconfig-reference",
        "etconfig-torch",
        "etconfig-tvm",
        "etconfig-upstream",
        "etconfig-webgpu",
    }
)
"""The distributions that are built from etconfig's repository."""


def pip_install(*words: str) -> str:
    """Return the command that installs packages of etconfig, for a shell at the root of a checkout.

    Args:
        words: Requirements, quoted for a shell, and options of `pip install`.
    """
    source = () if WHEELS is None else ("--find-links", WHEELS)
    return " ".join(("pip install", *source, *words))


def how_to_install(*words: str) -> str:
    """Return the same command with what it needs, for a message."""
    command = pip_install(*words)
    if WHEELS is None:
        return command
    return f"{command} (in a checkout of etconfig, after `make dist`)"


def is_our_package(distribution: str) -> bool:
    """Return True if a distribution comes from etconfig's repository."""
    return distribution in OWN_PACKAGES
