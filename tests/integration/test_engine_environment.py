"""`etconfig env` and `etconfig exec`: options as environment variables for code that starts an engine."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import SCRIPT, Outcome, error
from plugin_data import write_distribution

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.environment_probe import ask_engines
from etconfig.cli.rendering.shell_text import SHELLS, shell_text
from etconfig.errors import OptionError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option

PLUGIN = """
import os
import signal
from typing import Literal
from etconfig.plugin.v1 import *

class VendorOptions(BackendOptions):
    threads: int = option(0, applies="load", doc="Threads.", env=("V_THREADS", "V_THREADS_2"))
    fast: bool = option(False, applies="load", doc="Fast.", env="V_FAST")
    ratio: float | None = option(None, applies="load", doc="Ratio.", env="V_RATIO")
    mode: Literal["a", "b", "c"] = option(
        "a", applies="load", doc="Mode.", env={"V_MODE": {"a": "0", "b": "1"}}
    )
    path: str = option("", applies="load", doc="Path.", env="V_PATH")
    level: int = option(1, applies="load", doc="Level.")

def read_environment():
    print("the engine prints")
    if "V_SLOW" in os.environ:
        with open("asked", "w") as file:
            file.write(str(os.getpid()))
        signal.pause()
    if "V_BROKEN" in os.environ:
        raise RuntimeError("no engine")
    threads = int(os.environ.get("V_THREADS", "0"))
    return {
        "threads": EffectiveOption.read_back(min(threads, 4), "the engine reports it"),
        "fast": EffectiveOption.read_back(os.environ.get("V_FAST") == "1"),
    }

SPEC = BackendSpec(
    id="Vendor", doc="A vendor.", options=VendorOptions, api=ApiRange(min=1, built=1),
    environment=dict.fromkeys(("V_THREADS", "V_THREADS_2", "V_FAST", "V_RATIO", "V_MODE", "V_PATH"), "Read."),
    read_environment=read_environment,
)

@hookimpl
def etconfig_backend(request):
    print("the plugin prints")
    return SPEC
"""
MODELS = '[model.detector]\nbackends = ["Vendor"]\n[model.encoder]\nbackends = ["Vendor"]\n'
PROFILE = """\
[profile]
name = "board"
[options.Vendor]
threads = 3
fast = true
level = 7
"""
BOARD = ("--models", "models.toml", "--profile", "board.toml")
SHOW = f"{shlex.quote(sys.executable)} -c 'import os, json; print(json.dumps(dict(os.environ)))'"

Shell = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def vendor(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A vendor's plugin, two models and a profile, in the current directory."""
    site = place / "site"
    entries = "[etconfig.backends]\nVendor = vendor_plugin\n"
    write_distribution(site, "vendor-2.0.dist-info", entries, "Name: vendor\nVersion: 2.0\n")
    (site / "vendor_plugin.py").write_text(PLUGIN)
    (place / "models.toml").write_text(MODELS)
    (place / "board.toml").write_text(PROFILE)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, sys.path)]))
    yield
    sys.modules.pop("vendor_plugin", None)


LEFT_OUT = "".join(
    f"note: {model}:Vendor.level = 7, from profile board.toml:6:1, is left out: the engine reads no variable "
    "for it\n"
    for model in ("detector", "encoder")
)


