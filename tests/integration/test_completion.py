"""Completion in shells, as docs/tools.md describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from command_line import Outcome

Complete: TypeAlias = Callable[..., list[str]]


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: Callable[..., Outcome], shell_name: str) -> None:
    done = shell("etconfig", _ETCONFIG_COMPLETE=f"{shell_name}_source")
    assert (done.status, done.stderr) == (0, "")
    assert "_etconfig_completion" in done.stdout
    assert f"_ETCONFIG_COMPLETE={shell_name}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("etconfig val", ["plain,validate"]),
        ("etconfig profiles ma", ["plain,match"]),
        ("etconfig validate --unsafe", ["plain,--unsafe-fixes"]),
        ("etconfig validate --format sa", ["plain,sarif"]),
        ("etconfig validate bo", ["file,bo"]),
    ],
)
def test_the_script_gets_the_completions(
    shell: Callable[..., Outcome], words: str, completions: list[str]
) -> None:
    count = str(len(words.split()) - 1)
    done = shell("etconfig", _ETCONFIG_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert done.stdout.splitlines() == completions


NPU = ("core", "power_mode", "precision", "fault")
CPU = ("num_threads", "scratch_bytes", "accumulate")


def plain(*texts: str) -> list[str]:
    return [f"plain,{text}" for text in texts]


@pytest.fixture
def complete(place: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Return the completions of the last word, which may be empty."""

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_ETCONFIG_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("etconfig", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = cli()
        assert done.stderr == ""
        return list(filter(None, done.stdout.splitlines()))

    return ask


class TestNames:
    """Backends, profiles and methods are completed."""

    @pytest.mark.parametrize("command", ["backends", "schema"])
    def test_backends_are_completed(self, complete: Complete, command: str) -> None:
        assert complete(command, "Ref") == plain("ReferenceCpuBackend", "ReferenceNpuBackend")

    def test_profiles_are_completed(self, complete: Complete) -> None:
        assert complete("run", "--profile", "raspberry-pi/") == plain(
            "raspberry-pi/pi-4", "raspberry-pi/pi-5"
        )
        assert complete("run", "--profile", "au") == plain("auto")
        assert complete("profiles", "show", "raspberry-pi/pi-5") == plain("raspberry-pi/pi-5")
        assert complete("profiles", "show", "au") == []

    def test_profiles_in_a_directory_are_completed(self, complete: Complete, place: Path) -> None:
        (place / "mine" / "acme").mkdir(parents=True)
        (place / "mine" / "acme" / "board.toml").touch()
        assert complete("run", "--profile-path", "mine", "--profile", "acme") == plain("acme/board")

    def test_a_text_that_is_not_a_profile_may_be_a_file(self, complete: Complete) -> None:
        assert complete("run", "--profile", "./b") == ["file,./b"]

    def test_methods_of_the_program_are_completed(self, complete: Complete) -> None:
        assert complete("run", "model.pte", "--method", "") == plain("embed", "forward")
        assert complete("bench", "model.pte", "--method", "f") == plain("forward")

    @pytest.mark.parametrize("program", ["missing.pte", "x.npy"])
    def test_a_file_that_is_not_a_program_has_no_methods(self, complete: Complete, program: str) -> None:
        assert complete("run", program, "--method", "") == []


class TestOptionPaths:
    """`--set` is completed part by part; a program on the line says which methods and backends there are."""

    @pytest.mark.parametrize(
        ("words", "completions"),
        [
            (("--set", ""), ["ReferenceCpuBackend.", "ReferenceNpuBackend."]),
            (("--set", "ReferenceN"), [f"ReferenceNpuBackend.{name}=" for name in NPU]),
            (("--set", "ReferenceCpuBackend.s"), ["ReferenceCpuBackend.scratch_bytes="]),
            (("--set", "any:ReferenceCpuBackend.a"), ["any:ReferenceCpuBackend.accumulate="]),
            (("--set", "NoBackend."), []),
            (
                ("model.pte", "--set", ""),
                ["embed:", "forward:", "ReferenceNpuBackend.", "ReferenceCpuBackend."],
            ),
            (("model.pte", "--set", "f"), ["forward:"]),
            (("model.pte", "--set", "embed:"), ["embed:ReferenceNpuBackend."]),
            (("model.pte", "--set", "embed@a:R"), [f"embed@a:ReferenceNpuBackend.{name}=" for name in NPU]),
            (
                ("model.pte", "--set", "forward:ReferenceC"),
                [f"forward:ReferenceCpuBackend.{n}=" for n in CPU],
            ),
        ],
    )
    def test_paths_are_completed_part_by_part(
        self, complete: Complete, words: tuple[str, ...], completions: list[str]
    ) -> None:
        assert complete("run", *words) == plain(*completions)

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ("ReferenceNpuBackend.power_mode=", ["low", "balanced", "high"]),
            ("ReferenceNpuBackend.power_mode=h", ["high"]),
            ("ReferenceNpuBackend.core=", []),
            ("ReferenceNpuBackend.no_such=", []),
        ],
    )
    def test_values_of_booleans_and_choices_are_completed(
        self, complete: Complete, text: str, values: list[str]
    ) -> None:
        path = text.partition("=")[0]
        assert complete("run", "--set", text) == plain(*(f"{path}={value}" for value in values))

    def test_explain_takes_paths_without_values(self, complete: Complete) -> None:
        assert complete("explain", "ReferenceNpuBackend.p") == plain(
            "ReferenceNpuBackend.power_mode", "ReferenceNpuBackend.precision"
        )


