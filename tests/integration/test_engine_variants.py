"""Catalogs whose variants are programs and files of engines: `etconfig models`, and its functions."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import DIGITS, Outcome
from delegating_programs import delegating_program
from tiny_engine import SPEC, TinySession

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.errors import ModelError
from etconfig.plugin.v1 import InvalidPayloadError, PayloadDescription, PayloadNeed

Cli = Callable[..., Outcome]

QUICK: dict[str, Any] = {"pairs": 6, "profile": "generic/any"}
HASH = hashlib.sha256(b"tiny").hexdigest()
MODELS = """\
[model.digits]

[[model.digits.variants]]
file = "server.tiny"
backend = "TinyEngine"
when = 'cpu.available_cores >= 8'
source = "https://example.org/server.tiny"

[[model.digits.variants]]
file = "digits_portable.pte"
"""


@pytest.fixture
def catalog(place: Path) -> Path:
    """The current directory with both files, and `models.toml`."""
    shutil.copy(DIGITS / "digits_portable.pte", place)
    (place / "server.tiny").write_bytes(b"tiny")
    (place / "models.toml").write_text(MODELS)
    return place


@pytest.fixture
def with_engine(catalog: Path) -> Installation:
    """An installation with the engine."""
    return Installation(catalog).with_backends({"TinyEngine": SPEC})


def check(cli: Cli, *arguments: str) -> Outcome:
    return cli("models", "check", "--models", "models.toml", *arguments)


class TestSelection:
    """A file of an engine is selected where its backend is in `runtime.backends`."""

    def test_the_backend_decides_as_that_of_a_delegate(self, cli: Cli, catalog: Path) -> None:
        given = ("--models", "models.toml", "--facts", "device.json", "--fact", "cpu.available_cores=8")
        done = cli("models", "select", "digits", *given, "--fact", "runtime.backends=TinyEngine")
        assert done.stdout.splitlines()[0] == "variant 1 of model digits: server.tiny"
        assert "TinyEngine is in runtime.backends" in done.stdout
        done = cli("models", "select", "digits", *given, "--fact", "runtime.backends=Other", "--json")
        choice = json.loads(done.stdout)
        assert choice["variant"]["file"] == "digits_portable.pte"
        assert choice["rejected"] == [
            {
                "number": 1,
                "file": "server.tiny",
                "path": "server.tiny",
                "when": "cpu.available_cores >= 8",
                "backend": "TinyEngine",
                "source": "https://example.org/server.tiny",
                "reasons": ["it needs TinyEngine, and runtime.backends is Other"],
            }
        ]

    def test_a_file_that_is_gone_is_an_error_as_for_programs(self, cli: Cli, catalog: Path) -> None:
        (catalog / "server.tiny").unlink()
        facts = ("--fact", "cpu.available_cores=8", "--fact", "runtime.backends=TinyEngine")
        done = cli("models", "select", "digits", "--models", "models.toml", "--facts", "device.json", *facts)
        assert done.status == 2
        assert "server.tiny: No such file or directory" in done.stderr
        assert "error[unreadable-file]: cannot read the file 'server.tiny': No such file" in check(cli).stdout

    def test_backends_with_a_file_are_variants(self, cli: Cli, catalog: Path) -> None:
        (catalog / "models.toml").write_text(
            '[model.a]\nbackends = ["B", "TinyEngine"]\nfile = "server.tiny"\n'
        )
        given = ("--models", "models.toml", "--facts", "device.json", "--fact", "runtime.backends=TinyEngine")
        done = cli("models", "select", "a", *given)
        assert done.stdout.splitlines()[0] == "variant 2 of model a: server.tiny"
        assert cli("models", "list", "--models", "models.toml").stdout.splitlines() == [
            "MODEL  VARIANT  FILE         BACKEND     WHEN",
            "a      1        server.tiny  B",
            "a      2        server.tiny  TinyEngine",
        ]

    def test_a_directory_can_be_a_variant(self, cli: Cli, catalog: Path) -> None:
        (catalog / "server.tiny").unlink()
        (catalog / "server.tiny").mkdir()
        assert "FORMAT\ndigits  1        server.tiny  a directory" in check(cli).stdout
        (catalog / "models.toml").write_text(MODELS.replace("when", "bytes = 1\nwhen"))
        assert "server.tiny is a directory, which has neither bytes nor sha256" in check(cli).stdout


class TestInstalledEngine:
    """An engine that is installed is in `runtime.backends`, whether it runs delegates or not."""

    def test_it_is_selected_configured_and_built_here(self, with_engine: Installation) -> None:
        device = {"cpu.available_cores": 8}
        here = {"models": "models.toml", "installation": with_engine}
        choice = etconfig.select_model("digits", fact_overrides=device, **here)  # type: ignore[arg-type]
        assert choice.reasons[-1] == "TinyEngine is in runtime.backends"
        overrides = {"digits:TinyEngine.scale": 3}
        config = etconfig.resolve(overrides=overrides, **here)  # type: ignore[arg-type]
        session = config.build("digits", str(choice.variant.path))
        assert isinstance(session, TinySession)
        assert session.run([2.0]) == [6.0]
        problem = "variant 1 of model 'digits' is not a program: TinyEngine runs it"
        with pytest.raises(ModelError, match=problem) as caught:
            etconfig.load_model("digits", fact_overrides=device, **here)  # type: ignore[arg-type]
        (diagnostic,) = caught.value.diagnostics
        assert "build('digits', choice.variant.path, backend='TinyEngine')" in str(diagnostic.help)

    def test_without_the_engine_it_is_not_selected(self, catalog: Path) -> None:
        choice = etconfig.select_model(
            "digits", models="models.toml", fact_overrides={"cpu.available_cores": 8}
        )
        assert str(choice.variant) == "digits_portable.pte"

    def test_its_distribution_must_be_installed(self, catalog: Path) -> None:
        spec = replace(SPEC, engine=("no-such-distribution",))
        installation = Installation(catalog).with_backends({"TinyEngine": spec})
        choice = etconfig.select_model(
            "digits",
            models="models.toml",
            fact_overrides={"cpu.available_cores": 8},
            installation=installation,
        )
        assert str(choice.variant) == "digits_portable.pte"

    def test_bench_measures_the_selected_file(self, with_engine: Installation) -> None:
        found = etconfig.compare(
            "digits",
            models="models.toml",
            fact_overrides={"cpu.available_cores": 8},
            installation=with_engine,
            **QUICK,
        )
        assert (found.method, found.runs_on) == ("digits", "TinyEngine")


class TestDeclaredFiles:
    """`models check` compares each file with its size and hash."""

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("bytes = 4", None),
            (f'sha256 = "{HASH}"', None),
            ("bytes = 5", "server.tiny has 4 bytes, and 5 are declared"),
            (f'sha256 = "{"0" * 64}"', "server.tiny has another sha256 than declared: " + HASH),
        ],
    )
    def test_a_difference_is_an_error(self, cli: Cli, catalog: Path, line: str, problem: str | None) -> None:
        (catalog / "models.toml").write_text(MODELS.replace("when", f"{line}\nwhen"))
        done = check(cli)
        assert done.status == (0 if problem is None else 1), done.stdout
        if problem is not None:
            assert f"error[wrong-model-file]: {problem}" in done.stdout
            assert "= help: get the right file from https://example.org/server.tiny" in done.stdout

    def test_a_program_is_compared_too(self, cli: Cli, catalog: Path) -> None:
        (catalog / "models.toml").write_text(
            '[[model.a.variants]]\nfile = "digits_portable.pte"\nbytes = 3\n'
        )
        assert "digits_portable.pte has" in check(cli).stdout

    def test_a_backend_without_a_plugin_is_a_warning(self, cli: Cli, catalog: Path) -> None:
        done = check(cli)
        assert (done.status, done.stderr) == (0, "1 model checked: 0 errors, 1 warning\n")
        assert "warning[backend-not-installed]: model 'digits': no installed plugin declares" in done.stdout
        (catalog / "models.toml").write_text(MODELS.replace("TinyEngine", "ReferenceCpuBackendd"))
        assert "did you mean 'ReferenceCpuBackend'?" in cli("validate", "models.toml").stdout


def describe(payload: bytes, compile_specs: object) -> PayloadDescription:
    """Describe a payload that starts with the name of a processor."""
    if not payload.startswith((b"arm64", b"x86_64")):
        raise InvalidPayloadError(cause="it names no processor")
    arch = payload.split()[0].decode()
    need = PayloadNeed(f'cpu.arch == "{arch}"', reason=f"it is compiled for {arch}", found="cpu.arch")
    return PayloadDescription(target=arch, sdk_version="tiny 1.0", needs=[need])


class TestPayloads:
    """`models check` shows the target of each payload, and says which device that gets it has another."""

    @pytest.fixture(autouse=True)
    def describing(self, catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = replace(SPEC, describe_payload=describe)
        installation = Installation(catalog).with_backends({"TinyEngine": spec})
        monkeypatch.setattr("etconfig.cli.commands.models.make_installation", lambda: installation)
        (catalog / "server.tiny").write_bytes(b"arm64 code")
        (catalog / "tiny.pte").write_bytes(delegating_program("TinyEngine", b"x86_64 code"))
        text = MODELS.replace("digits_portable", "tiny").replace("cores >= 8", "cores >= 4")
        (catalog / "models.toml").write_text(text)

    def given(self, arch: str, cores: int) -> tuple[str, ...]:
        facts = {"cpu.arch": arch, "cpu.available_cores": cores, "runtime.backends": "TinyEngine"}
        return ("--facts", "device.json", *(a for n, v in facts.items() for a in ("--fact", f"{n}={v}")))

    def test_targets_are_shown(self, cli: Cli) -> None:
        done = check(cli)
        assert done.status == 0
        assert done.stdout.splitlines()[:4] == [
            "MODEL   VARIANT  FILE         FORMAT",
            "digits  1        server.tiny  unknown",
            "digits  1        server.tiny  compiled for arm64, made by tiny 1.0",
            "digits  2        tiny.pte     forward: the payload of TinyEngine #0: "
            "compiled for x86_64, made by tiny 1.0",
        ]
        (model,) = json.loads(check(cli, "--json").stdout)
        assert [each["contents"][-1].rpartition(": ")[2] for each in model["variants"]] == [
            "compiled for arm64, made by tiny 1.0",
            "compiled for x86_64, made by tiny 1.0",
        ]

    @pytest.mark.parametrize(
        ("arch", "cores", "problem"),
        [
            ("arm64", 8, None),
            ("x86_64", 1, None),
            ("x86_64", 8, "server.tiny does not fit this device: it is compiled for arm64, and the device"),
            ("arm64", 1, "tiny.pte, forward: the payload of TinyEngine #0 does not fit this device: it is"),
        ],
    )
    def test_the_selected_variant_must_fit(
        self, cli: Cli, arch: str, cores: int, problem: str | None
    ) -> None:
        done = check(cli, *self.given(arch, cores))
        assert done.status == (0 if problem is None else 1), done.stdout
        assert done.stdout.count("payload-mismatch") == (0 if problem is None else 1)
        if problem is not None:
            assert f"error[payload-mismatch]: device: {problem}" in done.stdout

    def test_an_unknown_fact_is_a_note(self, cli: Cli, catalog: Path) -> None:
        (catalog / "device.json").write_text('{"etconfig_fact_sheet": 1, "facts": {}}')
        done = check(cli, *self.given("arm64", 8)[:2], *self.given("arm64", 8)[4:])
        assert "note[undecided-condition]: device: server.tiny may not fit this device" in done.stdout
        assert (done.status, done.stderr) == (0, "1 model checked: 0 errors, 0 warnings\n")

    def test_payloads_that_cannot_be_described(self, cli: Cli, catalog: Path) -> None:
        (catalog / "server.tiny").write_bytes(b"another format")
        (catalog / "tiny.pte").write_bytes(delegating_program("TinyEngine", b"damaged"))
        done = check(cli)
        assert "server.tiny  it cannot be described: it names no processor" in done.stdout
        assert done.stdout.count("warning[payload-mismatch]: tiny.pte, forward: the payload of") == 1
        assert done.stderr == "1 model checked: 0 errors, 1 warning\n"


class TestMemory:
    """`fits` takes the declared memory, else an estimate."""

    def reasons(self, text: str, installation: Installation | None = None) -> str:
        Path("models.toml").write_text(MODELS.replace("when = 'cpu.available_cores >= 8'", text))
        choice = etconfig.select_model(
            "digits",
            models="models.toml",
            facts=etconfig.FactSheet.empty(),
            fact_overrides={"runtime.backends": ["TinyEngine"], "memory.available": 10 << 20},
            installation=installation,
        )
        return "\n".join(reason for _, _, reasons in choice.verdicts for reason in reasons)

    def test_a_declared_need_decides(self, catalog: Path) -> None:
        assert "it needs 8 MiB" in self.reasons('fits = true\nmemory = "8 MiB"')
        assert "it needs 12 MiB" in self.reasons('fits = 0.5\nmemory = "8 MiB"')

    def test_without_a_declaration_it_is_estimated(self, with_engine: Installation) -> None:
        assert "it needs 4 bytes" in self.reasons("fits = true", with_engine)

    def test_an_estimate_that_is_not_possible_is_an_error(self, with_engine: Installation) -> None:
        problem = "its memory cannot be estimated: backend 'TinyEngine' cannot run here"
        with pytest.raises(etconfig.ProgramError, match=problem) as caught:
            self.reasons("fits = true")
        assert caught.value.help == 'write it: memory = "512 MiB"'
        Path("server.tiny").unlink()
        Path("server.tiny").mkdir()
        problem = r"server.tiny: its memory .*: it is not a regular file"
        with pytest.raises(etconfig.ProgramError, match=problem):
            self.reasons("fits = true", with_engine)


class TestBundles:
    """A bundle names the backend of each file."""

    def test_it_is_in_the_description(self, cli: Cli, catalog: Path) -> None:
        (catalog / "etconfig.toml").write_text('models = ["models.toml"]\n')
        done = cli("pack", "model.pte", "-o", "app.etbundle")
        assert done.status == 0, done.stderr
        (model,) = json.loads(cli("inspect", "app.etbundle", "--json").stdout)["models"]
        assert [(each["file"], each["backend"], each["needs"]) for each in model["variants"]] == [
            ("server.tiny", "TinyEngine", ["TinyEngine"]),
            ("digits_portable.pte", None, []),
        ]
        (catalog / "server.tiny").unlink()
        done = cli("pack", "model.pte", "-o", "app.etbundle")
        assert done.status == 2
        assert "server.tiny: No such file or directory" in done.stderr
