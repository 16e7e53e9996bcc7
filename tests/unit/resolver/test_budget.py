from __future__ import annotations

import pickle

import pytest
from budgets import compile_budget, layers_from, resolve_budget, taken

from etconfig.errors import BudgetExceededError, OptionError, ProfileError
from etconfig.resolver.deciding.resolution import Resolution

SHARED = "\n[options.PoolBackend]\nthreads = { expr = 'share(\"threads\")' }"
FOUR = "\n[options.PoolBackend]\nthreads = 4"


def problem_of(*texts: str, **given: object) -> str:
    """The first problem of a configuration that does not resolve."""
    with pytest.raises(OptionError) as caught:
        resolve_budget(*texts, **given)  # type: ignore[arg-type]
    return str(caught.value.diagnostics[0])


class TestSums:
    """Everything that may run together stays within the budget, or the contributors are named."""

    def test_within_the_budget_nothing_is_said(self) -> None:
        resolution = resolve_budget("[budget]\nthreads = 8" + FOUR)
        assert resolution.warnings == ()
        assert [str(use) for use in resolution.budget.uses] == [  # type: ignore[union-attr]
            "all together take 8 threads, and the budget is 8 threads"
        ]

    def test_without_a_budget_there_is_none(self) -> None:
        assert resolve_budget(FOUR).budget is None

    def test_an_excess_names_every_contributor_with_value_and_origin(self) -> None:
        with pytest.raises(OptionError) as caught:
            resolve_budget(
                "[budget]\nthreads = { expr = 'cpu.available_cores' }" + FOUR, cpu__available_cores=6
            )
        (problem,) = caught.value.diagnostics
        assert problem.code == "budget-exceeded"
        assert problem.message == "all together take 8 threads, and the budget is 6 threads"
        assert problem.notes == (
            "the budget is from profile p0.toml:4:11 (expr cpu.available_cores)",
            "detector: PoolBackend.threads = 4 takes 4 threads, from profile p0.toml:6:1",
            "encoder: PoolBackend.threads = 4 takes 4 threads, from profile p0.toml:6:1",
        )
        assert [span.place for span in problem.spans] == ["p0.toml:4:11", "p0.toml:6:11"]

    def test_a_value_that_stands_for_a_fact_counts_as_the_fact(self) -> None:
        text = "[budget]\nthreads = 6\n[options.PoolBackend]\nthreads = 0"
        assert "take 8 threads" in problem_of(text, cpu__physical_cores=4)

    def test_a_value_that_nobody_knows_is_a_note(self) -> None:
        resolution = resolve_budget("[budget]\nthreads = 6")
        (note,) = resolution.warnings
        assert (note.code, note.severity.value) == ("budget-unknown", "note")
        assert note.message == (
            "all together take 0 threads, and the budget is 6 threads, but not everything is known"
        )
        assert note.notes[0] == (
            "detector: PoolBackend.threads = none takes an unknown number, from default PoolOptions"
        )

    def test_a_budget_that_is_unknown_is_a_note(self) -> None:
        (note,) = resolve_budget("[budget]\nthreads = { expr = 'cpu.physical_cores' }" + FOUR).warnings
        assert note.message == (
            "the budget of threads is unknown on this device, since it needs cpu.physical_cores"
        )

    def test_what_exceeds_it_without_the_unknown_is_an_error(self) -> None:
        text = "[budget]\nthreads = 6\n[methods.detector.options.PoolBackend]\nmore = 7"
        assert "take 7 threads" in problem_of(text)

    def test_one_thread_each_is_a_warning_since_nothing_takes_less(self) -> None:
        (warning,) = resolve_budget("[budget]\nthreads = 1\n[options.PoolBackend]\nthreads = 1").warnings
        assert (warning.code, warning.severity.value) == ("budget-exceeded", "warning")

    def test_backends_of_one_method_run_in_turn(self) -> None:
        text = (
            "[budget]\nthreads = 4\n[options.PoolBackend]\nthreads = 4\n[options.OtherBackend]\nthreads = 3"
        )
        methods = {"detector": ["PoolBackend", "OtherBackend"]}
        assert resolve_budget(text, methods=methods).warnings == ()

    def test_options_of_one_backend_add_up(self) -> None:
        text = "[budget]\nthreads = 4\n[options.PoolBackend]\nthreads = 4\nmore = 1"
        assert "takes 5 threads" in problem_of(text, methods={"detector": ["PoolBackend"]})

    def test_memory_of_all_backends_adds_up(self) -> None:
        options = "[options.PoolBackend]\ncache = 600\n[options.OtherBackend]\ncache = 600"
        text = f'[budget]\nmemory = "1 KiB"\n{options}'
        methods = {"detector": ["PoolBackend", "OtherBackend"]}
        assert "detector takes 1.172 KiB, and the budget is 1 KiB" in problem_of(text, methods=methods)

    def test_options_of_the_process_count_once(self) -> None:
        text = "[budget]\nthreads = 4\n[options.ProcessBackend]\nworkers = 4"
        methods = {"detector": ["ProcessBackend"], "encoder": ["ProcessBackend"]}
        assert resolve_budget(text, methods=methods).warnings == ()

    def test_a_shared_pool_counts_once_for_each_size(self) -> None:
        text = "[budget]\nthreads = 4\n[options.PoolBackend]\nthreads = 4\npooled = true"
        assert resolve_budget(text).warnings == ()
        assert "take 6 threads" in problem_of(text, "[methods.encoder.options.PoolBackend]\nthreads = 2")

    def test_an_option_that_does_not_apply_counts_as_declared(self) -> None:
        text = "[budget]\nthreads = 2\n[options.PoolBackend]\nthreads = 4\nalone = true"
        assert resolve_budget(text).warnings == ()

    def test_a_method_with_named_instances_counts_as_these(self) -> None:
        text = (
            "[budget]\nthreads = 8\n[instances]\nleft.method = 'detector'\nright.method = 'detector'" + FOUR
        )
        assert resolve_budget(text, methods={"detector": ["PoolBackend"]}).warnings == ()

    def test_any_method_does_not_count(self) -> None:
        assert resolve_budget("[budget]\nthreads = 1" + FOUR, methods={"*": ["PoolBackend"]}).warnings == ()

    def test_a_later_document_wins_key_by_key(self) -> None:
        base = "[budget]\nthreads = 2\nmemory = 100\n[groups.g]\ntogether = ['detector']"
        resolution = resolve_budget(base + FOUR, "[budget]\nthreads = 9\n[groups.h]\ntogether = ['encoder']")
        budget = resolution.budget
        assert budget is not None
        assert {key: limit.value for key, limit in budget.budget.limits.items()} == {
            "threads": 9,
            "memory": 100,
        }
        assert sorted(budget.budget.groups) == ["g", "h"]


