"""Output of commands: data as JSON, plain tables in a pipe, rules and color on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import ON_DEVICE, TWO_CAMERAS, Outcome

import etconfig
from etconfig.base.effective import EffectiveOption
from etconfig.base.packages import how_to_install

PROFILES = TWO_CAMERAS / "profiles"
CAMERAS = ("--profile-path", str(PROFILES), "--facts", "device.json")

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m")
"""An escape that sets a color, with or without bold."""

PLAIN = [
    ["facts"],
    ["facts", "--all"],
    ["backends"],
    ["backends", "ReferenceNpuBackend"],
    ["doctor"],
    ["inspect", "model.pte"],
    ["profiles"],
    ["profiles", "match"],
    ["profiles", "show", "generic/linux"],
    ["resolve", "model.pte"],
    ["explain", "ReferenceNpuBackend.core", "model.pte"],
    ["run", "model.pte", "--input", "x.npy"],
    ["schema", "ReferenceNpuBackend"],
    ["schema", "ReferenceNpuBackend", "--format", "markdown"],
]


def origin(kind: str, source: object, line: int | None = None, detail: str | None = None) -> dict[str, Any]:
    """Return an origin as it is in JSON; every option here starts at column 1."""
    place = {} if line is None else {"line": line, "column": 1}
    return {"kind": kind, "source": str(source), **place, **({"detail": detail} if detail else {})}


class TestResolveJson:
    """resolve --json: {"arguments": [{"method", "instance", "backend", "options": {name: {"value",
    "origin", "beat": [...]}}}], "profile", "facts", "fingerprint"}
    """

    @pytest.fixture
    def printed(self, cli: Callable[..., Outcome]) -> Any:
        override = "forward@left:ReferenceNpuBackend.power_mode=high"
        return cli("resolve", "model.pte", *CAMERAS, "--set", override, "--json").json

    def test_it_has_these_keys(self, printed: Any) -> None:
        assert list(printed) == ["arguments", "profile", "selected_by", "is_fallback", "facts", "fingerprint"]
        for arguments in printed["arguments"]:
            assert list(arguments) == ["method", "instance", "backend", "options"]
            for option in arguments["options"].values():
                assert list(option) == ["value", "origin", "beat"]
                assert all(list(beaten) == ["value", "origin"] for beaten in option["beat"])

    def test_it_has_the_arguments_of_every_method_instance_and_backend(self, printed: Any) -> None:
        assert [(a["method"], a["instance"], a["backend"]) for a in printed["arguments"]] == [
            ("embed", None, "ReferenceNpuBackend"),
            ("forward", None, "ReferenceNpuBackend"),
            ("forward", None, "ReferenceCpuBackend"),
            ("forward", "left", "ReferenceNpuBackend"),
            ("forward", "left", "ReferenceCpuBackend"),
            ("forward", "right", "ReferenceNpuBackend"),
            ("forward", "right", "ReferenceCpuBackend"),
        ]

    def test_every_value_has_its_origin_and_what_it_beat(self, printed: Any) -> None:
        profile = PROFILES / "demo" / "two-cameras.toml"
        options = {
            (a["instance"], name): option
            for a in printed["arguments"]
            if a["method"] == "forward"
            for name, option in a["options"].items()
        }
        assert options["left", "power_mode"] == {
            "value": "high",
            "origin": origin("override", "--set", detail="forward@left:ReferenceNpuBackend.power_mode"),
            "beat": [
                {"value": "balanced", "origin": origin("profile", profile, 11)},
                {"value": "balanced", "origin": origin("default", "ReferenceNpuOptions")},
            ],
        }
        assert options["right", "num_threads"] == {
            "value": 1,
            "origin": origin("profile", profile, 34),
            "beat": [
                {
                    "value": 4,
                    "origin": origin("profile", profile, 14, "expr min(cpu.available_cores, 4)"),
                },
                {
                    "value": 4,
                    "origin": origin("default", "ReferenceCpuOptions", detail="fact cpu.available_cores"),
                },
            ],
        }
        assert options[None, "precision"] == {
            "value": "fp32",
            "origin": origin("default", "ReferenceNpuOptions"),
            "beat": [],
        }

    def test_it_has_the_profile_and_the_facts_that_decided(self, printed: Any) -> None:
        assert printed["profile"] == "demo/two-cameras-linux-x86_64"
        assert printed["facts"] == {
            "cpu.available_cores": 4,
            "cpu.cache.l2": 1048576,
            "power.source": "mains",
        }

    def test_the_fingerprint_is_that_of_the_values_alone(
        self, cli: Callable[..., Outcome], printed: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert re.fullmatch("sha256:[0-9a-f]{64}", printed["fingerprint"])
        path = "forward@left:ReferenceNpuBackend.power_mode"
        other = cli("resolve", "model.pte", *CAMERAS, "--set", f"{path}=low", "--json").json
        assert other["fingerprint"] != printed["fingerprint"]
        monkeypatch.setenv("ETCONFIG_SET", f"{path}=high")
        same = cli("resolve", "model.pte", *CAMERAS, "--json").json
        assert same["fingerprint"] == printed["fingerprint"]


class TestJson:
    """--json prints JSON on stdout and nothing else."""

    def test_of_facts_it_is_a_sheet_that_commands_take(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        printed = cli("facts", "--json")
        assert list(printed.json) == ["etconfig_fact_sheet", "facts"]
        assert printed.json["facts"]["os.name"] == {"value": "linux", "origin": "detected uname"}
        (place / "sheet.json").write_text(printed.stdout)
        assert cli("facts", "--facts", "sheet.json").status == 0

    def test_of_backends_it_lists_them(self, cli: Callable[..., Outcome]) -> None:
        assert cli("backends", "--json").json == [
            {"backend": name, "distribution": "etconfig-reference", "version": "0.1.0"}
            for name in ("ReferenceCpuBackend", "ReferenceNpuBackend")
        ]

    def test_of_one_backend_it_has_the_options(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("backends", "ReferenceCpuBackend", *ON_DEVICE, "--json").json
        assert list(printed) == [
            "backend",
            "doc",
            "executor",
            "available",
            "reason",
            "passed_over",
            "options",
            "environment",
        ]
        assert (printed["available"], printed["reason"]) == (True, None)
        threads = printed["options"]["num_threads"]
        assert threads.pop("doc").startswith("The number of workers")
        assert threads == {
            "type": "integer",
            "expected": "an integer >= 1",
            "default": 1,
            "from_fact": "cpu.available_cores",
            "here": {"value": 4, "from": "default ReferenceCpuOptions (fact cpu.available_cores)"},
            "required": False,
            "applies": "execute",
            "scope": "method",
            "unit": "threads",
            "known_keys": None,
            "env": [],
        }

    def test_of_profiles_show_it_has_the_chain_base_first(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        board = '[profile]\nname = "board"\nextends = ["generic/linux"]'
        (place / "board.toml").write_text(board)
        printed = cli("profiles", "show", "board.toml", "--json").json
        assert [each["name"] for each in printed] == ["generic/any", "generic/linux", "board"]
        assert printed[-1] == {"name": "board", "path": "board.toml", "text": board}

    def test_of_doctor_it_lists_the_findings(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("doctor", "--json").json
        assert all(list(finding) == ["subject", "status", "detail", "help"] for finding in printed)
        assert {finding["status"] for finding in printed} == {"ok"}

    def test_of_explain_it_tells_one_story_for_each_instance(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("explain", "ReferenceCpuBackend.num_threads", "model.pte", *CAMERAS, "--json")
        assert all(list(each) == ["path", "value", "origin", "beat", "facts"] for each in printed.json)
        assert [(each["path"], each["value"]) for each in printed.json] == [
            ("forward:ReferenceCpuBackend.num_threads", 4),
            ("forward@left:ReferenceCpuBackend.num_threads", 4),
            ("forward@right:ReferenceCpuBackend.num_threads", 1),
        ]

    def test_of_inspect_it_describes_the_program(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("inspect", "model.pte", "--json").json
        methods = printed.pop("methods")
        assert printed == {
            "path": "model.pte",
            "size_bytes": 91048,
            "version": 0,
            "constant_bytes": 20,
            "constants": {"count": 2, "size_bytes": 8, "dtypes": {"float32": 2}, "shared": 2},
            "named_data": [],
            "data_files": [],
            "segments": [20, 19904, 67496],
            "unclaimed": [],
            "executor": "numpy",
            "shared_state": [],
        }
        assert [method["name"] for method in methods] == ["embed", "forward"]
        (memory,) = methods[0].pop("memory")
        assert (memory["memory_id"], memory["size_bytes"], memory["peak_use"]) == (1, 2304, 1)
        assert memory["tensors"][0] == {
            "value": 2,
            "tensor": "float32 [1, 1, 8, 8]",
            "role": "input",
            "offset": 2048,
            "size_bytes": 256,
            "first_instruction": 0,
            "last_instruction": 0,
        }
        operators = {"aten::mean.out": 1, "aten::mul.out": 1, "aten::sub.out": 1}
        assert methods[0] == {
            "name": "embed",
            "inputs": ["float32 [1, 1, 8, 8]"],
            "outputs": ["float32 [1, 32]"],
            "attributes": [],
            "instructions": 4,
            "operators": operators,
            "missing_operators": [],
            "kernel_sources": dict.fromkeys(operators, f"etconfig {etconfig.__version__}"),
            "delegates": [
                {
                    "backend": "ReferenceNpuBackend",
                    "installed": True,
                    "calls": 1,
                    "payload_bytes": 19904,
                    "stored": "segment",
                    "compile_specs": [],
                    "payload": {
                        "operators": {"conv2d": 2, "max_pool2d": 1, "relu": 2},
                        "target": None,
                        "sdk_version": None,
                        "needs": [],
                        "notes": [],
                    },
                    "payload_problem": None,
                }
            ],
            "external_tensors": [],
            "planned_memory_bytes": [2304],
            "obstacles": [],
        }

    def test_of_profiles_list_it_has_names_and_files(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("profiles", "list", "--profile-path", PROFILES, "--json").json
        paths = {entry["name"]: Path(entry["path"]) for entry in printed}
        assert paths["demo/two-cameras"] == PROFILES / "demo" / "two-cameras.toml"
        assert "generic/any" in paths
        assert all(path.is_file() for path in paths.values())

    def test_of_profiles_match_it_has_the_reasons(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("profiles", "match", "--facts", "device.json", "--json").json
        assert printed["selected"] == "generic/linux-x86_64"
        assert {
            "profile": "generic/linux-arm64",
            "matches": False,
            "why": ['cpu.arch == "arm64" does not hold: cpu.arch is "x86_64"'],
        } in printed["profiles"]

    def test_of_run_it_has_outputs_and_latencies(self, cli: Callable[..., Outcome]) -> None:
        printed = cli(
            *("run", "model.pte", "--input", "x.npy", "--output", "y.npz", "--repeat", "3"),
            *("--facts", "device.json", "--json"),
        ).json
        latency_s = printed.pop("latency_s")
        assert 0 < latency_s["min"] <= latency_s["median"] <= latency_s["max"]
        effective = printed.pop("effective_options")
        reported = {
            "requested": "balanced",
            "value": "balanced",
            "source": "read back",
            "differs": False,
            "reason": "the backend reports it",
        }
        assert effective["ReferenceNpuBackend"]["power_mode"] == reported
        assert printed == {
            "effective_options_error": None,
            "outputs": [{"dtype": "float32", "shape": [1, 10]}],
            "output_file": "y.npz",
            "profile": "generic/linux-x86_64",
            "runs": 3,
        }

    def test_of_inspect_it_has_the_options_in_force_on_request(self, cli: Callable[..., Outcome]) -> None:
        asked = ("inspect", "model.pte", "--facts", "device.json", "--json", "--effective")
        printed = cli(*asked, "--set", "ReferenceNpuBackend.core=1").json["effective"]
        option = printed["forward"]["effective_options"]["ReferenceNpuBackend"]["core"]
        assert (option["requested"], option["value"], option["differs"]) == (1, 1, False)
        assert "effective" not in cli("inspect", "model.pte", "--json").json

    def test_of_run_it_names_a_backend_that_fails_to_report_its_options(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("the device is busy")

        monkeypatch.setattr("etconfig_reference.npu.ReferenceNpuBackend.effective_options", fail)
        outcome = cli("run", "model.pte", "--input", "x.npy", "--facts", "device.json", "--json")
        assert outcome.status == 0
        assert outcome.json["outputs"] == [{"dtype": "float32", "shape": [1, 10]}]
        assert outcome.json["effective_options"] is None
        assert "failed in effective_options" in outcome.json["effective_options_error"]
        assert "the device is busy" in outcome.json["effective_options_error"]

    def test_of_validate_it_lists_the_findings(self, cli: Callable[..., Outcome]) -> None:
        (finding,) = cli("validate", TWO_CAMERAS / "typo.toml", "--format", "json").json
        assert finding == {
            "code": "unknown-option",
            "severity": "error",
            "message": "ReferenceNpuBackend has no option 'power_mod'",
            "spans": [{"file": str(TWO_CAMERAS / "typo.toml"), "line": 6, "column": 1, "length": 9}],
            "notes": [],
            "help": "did you mean 'power_mode'?",
            "fix": {"span": finding["spans"][0], "replacement": "power_mode", "is_safe": False},
        }

    def test_of_a_schema_it_is_a_json_schema_that_accepts_valid_options(
        self, cli: Callable[..., Outcome]
    ) -> None:
        import jsonschema

        schema = cli("schema", "ReferenceNpuBackend").json
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate({"core": 3}, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"core": 4}, schema)


class TestPlain:
    """There is no color and there are no rules in a pipe."""

    @pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
    def test_a_pipe_gets_no_escapes_no_rules_and_no_trailing_blanks(
        self, cli: Callable[..., Outcome], arguments: list[str]
    ) -> None:
        done = cli(*arguments)
        assert (done.status, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
        assert not set(done.stdout) & set("─━│┃")
        assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []

    def test_columns_are_aligned(self, cli: Callable[..., Outcome]) -> None:
        assert cli("backends").stdout == (
            "BACKEND              DISTRIBUTION        VERSION\n"
            "ReferenceCpuBackend  etconfig-reference  0.1.0\n"
            "ReferenceNpuBackend  etconfig-reference  0.1.0\n"
        )

    def test_a_diagnostic_in_a_pipe_has_no_escapes(self, cli: Callable[..., Outcome]) -> None:
        done = cli("validate", TWO_CAMERAS / "typo.toml")
        assert "unknown-option" in done.stdout
        assert "\x1b" not in done.stdout + done.stderr


class TestNothingInstalled:
    """Without a plugin, `backends` says how to get those of ExecuTorch."""

    def test_it_names_the_package_of_the_real_backends(
        self, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ETCONFIG_DISABLE_PLUGINS", "*")
        done = cli("backends")
        assert (done.status, done.stderr) == (0, "")
        assert done.stdout == (
            "No backend plugin is installed. For the backends that ExecuTorch ships, such as XNNPACK:\n"
            f"  {how_to_install('etconfig-upstream')}\n"
            "For others, install the package of their vendor.\n"
        )
        assert cli("backends", "--json").json == []


class TestTerminal:
    """A terminal gets rules and colors, unless NO_COLOR or TERM turn them off."""

    def test_tables_have_rules(self, terminal: Callable[..., str]) -> None:
        shown = terminal("backends")
        assert "─────" in shown
        assert "\x1b[1mBACKEND" in shown

    def test_diagnostics_have_colors(self, terminal: Callable[..., str]) -> None:
        shown = terminal("validate", str(TWO_CAMERAS / "typo.toml"))
        assert "\x1b[1;31merror\x1b[0m[unknown-option]" in shown

    def test_a_usage_error_has_colors(self, terminal: Callable[..., str]) -> None:
        assert "\x1b[1;31merror\x1b[0m: no command 'bakends'" in terminal("bakends")

    def test_doctor_aligns_colored_text(self, terminal: Callable[..., str]) -> None:
        first = terminal("doctor").splitlines()[0]
        assert first.startswith("\x1b[1;32m     ok\x1b[0m  etconfig: ")

    def test_a_narrow_terminal_shows_names_whole(self, terminal: Callable[..., str]) -> None:
        """Users copy names, so names are not cut."""
        shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal("resolve", "model.pte", COLUMNS="80"))
        assert "\N{HORIZONTAL ELLIPSIS}" not in shown
        assert " embed     ReferenceNpuBackend   core " in shown
        assert max(map(len, shown.splitlines())) == 80

    @pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
    @pytest.mark.parametrize("arguments", [["backends"], ["validate", str(TWO_CAMERAS / "typo.toml")]])
    def test_no_color_and_dumb_terminals_get_no_colors(
        self, terminal: Callable[..., str], arguments: list[str], variable: dict[str, str]
    ) -> None:
        assert COLOUR.search(terminal(*arguments, **variable)) is None

    def test_an_empty_no_color_changes_nothing(self, terminal: Callable[..., str]) -> None:
        """https://no-color.org: when present and not an empty string."""
        assert COLOUR.search(terminal("doctor", NO_COLOR=""))

    def test_they_can_be_turned_on_in_a_pipe(self, shell: Callable[..., Outcome]) -> None:
        assert COLOUR.search(shell("etconfig doctor", FORCE_COLOR="1").stdout)
        for line in ("etconfig doctor --json", "NO_COLOR=1 etconfig doctor", "FORCE_COLOR= etconfig doctor"):
            assert not COLOUR.search(shell(line, FORCE_COLOR="1").stdout), line

    def test_color_goes_before_variables_and_terminals_and_the_last_one_wins(
        self, terminal: Callable[..., str], cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        typo = str(TWO_CAMERAS / "typo.toml")
        for line, variable, is_colored in (
            ("--color always validate {}", "NO_COLOR", True),
            ("validate {} --color always", "NO_COLOR", True),
            ("--color never validate {} --color always", "NO_COLOR", True),
            ("--color always validate {} --color never", "FORCE_COLOR", False),
            ("--color always validate {} --color auto", "FORCE_COLOR", True),
            ("--color always validate {} --color auto", "NO_COLOR", False),
            ("validate --color always {}.missing", "NO_COLOR", True),
            ("--color always bakends", "NO_COLOR", True),
        ):
            with monkeypatch.context() as patch:
                patch.setenv(variable, "1")
                done = cli(*line.format(typo).split())
            assert bool(COLOUR.search(done.stdout + done.stderr)) == is_colored, line
        for arguments in (["backends"], ["validate", typo]):
            assert "\x1b[" not in terminal(*arguments, "--color", "never")
        assert COLOUR.search(terminal("--color", "always", "validate", typo, NO_COLOR="1"))


class TestQuiet:
    """`--quiet` leaves errors on stderr, and stdout and the exit status as they are."""

    def test_notes_warnings_and_summaries_are_left_out(
        self, cli: Callable[..., Outcome], tmp_path: Path
    ) -> None:
        broken = tmp_path / "broken.toml"
        broken.write_text("[profile]\nname = 'acme/broken'\n[options.XnnpackBackend]\nnum_threads = ???\n")
        typo = str(TWO_CAMERAS / "typo.toml")
        for arguments, has_errors in (
            (["validate", typo], False),
            (["resolve", "model.pte", "--profile", typo], True),
            (["resolve", "model.pte", "--profile", str(broken)], True),
            (["inspect", "missing.pte"], True),
            (["watch", "model.pte", "--count", "1", "--interval", "0"], False),
            (["validate", typo, "missing.toml"], True),
        ):
            loud = cli(*arguments)
            assert loud.stderr, arguments
            for quiet in (cli("-q", *arguments), cli(*arguments, "--quiet")):
                assert (quiet.status, quiet.stdout) == (loud.status, loud.stdout), arguments
                assert bool(quiet.stderr) == has_errors, arguments
                others = ("note", "warning", "1 file checked")
                assert not any(line.startswith(others) for line in quiet.stderr.splitlines()), arguments


class TestOptionsInForce:
    """`run` and `inspect` show the requested options beside those in force."""

    RUN = ("run", "model.pte", "--input", "x.npy", "--facts", "device.json")

    @pytest.fixture
    def granted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def granted(self: object, handle: object) -> dict[str, object]:
            return {"core": 3, "power_mode": EffectiveOption.unknown("the driver does not report it")}

        monkeypatch.setattr("etconfig_reference.npu.ReferenceNpuBackend.effective_options", granted)

    @pytest.mark.usefixtures("granted")
    def test_run_reports_an_option_that_differs(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli(*self.RUN)
        expected = (
            "note: forward:ReferenceNpuBackend.core is 3 in force (read back: the backend reports it), "
            "not 0 as requested\n"
        )
        assert (outcome.status, outcome.stderr) == (0, expected)

    def test_run_says_nothing_if_none_differs(self, cli: Callable[..., Outcome]) -> None:
        assert cli(*self.RUN).stderr == ""

    @pytest.mark.usefixtures("granted")
    @pytest.mark.parametrize("command", [RUN, ("inspect", "model.pte", "--facts", "device.json")])
    def test_all_options_are_a_table(self, cli: Callable[..., Outcome], command: tuple[str, ...]) -> None:
        rows = [" ".join(line.split()) for line in cli(*command, "--effective").stdout.splitlines()]
        assert "options of forward:" in rows
        assert "ReferenceNpuBackend.core 0 3 read back yes the backend reports it" in rows
        unknown = "'balanced' unknown unknown unknown the driver does not report it"
        assert f"ReferenceNpuBackend.power_mode {unknown}" in rows

    @pytest.mark.usefixtures("granted")
    @pytest.mark.parametrize("command", [RUN, ("inspect", "model.pte", "--facts", "device.json")])
    def test_no_defaults_leaves_only_what_is_set_or_differs(
        self, cli: Callable[..., Outcome], command: tuple[str, ...]
    ) -> None:
        setting = ("--set", "ReferenceNpuBackend.precision=fp16")
        lines = cli(*command, "--effective", "--no-defaults", *setting).stdout.splitlines()
        table = lines[lines.index("options of forward:") + 2 :]
        assert [line.split()[0] for line in table] == [
            "ReferenceNpuBackend.core",
            "ReferenceNpuBackend.precision",
            "ReferenceCpuBackend.scratch_bytes",  # the program fixes it
        ]

    @pytest.mark.parametrize("command", [RUN, ("inspect", "model.pte")])
    @pytest.mark.parametrize("given", [(), ("--effective", "--json")])
    def test_no_defaults_without_the_table_is_refused(
        self, cli: Callable[..., Outcome], command: tuple[str, ...], given: tuple[str, ...]
    ) -> None:
        outcome = cli(*command, "--no-defaults", *given)
        assert outcome.status == 2
        assert "--no-defaults is for the table of --effective" in outcome.stderr

    @pytest.mark.parametrize("command", [(*RUN, "--effective"), ("inspect", "model.pte", "--effective")])
    def test_a_backend_that_cannot_report_is_named(
        self, cli: Callable[..., Outcome], command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("the device is busy")

        monkeypatch.setattr("etconfig_reference.npu.ReferenceNpuBackend.effective_options", fail)
        outcome = cli(*command)
        assert outcome.status == 0
        assert "the device is busy" in outcome.stdout

    def test_a_program_without_options_says_so(self, cli: Callable[..., Outcome]) -> None:
        program = Path(__file__).parents[1] / "data" / "programs" / "linear.pte"
        lines = cli("inspect", program, "--effective").stdout.splitlines()
        assert lines[-2:] == ["options of forward:", "  none"]

    def test_a_configuration_without_the_view_is_refused(self, cli: Callable[..., Outcome]) -> None:
        outcome = cli("inspect", "model.pte", "--set", "ReferenceNpuBackend.core=1")
        assert outcome.status == 2
        assert "the options of a configuration are for --effective and --memory: add one" in outcome.stderr
