from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping

import pytest
from resolving import SPECS, CpuOptions, Mode, NpuOptions, make_facts, make_layer

from etconfig.errors import OptionError, PluginCallError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, model_validator, option
from etconfig.resolver.compiling.resolver import Resolver, Target

LAYER = make_layer(
    ("NpuBackend.core", 0),
    ("CpuBackend.scratch_bytes", {"expr": "memory.total / 2"}),
    ("CpuBackend.num_threads", 4),
    ("CpuBackend.num_threads", 1, 'power.source == "battery"'),
    ("decode:NpuBackend.core", 2, "power.battery_level < 0.2"),
)
TARGETS = [Target(method=m, backends=("CpuBackend", "NpuBackend")) for m in ("forward", "decode")]
FACTS = {"memory__total": 1000, "power__source": "mains", "power__battery_level": 0.5}


def compile_resolver() -> Resolver:
    return Resolver.compile(SPECS, [LAYER], TARGETS)


class TestSameFactsSameResult:
    """Resolving again gives the same arguments if the facts that decide are the same, and else new ones."""

    def test_the_same_facts_give_the_same_arguments(self) -> None:
        resolver = compile_resolver()
        first, second = (resolver.resolve(make_facts(**FACTS)) for _ in range(2))
        assert second.arguments("forward") is first.arguments("forward")

    def test_a_fact_that_nothing_reads_changes_nothing(self) -> None:
        resolver = compile_resolver()
        first = resolver.resolve(make_facts(**FACTS))
        second = resolver.resolve(make_facts(**FACTS, device__model="another"))
        assert second.arguments("forward") is first.arguments("forward")
        assert second.facts["device.model"].value == "another"

    def test_a_condition_that_changes_affects_only_its_own_backend_and_method(self) -> None:
        resolver = compile_resolver()
        first = resolver.resolve(make_facts(**FACTS))
        second = resolver.resolve(make_facts(**FACTS | {"power__battery_level": 0.1}))
        assert second.arguments("decode")[NpuOptions].core == 2
        assert second.arguments("decode")[CpuOptions] == first.arguments("decode")[CpuOptions]
        assert second.arguments("forward") == first.arguments("forward")

    def test_a_fact_that_a_value_is_computed_from_changes_it(self) -> None:
        resolver = compile_resolver()
        resolver.resolve(make_facts(**FACTS))
        second = resolver.resolve(make_facts(**FACTS | {"memory__total": 3000}))
        assert second.arguments("decode")[CpuOptions].scratch_bytes == 1500

    def test_a_fact_that_becomes_unknown_counts_as_changed(self) -> None:
        resolver = compile_resolver()
        battery = resolver.resolve(make_facts(**FACTS | {"power__source": "battery"}))
        unknown = resolver.resolve(make_facts(memory__total=1000))
        threads = [r.arguments("forward")[CpuOptions].num_threads for r in (battery, unknown)]
        assert threads == [1, 4]

    def test_a_kept_provenance_equals_a_new_one(self) -> None:
        resolver = compile_resolver()
        resolver.resolve(make_facts(**FACTS))
        changed = make_facts(**FACTS | {"power__battery_level": 0.1})
        kept, fresh = (r.resolve(changed).to_jsonable() for r in (resolver, compile_resolver()))
        assert kept == fresh