class TestGroups:
    """Groups name what may run together; an instance in none of them runs alone."""

    def test_only_members_of_a_group_are_summed(self) -> None:
        text = "[budget]\nthreads = 4\n[groups.one]\ntogether = ['detector']" + FOUR
        budget = resolve_budget(text).budget
        assert budget is not None
        assert [(use.group, use.members, use.taken) for use in budget.uses] == [
            ("one", ("detector",), 4),
            (None, ("encoder",), 4),
        ]

    def test_an_excess_names_its_group(self) -> None:
        text = "[budget]\nthreads = 4\n[groups.pipeline]\ntogether = ['detector', 'encoder']" + FOUR
        assert "group 'pipeline' takes 8 threads, and the budget is 4 threads" in problem_of(text)

    @pytest.mark.parametrize("name", ["left", "detector@left"])
    def test_an_instance_has_two_names(self, name: str) -> None:
        text = (
            f"[groups.g]\ntogether = ['{name}']\n[instances.left]\nmethod = 'detector'\n[budget]\nthreads = 9"
        )
        budget = resolve_budget(text + FOUR).budget
        assert budget is not None
        assert budget.uses[0].members == ("detector@left",)

    def test_a_mistyped_name_is_an_error(self) -> None:
        found = problem_of("[budget]\nthreads = 9\n[groups.g]\ntogether = ['detektor', 'encoder']")
        assert found.endswith("the budget names 'detektor', but there is no such method, model or instance")

    def test_another_name_is_a_warning(self) -> None:
        warnings = resolve_budget("[budget]\nthreads = 9\nsplit = { wholly_different = 2 }" + FOUR).warnings
        assert [(each.code, each.help) for each in warnings] == [
            ("unknown-method", "there are detector, encoder")
        ]


