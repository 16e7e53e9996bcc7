"""A value is accepted or refused alike, whichever way it comes in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from every import every
from npu import INFOS, SPEC, NpuOptions, PowerMode
from option_texts import coerce_text
from resolving import make_facts

from etconfig.base.option_path import parse_option_path
from etconfig.errors import OptionError, ProfileError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.document import parse_document
from etconfig.profile.layer import Layer
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.overrides import layer_from_environment, layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.explaining.explain import explain_option, find_provenance
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.validate import change_options

VALIDATOR = jsonschema.Draft202012Validator(json_schema(SPEC))
HEAD = '[profile]\nname = "p"\n[options.NpuBackend]\ncore = 0\n'


def resolve(*layers: Layer) -> NpuOptions:
    target = Target(method=ANY_METHOD, backends=(SPEC.id,))
    base = layer_from_overrides({"NpuBackend.core": 0})
    resolved = Resolver.compile({SPEC.id: SPEC}, [base, *layers], [target]).resolve(
        make_facts(cpu__available_cores=2)
    )
    return resolved.arguments(ANY_METHOD)[NpuOptions]


def profile(text: str) -> tuple[Layer, ...]:
    return layers_of([parse_profile(parse_document(HEAD + text, "p.toml"), ExpressionParser(BUILTIN_FACTS))])


def by_profile(option: str, value: Any) -> object:
    return getattr(resolve(*profile(f"{option} = {json.dumps(value)}\n")), option)


def by_text(option: str, value: Any) -> object:
    return getattr(resolve(layer_from_overrides([f"NpuBackend.{option}={json.dumps(value)}"])), option)


def by_variable(option: str, value: Any) -> object:
    return getattr(resolve(layer_from_environment(f"NpuBackend.{option}={json.dumps(value)}")), option)


def by_mapping(option: str, value: Any) -> object:
    return getattr(resolve(layer_from_overrides({f"NpuBackend.{option}": value})), option)


def by_bare_text(option: str, value: Any) -> object:
    return coerce_text(INFOS[option], value if isinstance(value, str) else json.dumps(value))


def by_update(option: str, value: Any) -> object:
    current = NpuOptions(core=0, threads=1)
    return getattr(change_options(SPEC, current, {option: value}), option)


def by_json_schema(option: str, value: Any) -> object:
    if not VALIDATOR.is_valid({option: value}):
        raise OptionError(diagnostics=())
    return by_mapping(option, value)


DOORS: Mapping[str, Callable[[str, Any], object]] = {
    "profile": by_profile,
    "--set": by_text,
    "bare --set": by_bare_text,
    "ETCONFIG_SET": by_variable,
    "mapping": by_mapping,
    "update": by_update,
    "JSON Schema": by_json_schema,
}

ACCEPTED = [
    ("power_mode", "high-power", PowerMode.HIGH),
    ("threads", 2**63 - 1, 2**63 - 1),
    ("timeout", "1.5 min", 90.0),
    ("timeout", "2 h", 7200.0),
    ("timeout", "250us", 0.00025),
]
REFUSED = [
    ("power_mode", "HIGH"),
    ("power_mode", "High-Power"),
    ("power_mode", "LOW"),
    ("threads", 2**63),
    ("threads", -(2**63) - 1),
    ("timeout", "1 d"),
    ("timeout", "1 m"),
    ("timeout", "1  s"),
    ("timeout", "1 S"),
]


def ids(cases: list[Any]) -> Iterator[str]:
    return (f"{case[0]}={case[1]}" for case in cases)


@pytest.mark.parametrize("door", DOORS)
class TestOneAnswer:
    """A profile, `--set`, `ETCONFIG_SET`, Python, updates and the JSON Schema have one answer."""

    @pytest.mark.parametrize(("option", "value", "meant"), ACCEPTED, ids=ids(ACCEPTED))
    def test_accepted(self, door: str, option: str, value: object, meant: object) -> None:
        assert DOORS[door](option, value) == meant

    @every(("option", "value"), REFUSED, ids=ids(REFUSED))
    def test_refused(self, door: str, option: str, value: object) -> None:
        with pytest.raises((OptionError, ProfileError)):
            DOORS[door](option, value)


class TestRenamedOptions:
    """A former name means the option everywhere; beside another name of it in one table it is an error."""

    BOTH = "NpuBackend.threads is set twice, as threads and as num_threads"

    @pytest.mark.parametrize(
        "text",
        [
            "num_threads = 2\nthreads = 3\n",
            "threads = 3\nnum_threads = 2\n",
            "[[when]]\nif = 'false'\noptions.NpuBackend = { threads = 2, num_threads = 2 }\n",
            "[methods.f.options.NpuBackend]\nnum_threads = 2\nthreads = 3\n",
        ],
    )
    def test_two_names_in_one_table_are_both_named(self, text: str) -> None:
        with pytest.raises(OptionError) as caught:
            resolve(*profile(text))
        (problem,) = [each for each in caught.value.diagnostics if each.is_error]
        assert (problem.code, problem.message, problem.help) == (
            "option-conflict", self.BOTH, "remove num_threads"
        )  # fmt: skip
        assert [span.underlined for span in problem.spans] == ["num_threads", "threads"]
        (warning,) = [each for each in caught.value.diagnostics if not each.is_error]
        assert (warning.code, warning.fix) == ("deprecated-option", None)  # two equal keys are not TOML

    def test_two_names_in_a_mapping_are_refused_in_any_order(self) -> None:
        for names in (("threads", "num_threads"), ("num_threads", "threads")):
            with pytest.raises(OptionError, match=self.BOTH):
                resolve(layer_from_overrides({f"NpuBackend.{name}": 2 for name in names}))

    def test_the_json_schema_refuses_them_too(self) -> None:
        assert VALIDATOR.is_valid({"threads": 2})
        assert VALIDATOR.is_valid({"num_threads": 2})
        assert not VALIDATOR.is_valid({"threads": 2, "num_threads": 2})

    def test_in_two_tables_the_usual_order_counts(self) -> None:
        overlays = "[[when]]\nif = 'true'\noptions.NpuBackend.num_threads = 5\n"
        assert resolve(*profile("threads = 3\n" + overlays)).threads == 5
        same = overlays + overlays.replace("num_threads = 5", "threads = 6")
        assert resolve(*profile("num_threads = 3\n" + same)).threads == 6

    def test_of_two_texts_the_last_one_wins(self) -> None:
        texts = ["NpuBackend.threads=3", "NpuBackend.num_threads=2"]
        assert resolve(layer_from_overrides(texts)).threads == 2
        assert resolve(layer_from_environment(";".join(reversed(texts)))).threads == 3

    def test_a_former_name_is_explained(self) -> None:
        target = Target(method=ANY_METHOD, backends=(SPEC.id,))
        resolver = Resolver.compile({SPEC.id: SPEC}, profile("threads = 3\n"), [target])
        resolution = resolver.resolve(make_facts(cpu__available_cores=2))
        path = parse_option_path("NpuBackend.num_threads")
        assert explain_option(resolution, path) == (
            "*:NpuBackend.threads = 3\n"
            "  num_threads was renamed to threads\n"
            "  from profile p.toml:5:1\n"
            "  beat 2 from default NpuOptions (fact cpu.available_cores)\n"
            "  depends on cpu.available_cores = 2, from sheet test\n"
        )
        ((full, found),) = find_provenance(resolution, path)
        assert (str(full), found.winner.value) == ("*:NpuBackend.threads", 3)
        arguments = resolution.arguments(ANY_METHOD)
        assert arguments.origin("NpuBackend", "num_threads") == arguments.origin("NpuBackend", "threads")
