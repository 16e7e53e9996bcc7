"""`explain` and `what_if` of a resolution: objects that answer, show themselves, and suggest names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import DATA, DIGITS

import etconfig
from etconfig.base.option_path import OptionPath
from etconfig.resolver.explaining.explain import explain_option

PI5 = etconfig.load_fact_sheet(DATA / "sheets" / "raspberry-pi-5.json")
PROFILES = {
    "app/mains": """
        match = 'power.source == "mains"'
        [options.ReferenceCpuBackend]
        num_threads = 4
    """,
    "app/battery": """
        match = 'power.source == "battery"'
        [options.ReferenceCpuBackend]
        num_threads = 1
        [options.ReferenceNpuBackend]
        power_mode = "low"
    """,
}


@pytest.fixture
def program(place: Path) -> Iterator[etconfig.LoadedProgram]:
    for name, text in PROFILES.items():
        path = place / "profiles" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        match, _, rest = text.strip().partition("\n")
        path.write_text(f'[profile]\nname = "{name}"\n{match}\n{rest}\n')
    installation = etconfig.Installation(profile_directories=["profiles"])
    with etconfig.load_program(DIGITS / "digits.pte", installation=installation) as loaded:
        yield loaded


@pytest.fixture
def config(program: etconfig.LoadedProgram) -> etconfig.Resolution:
    instances = {"forward": ["left", "right"]}
    overrides = {"forward@left:ReferenceNpuBackend.core": 2}
    return etconfig.resolve(program, profile="auto", facts=PI5, instances=instances, overrides=overrides)


class TestExplain:
    """An explanation has the value, its origin, and what it beat, of each method instance that is meant."""

    def test_one_method_instance(self, config: etconfig.Resolution) -> None:
        path = "forward@left:ReferenceNpuBackend.core"
        found = config.explain(path)
        assert (found.value, [str(each) for each in found], len(found)) == (2, [path], 1)
        assert found.provenance == config.arguments("forward", "left").provenance(
            "ReferenceNpuBackend", "core"
        )
        assert f"{found}\n" == explain_option(
            config, OptionPath("ReferenceNpuBackend", "core", "forward", "left")
        )
        assert repr(found) == (f"<Explanation: {path} = 2 from override resolve(overrides) ({path})>")

    def test_without_a_method_every_method_instance_is_meant(self, config: etconfig.Resolution) -> None:
        found = config.explain("ReferenceNpuBackend.core")
        scopes = ["embed", "forward", "forward@left", "forward@right"]
        assert [str(path) for path in found] == [f"{scope}:ReferenceNpuBackend.core" for scope in scopes]
        assert repr(found).endswith("; 3 more method instances>")
        with pytest.raises(ValueError, match="the value has several origins; name one of embed:Ref"):
            assert found.value
        assert config.explain("ReferenceCpuBackend.accumulate").value.value == "fp32"  # type: ignore[attr-defined]

    def test_without_a_backend_the_only_one_with_the_option_is_meant(
        self, config: etconfig.Resolution
    ) -> None:
        assert config.explain("num_threads").provenance.winner.value == 4
        assert config.explain("forward@right:core").value == 0

    def test_a_configuration_explains_too(self, program: etconfig.LoadedProgram) -> None:
        configuration = etconfig.configure(program, profile="app/battery", facts=PI5)
        assert configuration.explain("forward:num_threads").value == 1

    @pytest.mark.parametrize(
        ("path", "help_text"),
        [
            ("forward:ReferenceCpuBackend.num_thread", "did you mean 'num_threads'?"),
            ("forward:ReferenceCpuBackendd.num_threads", "did you mean 'ReferenceCpuBackend'?"),
            ("forwrd:ReferenceCpuBackend.num_threads", "did you mean 'forward'?"),
            ("forward@lft:ReferenceNpuBackend.core", "did you mean 'left'?"),
            ("forward:num_thread", "did you mean 'forward:ReferenceCpuBackend.num_threads'?"),
            (
                "what is this",
                "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options",
            ),
        ],
    )
    def test_a_mistyped_path_is_an_error_with_a_suggestion(
        self, config: etconfig.Resolution, path: str, help_text: str
    ) -> None:
        with pytest.raises(etconfig.ConfigError) as caught:
            config.explain(path)
        (problem,) = caught.value.diagnostics
        assert problem.help == help_text

    def test_another_type_is_refused(self, config: etconfig.Resolution) -> None:
        with pytest.raises(TypeError, match=r"^path: expected the path of an option, as .*, given int$"):
            config.explain(3)  # type: ignore[arg-type]


class TestTemplates:
    """A default instance that lacks required options only serves the named ones."""

    def test_a_path_without_an_instance_means_the_named_ones(self, config: etconfig.Resolution) -> None:
        instances = {key: found for key, found in config.instances.items() if key != ("forward", None)}
        template = etconfig.Resolution(
            instances=instances, incomplete={("forward", None): ()}, facts=config.facts
        )
        found = template.explain("forward:ReferenceNpuBackend.core")
        assert [path.instance for path in found] == ["left", "right"]


class TestWhatIf:
    """The answer lists the profile and every option that differ, with old and new origin."""

    def test_auto_selects_again(self, config: etconfig.Resolution, program: etconfig.LoadedProgram) -> None:
        answer = config.what_if({"power.source": "battery"})
        assert answer
        assert answer.profile == ("app/mains", "app/battery")
        instances, overrides = {"forward": ["left", "right"]}, {"forward@left:ReferenceNpuBackend.core": 2}
        assert answer.new == etconfig.resolve(
            program,
            profile="auto",
            facts=PI5.with_overrides({"power.source": "battery"}),
            instances=instances,
            overrides=overrides,
        )
        change = next(
            each for each in answer.changes if str(each.path) == "forward:ReferenceCpuBackend.num_threads"
        )
        assert change.old is not None
        assert change.new is not None
        assert (change.old.value, change.new.value) == (4, 1)
        assert change.old.origin.startswith("profile profiles/app/mains.toml:5:")
        assert change.new.origin.startswith("profile profiles/app/battery.toml:5:")
        assert config.profile == "app/mains"

    def test_it_shows_itself(self, config: etconfig.Resolution) -> None:
        answer = config.what_if({"power.source": "battery"})
        assert repr(answer) == (
            "<WhatIf power.source: 'mains' → 'battery': profile app/mains → app/battery; 7 options changed>"
        )
        first, second = str(answer).splitlines()[:2]
        assert first == "What if power.source: 'mains' → 'battery': 7 options changed"
        assert second == "  profile app/mains → app/battery"
        data = answer.to_jsonable()
        assert data["profile"] == {"old": "app/mains", "new": "app/battery"}
        assert len(data["changes"]) == 7

    def test_nothing_changes(self, config: etconfig.Resolution) -> None:
        answer = config.what_if({"power.battery_level": 0.5})
        assert not answer
        assert answer.changes == ()
        assert "no option changes" in str(answer)

    def test_assumed_facts_win_over_those_set_by_hand(self, program: etconfig.LoadedProgram) -> None:
        config = etconfig.resolve(
            program, profile="auto", facts=PI5, fact_overrides={"power.source": "battery"}
        )
        assert config.profile == "app/battery"
        assert config.what_if({"power.source": "mains"}).profile == ("app/battery", "app/mains")

    def test_a_named_profile_stays(self, program: etconfig.LoadedProgram) -> None:
        config = etconfig.resolve(program, profile="app/mains", facts=PI5)
        assert config.what_if({"power.source": "battery"}).profile == ("app/mains", "app/mains")

    def test_the_facts_of_the_resolution_count(self, program: etconfig.LoadedProgram) -> None:
        configuration = etconfig.configure(program, profile="generic/any", facts=PI5)
        other = configuration.resolve(PI5.with_overrides({"cpu.available_cores": 3}))
        (change,) = other.what_if({"cpu.available_cores": 2}).changes
        assert str(change) == "forward:ReferenceCpuBackend.num_threads: 3 → 2"
        assert configuration.what_if({"cpu.available_cores": 2}).changes[0].old.value == 4  # type: ignore[union-attr]

    def test_a_mistyped_fact_is_an_error_with_a_suggestion(self, config: etconfig.Resolution) -> None:
        with pytest.raises(etconfig.ConfigError) as caught:
            config.what_if({"power.surce": "battery"})
        assert [problem.help for problem in caught.value.diagnostics] == ["did you mean 'power.source'?"]
        with pytest.raises(TypeError, match=r"^facts: expected values by name"):
            config.what_if(["power.source=battery"])  # type: ignore[arg-type]