class TestShares:
    """`share("threads")` divides the budget by weights."""

    @pytest.mark.parametrize(
        ("budget", "expected"),
        [
            ("threads = 8", (4, 4)),
            ("threads = 7", (4, 3)),
            ("threads = 1", (1, 1)),
            ("threads = 8\nsplit = 'fair'", (4, 4)),
            ("threads = 9\nsplit = { detector = 2 }", (6, 3)),
            ("threads = 9\nsplit = { encoder = 1000 }", (1, 8)),
            ("threads = { expr = 'cpu.available_cores' }\nsplit = { detector = 2, encoder = 1 }", (4, 2)),
            ("threads = { expr = '4 - cpu.available_cores + 3' }", (1, 1)),
        ],
    )
    def test_it_is_divided(self, budget: str, expected: tuple[int, int]) -> None:
        resolution = resolve_budget(f"[budget]\n{budget}{SHARED}", cpu__available_cores=6)
        assert tuple(taken(resolution).values()) == expected

    def test_what_is_left_goes_in_the_order_of_names(self) -> None:
        methods = {name: ["PoolBackend"] for name in ("d", "b", "a", "c")}
        assert taken(resolve_budget(f"[budget]\nthreads = 6{SHARED}", methods=methods)) == {
            "d": 1, "b": 2, "a": 2, "c": 1
        }  # fmt: skip

    def test_a_share_is_part_of_an_expression(self) -> None:
        text = "[budget]\nthreads = 8" + SHARED.replace('share("threads")', 'min(share("threads"), 3)')
        assert taken(resolve_budget(text)) == {"detector": 3, "encoder": 3}

    def test_the_least_share_of_several_groups_counts(self) -> None:
        groups = "\n[groups]\na.together = ['x', 'y']\nb.together = ['x', 'y', 'z']"
        methods = {name: ["PoolBackend"] for name in "xyz"}
        text = f"[budget]\nthreads = {{ expr = 'cpu.available_cores' }}{groups}{SHARED}"
        assert taken(resolve_budget(text, methods=methods, cpu__available_cores=6)) == {
            "x": 2,
            "y": 2,
            "z": 2,
        }

    def test_only_those_that_take_of_it_have_parts(self) -> None:
        methods = {"detector": ["PoolBackend"], "plain": [], "encoder": ["PoolBackend"]}
        assert taken(resolve_budget(f"[budget]\nthreads = 8{SHARED}", methods=methods)) == {
            "detector": 4, "encoder": 4
        }  # fmt: skip

    def test_an_option_without_a_declaration_may_have_a_share(self) -> None:
        text = """[budget]\nmemory = 100\n[options.PoolBackend]\nplain = { expr = 'share("memory") / 2' }"""
        assert taken(resolve_budget(text), "plain") == {"detector": 25, "encoder": 25}

    def test_the_default_instance_beside_named_ones_has_the_least_of_them(self) -> None:
        text = "[budget]\nthreads = 7\n[instances]\nleft.method = 'm'\nright.method = 'm'" + SHARED
        assert taken(resolve_budget(text, methods={"m": ["PoolBackend"]})) == {
            "m": 3, "m@left": 4, "m@right": 3
        }  # fmt: skip

    def test_any_method_has_the_whole(self) -> None:
        found = resolve_budget("[budget]\nthreads = 7" + SHARED, methods={"*": ["PoolBackend"]})
        assert taken(found) == {"*": 7}

    def test_its_origin_has_budget_and_weights(self) -> None:
        resolution = resolve_budget("[budget]\nthreads = 9\nsplit = { detector = 2 }" + SHARED)
        assert str(resolution.arguments("detector").origin("PoolBackend", "threads")) == (
            'profile p0.toml:7:1 (expr share("threads"); share of budget.threads = 9 at p0.toml:4:11: '
            "2 of 3 parts (detector 2, encoder 1), at least 1)"
        )

    def test_the_facts_of_the_budget_decide(self) -> None:
        resolver = compile_budget("[budget]\nthreads = { expr = 'cpu.available_cores' }" + SHARED)
        assert {"cpu.available_cores", "cpu.physical_cores"} <= set(resolver.dependencies.computed_from)

    def test_a_share_without_a_budget_is_an_error(self) -> None:
        assert problem_of(SHARED) == "p0.toml:5:11: share of threads, but no budget of threads is set"
        assert problem_of("[budget]\nmemory = 4" + SHARED).endswith("no budget of threads is set")

    def test_what_cannot_be_computed_is_an_error(self) -> None:
        text = "[budget]\nthreads = { expr = '8 / (cpu.available_cores - 6)' }"
        assert "divides by zero" in problem_of(text + SHARED, cpu__available_cores=6)
        assert "divides by zero" in problem_of(text + FOUR, cpu__available_cores=6)
        assert "not known on this device" in problem_of(text + SHARED)

    def test_a_budget_below_one_is_an_error(self) -> None:
        text = "[budget]\nthreads = { expr = 'cpu.available_cores - 6' }"
        expected = "the budget of threads is 0 on this device, and must be at least 1"
        assert expected in problem_of(text + FOUR, cpu__available_cores=6)

    def test_resolutions_and_resolvers_pickle(self) -> None:
        resolver = compile_budget("[budget]\nthreads = 8" + SHARED)
        resolution = resolve_budget("[budget]\nthreads = 8" + SHARED)
        copy: Resolution = pickle.loads(pickle.dumps(resolution))
        assert copy.budget == resolution.budget
        assert taken(pickle.loads(pickle.dumps(resolver)).resolve(resolution.facts)) == taken(resolution)