class TestOptionsOfEqualConditions:
    """A backend's options are created once for all devices on which the same conditions hold."""

    LAYER = make_layer(
        ("NpuBackend.core", 0),
        ("NpuBackend.core", 1, 'power.source == "battery"'),
        ("decode:NpuBackend.core", 2, "power.battery_level < 0.2"),
    )

    def compile_npu(self) -> Resolver:
        spec = BackendSpec(id="NpuBackend", doc="NPU.", options=NpuOptions, api=ApiRange(1, 1))
        target = Target(method="decode", backends=("NpuBackend",))
        return Resolver.compile({"NpuBackend": spec}, [self.LAYER], [target])

    def test_options_with_recommended_values_are_not_shared(self) -> None:
        resolver = Resolver.compile(SPECS, [self.LAYER], [Target(method="decode", backends=("NpuBackend",))])
        modes = [
            resolver.resolve(make_facts(power__source=source)).arguments("decode")[NpuOptions].mode
            for source in ("mains", "battery", "mains")
        ]
        assert modes == [Mode.HIGH, Mode.LOW, Mode.HIGH]

    def test_they_are_the_same_object_though_the_facts_differ(self) -> None:
        resolver = self.compile_npu()
        sheets = [
            make_facts(power__source=source, power__battery_level=level)
            for source, level in (("mains", 0.5), ("battery", 0.5), ("mains", 0.9))
        ]
        mains, battery, full = (resolver.resolve(sheet).arguments("decode") for sheet in sheets)
        assert (mains[NpuOptions].core, battery[NpuOptions].core) == (0, 1)
        assert full[NpuOptions] is mains[NpuOptions]

    def test_origins_are_those_of_each_device(self) -> None:
        resolver = self.compile_npu()
        for source, line in (("mains", 0), ("battery", 1), ("mains", 0)):
            found = resolver.resolve(make_facts(power__source=source)).arguments("decode")
            fresh = self.compile_npu().resolve(make_facts(power__source=source)).arguments("decode")
            assert found[NpuOptions].core == line
            assert found.provenance("NpuBackend", "core") == fresh.provenance("NpuBackend", "core")

    def test_options_with_tables_are_never_shared(self) -> None:
        resolver = compile_resolver()
        first = resolver.resolve(make_facts(**FACTS)).arguments("forward")[CpuOptions]
        resolver.resolve(make_facts(**FACTS | {"power__source": "battery"}))
        again = resolver.resolve(make_facts(**FACTS)).arguments("forward")[CpuOptions]
        assert again == first
        assert again.labels is not first.labels

    def test_checks_of_the_class_run_for_each_device(self) -> None:
        class Checked(BackendOptions):
            core: int = option(0, applies="load", doc="A core.")

            @model_validator(mode="after")
            def _count(self) -> Checked:
                runs.append(self.core)
                return self

        runs: list[int] = []
        spec = BackendSpec(id="NpuBackend", doc="NPU.", options=Checked, api=ApiRange(1, 1))
        target = Target(method="decode", backends=("NpuBackend",))
        resolver = Resolver.compile({"NpuBackend": spec}, [self.LAYER], [target])
        runs.clear()
        for source in ("mains", "battery", "mains"):
            resolver.resolve(make_facts(power__source=source))
        assert runs == [0, 1, 0]

    def test_the_number_that_is_remembered_is_bounded(self) -> None:
        conditions = [("NpuBackend.core", n % 4, f"memory.total == {n}") for n in range(100)]
        layer = make_layer(("NpuBackend.core", 3), *conditions)
        resolver = Resolver.compile(SPECS, [layer], [Target(method="decode", backends=("NpuBackend",))])
        for _ in range(2):
            for number in range(100):
                found = resolver.resolve(make_facts(memory__total=number)).arguments("decode")
                assert found[NpuOptions].core == number % 4
        ((backend,),) = resolver.instances.values()
        assert backend._known_options is not None
        assert 0 < len(backend._known_options) <= 64


class TestErrors:
    """Errors are not remembered, and do not damage the results that are."""

    def test_a_failed_resolve_fails_again_and_then_recovers(self) -> None:
        resolver = compile_resolver()
        first = resolver.resolve(make_facts(**FACTS))
        for _ in range(2):
            with pytest.raises(OptionError, match=r"memory\.total is not known"):
                resolver.resolve(make_facts(power__source="mains"))
        assert resolver.resolve(make_facts(**FACTS)).arguments("forward") is first.arguments("forward")

    def test_a_default_instance_that_lacked_options_gets_them(self) -> None:
        layer = make_layer(
            ("forward@left:NpuBackend.core", 0),
            ("NpuBackend.core", 1, 'power.source == "mains"'),
            instances={"left": "forward"},
        )
        target = Target(method="forward", backends=("NpuBackend",))
        resolver = Resolver.compile(SPECS, [layer], [target])
        with pytest.raises(OptionError, match=r"NpuBackend\.core is required and not set"):
            resolver.resolve(make_facts()).arguments("forward")
        resolution = resolver.resolve(make_facts(power__source="mains"))
        assert [a.label for a in resolution] == ["forward", "forward@left"]