class TestEnv:
    """`etconfig env` prints each variable with its option, and names what no variable expresses."""

    def test_the_table_has_option_and_origin_of_each_variable(self, cli):
        done = cli("env", *BOARD, "--model", "detector")
        rows = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
        assert rows == [
            ["VARIABLE", "VALUE", "OPTION", "FROM"],
            ["V_THREADS", "3", "detector:Vendor.threads", "profile board.toml:4:1"],
            ["V_THREADS_2", "3", "detector:Vendor.threads", "profile board.toml:4:1"],
            ["V_FAST", "1", "detector:Vendor.fast", "profile board.toml:5:1"],
        ]
        assert LEFT_OUT.splitlines()[0] in done.stderr
        assert done.status == 0

    def test_quiet_prints_no_note(self, cli):
        assert LEFT_OUT not in cli("env", *BOARD, "--quiet").stderr

    def test_json_has_all(self, cli):
        found = cli("env", *BOARD, "--shell", "json").json
        origin = "profile board.toml:5:1"
        assert found["variables"]["V_FAST"] == {
            "text": "1",
            "options": [
                {"option": f"{model}:Vendor.fast", "value": "true", "origin": origin}
                for model in ("detector", "encoder")
            ],
        }
        assert {*found["variables"]} == {"V_THREADS", "V_THREADS_2", "V_FAST"}
        assert [each["option"] for each in found["inexpressible"]] == [
            "detector:Vendor.level",
            "encoder:Vendor.level",
        ]

    @pytest.mark.parametrize(
        ("setting", "variable", "text"),
        [
            ("fast=false", "V_FAST", "0"),
            ("ratio=0.5", "V_RATIO", "0.5"),
            ("mode='a'", "V_MODE", "0"),
            ("mode='b'", "V_MODE", "1"),
            ("path='x y'", "V_PATH", "x y"),
            ("threads=0", "V_THREADS", "0"),
        ],
    )
    def test_the_text_of_a_value_that_something_sets(self, cli, setting, variable, text):
        found = cli("env", *BOARD, "--set", f"Vendor.{setting}", "--shell", "json").json
        assert found["variables"][variable]["text"] == text

    def test_a_value_without_a_text_is_left_out(self, cli):
        done = cli("env", *BOARD, "--model", "detector", "--set", 'Vendor.mode="c"')
        assert "V_MODE" not in done.stdout
        assert (
            "detector:Vendor.mode = 'c', from override --set (Vendor.mode), is left out: V_MODE cannot"
            in (done.stderr)
        )

    def test_a_text_with_a_null_character_is_left_out(self, cli):
        (Path("board.toml")).write_text(PROFILE + 'path = "a\\u0000b"\n')
        assert "detector:Vendor.path" in cli("env", *BOARD).stderr

    def test_defaults_are_neither_set_nor_noted(self, cli):
        done = cli("env", "--models", "models.toml", "--profile", "generic/any")
        assert done.stdout == "No environment variable expresses a value that something sets or recommends.\n"
        assert "left out" not in done.stderr

    def test_without_models_options_are_of_no_model(self, cli):
        done = cli("env", "--profile", "board.toml", "--shell", "json")
        assert done.json["variables"]["V_FAST"]["options"][0]["option"] == "Vendor.fast"

    def test_models_that_disagree_are_refused(self, cli):
        settings = ("--set", "encoder:Vendor.threads=2")
        done = cli("env", *BOARD, *settings)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.endswith(
            "error[process-scope-conflict]: a process has one V_THREADS, but detector:Vendor.threads = 3, "
            "from profile board.toml:4:1, and encoder:Vendor.threads = 2, from override --set "
            "(encoder:Vendor.threads)\n"
            "  = help: give both one value, or choose with --model or --backend, and start a process for "
            "each\n"
        )
        chosen = cli("env", *BOARD, *settings, "--model", "encoder", "--shell", "json").json
        assert chosen["variables"]["V_THREADS"]["text"] == "2"

    def test_unknown_names_are_refused(self, cli):
        assert "did you mean 'detector'?" in cli("env", *BOARD, "--model", "detectr").stderr
        done = cli("env", *BOARD, "--backend", "Vendr")
        assert done.stderr.endswith(
            "error[not-delegated]: no model uses the backend 'Vendr'\n  = help: did you mean 'Vendor'?\n"
        )
        assert done.status == 2


HOSTILE = [
    "",
    "plain",
    "two words",
    "it's",
    "''",
    "'; touch hacked; '",
    "$(touch hacked) `touch hacked` ${HOME} $HOME",
    'quo"te',
    "back\\slash\\",
    "\\'",
    "line\nbreak\n",
    "tab\tand # hash ! * ? ~ {a,b} [x] <y> |z & ;",
    "=",
    "-n",
    "\u2018typographic\u2019 \u201a \u201b",
    "größe 手",
]


