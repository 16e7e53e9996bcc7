from __future__ import annotations

import pickle

import pytest
from resolving import SPECS, CpuOptions, Mode, NpuOptions, make_facts, make_layer, resolve

from etconfig.base.option_path import parse_option_path
from etconfig.base.provenance import OriginKind
from etconfig.errors import FactError, OptionError, PluginCallError
from etconfig.plugin.v1 import ApiRange, BackendSpec
from etconfig.profile.layer import UNSET
from etconfig.resolver.compiling.overrides import layer_from_environment, layer_from_overrides
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.arguments import ANY_METHOD
from etconfig.resolver.explaining.explain import explain_option

CPU_ONLY = {"CpuBackend": SPECS["CpuBackend"]}


class TestPrecedence:
    """Schema default → recommendation → profiles, base first → project → environment → overrides."""

    def test_the_schema_default_is_used_if_nothing_is_set(self) -> None:
        forward = resolve().arguments("forward")
        assert forward[CpuOptions].scratch_bytes == 1 << 20
        assert str(forward.origin("CpuBackend", "scratch_bytes")) == "default CpuOptions"

    def test_a_fact_beats_the_literal_default(self) -> None:
        forward = resolve(cpu__available_cores=6).arguments("forward")
        assert forward[CpuOptions].num_threads == 6
        assert (
            str(forward.origin("CpuBackend", "num_threads"))
            == "default CpuOptions (fact cpu.available_cores)"
        )

    def test_a_recommendation_beats_the_default(self) -> None:
        forward = resolve(power__source="mains").arguments("forward")
        assert forward[NpuOptions].mode is Mode.HIGH
        assert forward.origin("NpuBackend", "mode").kind is OriginKind.RECOMMENDATION

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_each_layer_beats_those_below_it(self, count: int) -> None:
        layers = [
            make_layer(("CpuBackend.num_threads", 2), name="generic"),
            make_layer(("CpuBackend.num_threads", 3), name="etconfig", kind=OriginKind.PROJECT),
            layer_from_environment("CpuBackend.num_threads=4"),
            layer_from_overrides(["CpuBackend.num_threads=5"]),
        ][:count]
        forward = resolve(*layers).arguments("forward")
        assert forward[CpuOptions].num_threads == count + 1
        beaten = forward.provenance("CpuBackend", "num_threads").beaten
        assert [sourced.value for sourced in beaten] == [*range(count, 0, -1)]

    def test_an_instance_beats_its_method_which_beats_every_method(self) -> None:
        layer = make_layer(
            ("CpuBackend.num_threads", 2),
            ("forw*:CpuBackend.num_threads", 3),
            ("forward@left:CpuBackend.num_threads", 4),
            instances={"left": "forward", "right": "forward"},
        )
        resolution = resolve(layer)
        threads = [
            resolution.arguments("forward", i)[CpuOptions].num_threads for i in ("left", "right", None)
        ]
        assert threads == [4, 3, 3]

    def test_inside_an_override_the_most_specific_wins_in_any_order(self) -> None:
        layer = layer_from_overrides(["forward:CpuBackend.num_threads=7", "CpuBackend.num_threads=2"])
        assert resolve(layer).arguments("forward")[CpuOptions].num_threads == 7

    def test_inside_an_override_an_exact_name_wins_over_a_pattern(self) -> None:
        layer = layer_from_overrides(["forward:CpuBackend.num_threads=7", "forw*:CpuBackend.num_threads=2"])
        assert resolve(layer).arguments("forward")[CpuOptions].num_threads == 7

    def test_a_condition_that_cannot_be_computed_does_not_hold(self) -> None:
        layer = make_layer(
            ("CpuBackend.num_threads", 2),
            ("CpuBackend.num_threads", 3, "8 / (cpu.available_cores - cpu.available_cores) > 1"),
        )
        assert resolve(layer).arguments("forward")[CpuOptions].num_threads == 2


