"""Help is correct: every example of every command runs as it is printed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest
from command_line import DATA, Outcome
from every import every
from mutations import sharded

from etconfig.app.installation.installation import Installation
from etconfig.app.packing.profile_bundle import pack_bundle
from etconfig.cli.startup.command_group import etconfig
from etconfig.cli.startup.command_list import COMMAND_SUMMARIES
from etconfig.measuring.compare import compare

PROJECT = """\
[instances.left]
method = "forward"
[instances.left.options.ReferenceNpuBackend]
core = 1
"""
MODELS = """\
[[model.detector.variants]]
file = "model.pte"
[[model.detector.variants]]
file = "portable.pte"
[model.camera]
backends = ["ReferenceCpuBackend"]
"""

BOARD = """\
[profile]
name = "acme/board"
extends = ["generic/linux"]
"""


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all its subcommands."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, f"{path} {name}")


ALL = dict(walk(etconfig, "etconfig"))


def examples_in(help_text: str) -> list[str]:
    """Return the lines below `Example:` or `Examples:`."""
    lines = iter(help_text.splitlines())
    for line in lines:
        if line.strip() in ("Example:", "Examples:"):
            break
    found = []
    for line in lines:
        if not line.strip():
            break
        found.append(line.strip())
    return found


def all_examples() -> list[str]:
    return list(dict.fromkeys(line for command in ALL.values() for line in examples_in(command.help or "")))


@pytest.mark.parametrize("path", ALL)
class TestHelp:
    """Every command has --help with an example."""

    def test_it_shows_an_example_of_this_command(self, cli: Callable[..., Outcome], path: str) -> None:
        shown = cli(*path.split()[1:], "--help")
        assert (shown.status, shown.stderr) == (0, "")
        examples = examples_in(shown.stdout)
        assert examples
        assert all(example.startswith(path) for example in examples)

    def test_h_is_short_for_help(self, cli: Callable[..., Outcome], path: str) -> None:
        arguments = path.split()[1:]
        assert cli(*arguments, "-h") == cli(*arguments, "--help")

    def test_every_option_says_what_it_is_for(self, path: str) -> None:
        options = [p for p in ALL[path].params if isinstance(p, click.Option)]
        assert [option.name for option in options if not option.help] == []


def test_every_command_takes_the_options_of_display_before_and_after_its_name(
    cli: Callable[..., Outcome],
) -> None:
    failing = []
    for path in ALL:
        words = path.split()[1:]
        for place in range(len(words) + 1):
            for option in ("-q", "--quiet", "--color=always"):
                shown = cli(*words[:place], option, *words[place:], "--help")
                if (shown.status, shown.stderr) != (0, ""):
                    failing.append((path, place, option, shown))
            wrong = cli(*words[:place], "--color=red", *words[place:])
            if wrong.status != 2 or "'red' is not one of 'auto', 'always', 'never'" not in wrong.stderr:
                failing.append((path, place, "--color=red", wrong))
    assert failing == []


def options_of_one_value() -> Iterator[tuple[str, str]]:
    """Yield each way to write an option that takes one value, with its command."""
    for path, command in ALL.items():
        for option in command.params:
            if isinstance(option, click.Option) and not (option.is_flag or option.count or option.multiple):
                yield from ((path, name) for name in (*option.opts, *option.secondary_opts))


class TestRepeatedOptions:
    """An option that takes one value refuses a second one, which would silently replace the first."""

    @every(("path", "option"), list(options_of_one_value()))
    @every(("count", "times"), [(2, "twice"), (3, "3 times")])
    def test_a_repeat_is_a_usage_error(
        self, cli: Callable[..., Outcome], path: str, option: str, count: int, times: str
    ) -> None:
        done = cli(*path.split()[1:], *(option, "x") * count)
        name = next(o.opts[0] for o in ALL[path].params if option in o.opts)
        assert done == Outcome(
            2,
            "",
            f"error: {name} is given {times}; give it once, or run the command once for each value\n"
            f"  = help: see `{path} --help`\n",
        )

    def test_the_options_include_those_that_select_the_input(self) -> None:
        found = set(options_of_one_value())
        commands = ("facts", "run", "explain", "models select")
        assert {(f"etconfig {name}", f) for name in commands for f in ("--facts", "--device")} <= found
        assert {("etconfig validate", "--format"), ("etconfig resolve", "--profile")} <= found

    @pytest.mark.parametrize("name", ["validate", "resolve", "lock", "diff", "pack", "models check"])
    def test_devices_are_repeated_where_each_of_them_is_meant(self, name: str) -> None:
        params = ALL[f"etconfig {name}"].params
        several = {text for option in params if getattr(option, "multiple", False) for text in option.opts}
        assert several >= {"--facts", "--device"}

    def test_options_for_several_values_and_flags_may_be_repeated(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        facts = ("--fact", "os.name=linux", "--fact", "cpu.arch=arm64")
        assert cli("facts", *facts, "--json", "--json").status == 0

    @pytest.mark.parametrize("name", ["facts", "resolve", "validate", "matrix", "pack", "lock"])
    def test_two_values_of_one_fact_are_an_error(
        self, cli: Callable[..., Outcome], prepared: Path, name: str
    ) -> None:
        words = {"validate": ["etconfig.toml"], "pack": ["-o", "x.etbundle"]}.get(name, [])
        facts = ("--device", "pi-5", "--fact", "gpu.count=1", "--fact", "gpu.count=2")
        done = cli(name, *words, *facts)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("error[invalid-fact-assignment]: 'gpu.count' is set twice")

    def test_of_two_overrides_for_one_path_the_last_wins(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        twice = [f"--set=ReferenceCpuBackend.num_threads={count}" for count in (1, 2)]
        done = cli("resolve", "model.pte", "--device", "pi-5", *twice, "--explain")
        assert "forward:ReferenceCpuBackend.num_threads = 2" in done.stdout


@cache
def small_bundle() -> bytes:
    """A bundle of one profile, packed once."""
    installation = Installation()
    return pack_bundle(profiles=["generic/any"], installation=installation).to_bytes()


@cache
def small_comparison() -> str:
    """The output of `bench --json`, measured once."""
    return json.dumps(compare(DATA / "digits" / "digits.pte", pairs=6).to_jsonable())


@pytest.fixture
def prepared(place: Path) -> Path:
    """The files that the examples use."""
    (place / "bench.json").write_text(small_comparison())
    (place / "etconfig.toml").write_text(PROJECT + MODELS)
    (place / "profiles" / "acme").mkdir(parents=True)
    (place / "profiles" / "acme" / "board.toml").write_text(BOARD)
    shutil.copy(DATA / "sheets" / "raspberry-pi-5.json", place / "pi5.json")
    shutil.copy(DATA / "sheets" / "laptop-on-battery.json", place / "laptop.json")
    (place / "app.etbundle").write_bytes(small_bundle())
    for name in ("encoder.pte", "decoder.pte"):
        shutil.copy(place / "model.pte", place / name)
    shutil.copy(DATA / "exports" / "external_constants.ptd", place / "weights.ptd")
    shutil.copy(DATA / "exports" / "bundled.bpte", place / "model.bpte")
    for name in ("phone.json", "board.json"):
        shutil.copy(place / "pi5.json", place / name)
    (place / "models.toml").write_text(MODELS)
    shutil.copy(DATA / "digits" / "digits_portable.pte", place / "portable.pte")
    shutil.copy(DATA / "shared_state" / "shared.pte", place / "llm.pte")
    np.savez(place / "prompt.npz", in0=np.ones((3, 4), np.float32))
    np.savez(place / "token.npz", in0=np.ones((1, 4), np.float32), in1=np.array([3]))
    (place / "sheets").mkdir()
    shutil.copy(place / "pi5.json", place / "sheets")
    expected = '[devices.pi5]\nprofile = "raspberry-pi/pi-5"\n'
    (place / "devices.toml").write_text(f"etconfig_matrix = 1\n{expected}")
    for name in ("before.json", "after.json"):
        shutil.copy(place / "device.json", place / name)
    return place


_A_KEY = "it needs a key; tests/device follows docs/deliver.md"
NOT_RUN = {
    "etconfig init": "there is a project file, and nothing is replaced",
    "etconfig init model.pte": "there is a project file, and nothing is replaced",
    "etconfig facts --adb --save phone.json": "it needs a phone",
    "etconfig facts --executor executorch --save board.json": "it needs etconfig-executorch",
    "etconfig pack model.pte --revision 7 --not-after 2099-12-31 --sign key.pem -o app.etbundle": _A_KEY,
    "etconfig inspect app.etbundle --public-key public.pem": _A_KEY,
    "etconfig conformance ReferenceCpuBackend": "the plugin's own tests run every check",
}
AFTER = {
    "etconfig lock encoder.pte decoder.pte --facts pi5.json --device pixel-8 --check",
}
"""The examples that check what the example without their last word writes."""

FINDS_SOMETHING = {
    "etconfig matrix model.pte --facts sheets --expect devices.toml": "the file lacks the options",
    "etconfig devices diff pi-4 pi-5": "they differ",
    "etconfig devices diff raspberry-pi/pi-4 raspberry-pi/pi-5": "they differ",
    "etconfig devices diff pi-5 pi5.json --json": "the sheet was made from another board",
    "etconfig facts diff pi5.json --ignore-live": "this device is another one",
    "etconfig verify model.bpte": "one of its cases is wrong on purpose",
    "etconfig verify model.bpte --method forward --rtol 1e-3 --atol 1e-4": "it is one of this method",
}


def test_the_exceptions_are_still_examples() -> None:
    assert {*NOT_RUN, *AFTER, *FINDS_SOMETHING} <= {*all_examples()}


EXTRA = "etconfig fleet "
"""The examples that need the extra `fleet` begin so; test_fleet_command.py runs them."""


@pytest.mark.parametrize(
    "example", sharded(sorted(each for each in {*all_examples()} - {*NOT_RUN} if not each.startswith(EXTRA)))
)
def test_every_example_runs_as_it_is_printed(
    prepared: Path, cli: Callable[..., Outcome], shell: Callable[..., Outcome], example: str
) -> None:
    """Plain words run in this process, anything else in a shell."""
    name, *words = example.split()
    if example in AFTER:
        assert cli(*words[:-1]).status == 0
    is_plain = name == "etconfig" and all(re.fullmatch(r"[\w./:@=,-]+", word) for word in words)
    done = cli(*words) if is_plain else shell(example)
    assert done.status == (1 if example in FINDS_SOMETHING else 0), done.stderr


@pytest.mark.parametrize("name", sorted(COMMAND_SUMMARIES))
def test_the_summary_in_the_list_is_the_first_line_of_the_commands_own_help(name: str) -> None:
    """The list of commands is written down, so that none is imported for it."""
    help_text = ALL[f"etconfig {name}"].help
    assert help_text is not None
    assert COMMAND_SUMMARIES[name] == help_text.splitlines()[0]


def test_the_list_has_every_command_and_its_summary(cli: Callable[..., Outcome]) -> None:
    shown = cli("--help").stdout
    listed = shown.partition("Commands:\n")[2].split()
    assert (
        listed == " ".join(f"{name} {summary}" for name, summary in sorted(COMMAND_SUMMARIES.items())).split()
    )


def test_without_a_command_the_help_is_shown_and_the_status_is_2(
    cli: Callable[..., Outcome],
) -> None:
    shown = cli()
    assert (shown.status, shown.stdout) == (2, "")
    assert shown.stderr == cli("--help").stdout
