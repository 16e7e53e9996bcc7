"""Bad configuration: each mistake is shown where it stands, with what was meant and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome, error_at

NO_PATH = (
    "is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
    "for example forward@camera0:NpuBackend.core"
)
LIST_OPTIONS = "`etconfig backends` lists the backends, `etconfig schema BACKEND` their options"
TWIN = '[profile]\nname = "{}"\nextends = ["generic/linux-x86_64"]\nmatch = "true"\n'


class TestProfiles:
    """An unknown profile, ambiguous profiles, broken TOML."""

    def test_an_unknown_name_gets_a_suggestion(self, refused: Callable[..., str]) -> None:
        assert refused("--profile", "generic/lnux") == (
            "error[unknown-profile]: there is no profile 'generic/lnux'\n"
            "  = help: did you mean 'generic/linux'?\n"
        )

    def test_a_name_like_no_other_gets_the_way_to_the_list(self, refused: Callable[..., str]) -> None:
        assert refused("--profile", "frobnicate") == (
            "error[unknown-profile]: there is no profile 'frobnicate'\n"
            "  = help: `etconfig profiles list` shows the known ones\n"
        )

    def test_a_file_whose_name_makes_it_no_path_is_told_so(self, refused: Callable[..., str]) -> None:
        assert refused("--profile", "model.pte") == (
            "error[unknown-profile]: there is no profile 'model.pte'\n"
            "  = help: a name that does not end in .toml is never a path; give a path that ends in .toml\n"
        )

    def test_the_project_file_may_have_mistyped_it(self, refused: Callable[..., str], place: Path) -> None:
        (place / "etconfig.toml").write_text('profile = "generic/lnux"\n')
        assert refused() == error_at(
            f"{place}/etconfig.toml:1:11",
            'profile = "generic/lnux"',
            '"generic/lnux"',
            "unknown-profile",
            "there is no profile 'generic/lnux'",
            advice="did you mean 'generic/linux'?",
        )

    def test_validate_finds_it_in_the_project_file_too(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        (place / "etconfig.toml").write_text('profile = "generic/lnux"\n')
        assert cli("validate", "etconfig.toml", "--format", "concise") == Outcome(
            1,
            "etconfig.toml:1:11: unknown-profile there is no profile 'generic/lnux'; "
            "did you mean 'generic/linux'?\n",
            "1 file checked: 1 error, 0 warnings; 1 fixable with --fix --unsafe-fixes\n",
        )

    def test_validate_reads_a_path_in_it_from_where_the_project_file_is(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        (place / "project").mkdir()
        (place / "project" / "board.toml").write_text('[profile]\nname = "board"\n')
        (place / "project" / "etconfig.toml").write_text('profile = "board.toml"\n')
        done = cli("validate", "project/etconfig.toml")
        assert done == Outcome(0, "", "1 file checked: 0 errors, 0 warnings\n")

    def test_a_missing_file(self, refused: Callable[..., str]) -> None:
        shown = refused("--profile", "missing.toml")
        assert shown.startswith(
            "error[unreadable-file]: cannot read missing.toml: No such file or directory\n"
        )

    def test_two_that_match_and_are_unrelated(self, refused: Callable[..., str], place: Path) -> None:
        (place / "twins").mkdir()
        for name in ("a", "b"):
            (place / "twins" / f"{name}.toml").write_text(TWIN.format(name))
        assert refused("--profile-path", "twins") == (
            "error[ambiguous-profile]: profiles 'a' and 'b' match this device, and none extends the others\n"
            " --> twins/a.toml:2:8\n"
            "  |\n"
            '2 | name = "a"\n'
            "  |        ^^^\n"
            " --> twins/b.toml:2:8\n"
            "  |\n"
            '2 | name = "b"\n'
            "  |        ^^^\n"
            "  = help: name one with --profile, let one extend the others, or narrow a condition\n"
        )

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            (
                '[profile]\nname = "a/b\n',
                error_at(
                    "broken.toml:2:1",
                    'name = "a/b',
                    'name = "a/b',
                    "invalid-toml",
                    "invalid TOML: a string is not closed, or contains a control character",
                    advice="close it as it is opened; \\ before a quote is an escape, "
                    "and \\u0001 a control character",
                ),
            ),
            (
                "[profile]\nname = broken\n",
                error_at(
                    "broken.toml:2:8",
                    "name = broken",
                    "broken",
                    "invalid-toml",
                    "invalid TOML: broken is not a TOML value",
                    advice='write text in quotes: name = "broken"',
                ),
            ),
        ],
        ids=["string without an end", "string without quotes"],
    )
    def test_broken_toml_is_shown_with_line_and_column(
        self, refused: Callable[..., str], place: Path, text: str, shown: str
    ) -> None:
        (place / "broken.toml").write_text(text)
        assert refused("--profile", "broken.toml") == shown

    def test_a_broken_project_file_is_shown_by_every_command_that_heeds_it(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        (place / "etconfig.toml").write_text("[plugins]\nprefer = 3\n")
        shown = error_at(
            f"{place}/etconfig.toml:2:10",
            "prefer = 3",
            "3",
            "wrong-type",
            "'plugins.prefer' must be a table, but is an int",
            advice='write prefer = { XnnpackBackend = "some-distribution" }',
        )
        for command in (["backends"], ["facts"], ["profiles"], ["resolve"], ["inspect", "model.pte"]):
            assert cli(*command) == Outcome(2, "", shown)

    def test_every_problem_is_told_in_one_run(self, refused: Callable[..., str], place: Path) -> None:
        (place / "many.toml").write_text('[profile]\nname = "many"\nmatch = "os.nme == 1"\nbase = 3\n')
        assert refused("--profile", "many.toml") == error_at(
            "many.toml:3:10",
            'match = "os.nme == 1"',
            "os.nme",
            "unknown-fact",
            "no fact is called 'os.nme'",
            advice="did you mean 'os.name'?",
        ) + error_at(
            "many.toml:4:1",
            "base = 3",
            "base",
            "unknown-key",
            "[profile] has no key 'base'",
            advice="did you mean 'extends'?",
        )


OVERRIDES = [
    (
        "core",
        "core",
        "invalid-option-path",
        f"'core' {NO_PATH}",
        "write ReferenceNpuBackend.core=VALUE",
    ),
    ("core=1", "core=1", "invalid-option-path", f"'core' {NO_PATH}", "write ReferenceNpuBackend.core=1"),
    ("a.b.c=1", "a.b.c=1", "invalid-option-path", f"'a.b.c' {NO_PATH}", LIST_OPTIONS),
    (
        "ReferenceNpuBackend.cor=1",
        "cor",
        "unknown-option",
        "ReferenceNpuBackend has no option 'cor'",
        "did you mean 'core'?",
    ),
    (
        "RefernceNpuBackend.core=1",
        "RefernceNpuBackend",
        "unknown-backend",
        "no installed plugin declares the backend 'RefernceNpuBackend'",
        "did you mean 'ReferenceNpuBackend'?",
    ),
    (
        "frward:ReferenceNpuBackend.core=1",
        "frward",
        "unknown-method",
        "the program has no method 'frward'",
        "did you mean 'forward'?",
    ),
    (
        "ReferenceNpuBackend.core=9",
        "9",
        "invalid-value",
        "ReferenceNpuBackend.core: expected an integer >= 0 and <= 3, given 9",
        "",
    ),
    (
        "ReferenceNpuBackend.core=one",
        "one",
        "invalid-value",
        "ReferenceNpuBackend.core: expected an integer >= 0 and <= 3, given 'one' (a string)",
        "",
    ),
    (
        "ReferenceNpuBackend.core=true",
        "true",
        "invalid-value",
        "ReferenceNpuBackend.core: expected an integer >= 0 and <= 3, given true (a boolean)",
        "",
    ),
    (
        "ReferenceCpuBackend.scratch_bytes=5 parsecs",
        "5 parsecs",
        "invalid-value",
        'ReferenceCpuBackend.scratch_bytes: expected an integer >= 4096, in bytes or as text like "512 MiB", '
        "given '5 parsecs' (a string)",
        "write a number and one of B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
    ),
]
"""An override, what is underlined of it, the code, the message, and the help."""


class TestOverrides:
    """A bad option, value or grammar in --set and ETCONFIG_SET."""

    @staticmethod
    def more(code: str, advice: str) -> dict[str, str]:
        note = "installed: ReferenceCpuBackend, ReferenceNpuBackend" if code == "unknown-backend" else ""
        return {"note": note, "advice": advice}

    @pytest.mark.parametrize(
        ("override", "marked", "code", "message", "advice"), OVERRIDES, ids=[row[0] for row in OVERRIDES]
    )
    def test_set(
        self, refused: Callable[..., str], override: str, marked: str, code: str, message: str, advice: str
    ) -> None:
        place = f"--set:1:{override.index(marked) + 1}"
        expected = error_at(place, override, marked, code, message, **self.more(code, advice))
        assert refused("--set", override) == expected

    @pytest.mark.parametrize(
        ("override", "marked", "code", "message", "advice"), OVERRIDES, ids=[row[0] for row in OVERRIDES]
    )
    def test_the_environment_tells_which_of_several(
        self,
        refused: Callable[..., str],
        monkeypatch: pytest.MonkeyPatch,
        override: str,
        marked: str,
        code: str,
        message: str,
        advice: str,
    ) -> None:
        line = f"ReferenceNpuBackend.precision=fp16; {override}"
        monkeypatch.setenv("ETCONFIG_SET", line)
        place = f"ETCONFIG_SET:1:{len(line) - len(override) + override.index(marked) + 1}"
        expected = error_at(place, line, marked, code, message, **self.more(code, advice))
        assert refused() == expected

    def test_all_bad_ones_are_told_at_once(self, refused: Callable[..., str]) -> None:
        shown = refused("--set", "ReferenceNpuBackend.core=9", "--set", "ReferenceNpuBackend.cor=1")
        assert shown.count("error[") == 2

    def test_an_instance_that_nothing_declares(self, refused: Callable[..., str]) -> None:
        override = "forward@left:ReferenceNpuBackend.core=1"
        assert refused("--set", override) == error_at(
            "--set:1:1",
            override,
            "forward@left",
            "unknown-instance",
            "no profile declares an instance 'left' of 'forward'",
            advice='declare it in a profile: [instances.left] with method = "forward"',
        )

    def test_an_instance_of_another_method(self, refused: Callable[..., str], place: Path) -> None:
        instances = '[instances.left]\nmethod = "forward"\n'
        (place / "etconfig.toml").write_text(instances)
        override = "encode@left:ReferenceNpuBackend.core=1"
        assert "error[unknown-instance]: 'left' is an instance of 'forward', not of 'encode'" in refused(
            "--set", override
        )


class TestFacts:
    """A bad --fact or sheet."""

    @pytest.mark.parametrize(
        ("fact", "marked", "code", "message", "advice"),
        [
            (
                "power.source",
                "power.source",
                "invalid-fact-assignment",
                "'power.source' sets no fact; expected NAME=VALUE",
                "write, for example, --fact power.source=battery",
            ),
            (
                "power.sorce=battery",
                "power.sorce",
                "unknown-fact",
                "no fact is called 'power.sorce'",
                "did you mean 'power.source'?",
            ),
        ],
    )
    def test_a_fact_set_by_hand(
        self, refused: Callable[..., str], fact: str, marked: str, code: str, message: str, advice: str
    ) -> None:
        assert refused("--fact", fact) == error_at("--fact:1:1", fact, marked, code, message, advice=advice)

    def test_a_value_that_the_fact_cannot_have(self, refused: Callable[..., str]) -> None:
        lines = refused("--fact", "cpu.available_cores=many").splitlines()
        assert lines[0] == (
            "error[invalid-fact-value]: fact 'cpu.available_cores': "
            "expected an int of at most 64 bits, found 'many'"
        )
        assert lines[1] == " --> --fact:1:21"
        assert lines[-2].startswith("  = note: cpu.available_cores (int, cores): ")
        assert lines[-1] == "  = help: give a value of the fact's type and range"

    @pytest.mark.parametrize(
        ("text", "marked", "code", "message", "advice"),
        [
            (
                "not json",
                "n",
                "invalid-fact-sheet",
                "the text is not valid JSON: Expecting value",
                "write the sheet as `etconfig facts --save` does",
            ),
            (
                '{"facts": {}}',
                "{",
                "invalid-fact-sheet",
                "the key 'etconfig_fact_sheet' with the format's version is missing",
                "write the sheet as `etconfig facts --save` does",
            ),
            (
                '{"etconfig_fact_sheet": 9, "facts": {}}',
                "9",
                "unsupported-fact-sheet",
                "the fact sheet has format version 9, but this etconfig reads version 1",
                "save the sheet again with this version of etconfig, or install a newer etconfig",
            ),
        ],
        ids=["no JSON", "no sheet", "a future sheet"],
    )
    def test_a_sheet(
        self,
        cli: Callable[..., Outcome],
        place: Path,
        text: str,
        marked: str,
        code: str,
        message: str,
        advice: str,
    ) -> None:
        (place / "sheet.json").write_text(text)
        column = text.index(marked) + 1
        shown = error_at(f"sheet.json:1:{column}", text, marked, code, message, advice=advice)
        for command in (
            ["facts"],
            ["resolve"],
            ["run", "model.pte", "--input", "x.npy"],
            ["profiles", "match"],
        ):
            assert cli(*command, "--facts", "sheet.json") == Outcome(2, "", shown)

    def test_a_program_for_a_sheet(self, cli: Callable[..., Outcome]) -> None:
        assert cli("facts", "--facts", "model.pte") == Outcome(
            2,
            "",
            "error[invalid-fact-sheet]: model.pte is an ExecuTorch program, not a fact sheet\n"
            " --> model.pte:1:1\n"
            "  = help: write the sheet as `etconfig facts --save` does\n",
        )

    def test_a_missing_sheet(self, cli: Callable[..., Outcome]) -> None:
        assert cli("facts", "--facts", "missing.json") == Outcome(
            2,
            "",
            "error[unreadable-file]: cannot read missing.json: No such file or directory\n"
            "  = help: give the path of a file that `etconfig facts --save` wrote\n",
        )