class TestRecommendations:
    """A vendor's function is called again only if a fact that it read has changed."""

    def resolver_and_calls(self, answer: object) -> tuple[Resolver, list[str]]:
        calls: list[str] = []

        def recommend(facts: Mapping[str, object]) -> Mapping[str, object]:
            calls.append("asked")
            return answer(facts)  # type: ignore[operator,no-any-return]  # each test gives a function

        spec = BackendSpec(
            id="NpuBackend", doc="NPU.", options=NpuOptions, api=ApiRange(1, 1), recommend=recommend
        )
        layer = make_layer(("NpuBackend.core", 0))
        target = Target(method="forward", backends=("NpuBackend",))
        return Resolver.compile({"NpuBackend": spec}, [layer], [target]), calls

    def test_facts_that_it_did_not_read_do_not_count(self) -> None:
        resolver, calls = self.resolver_and_calls(
            lambda facts: {"mode": "high"} if facts.get("os.name") else {}
        )
        modes = [
            resolver.resolve(make_facts(**facts)).arguments("forward")[NpuOptions].mode
            for facts in ({}, {"memory__total": 5}, {"os__name": "linux"}, {"os__name": "linux"})
        ]
        assert modes == [Mode.LOW, Mode.LOW, Mode.HIGH, Mode.HIGH]
        assert len(calls) == 2

    @pytest.mark.parametrize("listing", [dict, len, list])
    def test_a_recommendation_that_lists_the_facts_depends_on_all_of_them(self, listing: object) -> None:
        resolver, calls = self.resolver_and_calls(lambda facts: {"mode": "low"} if listing(facts) else {})  # type: ignore[operator]  # they are functions
        for facts in ({}, {"memory__total": 5}, {"memory__total": 5}, {"memory__total": 6}):
            resolver.resolve(make_facts(**facts))
        assert len(calls) == 3

    def test_testing_for_a_fact_counts_as_reading_it(self) -> None:
        resolver, calls = self.resolver_and_calls(
            lambda facts: {"mode": "high"} if "os.name" in facts else {}
        )
        for facts in ({}, {"os__name": "linux"}):
            resolver.resolve(make_facts(**facts))
        assert len(calls) == 2

    def test_the_facts_that_it_read_are_part_of_the_provenance(self) -> None:
        resolver, _ = self.resolver_and_calls(lambda facts: {"mode": "high"} if facts.get("os.name") else {})
        resolution = resolver.resolve(make_facts(os__name="linux"))
        assert resolution.arguments("forward").provenance("NpuBackend", "mode").facts == ("os.name",)
        assert resolution.facts_used() == {"os.name": "linux"}

    def test_the_facts_cannot_be_changed(self) -> None:
        resolver, _ = self.resolver_and_calls(lambda facts: facts.update(x=1))
        with pytest.raises(PluginCallError, match="has no attribute 'update'"):
            resolver.resolve(make_facts())


class TestCopies:
    """Remembered results are not pickled and do not affect other threads."""

    def test_a_pickled_resolver_resolves_the_same(self) -> None:
        resolver = compile_resolver()
        resolution = resolver.resolve(make_facts(**FACTS))
        copy = pickle.loads(pickle.dumps(resolver))
        assert copy.resolve(make_facts(**FACTS)) == resolution

    def test_threads_get_what_a_fresh_resolver_gives(self) -> None:
        resolver = compile_resolver()
        sheets = [make_facts(**FACTS | {"memory__total": 2 * n}) for n in range(1, 9)]
        wrong: list[object] = []

        def work(start: int) -> None:
            for step in range(100):
                number = (start + step) % len(sheets)
                found = resolver.resolve(sheets[number]).arguments("forward")[CpuOptions].scratch_bytes
                if found != number + 1:
                    wrong.append((number, found))

        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
