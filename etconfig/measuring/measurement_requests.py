"""Requests for measurements: the model that a name or a file means, and the variants to compare."""

from __future__ import annotations

import itertools
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from etconfig.app.configuring.engine_models import engines_for
from etconfig.app.configuring.profile_choice import EXPECTED
from etconfig.app.configuring.targets import find_installation
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.executors import choose_executor
from etconfig.app.programs.model_choice import find_catalog, select_model
from etconfig.app.programs.runtime_backends import runtime_backends
from etconfig.base.packages import how_to_install
from etconfig.base.parameters import AnyPath, as_path
from etconfig.errors import MeasurementError
from etconfig.facts.facts_by_hand import FactOverrides, source_facts
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.input_shapes import Shapes, shape_texts
from etconfig.measuring.remote import RemoteDevice
from etconfig.measuring.workplace import SubjectRequest, Workplace
from etconfig.models.catalog import ModelCatalog
from etconfig.program.identify import HEAD_BYTES, recognize_engine_model

Variant: TypeAlias = "str | Mapping[str, object]"
"""What a configuration has instead of the incumbent: values by option path, or by one of `VARIANT_KEYS`.

As a text, `KEY=VALUE` with spaces between several, quoted as for a shell.
"""
Values: TypeAlias = "Mapping[str, Sequence[object]] | Sequence[str]"
"""The values to try by option path, or texts `PATH=VALUE,VALUE`."""

VARIANT_KEYS = ("model", "backend", "profile", "instance", "executor")
"""The keys of a variant that are not option paths."""

_MOST_COMBINATIONS = 10_000
_PROGRAM_SUFFIXES = (".pte", ".bpte")
_ENGINE_PLUGINS = ("etconfig-onnxruntime", "etconfig-openvino")


@contextmanager
def subject_of(
    model: AnyPath,
    *,
    installation: Installation | None,
    on: str | None,
    facts: FactSheet | None = None,
    fact_overrides: FactOverrides | None,
    method: str | None,
    models: AnyPath | None,
    profile: AnyPath | None,
    overrides: Mapping[str, object] | Sequence[str],
    data: AnyPath | Sequence[AnyPath],
    shapes: Shapes,
    **fields: Any,
) -> Iterator[tuple[Workplace, SubjectRequest]]:
    """Give the workplace and the incumbent that the arguments of `compare` and `tune` mean.

    Raises:
        EtconfigError: as for `find_model` and `RemoteDevice`; the facts of the project file are wrong.
        ValueError: a shape or an address is malformed, or both `on` and `facts` name a device.
    """
    if on is not None and facts is not None:
        raise ValueError("on and facts name two devices; give one of them")
    installation = find_installation(installation)
    by_hand = source_facts(fact_overrides, installation.fact_registry)
    device = None if on is None else RemoteDevice(on)
    try:
        if device is not None:
            facts = device.facts(installation.fact_registry)
        workplace = Workplace(
            installation=installation,
            facts=installation.detect_facts() if facts is None else facts,
            fact_overrides=by_hand,
            device=device,
        )
        request = _request(model, profile=profile, overrides=overrides, data=data, shapes=shapes, **fields)
        yield workplace, find_model(workplace, request, method=method, models=models)
    finally:
        if device is not None:
            device.close()


def _request(
    model: AnyPath,
    *,
    profile: AnyPath | None,
    overrides: Mapping[str, object] | Sequence[str],
    data: AnyPath | Sequence[AnyPath],
    shapes: Shapes,
    **fields: Any,
) -> SubjectRequest:
    listed: Sequence[Any] = [data]  # what is neither a path nor a list is refused by name
    if isinstance(data, Sequence) and not isinstance(data, str):
        listed = data
    return SubjectRequest(
        label="as configured",
        model=str(as_path("model", model)),
        profile=profile
        if profile is None or isinstance(profile, str)
        else str(as_path("profile", profile, EXPECTED)),
        overrides=override_texts(overrides),
        data=tuple(str(as_path("data", each)) for each in listed),
        shapes=shape_texts(shapes),
        **fields,
    )


def find_model(
    workplace: Workplace, request: SubjectRequest, *, method: str | None, models: AnyPath | None
) -> SubjectRequest:
    """Return a request for a program, for a file that an engine runs, or for a name of the models file.

    Args:
        workplace: The plugins and the device.
        request: All else; its `model` is a path or a name, and its `backend` chooses one of several engines.
        method: The method, or the name that profiles have for an engine's model; None for the default.
        models: The file of models; None for the models of the project file.

    Raises:
        MeasurementError: no installed engine takes the file, several do, or the name is of an engine's
            model, whose file is not known.
        ConfigError, ModelError, ProgramError: as for `etconfig.select_model`.
    """
    model, path = request.model, Path(request.model)
    if not path.exists() and path.suffix == "" and path.name == model:
        catalog = find_catalog(workplace.installation, models)
        if model in catalog.models:
            return _of_catalog(workplace, model, request, catalog, method, models)
    if request.backend is None and path.suffix in _PROGRAM_SUFFIXES:
        return replace(request, method=method or "forward")
    backends = [request.backend] if request.backend else engines_for(workplace.installation, path)
    name = method or "model"
    declared: Mapping[str, Sequence[str]] = {}
    if backends:
        catalog = find_catalog(workplace.installation, models)
        declared = {each.name: [r.target for r in each.backends] for each in catalog.of_engines}
        name = method or (path.stem if path.stem in declared else name)
        chosen = [each for each in backends if each in declared.get(name, ())]
        backends = chosen if len(chosen) == 1 else backends
    if len(backends) > 1:
        raise MeasurementError(
            label=model,
            reason=f"several installed backends run such a file: {', '.join(backends)}",
            help=f"choose one: --backend {backends[0]}",
        )
    if not backends:
        _refuse_engine_model(path)
        return replace(request, method=method or "forward")
    installed = {*workplace.installation.backend_ids}
    others = tuple(
        f"{each}={','.join(ids)}"
        for each, ids in declared.items()
        if name in declared and each != name and installed.issuperset(ids)
    )
    return replace(request, method=name, backend=backends[0], others=others)