class TestCheck:
    """Several resolutions are compared with one budget before they are loaded."""

    def test_others_are_added(self) -> None:
        here = resolve_budget("[budget]\nthreads = 8" + FOUR)
        assert here.budget is not None
        here.budget.check()
        other = resolve_budget(FOUR, methods={"detector": ["PoolBackend"]})
        with pytest.raises(BudgetExceededError) as caught:
            here.budget.check(other)
        assert caught.value.message == (
            "threads: 12 of 8 are taken: detector: PoolBackend.threads 4, detector: PoolBackend.threads 4, "
            "encoder: PoolBackend.threads 4"
        )

    def test_what_is_unknown_is_refused(self) -> None:
        here = resolve_budget("[budget]\nthreads = 8")
        assert here.budget is not None
        with pytest.raises(BudgetExceededError, match=r"PoolBackend\.threads unknown"):
            here.budget.check()

    def test_it_is_shown_and_is_plain_data(self) -> None:
        budget = resolve_budget("[budget]\nthreads = 8" + FOUR).budget
        assert budget is not None
        assert repr(budget) == "<BudgetUse: all together take 8 threads, and the budget is 8 threads>"
        (row,) = budget.to_jsonable()
        assert (row["limit"], row["taken"], row["origin"]) == (8, 8, "profile p0.toml:4:11")
        assert budget.table.rows[0][3:5] == ("8 threads", "8 threads")