def read_fish(line: str) -> tuple[str, str]:
    """Read `set -gx` as fish does: in single quotes, a backslash escapes itself and a quote."""
    name, quoted = re.fullmatch(r"set -gx (\w+) '(.*)';", line, re.DOTALL).groups()
    assert not re.search(r"(?<!\\)(\\\\)*'", quoted), "the text ends early"
    return name, re.sub(r"\\([\\'])", r"\1", quoted)


def read_powershell(line: str) -> tuple[str, str]:
    """Read an assignment as PowerShell does: any of five quotes ends a text, unless another one follows."""
    name, quoted = re.fullmatch(r"\$env:(\w+) = '(.*)'", line, re.DOTALL).groups()
    quotes = "['\u2018\u2019\u201a\u201b]"
    assert not re.sub(quotes * 2, "", quoted).strip() or not re.search(
        quotes, re.sub(quotes * 2, "", quoted)
    ), "the text ends early"
    return name, re.sub(f"({quotes}){quotes}", r"\1", quoted)


def read_dotenv(line: str) -> tuple[str, str]:
    """Read a line as python-dotenv and Docker Compose do."""
    name, _, text = line.partition("=")
    assert "\n" not in text
    if not text.startswith('"'):
        assert not set(text) & set("'\"\\#$` \t")
        return name, text
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', text), "the text ends early"
    return name, re.sub(r"\\(.)", lambda each: {"n": "\n"}.get(each[1], each[1]), text[1:-1])


class TestShells:
    """Each text arrives in the shell as it is, whatever is in it."""

    @pytest.mark.parametrize("line", ['eval "$(cat f)"', ". ./f"])
    def test_sh(self, shell, line):
        texts = {f"V{index}": text for index, text in enumerate(HOSTILE)}
        Path("f").write_text(shell_text("sh", texts, "utf-8"), "utf-8")
        found = json.loads(shell(f"{line}; {SHOW}").stdout)
        assert {name: found[name] for name in texts} == texts
        assert not Path("hacked").exists()

    def test_sh_by_the_command(self, shell):
        text = "it's $(touch hacked)\n"
        Path("board.toml").write_text(
            f'[profile]\nname = "board"\n[options.Vendor]\npath = {json.dumps(text)}\n'
        )
        done = shell(f'eval "$(etconfig env {" ".join(BOARD)} --shell sh)"; {SHOW}')
        assert json.loads(done.stdout)["V_PATH"] == text
        assert not Path("hacked").exists()

    def test_sh_without_quotes(self, shell):
        done = shell(f"eval $(etconfig env {' '.join(BOARD)} --shell sh); {SHOW}")
        assert {**json.loads(done.stdout), "V_THREADS": "3", "V_THREADS_2": "3", "V_FAST": "1"} == (
            json.loads(done.stdout)
        )

    @pytest.mark.parametrize(
        ("name", "read"), [("fish", read_fish), ("powershell", read_powershell), ("dotenv", read_dotenv)]
    )
    @pytest.mark.parametrize("text", HOSTILE)
    def test_others_by_their_rules(self, name, read, text):
        if (name, text) in (("powershell", ""), ("dotenv", HOSTILE[6])):
            with pytest.raises(ValueError, match=r"^V is "):
                shell_text(name, {"V": text}, "utf-8")
            return
        written = shell_text(name, {"V": text}, "utf-8")
        assert read(written.removesuffix("\n")) == ("V", text)

    @pytest.mark.parametrize("name", SHELLS)
    @pytest.mark.parametrize("text", ["\x1b[2J", "a\rb", "\u202eabc"])
    def test_a_text_that_a_terminal_acts_on_is_refused(self, name, text):
        with pytest.raises(ValueError, match=r"^V has the character .*, which a terminal may act on$"):
            shell_text(name, {"V": text}, "utf-8")

    def test_a_text_that_the_encoding_lacks_is_refused(self):
        with pytest.raises(
            ValueError, match=r"^V is 'gr\\xf6\\xdfe', which the output's encoding ascii cannot"
        ):
            shell_text("sh", {"V": "größe"}, "ascii")

    def test_the_command_reports_it(self, cli):
        done = cli("env", *BOARD, "--set", "Vendor.path=a$b", "--shell", "dotenv")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.endswith(
            error(
                "V_PATH is 'a$b', and readers of .env files differ in what they make of $; use `etconfig "
                "exec`, which needs no quotes"
            )
        )


