"""Bundles and what they decide, as `etconfig inspect` and `etconfig resolve --bundle` print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etconfig.base.number_text import format_bytes
from etconfig.cli.shared.format import format_count
from etconfig.cli.shared.output import print_json, print_table, show

if TYPE_CHECKING:
    from etconfig.device.deciding.bundle_results import BundleResolution
    from etconfig.device.deciding.configurations import PackedConfiguration, PackedOption

BUNDLE_SUFFIX = ".etbundle"


def show_bundle(path: Path, public_key: Path | None, *, as_json: bool) -> None:
    """Print the content of a bundle, after a check of its signature if there is a key.

    Raises:
        SavedResultError: the file cannot be read, is damaged, or has not the signature of the key.
    """
    from etconfig.device.description import describe_bundle
    from etconfig.device.device_bundle import load_bundle

    bundle = load_bundle(path)
    with _naming(path):
        bundle.check_fingerprints()
        if public_key is not None:
            bundle.check_signature(public_key)
    found = describe_bundle(bundle.tables)
    if as_json:
        print_json({**found, "is_signed": bundle.is_signed, "size_bytes": len(bundle.to_bytes())})
        return
    packed = [bundle.configuration(name) for name in bundle.profile_names if bundle.is_configuration(name)]
    noun = "configuration" if packed else "profile"
    counts = [
        format_count(len(found["profiles"]), noun),
        format_count(len(found["backends"]), "backend"),
        format_count(len(found["facts"]), "fact"),
    ]
    show(f"written by {found['producer']}: {found['fingerprint']}")
    signed = "not signed" if not bundle.is_signed else "signed, not verified (give --public-key)"
    if public_key is not None:
        signed = f"signed with the key of {public_key}"
    show(f"{_release(found['id'], found['revision'], found['not_after'])}; {signed}")
    show(f"{', '.join(counts)}; {format_bytes(len(bundle.to_bytes()))}")
    if found["named_profile"] is not None:
        show(f"devices use {noun} {found['named_profile']} without selecting")
    if found["require_match"]:
        show("devices refuse a profile that matches every device")
    _table(("FACT", "TYPE", "UNIT", "CHANGES"), map(_fact, found["facts"]))
    if packed:
        _show_configurations(packed)
    else:
        _show_profiles(found)
    _table(("MODEL", "VARIANT", "NEEDS", "WHEN"), _variants(found["models"]))
    sizes = sorted(found["sizes"].items(), key=lambda part: (-part[1], part[0]))
    _table(("PART", "BYTES"), ((name, str(size)) for name, size in sizes if size))


def _release(bundle: str, revision: int | None, not_after: str | None = None) -> str:
    """Return a line that identifies a bundle in reports of devices."""
    numbered = "without revision" if revision is None else f"revision {revision}"
    return f"bundle {bundle}, {numbered}{f', valid until {not_after}' if not_after else ''}"


def _show_profiles(found: Mapping[str, Any]) -> None:
    _table(("PROFILE", "FROM", "EXTENDS", "MATCH"), map(_profile, found["profiles"]))
    headers = ("PROFILE", "METHOD", "BACKEND", "OPTION", "VALUE", "WHEN")
    _table(headers, (row for profile in found["profiles"] for row in _settings(profile)))
    _table(("BACKEND", "OPTION", "DEFAULT", "APPLIES", "SCOPE", "KEY"), _options(found["backends"]))
    _table(("BACKEND", "RECOMMENDS", "VALUE", "WHEN"), _recommendations(found["backends"]))


def _show_configurations(configurations: Sequence[PackedConfiguration]) -> None:
    for configuration in configurations:
        show()
        show(f"{configuration.name}: {configuration.fingerprint}")
        print_table(("METHOD", "BACKEND", "OPTION", "VALUE", "SENT AS", "SCOPE"), _packed(configuration))


def _packed(configuration: PackedConfiguration) -> Iterator[tuple[str, ...]]:
    from etconfig.resolver.explaining.explain import show_setting

    for method in configuration.methods:
        for backend, option in method.options():
            cells = (method.label, backend, option.name, show_setting(option.value), _sent(backend, option))
            yield (*cells, option.scope.value)


def _sent(backend: str, option: PackedOption) -> str:
    """Return the key and value in ExecuTorch's option map, or the reason why the map cannot have them."""
    from etconfig.resolver.explaining.explain import show_setting
    from etconfig.wire.runtime_limits import EXECUTORCH, THREAD_POOL_OPTIONS

    if option.value is None:
        return "-"
    if (backend, option.name) in THREAD_POOL_OPTIONS:
        return "a call: ExecuTorch's thread pool"
    return option.obstacle(EXECUTORCH) or f"{option.key} = {show_setting(option.sent)}"


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the name of the file to problems that have none."""
    from etconfig.diagnostics import Span
    from etconfig.errors import SavedResultError

    try:
        yield
    except SavedResultError as error:
        spans = (Span(file=str(path)),)
        problems = tuple(replace(each, spans=each.spans or spans) for each in error.diagnostics)
        raise SavedResultError(diagnostics=problems) from None


def show_decided(resolution: BundleResolution, *, as_json: bool) -> None:
    """Print what a bundle decides on a device."""
    if as_json:
        print_json(resolution.to_jsonable())
        return
    show(f"profile {resolution.profile}")
    show(_release(resolution.bundle, resolution.revision))
    show()
    print_table(("METHOD", "BACKEND", "OPTION", "VALUE", "FROM"), _decided(resolution))


def _decided(resolution: BundleResolution) -> Iterator[tuple[str, ...]]:
    from etconfig.device.deciding.decision import DecidedOption
    from etconfig.resolver.explaining.explain import show_setting

    for slot in resolution.slots:
        label = slot.method if slot.instance is None else f"{slot.method}@{slot.instance}"
        for backend, options in slot.backends.items():
            for name, option in options.items():
                if isinstance(option, DecidedOption):
                    yield label, backend, name, show_setting(option.value), option.origin


def _table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table after a blank line, unless it is empty."""
    found = [*rows]
    if found:
        show()
        print_table(headers, found)


