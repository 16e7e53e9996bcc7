from __future__ import annotations

import json
from pathlib import Path

import pytest
from resolving import SPECS, make_facts, make_layer, resolve

from etconfig.base.option_path import parse_option_path
from etconfig.errors import SavedResultError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.profile.document import parse_document
from etconfig.profile.layer import UNSET
from etconfig.profile.layers import layers_of
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.deciding.resolution import Resolution
from etconfig.resolver.explaining import saved as saved_module
from etconfig.resolver.explaining.difference import OptionChange, ReportedValue, differences, reported_values
from etconfig.resolver.explaining.saved import load_saved_resolution
from etconfig.schema.declaration import Applies


def resolve_toml(text: str, targets: tuple[Target, ...], specs: dict[str, BackendSpec]) -> Resolution:
    """Resolve a profile in TOML, as if it had been loaded from a file, on no facts."""
    profile = parse_profile(parse_document(text, "resolved.toml"), ExpressionParser(BUILTIN_FACTS))
    return Resolver.compile(specs, layers_of([profile]), targets).resolve(make_facts())


class TestToml:
    """The exported profile resolves to the same arguments, on any device."""

    def test_it_sets_every_option_of_every_method_instance(self) -> None:
        layer = make_layer(
            ("NpuBackend.core", 1),
            ("forward@left:NpuBackend.core", 2),
            ("CpuBackend.labels", {"a b": 'say "hi"\n'}),
            instances={"left": "forward"},
        )
        assert resolve(layer, core=None, cpu__available_cores=6).to_toml() == (
            "[profile]\n"
            'name = "resolved"\n'
            "\n"
            "[methods.forward.options.CpuBackend]\n"
            "num_threads = 6\n"
            "scratch_bytes = 1048576\n"
            "log_level = 0\n"
            'labels = { "a b" = "say \\"hi\\"\\n" }\n'
            "\n"
            "[methods.forward.options.NpuBackend]\n"
            "core = 1\n"
            'mode = "low"\n'
            "\n"
            "[instances.left]\n"
            'method = "forward"\n'
            "\n"
            "[instances.left.options.CpuBackend]\n"
            "num_threads = 6\n"
            "scratch_bytes = 1048576\n"
            "log_level = 0\n"
            'labels = { "a b" = "say \\"hi\\"\\n" }\n'
            "\n"
            "[instances.left.options.NpuBackend]\n"
            "core = 2\n"
            'mode = "low"\n'
        )

    def test_it_resolves_to_the_same_without_the_facts(self) -> None:
        targets = tuple(Target(method=m, backends=tuple(SPECS)) for m in (ANY_METHOD, "odd.name"))
        first = resolve(
            make_layer(("odd.name:NpuBackend.core", 3), ("CpuBackend.labels", {"\x7f": "é"})),
            targets=targets,
            cpu__available_cores=6,
            power__source="mains",
        )
        assert resolve_toml(first.to_toml(), targets, SPECS) == first

    def test_an_option_without_a_value_is_unset(self) -> None:
        class Options(BackendOptions):
            cache: int | None = option(None, applies="load", doc="A cache.")
            rate: float = option(0.1, applies="load", doc="A rate.")

        specs = {"B": BackendSpec(id="B", doc="B.", options=Options, api=ApiRange(1, 1))}
        targets = (Target(method="forward", backends=("B",), instances=("left",)),)
        layer = layer_from_overrides({"forward:B.cache": 5, "forward@left:B.cache": None, "B.rate": 1e-7})  # type: ignore[dict-item]  # the option may be None
        first = Resolver.compile(specs, [layer], targets).resolve(make_facts())
        text = first.to_toml()
        assert "cache = { unset = true }\nrate = 1e-07\n" in text
        assert resolve_toml(text, targets, specs) == first

    def test_a_table_does_not_gain_the_extra_keys_of_a_wider_scope(self) -> None:
        layer = make_layer(
            ("CpuBackend.labels", {"a": "1", "b": "1"}),
            ("forward@left:CpuBackend.labels", UNSET),
            ("forward@left:CpuBackend.labels", {"b": "2"}),
            instances={"left": "forward"},
        )
        first = resolve(layer)
        assert '[[when]]\nif = "true"\n[when.instances.left.options.CpuBackend]\n' in first.to_toml()
        targets = (Target(method="forward", backends=tuple(SPECS)),)
        assert resolve_toml(first.to_toml(), targets, SPECS) == first