def run_line(*arguments: str) -> str:
    return " ".join(["etconfig", "exec", *BOARD, *arguments])


class TestExec:
    """`etconfig exec` becomes the command."""

    def test_the_command_has_the_variables_and_nothing_else_changes(self, shell):
        found = json.loads(shell(f"{run_line('--')} {SHOW}").stdout)
        before = json.loads(shell(SHOW).stdout)
        assert {name: text for name, text in found.items() if before.get(name) != text} == {
            "V_THREADS": "3",
            "V_THREADS_2": "3",
            "V_FAST": "1",
        }
        assert {*before} <= {*found}

    @pytest.mark.parametrize("mode", ["", "--effective"])
    def test_input_output_and_status_are_the_command_s(self, shell, mode):
        done = shell(f"echo in | {run_line(mode, '--')} sh -c 'cat; echo out; echo err >&2; exit 7'")
        assert (done.status, done.stdout) == (7, "in\nout\n")
        assert done.stderr.startswith(LEFT_OUT) or LEFT_OUT in done.stderr
        assert "err\n" in done.stderr

    @pytest.mark.parametrize("mode", ["", "--effective"])
    def test_arguments_stay_as_they_are(self, shell, mode):
        texts = ["", "a b", "--help", "-q", "--", "$HOME", "'"]
        code = shlex.quote("import sys, json; print(json.dumps(sys.argv[1:]))")
        command = f"{shlex.quote(sys.executable)} -c {code} {' '.join(map(shlex.quote, texts))}"
        assert json.loads(shell(f"{run_line(mode, '--')} {command}").stdout) == texts
        assert json.loads(shell(f"{run_line(mode)} {command}").stdout) == texts

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
    @pytest.mark.parametrize("mode", [[], ["--effective"]])
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_signals_arrive_and_a_signal_s_end_is_passed_on(self, place, mode, number):
        code = (
            "import signal, sys\n"
            f"signal.signal({int(number)}, lambda *_: sys.exit(5))\n"
            "print('ready', flush=True); signal.pause()"
        )
        for handled, status in ((code, 5), (code.split("\n", 2)[0] + "\n" + code.split("\n", 2)[2], -number)):
            process = subprocess.Popen(
                [SCRIPT, "exec", *BOARD, *mode, "--", sys.executable, "-c", handled],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup ignores SIGHUP
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            process.stdout.close()
            expected = 1 if number == signal.SIGINT and status < 0 else status
            assert process.wait(timeout=60) in (status, expected)

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
    def test_a_killed_command_ends_it_likewise(self, place):
        done = subprocess.run(
            [SCRIPT, "exec", *BOARD, "--effective", "--", "sh", "-c", "kill -9 $$"], check=False
        )
        assert done.returncode == -signal.SIGKILL

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
    def test_a_closed_pipe_ends_the_command_as_without_etconfig(self, shell):
        done = shell(f"({run_line('--')} sh -c 'yes; echo $? >&2') | head -n 1")
        assert done.stdout == "y\n"
        assert "Broken pipe" not in done.stderr  # `yes` prints it if SIGPIPE is ignored

    def test_a_variable_that_has_another_value_is_refused(self, shell):
        done = shell(f"{run_line('--')} touch ran", V_THREADS="8", V_FAST="0", V_THREADS_2="3")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.endswith(
            error(
                "V_THREADS is already '8', but detector:Vendor.threads = 3, from profile board.toml:4:1, "
                "needs '3'",
                "unset V_THREADS, or give the option the value that you want: --set "
                "detector:Vendor.threads=...",
            )
            + error(
                "V_FAST is already '0', but detector:Vendor.fast = true, from profile board.toml:5:1, "
                "needs '1'",
                "unset V_FAST, or give the option the value that you want: --set detector:Vendor.fast=...",
            )
        )
        assert not Path("ran").exists()

    def test_a_variable_that_cannot_mean_the_value_is_refused(self, shell):
        mode = ("--set", "detector:Vendor.mode=c", "--set", "encoder:Vendor.mode=a")
        assert shell(run_line(*mode, "--", "echo", "ran")).stdout == "ran\n"
        done = shell(f"{run_line(*mode, '--model', 'detector', '--')} touch ran", V_MODE="1")
        assert (done.status, Path("ran").exists()) == (2, False)
        assert done.stderr.endswith(
            error(
                "V_MODE is already '1', but no text of it means detector:Vendor.mode = 'c', from override "
                "--set (detector:Vendor.mode)",
                "unset V_MODE, or leave the option out",
            )
        )

    @pytest.mark.parametrize("mode", ["", "--effective"])
    def test_a_command_that_cannot_run(self, shell, mode):
        done = shell(f"{run_line(mode, '--')} ./absent")
        assert done.stderr.endswith(error("cannot run './absent': No such file or directory"))
        assert done.status == 127
        done = shell(f"{run_line(mode, '--')} ./board.toml")
        assert done.stderr.endswith(error("cannot run './board.toml': Permission denied"))
        assert done.status == 126

    def test_without_a_variable_a_note_says_so(self, shell):
        line = run_line("--backend", "Vendor", "--", "true").replace("--profile board.toml", "")
        assert shell(line).stderr.endswith(
            "note: no environment variable expresses a value that something sets or recommends\n"
        )

    def test_no_command(self, shell):
        assert shell(run_line()).status == 2


class TestEffective:
    """With --effective, the engine is asked afterwards, in a process with the same variables."""

    def test_each_option_with_a_variable_is_reported(self, shell):
        settings = ("--set", "Vendor.threads=9", "--set", "Vendor.ratio=0.5")
        done = shell(run_line(*settings, "--effective", "--", "echo", "done"))
        assert done.stdout == "done\n"
        assert done.stderr.splitlines()[-3:] == [
            "not in force: V_THREADS and V_THREADS_2 for Vendor.threads = 9, but 4 is (read back: the engine "
            "reports it)",
            "in force: V_FAST for Vendor.fast = true (read back: the engine reports it)",
            "unknown: V_RATIO for Vendor.ratio = 0.5: the backend does not report it",
        ]

    def test_an_engine_that_fails_changes_no_status(self, shell):
        done = shell(run_line("--effective", "--", "true"), V_BROKEN="1")
        assert done.status == 0
        assert done.stderr.splitlines()[-1].startswith("unknown: Vendor: asking the engine failed: ")
        assert done.stderr.splitlines()[-1].endswith("no engine")

    def test_files_of_the_current_directory_are_not_imported(self, shell, place):
        for name in ("json", "runpy", "os", "etconfig"):
            (place / f"{name}.py").write_text("raise SystemExit('a stranger')")
        done = shell(run_line("--effective", "--", "true"))
        assert "a stranger" not in done.stderr
        assert "in force: V_THREADS" in done.stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
    def test_a_signal_ends_the_report(self, place):
        os.mkfifo("asked")
        process = subprocess.Popen(
            [SCRIPT, "exec", *BOARD, "--effective", "--", "true"],
            env={**os.environ, "V_SLOW": "1"},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        engine = int(Path("asked").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) != 0
        os.kill(engine, signal.SIGKILL)

    def test_an_engine_that_does_not_answer(self, place, monkeypatch):
        monkeypatch.setattr("etconfig.app.programs.environment_probe._SECONDS", 0.01)
        environ = {**os.environ, "V_SLOW": "1"}
        assert [*ask_engines({"Vendor": {"threads": 3}}, environ)] == [
            ("Vendor", "asking the engine failed: no answer after 0.01 seconds")
        ]


class TestDeclaring:
    """A variable is checked when it is declared."""

    @pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A B", 3])
    def test_a_name_that_no_variable_has(self, name):
        with pytest.raises(
            ValueError, match=r"^env of option\(\) has .*, which is not the name of a variable$"
        ):
            option(1, applies="load", doc="x.", env=name)

    def test_texts_that_are_none(self):
        with pytest.raises(TypeError, match=r"^env of option\(\) must map the values of A to texts$"):
            option(1, applies="load", doc="x.", env={"A": {1: 2}})

    def test_a_value_that_the_option_does_not_have(self):
        with pytest.raises(
            TypeError, match=r"Options\.a has the value 'x' for A in env: expected an integer"
        ):

            class Options(BackendOptions):
                a: int = option(1, applies="load", doc="x.", env={"A": {"x": "1"}})

    def test_a_type_without_a_text(self):
        with pytest.raises(TypeError, match=r"Options\.a has env, but a variable has one text"):

            class Options(BackendOptions):
                a: tuple[int, ...] = option((), applies="load", doc="x.", env="A")

    def test_two_options_with_one_variable(self):
        with pytest.raises(TypeError, match=r"^Options\.b has the variable A, as has a$"):

            class Options(BackendOptions):
                a: int = option(1, applies="load", doc="x.", env="A")
                b: int = option(1, applies="load", doc="x.", env="A")

    def test_a_variable_without_a_description(self):
        class Options(BackendOptions):
            a: int = option(1, applies="load", doc="x.", env="A")

        with pytest.raises(
            ValueError, match=r"^backend B: a has the variable A; describe it in environment$"
        ):
            BackendSpec(id="B", doc="x.", options=Options, api=ApiRange(min=1, built=1))


class Settings:
    """An object that another library made."""

    threads = 1


def apply_settings(options: BackendOptions, target: object, names: frozenset[str]) -> dict[str, str]:
    target.threads = options.threads
    return {name: "build sets it" for name in names if name != "threads"}


class SettingsOptions(BackendOptions):
    threads: int = option(1, applies="load", doc="Threads.")
    level: int = option(1, applies="load", doc="Level.")
    other: int = option(1, applies="load", doc="Other.")


class TestApply:
    """`etconfig.apply` sets what something sets or recommends, and names what an object does not take."""

    @pytest.fixture
    def arguments(self) -> dict[str, object]:
        spec = BackendSpec(
            id="Engine",
            doc="An engine.",
            options=SettingsOptions,
            api=ApiRange(min=1, built=1),
            build=lambda options: None,
            engine=(__name__.partition(".")[0],),
            apply=apply_settings,
        )
        return {
            "installation": Installation().with_backends({"Engine": spec}),
            "models": {"a": "Engine", "b": "Engine"},
            "profile": "generic/any",
            "overrides": {"Engine.threads": 3, "Engine.level": 2},
        }

    def test_the_result_has_what_was_set_and_what_was_not(self, arguments):
        target = Settings()
        done = etconfig.apply(target, **arguments)
        assert (target.threads, done.backend, done.label) == (3, "Engine", "a")
        assert done.to_jsonable() == {
            "backend": "Engine",
            "label": "a",
            "values": {"threads": 3, "level": 2},
            "origins": {
                name: f"override resolve(overrides) (Engine.{name})" for name in ("threads", "level")
            },
            "left_out": {"level": "build sets it"},
        }
        assert repr(done) == "<AppliedOptions: Options set for a, Engine: 1 of 2>"
        assert str(done).splitlines()[2:] == [
            "  OPTION   VALUE  SET  FROM                                          REASON",
            "  threads  3      yes  override resolve(overrides) (Engine.threads)",
            "  level    2      no   override resolve(overrides) (Engine.level)    build sets it",
        ]

    def test_models_that_differ_must_be_chosen_among(self, arguments):
        arguments["overrides"] = {"a:Engine.threads": 3, "b:Engine.threads": 4}
        with pytest.raises(ValueError, match=r"^model: name one of a, b; their options differ$"):
            etconfig.apply(Settings(), **arguments)
        target = Settings()
        assert etconfig.apply(target, model="b", **arguments).label == "b"
        assert target.threads == 4
        with pytest.raises(OptionError, match="'c'"):
            etconfig.apply(target, model="c", **arguments)

    def test_an_object_of_no_engine_is_refused(self, arguments):
        with pytest.raises(
            TypeError,
            match=r"^target: expected an object of an engine, given int of builtins; backends that set "
            "options on objects: Engine$",
        ):
            etconfig.apply(3, **arguments)
        with pytest.raises(
            TypeError, match=r"^backend: ReferenceCpuBackend sets options on no object; its build makes one$"
        ):
            etconfig.apply(
                3, backend="ReferenceCpuBackend", models={"a": "ReferenceCpuBackend"}, profile="generic/any"
            )