class TestReading:
    """Every mistake in the tables is reported at its place."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[budget]\nthreads = 0", "'budget.threads' must be a number of threads from 1 to"),
            ("[budget]\nthreads = -4", "'budget.threads' must be a number of threads from 1 to"),
            (
                "[budget]\nthreads = 9223372036854775807",
                "'budget.threads' must be a number of threads from 1 to",
            ),
            ("[budget]\nthreads = 1.5", "'budget.threads' must be a number of threads from 1 to"),
            ("[budget]\nthreads = true", "'budget.threads' must be a number of threads from 1 to"),
            ("[budget]\nthreads = '4 cores'", "'budget.threads' must be a number of threads from 1 to"),
            ("[budget]\nthreads = []", "'budget.threads' must be a number of threads from 1 to"),
            ("[budget]\nthreads = {}", "[budget.threads] has no 'expr'"),
            ("[budget]\nthreads = { expr = 4 }", "'budget.threads.expr' must be a string, but is an int"),
            ("[budget]\nthreads = { unset = true }", "[budget.threads] has no key 'unset'"),
            ("[budget]\nmemory = 'much'", "'budget.memory' is not a size: 'much'"),
            ("[budget]\nmemory = '0 B'", "'budget.memory' must be a number of bytes from 1 to"),
            (
                "[budget]\nthreads = { expr = 'cpu.quota_cores' }",
                "'budget.threads' needs an int, but it gives a float",
            ),
            ("[budget]\nthreads = { expr = 'share(\"threads\")' }", "a budget is not a share of itself"),
            ("[budget]\nthreads = { expr = 'cpu.coers' }", "no fact is called 'cpu.coers'"),
            (
                "[budget]\nthreads = { expr = 'memory.total' }",
                "'budget.threads' is in threads, but 'memory.total' in bytes",
            ),
            (
                "[budget]\nmemory = { expr = 'min(cpu.available_cores, 4)' }",
                "'budget.memory' is in bytes, but 'min(cpu.available_cores, 4)' in cores",
            ),
            ("[budget]\nthread = 4", "[budget] has no key 'thread'"),
            ("[budget]\ncores = '4'", "[budget] has no key 'cores'"),
            ("[budget]\nsplit = 'unfair'", "'budget.split' must be \"fair\" or a table of weights"),
            ("[budget]\nsplit = { a = 0 }", "the weight of 'a' must be an int from 1 to 1000"),
            ("[budget]\nsplit = { a = 0.5 }", "the weight of 'a' must be an int from 1 to 1000"),
            ("[groups]\ng = ['a']", "'groups.g' must be a table, but is an array"),
            ("[groups.g]", "[groups.g] has no 'together'"),
            ("[groups.g]\ntogether = []", "[groups.g] has no members"),
            ("[groups.g]\ntogether = ['a', 'b', 'a']", "[groups.g] names 'a' 2 times"),
            ("[groups.g]\ntogether = [1]", "'groups.g.together' is an array of strings, but contains an int"),
            ("[groups.g]\ntogehter = ['a']", "[groups.g] has no key 'togehter'"),
            (
                "[[when]]\nif = 'share(\"threads\") > 2'\noptions = {}",
                "'share' belongs in the value of an option",
            ),
            (
                "[options.B]\na = { expr = 'share(\"thread\")' }",
                "'share' needs 'threads' or 'memory' in quotes",
            ),
            ("[options.B]\na = { expr = 'share(threads)' }", "'share' needs 'threads' or 'memory' in quotes"),
            ("[options.B]\na = { expr = 'share()' }", "'share' needs 'threads' or 'memory' in quotes"),
            (
                "[options.B]\na = { expr = '\"threads\".share()' }",
                "'share' needs 'threads' or 'memory' in quotes",
            ),
        ],
    )
    def test_a_mistake_is_reported(self, text: str, expected: str) -> None:
        with pytest.raises(ProfileError) as caught:
            layers_from(text)
        (problem, *more) = caught.value.diagnostics
        assert expected in problem.message
        assert not more
        assert problem.spans[0].line > 2

    def test_a_size_may_have_a_unit(self) -> None:
        (layer,) = layers_from("[budget]\nmemory = '1.5 KiB'")
        assert layer.budget is not None
        assert layer.budget.limits["memory"].value == 1536
