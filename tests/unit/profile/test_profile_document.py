from __future__ import annotations

import pytest
from profile_texts import problems_of, profile, project, said

from etconfig.errors import ProfileError
from etconfig.profile.document import parse_document
from etconfig.profile.project import PluginChoices, parse_part, read_plugins


class TestProfile:
    """A profile has a name, bases, a description and a condition."""

    def test_the_head_is_read(self) -> None:
        read = profile("""
            [profile]
            name = "raspberry-pi/pi-5"
            extends = ["generic/linux-arm64", "../tuning.toml"]
            description = "Raspberry Pi 5"
            match = 'os.name == "linux"'
        """)
        assert read.name == "raspberry-pi/pi-5"
        assert [reference.target for reference in read.extends] == ["generic/linux-arm64", "../tuning.toml"]
        assert (read.extends[1].span.line, read.extends[1].span.column) == (4, 47)
        assert read.description == "Raspberry Pi 5"
        assert str(read.match) == 'os.name == "linux"'
        assert read.path is None
        assert (read.name_span.line, read.name_span.column, read.name_span.length) == (3, 20, 19)

    def test_only_the_name_is_required(self) -> None:
        read = profile('profile.name = "p"')
        assert (read.extends, read.description, read.match) == ((), None, None)
        assert read.settings.assignments == ()

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (
                "",
                "1:1-1 missing-key: the document has no 'profile'; "
                'a profile starts with [profile] and name = "vendor/device"',
            ),
            (
                "profile = 'auto'",
                "1:11-16 wrong-type: 'profile' must be a table, but is a string; "
                'a profile starts with [profile] and name = "vendor/device"',
            ),
            ("[profile]", "1:2-8 missing-key: [profile] has no 'name'; write name = \"vendor/device\""),
            ("profile.name = 1", "1:16-16 wrong-type: 'profile.name' must be a string, but is an int; None"),
            (
                "profile.name = 'p'\nname = 'q'",
                "2:1-4 unknown-key: the document has no key 'name'; write name under [profile]",
            ),
            (
                "profile.name = 'p'\n[plugins]",
                "2:2-8 unknown-key: the document has no key 'plugins'; [plugins] belongs in the project file",
            ),
            (
                "[profile]\nname = 'p'\nextend = []",
                "3:1-6 unknown-key: [profile] has no key 'extend'; did you mean 'extends'?",
            ),
            (
                "[profile]\nname = 'p'\nextends = 'q'",
                "3:11-13 wrong-type: 'profile.extends' must be an array of strings, but is a string; "
                "write extends = ['q']",
            ),
            (
                "[profile]\nname = 'p'\nextends = ['q', 1]",
                "3:17-17 wrong-type: 'profile.extends' is an array of strings, but contains an int; None",
            ),
            (
                "[profile]\nname = 'p'\ndescription = 1.5",
                "3:15-17 wrong-type: 'profile.description' must be a string, but is a float; None",
            ),
            (
                "[profile]\nname = 'p'\nmatch = 07:32:00",
                "3:9-16 wrong-type: 'profile.match' must be a string, but is a date or time; None",
            ),
            (
                "[profile]\nname = 'p'\nmatch = 'os.name'",
                "3:10-16 expression-type: a condition needs a bool, but 'os.name' is a string; "
                'compare it: os.name == "..."',
            ),
        ],
    )
    def test_a_problem_of_the_head_is_reported_at_its_place(self, text: str, problem: str) -> None:
        assert [said(p) for p in problems_of(lambda: profile(text))] == [problem]

    @pytest.mark.parametrize("name", ["", "a b", "/a", "a/", "a//b", "../a", ".a", "a\\b", "é", "a.toml"])
    def test_a_name_is_made_of_words_joined_by_slashes(self, name: str) -> None:
        (problem,) = problems_of(lambda: profile(f"profile.name = '{name}'"))
        assert problem.code == "invalid-name"
        assert problem.message == f"{name!r} cannot be a profile's name"
        assert problem.help == (
            "names are words of letters, digits, '.', '_' and '-', joined by '/', as in vendor/device"
        )

    def test_the_error_is_a_profile_error(self) -> None:
        with pytest.raises(ProfileError, match="no 'profile'"):
            profile("")


