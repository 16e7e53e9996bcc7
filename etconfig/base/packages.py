"""The commands that install etconfig's own packages, for messages and the documentation."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

IS_PUBLISHED: bool = False
"""True as soon as the packages are on PyPI. Then run `make docs`: messages, pages and new packages follow."""

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

OWN_NEEDS: Mapping[str, frozenset[str]] = {
    name: frozenset({"etconfig", "etconfig-upstream"} - {name})
    if name in ("etconfig-executorch", "etconfig-webgpu")
    else frozenset({"etconfig"} - {name})
    for name in OWN_PACKAGES
}
"""The distributions of ours that each of them needs."""

_ENGINES: Mapping[str, str] = {
    "OnnxRuntimeBackend": "etconfig-onnxruntime",
    "OpenvinoBackend": "etconfig-openvino",
    "TorchBackend": "etconfig-torch",
    "TvmBackend": "etconfig-tvm",
}
_UPSTREAM = "etconfig-upstream"
_UPSTREAM_BACKENDS = (
    *("CoreAIBackend", "CoreMLBackend", "CudaBackend", "EnnBackend", "EthosUBackend", "MLXBackend"),
    *("MetalBackend", "NeuropilotBackend", "NeutronBackend", "OpenvinoBackend", "QnnBackend", "VgfBackend"),
    *("VulkanBackend", "XnnpackBackend"),
)

BACKEND_PACKAGES: Mapping[str, str] = {**dict.fromkeys(_UPSTREAM_BACKENDS, _UPSTREAM), **_ENGINES}
"""The distribution of ours that declares a backend, by its id; an engine's own distribution goes first."""

REMOVED_BACKENDS: Mapping[str, str] = {
    "MPSBackend": "ExecuTorch deprecated MPSBackend in version 1.2 and has removed it; "
    "export for CoreMLBackend, or on macOS for MetalBackend",
}
"""The backends that ExecuTorch had and has no longer, with what to do instead."""

_REQUIREMENT = re.compile(
    r"""(?P<quote>["']?)(?P<name>etconfig(?:-[a-z]+)?)(?P<extras>(?:\[[a-z,]+\])?)(?P=quote)"""
)


def source_path(distribution: str, checkout: str = ".") -> str:
    """Return the path of one of our distributions in a checkout, for a shell."""
    return checkout if distribution == "etconfig" else f"{checkout}/plugins/{distribution}"


def pip_install(*words: str) -> str:
    """Return the command that installs packages of etconfig, for a shell at the root of a checkout.

    Args:
        words: Requirements, quoted for a shell, and options of `pip install`.
    """
    if IS_PUBLISHED:
        return " ".join(("pip install", *words))
    requirements = [_REQUIREMENT.fullmatch(word) for word in words]
    names = {each["name"] for each in requirements if each is not None}
    needed = set() if "--no-deps" in words else {need for name in names for need in OWN_NEEDS[name]} - names
    options = [word for word, each in zip(words, requirements, strict=True) if each is None]
    paths = [
        f"{each['quote']}{source_path(each['name'])}{each['extras']}{each['quote']}"
        for each in requirements
        if each is not None
    ]
    return " ".join(("pip install", *options, *map(source_path, sorted(needed)), *paths))


def how_to_install(*words: str) -> str:
    """Return the same command with what it needs, for a message."""
    command = pip_install(*words)
    if IS_PUBLISHED:
        return command
    elsewhere = " ".join(("pip install --find-links DIRECTORY", *words))
    return f"{command} (at the root of a checkout of etconfig; without one, from its wheels: {elsewhere})"


def how_to_get_backend(backend: str, installed: Collection[str] = ()) -> str:
    """Return the command that installs a backend's plugin, or where to find it, for a message.

    Args:
        backend: The id of the backend.
        installed: The distributions with plugins that are installed: installing them again does not help.
    """
    package = BACKEND_PACKAGES.get(backend)
    if package in installed:
        return f"{package} is installed, and this version of it does not declare {backend}; update it"
    if package is None and _UPSTREAM in installed:
        return f"that of its vendor ({_UPSTREAM}, which declares ExecuTorch's own backends, is installed)"
    if package is None:
        return f"for ExecuTorch's own backends, {how_to_install(_UPSTREAM)}; for others, that of their vendor"
    other = f" or, for ExecuTorch's own delegates, {_UPSTREAM}" if backend in _ENGINES else ""
    return how_to_install(package) + (other if backend in _UPSTREAM_BACKENDS else "")


def declaring_plugin(backend: str) -> str:
    """Return `the plugin that declares` a backend, with the command that installs it if it is ours."""
    words = f"the plugin that declares {backend}"
    return f"{words}: {how_to_get_backend(backend)}" if backend in BACKEND_PACKAGES else words


def how_to_declare(backend: str) -> str:
    """Return `install the plugin that declares` a backend, or what to do if ExecuTorch has it no longer."""
    return REMOVED_BACKENDS.get(backend) or f"install {declaring_plugin(backend)}"


def is_our_package(distribution: str) -> bool:
    """Return True if a distribution comes from etconfig's repository."""
    return distribution in OWN_PACKAGES