class TestSpeed:
    """Nothing is imported that the answer does not need."""

    @pytest.mark.parametrize(
        "words",
        ["etconfig backends R", "etconfig run --profile ras", "etconfig run model.pte --method f"],
    )
    def test_names_need_neither_pydantic_nor_numpy(self, shell: Callable[..., Outcome], words: str) -> None:
        count = str(len(words.split()) - 1)
        done = shell(
            f"{sys.executable} -X importtime -m etconfig",
            _ETCONFIG_COMPLETE="bash_complete",
            COMP_WORDS=words,
            COMP_CWORD=count,
        )
        assert done.stdout
        imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
        assert not imported & {"pydantic", "numpy", "rich", "etconfig_reference"}


def test_a_broken_project_file_completes_to_nothing(complete: Complete, place: Path) -> None:
    (place / "etconfig.toml").write_text("[")
    assert complete("backends", "") == []


def test_a_shell_that_is_not_supported_is_an_error(shell: Callable[..., Outcome]) -> None:
    assert shell("etconfig", _ETCONFIG_COMPLETE="ksh_source").status != 0


class TestModels:
    """The models of `--models` are completed as the methods of a program are."""

    @pytest.fixture
    def models(self, place: Path) -> None:
        (place / "models.toml").write_text('[model.detector]\nbackends = ["ReferenceNpuBackend"]\n')

    @pytest.mark.usefixtures("models")
    def test_their_names_and_backends(self, complete: Complete) -> None:
        named = ("resolve", "--models", "models.toml", "--set")
        assert complete(*named, "det") == plain("detector:")
        assert complete(*named, "detector:") == plain("detector:ReferenceNpuBackend.")
        assert complete(*named, "detector:ReferenceNpuBackend.co") == plain(
            "detector:ReferenceNpuBackend.core="
        )

    @pytest.mark.usefixtures("models")
    def test_paths_to_explain(self, complete: Complete) -> None:
        assert complete("explain", "--models", "models.toml", "det") == plain("detector:")

    def test_a_file_that_is_wrong_offers_nothing(self, complete: Complete, place: Path) -> None:
        (place / "models.toml").write_text("[model")
        assert complete("resolve", "--models", "models.toml", "--set", "det") == []

    def test_the_file_is_completed_as_a_file(self, complete: Complete) -> None:
        assert complete("resolve", "--models", "mo") == ["file,mo"]