def _fact(fact: Mapping[str, Any]) -> tuple[str, ...]:
    return fact["name"], fact["type"], fact["unit"] or "-", fact["volatility"]


def _profile(profile: Mapping[str, Any]) -> tuple[str, ...]:
    extends = ", ".join(profile["extends"]) or "-"
    return profile["name"], profile["provider"], extends, _one_line(profile["match"])


def _settings(profile: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in profile["settings"]:
        label = each["method"] if each["instance"] is None else f"{each['method']}@{each['instance']}"
        cells = profile["name"], label, each["backend"], each["option"], _value(each)
        yield (*cells, _one_line(each["when"]))


def _one_line(condition: str | None) -> str:
    """Return a condition, which may have been written in several lines, or - if there is none."""
    return "-" if condition is None else " ".join(condition.split())


def _value(setting: Mapping[str, Any]) -> str:
    from etconfig.resolver.explaining.explain import show_setting

    if "expr" in setting:
        return f"expr {setting['expr']}"
    return "unset" if "unset" in setting else show_setting(setting["value"])


def _options(backends: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    from etconfig.resolver.explaining.explain import show_setting

    for backend in backends:
        for option in backend["options"]:
            default = show_setting(option["default"]) if "default" in option else "must be set"
            if "from_fact" in option:
                other = f", else {default}" if "default" in option else ""
                default = f"fact {option['from_fact']}{other}"
            cells = backend["id"], option["name"], default, option["applies"]
            yield (*cells, option["scope"], option["key"] or "-")


def _recommendations(backends: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for backend in backends:
        for entry in backend["recommendations"]:
            yield backend["id"], entry["option"], f"expr {entry['expr']}", _one_line(entry["when"])


def _variants(models: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for model in models:
        for variant in model["variants"]:
            needs = ", ".join(variant["needs"]) or "-"
            yield model["name"], variant["file"], needs, _one_line(variant["when"])
