"""The commands that install etconfig's own packages, for messages and the documentation."""

from __future__ import annotations

from collections.abc import Mapping

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

_ENGINES: Mapping[str, str] = {
    "OnnxRuntimeBackend": "etconfig-onnxruntime",
    "OpenvinoBackend": "etconfig-openvino",
    "TorchBackend": "etconfig-torch",
    "TvmBackend": "etconfig-tvm",
}
_UPSTREAM = "etconfig-upstream"
_UPSTREAM_BACKENDS = (
    *("CoreMLBackend", "CudaBackend", "EnnBackend", "EthosUBackend", "MLXBackend", "MetalBackend"),
    *("NeuropilotBackend", "NeutronBackend", "OpenvinoBackend", "QnnBackend", "VgfBackend", "VulkanBackend"),
    "XnnpackBackend",
)

BACKEND_PACKAGES: Mapping[str, str] = {**dict.fromkeys(_UPSTREAM_BACKENDS, _UPSTREAM), **_ENGINES}
"""The distribution of ours that declares a backend, by its id; that of an engine goes first."""


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


def how_to_get_backend(backend: str) -> str:
    """Return the command that installs a backend's plugin, or where to find it, for a message."""
    package = BACKEND_PACKAGES.get(backend)
    if package is None:
        return f"for ExecuTorch's own backends, {how_to_install(_UPSTREAM)}; for others, that of their vendor"
    other = f" or, for ExecuTorch's own delegates, {_UPSTREAM}" if backend in _ENGINES else ""
    return how_to_install(package) + (other if backend in _UPSTREAM_BACKENDS else "")


def declaring_plugin(backend: str) -> str:
    """Return `the plugin that declares` a backend, with the command that installs it if it is ours."""
    words = f"the plugin that declares {backend}"
    return f"{words}: {how_to_get_backend(backend)}" if backend in BACKEND_PACKAGES else words


def is_our_package(distribution: str) -> bool:
    """Return True if a distribution comes from etconfig's repository."""
    return distribution in OWN_PACKAGES
