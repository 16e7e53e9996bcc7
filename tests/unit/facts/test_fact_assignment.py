from __future__ import annotations

import pytest

from etconfig.base.provenance import Origin, OriginKind
from etconfig.errors import FactError
from etconfig.facts.assignment import parse_fact_assignment, parse_fact_assignments
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility

REGISTRY = BUILTIN_FACTS.extended(
    [FactInfo(name="acme.turbo", type=FactType.BOOL, doc="Turbo.", volatility=Volatility.LIVE)]
)


def problem_of(text: str):
    with pytest.raises(FactError) as caught:
        parse_fact_assignment(text, REGISTRY)
    (problem,) = caught.value.diagnostics
    return problem


class TestValues:
    """`--fact k=v` sets a fact; its type says how to read the value."""

    @pytest.mark.parametrize(
        ("text", "name", "value"),
        [
            ("acme.turbo=true", "acme.turbo", True),
            ("acme.turbo=false", "acme.turbo", False),
            ("cpu.available_cores=4", "cpu.available_cores", 4),
            (" cpu.available_cores = 4 ", "cpu.available_cores", 4),
            ("power.battery_level=.25", "power.battery_level", 0.25),
            ("cpu.quota_cores=2", "cpu.quota_cores", 2.0),
            ("cpu.quota_cores=1e1", "cpu.quota_cores", 10.0),
            ("device.model=Pi 5 = good", "device.model", "Pi 5 = good"),
            ("os.version=12", "os.version", "12"),
            ("cpu.features=avx2, fma", "cpu.features", ("avx2", "fma")),
            ("cpu.features=", "cpu.features", ()),
            ("cpu.features=[avx2, fma]", "cpu.features", ("avx2", "fma")),
            ("cpu.features=[\"avx2\", 'fma',]", "cpu.features", ("avx2", "fma")),
            ("cpu.features=[]", "cpu.features", ()),
            ("gpu.1.name=Mali-G610", "gpu.1.name", "Mali-G610"),
        ],
    )
    def test_a_value_is_read_by_its_type(self, text, name, value):
        parsed_name, sourced = parse_fact_assignment(text, REGISTRY)
        assert (parsed_name, sourced.value) == (name, value)
        assert type(sourced.value) is type(value)

    def test_the_origin_says_that_it_was_set_by_hand(self):
        _, sourced = parse_fact_assignment("cpu.available_cores=4")
        assert sourced.origin == Origin(OriginKind.OVERRIDE, "--fact")
        assert str(sourced.origin) == "override --fact"


class TestProblems:
    """A wrong assignment names the fact, the place and the fix."""

    def test_without_equals_sign(self):
        problem = problem_of("power.source")
        assert problem.code == "invalid-fact-assignment"
        assert str(problem) == "--fact:1:1: 'power.source' sets no fact; expected NAME=VALUE"
        assert problem.help == "write, for example, --fact power.source=battery"

    def test_an_unknown_fact_gets_a_suggestion(self):
        problem = problem_of(" cpu.available_core=4")
        assert problem.code == "unknown-fact"
        assert str(problem) == "--fact:1:2: no fact is called 'cpu.available_core'"
        assert problem.help == "did you mean 'cpu.available_cores'?"
        assert problem.spans[0].length == len("cpu.available_core")
        assert problem.spans[0].text == " cpu.available_core=4"

    def test_an_unknown_fact_that_resembles_none_points_to_the_list(self):
        assert problem_of("zebra=4").help == (
            "`etconfig facts` lists the known ones; a plugin's facts are known where it is installed"
        )

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("acme.turbo=yes", "--fact:1:12: fact 'acme.turbo': expected true or false, found 'yes'"),
            (
                "cpu.available_cores=four",
                "--fact:1:21: fact 'cpu.available_cores': expected an int of at most 64 bits, found 'four'",
            ),
            (
                "cpu.available_cores=",
                "--fact:1:21: fact 'cpu.available_cores': expected an int of at most 64 bits, found ''",
            ),
            (
                "cpu.quota_cores=inf",
                "--fact:1:17: fact 'cpu.quota_cores': expected a finite number, found 'inf'",
            ),
            (
                "power.battery_level=-1",
                "--fact:1:21: fact 'power.battery_level': expected at least 0, found -1.0",
            ),
        ],
    )
    def test_a_wrong_value_is_underlined(self, text, message):
        problem = problem_of(text)
        assert problem.code == "invalid-fact-value"
        assert str(problem) == message
        assert problem.help == "give a value of the fact's type and range"

    def test_a_mistyped_choice_gets_a_suggestion_and_the_meaning(self):
        problem = problem_of("power.source=batery")
        assert problem.message == "fact 'power.source': expected 'mains' or 'battery', found 'batery'"
        assert problem.help == "did you mean 'battery'?"
        assert problem.notes == (
            "power.source (string): What feeds the device now; `mains` also when the kernel "
            "knows of no battery.",
        )

    @pytest.mark.parametrize(
        ("assignment", "meant", "given"),
        [
            ("cpu.arch=aarch64", "arm64", "aarch64"),
            ("cpu.arch=AMD64", "x86_64", "AMD64"),
            ("os.name=darwin", "macos", "darwin"),
        ],
    )
    def test_a_value_by_another_name_would_meet_no_condition(self, assignment, meant, given):
        problem = problem_of(assignment)
        name = assignment.partition("=")[0]
        assert problem.message == f"fact {name!r}: it is called {meant!r} here, found {given!r}"
        assert problem.help == f"did you mean {meant!r}?"

    def test_a_value_with_capital_letters_gets_the_value_that_was_meant_and_not_itself(self):
        for assignment, help in (
            ("os.name=Linux", "did you mean 'linux'?"),
            ("os.name=Andriod", "did you mean 'android'?"),
            ("cpu.arch=Arm46", "did you mean 'arm64'?"),
            (
                "os.name=Plan9",
                "its usual values are linux, android, macos, windows, ios, freebsd, openbsd, netbsd; "
                "all are in lower case",
            ),
        ):
            problem = problem_of(assignment)
            name, _, value = assignment.partition("=")
            assert problem.message == f"fact {name!r}: expected a text in lower case, found {value!r}"
            assert problem.help == help

    def test_the_note_names_the_unit(self):
        (note,) = problem_of("memory.total=8G").notes
        assert note == "memory.total (int, bytes): Memory of the device that the kernel manages."