def swept(base: SubjectRequest, values: Values) -> Iterator[SubjectRequest]:
    """Yield a request for each combination of values.

    Raises:
        ValueError: a text is not `PATH=VALUE,VALUE`, or there are more than 10,000 combinations.
    """
    axes = list(_axes(values))
    if math.prod(len(texts) for _, texts in axes) > _MOST_COMBINATIONS:
        raise ValueError(f"sweep has more than {_MOST_COMBINATIONS:,} combinations; leave out values")
    names = [path.rpartition(".")[2] for path, _ in axes]
    is_clear = len({*names}) == len(names)
    for chosen in itertools.product(*(texts for _, texts in axes)):
        if not chosen:
            return
        shown = names if is_clear else [path for path, _ in axes]
        label = ", ".join(f"{name}={text}" for name, text in zip(shown, chosen, strict=True))
        overrides = (f"{path}={text}" for (path, _), text in zip(axes, chosen, strict=True))
        yield replace(base, label=label, overrides=(*base.overrides, *overrides))


def changed(workplace: Workplace, base: SubjectRequest, variant: Variant) -> SubjectRequest:
    """Return the request for a variant.

    Raises:
        ValueError: a text is not `KEY=VALUE`.
        MeasurementError, ConfigError: as for `find_model`.
    """
    given = _pairs_of(variant)
    label = " ".join(f"{key}={text}" for key, text in given.items())
    overrides = (f"{key}={text}" for key, text in given.items() if key not in VARIANT_KEYS)
    request = replace(
        base,
        label=label,
        overrides=(*base.overrides, *overrides),
        backend=given.get("backend", base.backend),
        profile=given.get("profile", base.profile),
        instance=given.get("instance", base.instance),
        executor=given.get("executor", base.executor),
    )
    if "model" not in given:
        return request
    request = replace(request, model=given["model"], backend=given.get("backend"))
    return find_model(workplace, request, method=base.method, models=None)


def override_texts(overrides: Mapping[str, object] | Sequence[str]) -> tuple[str, ...]:
    """Return overrides as texts `PATH=VALUE`."""
    if isinstance(overrides, Mapping):
        return tuple(f"{path}={_text(value)}" for path, value in overrides.items())
    return (overrides,) if isinstance(overrides, str) else tuple(overrides)


def _of_catalog(
    workplace: Workplace,
    name: str,
    request: SubjectRequest,
    catalog: ModelCatalog,
    method: str | None,
    models: AnyPath | None,
) -> SubjectRequest:
    model = catalog.models[name]
    is_of_engines = all(variant.backend is not None for variant in model.variants)
    if is_of_engines and model.path is not None:
        request = replace(request, model=str(model.path))
        return find_model(workplace, request, method=method or name, models=models)
    if not model.variants:
        raise MeasurementError(
            label=name,
            reason="an engine runs it, and the file of models does not say where its own file is",
            help=f'write file = "..." below [model.{name}], or give the file and --method {name}',
        )
    here = runtime_backends(workplace.installation, choose_executor(workplace.installation, request.executor))
    choice = select_model(
        name,
        models=models,
        facts=here.added_to(workplace.facts),
        fact_overrides=workplace.fact_overrides,
        executor=request.executor,
        installation=workplace.installation,
    )
    if choice.variant.backend is not None:
        request = replace(request, model=str(choice.variant.path), backend=choice.variant.backend.target)
        return find_model(workplace, request, method=method or name, models=models)
    data = tuple(map(str, choice.needs.data))
    return replace(request, model=str(choice.variant.path), method=method or "forward", data=data)


def _refuse_engine_model(path: Path) -> None:
    """Raise MeasurementError for a file of an engine that is not installed."""
    if not path.is_file():
        return  # opening it as a program says what is wrong
    with path.open("rb") as file:
        found = recognize_engine_model(file.read(HEAD_BYTES))
    if found is not None:
        plugins = " or ".join(map(how_to_install, _ENGINE_PLUGINS))
        raise MeasurementError(
            label=str(path),
            reason=f"it is {found[0]}, and no installed backend runs such a file",
            help=f"install the plugin of its engine, such as {plugins}",
        )


def _axes(values: Values) -> Iterator[tuple[str, list[str]]]:
    if isinstance(values, Mapping):
        for path, each in values.items():
            listed = [each] if isinstance(each, str) else itertools.islice(each, _MOST_COMBINATIONS + 1)
            yield path, [_text(value) for value in listed]
        return
    for text in [values] if isinstance(values, str) else values:
        path, equals, right = text.partition("=")
        texts = _split(right)
        if not (path and equals) or "" in texts:
            raise ValueError(f"expected PATH=VALUE,VALUE, given {text!r}")
        yield path, texts


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[{") - (char in "]}")
        if char == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _pairs_of(variant: Variant) -> dict[str, str]:
    if isinstance(variant, Mapping):
        return {key: _text(value) for key, value in variant.items()}
    pairs = [each.partition("=") for each in shlex.split(variant)]
    if not pairs or not all(key and equals for key, equals, _ in pairs):
        keys = ", ".join(VARIANT_KEYS)
        raise ValueError(f"expected KEY=VALUE, given {variant!r}; a key is an option path or one of {keys}")
    return {key: value for key, _, value in pairs}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