class TestDifferences:
    """A comparison is semantic: values count, origins do not."""

    def test_origins_do_not_count(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", 1))
        assert differences(reported_values(resolve(layer)), reported_values(resolve())) == ()

    def test_a_change_has_both_values_their_origins_and_when_it_applies(self) -> None:
        (change,) = differences(
            reported_values(resolve()), reported_values(resolve(make_layer(("CpuBackend.num_threads", 3))))
        )
        assert str(change) == "forward:CpuBackend.num_threads: 1 → 3"
        assert [str(change.old), str(change.new)] == [
            "1 from default CpuOptions",
            "3 from profile p.toml:1:1",
        ]
        assert change.applies is Applies.EXECUTE
        assert change.to_jsonable() == {
            "method": "forward",
            "instance": None,
            "backend": "CpuBackend",
            "option": "num_threads",
            "old": {"value": 1, "origin": "default CpuOptions"},
            "new": {"value": 3, "origin": "profile p.toml:1:1"},
        }

    def test_an_instance_on_one_side_only_is_reported(self) -> None:
        with_left = reported_values(resolve(make_layer(instances={"left": "forward"})))
        changes = differences(reported_values(resolve()), with_left)
        assert str(changes[0]) == "forward@left:CpuBackend.num_threads: (absent) → 1"
        assert (changes[0].applies, changes[0].to_jsonable()["old"]) == (None, None)
        assert [
            str(c).endswith("→ (absent)") for c in differences(with_left, reported_values(resolve()))
        ] == [True] * 6

    @pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), (None, 0)])
    def test_values_of_different_types_differ(self, old: object, new: object) -> None:
        path = parse_option_path("B.o")
        sides = [{path: ReportedValue(value, "x")} for value in (old, new)]
        assert differences(*sides) == (OptionChange(path=path, old=sides[0][path], new=sides[1][path]),)

    def test_the_order_of_a_table_does_not_count(self) -> None:
        path = parse_option_path("B.o")
        sides = [{path: ReportedValue(value, "x")} for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
        assert differences(*sides) == ()


class TestSavedResolution:
    """The output of `resolve --json` is read back."""

    def test_it_equals_the_resolution(self, tmp_path: Path) -> None:
        resolution = resolve(make_layer(("CpuBackend.labels", {"a": "1"})), cpu__available_cores=3)
        path = tmp_path / "saved.json"
        path.write_text(json.dumps(resolution.to_jsonable()))
        saved = load_saved_resolution(path)
        assert differences(saved, reported_values(resolution)) == ()
        assert [t.origin for t in saved.values()] == [t.origin for t in reported_values(resolution).values()]

    @pytest.mark.parametrize(
        "text",
        [
            "[]",
            "3",
            "{}",
            '{"arguments": [1]}',
            '{"arguments": [{"options": {}}, {"options": 3}]}',
            '{"arguments": [{"method": "m", "instance": null, "backend": "B", "options": {"o": {}}}]}',
            '{"arguments": [{"method": "m", "instance": null, "backend": "B", "options":'
            ' {"o": {"value": 1, "origin": {"kind": "magic", "source": "x"}}}}]}',
        ],
    )
    def test_another_json_file_is_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "saved.json"
        path.write_text(text)
        with pytest.raises(SavedResultError) as caught:
            load_saved_resolution(path)
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == ("invalid-resolution", f"{path} is not a saved resolution")
        assert problem.help == "save it with `etconfig resolve --json`"

    @pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
    def test_a_file_that_is_not_json_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "saved.json"
        path.write_bytes(content)
        with pytest.raises(SavedResultError, match=r"saved\.json is not JSON: "):
            load_saved_resolution(path)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SavedResultError, match=r"cannot read .*none\.json: No such file or directory"):
            load_saved_resolution(tmp_path / "none.json")

    def test_a_file_that_is_too_large_is_not_parsed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(saved_module, "MAX_SAVED_BYTES", 1 << 20)
        path = tmp_path / "saved.json"
        path.write_bytes(b" " * ((1 << 20) + 1))
        with pytest.raises(SavedResultError, match=r"saved\.json is larger than 1 MiB"):
            load_saved_resolution(path)