class TestProjectFile:
    """A project file selects a profile, chooses plugins, and sets what a profile can set."""

    def test_everything_is_read(self) -> None:
        read = project("""
            profile = "vendor/device"
            [plugins]
            allow = ["acme"]
            deny = ["other"]
            prefer = { XnnpackBackend = "acme-xnnpack" }
            [facts]
            "cpu.cores" = 4
            [options.B]
            o = 1
            [[when]]
            if = "net.is_up"
            options.B.o = 2
        """)
        assert read.profile is not None
        assert (read.profile.target, read.profile.span.line) == ("vendor/device", 2)
        assert read.plugins == PluginChoices(
            prefer={"XnnpackBackend": "acme-xnnpack"}, allow=("acme",), deny=("other",)
        )
        assert [a.value for a in read.settings.assignments] == [1, 2]
        assert str(read.settings.assignments[0].origin) == "project etconfig.toml:10:13"
        assert str(read.settings.facts["cpu.cores"].origin) == "project etconfig.toml:8:13"

    def test_what_it_names_is_read_with_its_places(self) -> None:
        read = project('profile_path = ["a", "../b"]\nexecutor = "npu"\nprograms = ["x.pte"]\n')
        assert [(r.target, r.span.column) for r in read.profile_path] == [("a", 17), ("../b", 22)]
        assert read.executor is not None
        assert (read.executor.target, read.executor.span.line) == ("npu", 2)
        assert [(r.target, r.span.line) for r in read.programs] == [("x.pte", 3)]

    def test_an_empty_file_sets_nothing(self) -> None:
        read = project("")
        assert (read.profile, read.plugins) == (None, PluginChoices())
        assert read.plugins.allow is None

    def test_an_empty_allow_list_allows_nothing(self) -> None:
        assert project("plugins.allow = []").plugins.allow == ()

    def test_only_the_table_of_etconfig_is_read_in_pyproject(self) -> None:
        text = "[project]\nname = 'x'\n[tool.ruff]\nx = 1979-05-27\n[tool.etconfig]\nprofile = 'auto'\n"
        read = project(text + "options.B.o = 1\n", "some/pyproject.toml")
        assert read.profile is not None
        assert read.profile.target == "auto"
        assert str(read.settings.assignments[0].origin) == "project some/pyproject.toml:7:11"

    @pytest.mark.parametrize("text", ["", "[tool.ruff]\nx = 1"])
    def test_a_pyproject_without_the_table_sets_nothing(self, text: str) -> None:
        assert project(text, "pyproject.toml").settings.assignments == ()

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (
                "[profile]\nname = 'p'",
                "1:2-8 wrong-type: 'profile' must be a string, but is a table; "
                'a project file selects a profile: profile = "vendor/device"',
            ),
            (
                "[plugin]",
                "1:2-7 unknown-key: the document has no key 'plugin'; did you mean 'plugins'?",
            ),
            (
                "plugins.prefers = {}",
                "1:9-15 unknown-key: [plugins] has no key 'prefers'; did you mean 'prefer'?",
            ),
            (
                "plugins.prefer = ['a']",
                "1:18-22 wrong-type: 'plugins.prefer' must be a table, but is an array; "
                'write prefer = { XnnpackBackend = "some-distribution" }',
            ),
            (
                "plugins.prefer.B = 1",
                "1:20-20 wrong-type: 'plugins.prefer.B' must be a string, but is an int; None",
            ),
            (
                "plugins.deny = 'x'",
                "1:16-18 wrong-type: 'plugins.deny' must be an array of strings, but is a string; "
                "write deny = ['x']",
            ),
        ],
    )
    def test_a_problem_is_reported_at_its_place(self, text: str, problem: str) -> None:
        assert [said(p) for p in problems_of(lambda: project(text))] == [problem]

    def test_a_problem_in_pyproject_names_the_whole_key(self) -> None:
        problems = problems_of(lambda: project("[tool.etconfig]\nprofiel = 'x'", "pyproject.toml"))
        assert [said(p) for p in problems] == [
            "2:1-7 unknown-key: [tool.etconfig] has no key 'profiel'; did you mean 'profile'?"
        ]

    @pytest.mark.parametrize("name", ["etconfg", "etconfigs", "etcofnig"])
    def test_a_mistyped_table_of_etconfig_is_refused(self, name: str) -> None:
        text = f"[tool.ruff]\na = 1\n[tool.{name}]\nprofile = 'x'\n"
        (problem,) = problems_of(lambda: project(text, "pyproject.toml"))
        assert (problem.code, problem.spans[0].line) == ("unknown-key", 3)
        assert (problem.message, problem.help) == (
            f"[tool] has no key {name!r}",
            "did you mean 'etconfig'?",
        )

    @pytest.mark.parametrize("name", ["ruff", "pytest", "config", "setuptools", "etcd", "hatch"])
    def test_tables_of_other_tools_are_ignored(self, name: str) -> None:
        assert project(f"[tool.{name}]\nx = 1\n", "pyproject.toml").settings.assignments == ()

    def test_a_pyproject_whose_tool_is_not_a_table_is_refused(self) -> None:
        problems = problems_of(lambda: project("tool = 1", "pyproject.toml"))
        assert [said(p) for p in problems] == [
            "1:8-8 wrong-type: 'tool' must be a table, but is an int; None"
        ]

    def test_the_choice_of_plugins_is_read_without_the_facts_that_they_add(self) -> None:
        text = "plugins.deny = ['x']\n[facts]\n'acme.fact' = 1\n"
        choices = parse_part(parse_document(text, "etconfig.toml"), read_plugins, PluginChoices())
        assert choices.deny == ("x",)

    def test_a_wrong_choice_of_plugins_is_refused_then_too(self) -> None:
        document = parse_document("plugins.deny = 1", "etconfig.toml")
        (problem,) = problems_of(lambda: parse_part(document, read_plugins, PluginChoices()))
        assert problem.code == "wrong-type"