class TestSeveral:
    """All problems of one run are reported together."""

    def test_each_fact_has_one_value(self):
        with pytest.raises(FactError) as caught:
            parse_fact_assignments(["os.name=linux", "gpu.count=1", "os.name = macos", "gpu.count=2"])
        first, second = caught.value.diagnostics
        assert first.code == second.code == "invalid-fact-assignment"
        assert first.message == "'os.name' is set twice, to different values"
        assert [span.text for span in first.spans] == ["os.name = macos", "os.name=linux"]
        assert second.message.startswith("'gpu.count'")

    def test_the_same_value_may_be_given_twice(self):
        facts = parse_fact_assignments(
            ["gpu.count=1", "cpu.features=a,b", "gpu.count= 1", 'cpu.features=["a","b"]']
        )
        assert {name: sourced.value for name, sourced in facts.items()} == {
            "gpu.count": 1,
            "cpu.features": ("a", "b"),
        }

    def test_every_problem_is_reported(self):
        with pytest.raises(FactError) as caught:
            parse_fact_assignments(["gpu.count=x", "os.name=linux", "os.nam=linux"])
        assert [problem.code for problem in caught.value.diagnostics] == [
            "invalid-fact-value",
            "unknown-fact",
        ]


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ('cpu.available_cores="4"', "write 4"),
        ("cpu.available_cores=4.0", "write 4"),
        ("memory.total=4GB", "write 4000000000"),
        ("memory.total=4 GiB", "write 4294967296"),
        ("memory.total=4_000", "write 4000"),
        ("power.battery_level=20%", "write 0.2"),
        ("power.battery_level=20", "write 0.2"),
        ("power.source==battery", "did you mean 'battery'?"),
        ("cpu.features=[avx2, fma", 'write ["avx2", "fma"]'),
        ("cpu.features=avx2, fma]", 'write ["avx2", "fma"]'),
        ("cpu.features=(avx2, 'fma'", 'write ["avx2", "fma"]'),
        ("power.source:battery", "write --fact power.source=battery"),
        ("power.source : battery", "write --fact power.source=battery"),
        ("power.source battery", "write --fact power.source=battery"),
        ("power.sorce:battery", "write --fact power.source=battery"),
        ("device.model: Pi 5", "write --fact 'device.model=Pi 5'"),
        ("memory.total", "write --fact memory.total=VALUE; `etconfig facts` shows the values here"),
        ("zebra", "write, for example, --fact power.source=battery"),
    ],
)
def test_a_value_that_can_be_guessed_is_written_in_the_help(text: str, help_text: str) -> None:
    with pytest.raises(FactError) as caught:
        parse_fact_assignment(text)
    assert [each.help for each in caught.value.diagnostics] == [help_text]