class TestMergeRule:
    """Scalars and arrays replace, tables merge; unset returns an option to what lies below."""

    def test_tables_merge_key_by_key(self) -> None:
        forward = resolve(
            make_layer(("CpuBackend.labels", {"a": "1", "b": "1"}), name="low"),
            make_layer(("CpuBackend.labels", {"b": "2"}), name="high"),
        ).arguments("forward")
        assert forward[CpuOptions].labels == {"a": "1", "b": "2"}
        assert forward.origin("CpuBackend", "labels").source == "high.toml"
        found = forward.provenance("CpuBackend", "labels")
        assert {key: origin.source for key, origin in found.keys.items()} == {
            "a": "low.toml",
            "b": "high.toml",
        }
        assert [(each.value, each.origin.source) for each in found.beaten] == [({"b": "1"}, "low.toml")]

    def test_unset_forgets_the_layers_below(self) -> None:
        forward = resolve(
            make_layer(("CpuBackend.num_threads", 5), name="low"),
            make_layer(("CpuBackend.num_threads", UNSET), name="high"),
        ).arguments("forward")
        assert forward[CpuOptions].num_threads == 1
        provenance = forward.provenance("CpuBackend", "num_threads")
        assert [s.value for s in provenance.beaten] == [UNSET, 5]

    def test_unset_keeps_the_recommendation(self) -> None:
        layer = make_layer(("NpuBackend.mode", "low"), ("NpuBackend.mode", UNSET))
        assert resolve(layer, power__source="mains").arguments("forward")[NpuOptions].mode is Mode.HIGH

    def test_a_value_above_unset_wins(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", UNSET), ("CpuBackend.num_threads", 3))
        assert resolve(layer).arguments("forward")[CpuOptions].num_threads == 3


class TestConditions:
    """An overlay holds while its condition is true; unknown is not true."""

    LAYER = make_layer(
        ("CpuBackend.num_threads", 4),
        ("CpuBackend.num_threads", 1, 'power.source == "battery"'),
    )

    @pytest.mark.parametrize(("source", "threads"), [("battery", 1), ("mains", 4)])
    def test_it_decides(self, source: str, threads: int) -> None:
        assert (
            resolve(self.LAYER, power__source=source).arguments("forward")[CpuOptions].num_threads == threads
        )

    def test_an_unknown_condition_does_not_hold(self) -> None:
        assert resolve(self.LAYER).arguments("forward")[CpuOptions].num_threads == 4

    def test_its_facts_are_reported_even_if_it_does_not_hold(self) -> None:
        provenance = resolve(self.LAYER).arguments("forward").provenance("CpuBackend", "num_threads")
        assert provenance.facts == ("cpu.available_cores", "power.source")

    def test_an_expression_gives_the_value(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", {"expr": "min(cpu.available_cores, 4)"}))
        assert resolve(layer, cpu__available_cores=16).arguments("forward")[CpuOptions].num_threads == 4

    def test_an_expression_over_an_unknown_fact_is_an_error(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", {"expr": "cpu.physical_cores"}))
        with pytest.raises(OptionError) as caught:
            resolve(layer)
        (problem,) = caught.value.diagnostics
        assert problem.code == "unknown-fact-value"
        assert (
            problem.message
            == "'cpu.physical_cores' has no value: cpu.physical_cores is not known on this device"
        )

    def test_an_expression_out_of_bounds_is_an_error(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", {"expr": "cpu.available_cores - 1"}))
        with pytest.raises(OptionError) as caught:
            resolve(layer, cpu__available_cores=1)
        (problem,) = caught.value.diagnostics
        assert problem.message == "CpuBackend.num_threads: expected an integer >= 1, given 0"

    def test_an_expression_of_the_wrong_type_is_found_without_any_facts(self) -> None:
        layer = make_layer(("NpuBackend.core", {"expr": 'power.source == "battery"'}))
        with pytest.raises(OptionError) as caught:
            Resolver.compile(SPECS, [layer], [Target(method="forward", backends=("NpuBackend",))])
        assert caught.value.diagnostics[0].message == (
            "NpuBackend.core: expected an integer >= 0, given an expression of type bool"
        )

    def test_a_hand_set_fact_decides(self) -> None:
        layer = make_layer(facts={"power.source": "battery"}, name="lab")
        resolution = resolve(layer, self.LAYER, power__source="mains")
        assert resolution.arguments("forward")[CpuOptions].num_threads == 1
        assert resolution.facts["power.source"].origin.source == "lab.toml"

    def test_a_hand_set_fact_of_the_wrong_type_is_an_error(self) -> None:
        with pytest.raises(FactError, match=r"power\.source"):
            resolve(make_layer(facts={"power.source": 3}))


class TestFourResults:
    """Two instances, each with two backends, get four independent sets of arguments."""

    LAYER = make_layer(
        ("forward@left:NpuBackend.core", 0),
        ("forward@right:NpuBackend.core", 1),
        ("forward@left:CpuBackend.num_threads", 2),
        ("forward@right:CpuBackend.num_threads", 3),
        instances={"left": "forward", "right": "forward"},
    )

    def test_they_differ(self) -> None:
        resolution = resolve(self.LAYER)
        left, right = (resolution.arguments("forward", i) for i in ("left", "right"))
        assert (left[NpuOptions].core, left[CpuOptions].num_threads) == (0, 2)
        assert (right[NpuOptions].core, right[CpuOptions].num_threads) == (1, 3)

    def test_a_default_instance_may_lack_what_only_named_ones_set(self) -> None:
        resolution = resolve(self.LAYER, core=None)
        assert [a.label for a in resolution] == ["forward@left", "forward@right"]
        with pytest.raises(OptionError) as caught:
            resolution.arguments("forward")
        assert caught.value.diagnostics[0].message == "NpuBackend.core is required and not set"

    def test_a_named_instance_may_not(self) -> None:
        layer = make_layer(instances={"left": "forward"})
        with pytest.raises(OptionError, match=r"NpuBackend\.core is required and not set"):
            resolve(layer, core=None)

    def test_instances_may_be_named_by_the_caller(self) -> None:
        target = Target(method="forward", backends=("CpuBackend",), instances=("left",))
        layer = layer_from_overrides({"forward@left:CpuBackend.num_threads": 9})
        resolution = resolve(layer, targets=(target,))
        assert resolution.arguments("forward", "left")[CpuOptions].num_threads == 9


class TestMistakes:
    """Every problem is found in one run, each with its place and what to do."""

    def test_all_problems_come_at_once(self) -> None:
        layer = make_layer(
            ("CpuBackend.num_thread", 2),
            ("CpuBackend.scratch_bytes", "1 MB/s"),
            ("NpuBackend.core", True),
            ("NpuBackned.core", 1),
            name="bad",
        )
        with pytest.raises(OptionError) as caught:
            Resolver.compile(SPECS, [layer], [Target(method="forward", backends=tuple(SPECS))])
        found = [(d.code, d.spans[0].line) for d in caught.value.diagnostics]
        assert found == [
            ("unknown-option", 1),
            ("invalid-value", 2),
            ("invalid-value", 3),
            ("unknown-backend", 4),
        ]
        assert [d.help for d in caught.value.diagnostics][::3] == [
            "did you mean 'num_threads'?",
            "did you mean 'NpuBackend'?",
        ]

    def test_a_backend_that_is_not_installed_is_a_warning_in_a_profile(self) -> None:
        (warning,) = resolve(make_layer(("QnnBackend.level", 1))).warnings
        assert (warning.code, warning.severity.value) == ("backend-not-installed", "warning")

    def test_but_an_error_in_an_override(self) -> None:
        with pytest.raises(OptionError, match="no installed plugin declares the backend 'QnnBackend'"):
            resolve(layer_from_overrides(["QnnBackend.level=1"]))

    @pytest.mark.parametrize(
        ("text", "message", "help_text"),
        [
            ("forwrad:NpuBackend.core=1", "the program has no method 'forwrad'", "did you mean 'forward'?"),
            (
                "forward@lft:NpuBackend.core=1",
                "no profile declares an instance 'lft' of 'forward'",
                "did you mean 'left'?",
            ),
        ],
    )
    def test_an_override_that_matches_nothing_is_an_error(
        self, text: str, message: str, help_text: str
    ) -> None:
        with pytest.raises(OptionError) as caught:
            resolve(make_layer(instances={"left": "forward"}), layer_from_overrides([text]))
        (problem,) = caught.value.diagnostics
        assert (problem.message, problem.help) == (message, help_text)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("NpuBackend.cores=1", "the program delegates nothing to 'NpuBackend'"),
            ("forward:NpuBackend.core=1", "method 'forward' delegates nothing to 'NpuBackend'"),
            ("forw*:NpuBackend.core=1", "method 'forw*' delegates nothing to 'NpuBackend'"),
        ],
    )
    def test_an_override_of_a_backend_that_nothing_is_delegated_to_is_an_error(
        self, text: str, message: str
    ) -> None:
        targets = (Target(method="forward", backends=("CpuBackend",)),)
        with pytest.raises(OptionError) as caught:
            Resolver.compile(CPU_ONLY, [layer_from_overrides([text])], targets, SPECS)
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == ("not-delegated", message)
        assert problem.help == "it delegates to CpuBackend"

    def test_a_variable_may_serve_several_programs_and_gets_a_warning(self) -> None:
        targets = (Target(method="forward", backends=("CpuBackend",)),)
        layers = [layer_from_environment("NpuBackend.core=1; CpuBackend.num_threads=2")]
        resolver = Resolver.compile(CPU_ONLY, layers, targets, SPECS)
        (warning,) = resolver.warnings
        assert (warning.code, warning.severity.value) == ("not-delegated", "warning")
        assert resolver.resolve(make_facts()).arguments("forward")[CpuOptions].num_threads == 2

    def test_a_profile_may_set_options_of_backends_that_the_program_does_not_use(self) -> None:
        targets = (Target(method="forward", backends=("CpuBackend",)),)
        resolver = Resolver.compile(CPU_ONLY, [make_layer(("NpuBackend.core", 1))], targets, SPECS)
        assert resolver.warnings == ()

    def test_an_override_may_be_for_one_of_several_methods(self) -> None:
        targets = (
            Target(method="embed", backends=("CpuBackend",)),
            Target(method="forward", backends=("NpuBackend",)),
        )
        resolution = resolve(layer_from_overrides(["NpuBackend.core=1"]), targets=targets)
        assert resolution.arguments("forward")[NpuOptions].core == 1

    def test_a_profile_may_set_options_of_methods_that_the_program_lacks(self) -> None:
        assert resolve(make_layer(("decode:NpuBackend.core", 3))).arguments("forward")[NpuOptions].core == 0

    def test_methods_that_disagree_on_a_process_option_conflict(self) -> None:
        targets = tuple(Target(method=m, backends=("CpuBackend",)) for m in ("forward", "decode"))
        with pytest.raises(OptionError) as caught:
            resolve(make_layer(("decode:CpuBackend.log_level", 2)), targets=targets)
        (problem,) = caught.value.diagnostics
        assert problem.message == (
            "CpuBackend.log_level applies to the whole process, "
            "but forward and decode (p.toml:1:1) disagree on it"
        )
        assert problem.notes == ("forward: 0, from default CpuOptions", "decode: 2, from profile p.toml:1:1")
        assert [span.place for span in problem.spans] == ["p.toml:1:1"]

    def test_a_process_conflict_points_at_both_assignments(self) -> None:
        targets = tuple(Target(method=m, backends=("CpuBackend",)) for m in ("forward", "decode"))
        layer = make_layer(("forward:CpuBackend.log_level", 1), ("decode:CpuBackend.log_level", 2))
        with pytest.raises(OptionError) as caught:
            resolve(layer, targets=targets)
        (problem,) = caught.value.diagnostics
        assert [span.place for span in problem.spans] == ["p.toml:1:1", "p.toml:2:1"]
        assert problem.message == (
            "CpuBackend.log_level applies to the whole process, "
            "but forward (p.toml:1:1) and decode (p.toml:2:1) disagree on it"
        )

    def test_a_default_for_any_other_method_is_not_a_conflict(self) -> None:
        targets = tuple(Target(method=m, backends=("CpuBackend",)) for m in (ANY_METHOD, "decode"))
        resolution = resolve(make_layer(("decode:CpuBackend.log_level", 2)), targets=targets)
        assert resolution.arguments("decode")[CpuOptions].log_level == 2

    def test_a_former_name_is_accepted_with_a_warning(self) -> None:
        resolution = resolve(make_layer(("NpuBackend.power", "high")))
        assert resolution.arguments("forward")[NpuOptions].mode is Mode.HIGH
        assert [w.message for w in resolution.warnings] == ["NpuBackend.power was renamed to mode"]

    @pytest.mark.parametrize(
        ("recommended", "cause"),
        [
            ({"cores": 1}, "NpuBackend has no option 'cores'"),
            ({"core": -1}, "NpuBackend.core: expected an integer >= 0, given -1"),
            (None, "it returned None, expected a mapping of option names to values"),
            ([("core", 1)], "it returned [('core', 1)], expected a mapping of option names to values"),
        ],
    )
    def test_a_wrong_recommendation_is_the_plugins_fault(self, recommended: object, cause: str) -> None:
        spec = BackendSpec(
            id="NpuBackend",
            doc="NPU.",
            options=NpuOptions,
            api=ApiRange(1, 1),
            recommend=lambda facts: recommended,
        )
        resolver = Resolver.compile({"NpuBackend": spec}, [], [Target(method="f", backends=("NpuBackend",))])
        with pytest.raises(PluginCallError) as caught:
            resolver.resolve(make_facts())
        assert caught.value.cause == cause


class TestResolution:
    def test_equality_ignores_origins(self) -> None:
        first = resolve(make_layer(("CpuBackend.num_threads", 1)))
        assert first == resolve()
        assert first.fingerprint() == resolve().fingerprint()

    def test_different_values_differ(self) -> None:
        first = resolve(make_layer(("CpuBackend.num_threads", 2)))
        assert first != resolve()
        assert first.fingerprint() != resolve().fingerprint()

    def test_the_fingerprint_is_stable(self) -> None:
        assert resolve().fingerprint() == (
            "sha256:5ffbe97e8fdb14fdfcf69f545f99c81043aa3c64fa538fb57ee1dec6b36d4b42"
        )

    def test_it_pickles_with_the_provenance_of_its_values(self) -> None:
        layer = make_layer(("CpuBackend.num_threads", {"expr": "min(cpu.available_cores, 4)"}))
        resolution = resolve(layer, cpu__available_cores=2)
        copy = pickle.loads(pickle.dumps(resolution))
        assert copy == resolution
        path = parse_option_path("CpuBackend.num_threads")
        assert explain_option(copy, path) == explain_option(resolution, path)

    def test_json_has_the_documented_form(self) -> None:
        layer = make_layer(("NpuBackend.mode", "high", "cpu.available_cores > 1"))
        data = resolve(layer, cpu__available_cores=2).to_jsonable()
        assert set(data) == {"arguments", "profile", "selected_by", "is_fallback", "facts", "fingerprint"}
        assert data["facts"] == {"cpu.available_cores": 2}
        cpu, npu = data["arguments"]
        assert {key: npu[key] for key in ("method", "instance", "backend")} == {
            "method": "forward",
            "instance": None,
            "backend": "NpuBackend",
        }
        assert npu["options"]["mode"] == {
            "value": "high",
            "origin": {"kind": "profile", "source": "p.toml", "line": 1, "column": 1},
            "beat": [{"value": "low", "origin": {"kind": "default", "source": "NpuOptions"}}],
        }
        assert cpu["options"]["scratch_bytes"]["value"] == 1 << 20

    def test_an_unknown_instance_is_an_error_with_a_suggestion(self) -> None:
        resolution = resolve(make_layer(instances={"left": "forward"}))
        with pytest.raises(OptionError) as caught:
            resolution.arguments("forward", "leftt")
        (problem,) = caught.value.diagnostics
        assert problem.message == "method 'forward' has no instance 'leftt'"
        assert problem.help == "did you mean 'left'?"

    def test_an_unknown_method_is_an_error(self) -> None:
        with pytest.raises(OptionError, match="no arguments were resolved for a method 'decode'"):
            resolve().arguments("decode")

    def test_without_a_program_any_method_is_resolved(self) -> None:
        layer = make_layer(("decode:CpuBackend.num_threads", 3))
        targets = tuple(Target(method=m, backends=("CpuBackend",)) for m in (ANY_METHOD, "decode"))
        resolution = resolve(layer, targets=targets)
        assert [a[CpuOptions].num_threads for a in resolution] == [1, 3]


class TestArguments:
    def test_they_are_reached_by_class_or_id(self) -> None:
        forward = resolve().arguments("forward")
        assert forward[CpuOptions] is forward["CpuBackend"]
        assert list(forward) == ["CpuBackend", "NpuBackend"]

    def test_a_missing_backend_is_a_key_error(self) -> None:
        forward = resolve(targets=(Target(method="forward", backends=("CpuBackend",)),)).arguments("forward")
        with pytest.raises(KeyError, match="NpuOptions"):
            forward[NpuOptions]
        with pytest.raises(KeyError, match="forward has no arguments for 'Npu'; it delegates to CpuBackend"):
            forward["Npu"]


class TestExplain:
    def test_it_shows_the_winner_the_losers_and_the_facts(self) -> None:
        layer = make_layer(
            ("CpuBackend.num_threads", 3), ("CpuBackend.num_threads", 2, 'power.source == "battery"')
        )
        resolution = resolve(layer, cpu__available_cores=8)
        assert explain_option(resolution, parse_option_path("CpuBackend.num_threads")) == (
            "forward:CpuBackend.num_threads = 3\n"
            "  from profile p.toml:1:1\n"
            "  beat 8 from default CpuOptions (fact cpu.available_cores)\n"
            "  depends on cpu.available_cores = 8, from sheet test\n"
            "  depends on power.source, which is unknown: it was not looked for\n"
        )

    def test_it_shows_the_origin_of_each_key_of_a_merged_table(self) -> None:
        resolution = resolve(
            make_layer(("CpuBackend.labels", {"a": "1", "b": "1"}), name="low"),
            make_layer(("CpuBackend.labels", {"b": "2"}), name="high"),
        )
        assert explain_option(resolution, parse_option_path("CpuBackend.labels")) == (
            "forward:CpuBackend.labels = {'a': '1', 'b': '2'}\n"
            "  from profile high.toml:1:1\n"
            "  key 'a' from profile low.toml:1:1\n"
            "  key 'b' from profile high.toml:1:1\n"
            "  beat {'b': '1'} from profile low.toml:1:1\n"
        )
        (cpu, _) = resolution.to_jsonable()["arguments"]
        assert cpu["options"]["labels"]["keys"]["a"] == {
            "kind": "profile", "source": "low.toml", "line": 1, "column": 1
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("path", "message", "help_text"),
        [
            ("CpuBackend.num_thread", "CpuBackend has no option 'num_thread'", "did you mean 'num_threads'?"),
            (
                "CpuBackand.num_threads",
                "no arguments were resolved for a backend 'CpuBackand'",
                "did you mean 'CpuBackend'?",
            ),
        ],
    )
    def test_a_path_that_means_nothing_is_an_error(self, path: str, message: str, help_text: str) -> None:
        with pytest.raises(OptionError) as caught:
            explain_option(resolve(), parse_option_path(path))
        (problem,) = caught.value.diagnostics
        assert (problem.message, problem.help) == (message, help_text)

    def test_asking_for_a_method_without_a_program_gets_help(self) -> None:
        any_method = resolve(targets=(Target(method=ANY_METHOD, backends=tuple(SPECS)),))
        with pytest.raises(OptionError) as caught:
            explain_option(any_method, parse_option_path("forward:CpuBackend.num_threads"))
        (problem,) = caught.value.diagnostics
        assert problem.help == (
            "without a program, options are resolved for any method: give the program, or no method"
        )
