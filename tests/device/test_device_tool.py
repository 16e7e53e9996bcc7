"""`etdevice` as a user meets it: mistakes in sheets and paths, and what it shows of a device."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from device_programs import SANITIZED, compile_device_program, device_program
from plugin_data import write_distribution

import etconfig
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.device import device_include_dir
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledModel, BundledProfile, BundledVariant
from etconfig.device.description import describe_bundle
from etconfig.device.device_bundle import DeviceBundle
from etconfig.expression import ExpressionType, parse_expression
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType, Volatility
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, option
from etconfig.profile.library import Provider
from etconfig.resolver.compiling.resolver import Resolver, Target

ETDEVICE = device_include_dir().parent / "etdevice" / "main.cpp"
SERIAL = "R58M1234567"
HIDDEN = "(set, not shown)"
REGISTRY = BUILTIN_FACTS.extended(
    [
        FactInfo(
            name="acme.serial",
            type=FactType.STRING,
            doc="The serial number.",
            volatility=Volatility.STATIC,
            is_identifying=True,
        ),
        FactInfo(name="acme.rev", type=FactType.INT, doc="The revision.", volatility=Volatility.STATIC),
    ]
)


class AcmeOptions(BackendOptions):
    core: int = option(applies="load", doc="Which core; it has no default.")
    threads: int = option(2, applies="load", doc="Threads.")


SPEC = BackendSpec(id="Acme", doc="Acme.", options=AcmeOptions, api=ApiRange(1, 1))


def bundle(**hand_set: object) -> DeviceBundle:
    """Return a bundle whose profile asks for the serial number, and that has a model."""
    match = parse_expression('acme.serial != "x" && acme.rev > 1', REGISTRY, expect=ExpressionType.BOOL)
    resolver = Resolver.compile({"Acme": SPEC}, [], [Target(method="forward", backends=("Acme",))])
    origin = Origin(OriginKind.PROJECT, "etconfig.toml")
    model = BundledModel(
        name="m", fallback=False, variants=(BundledVariant(file="m.pte", when=None, needs=("Acme",)),)
    )
    content = BundleContent(
        producer="test",
        registry=REGISTRY,
        profiles=(
            BundledProfile(
                name="acme/board",
                bases=(),
                match=match,
                provider=Provider.USER,
                facts={},
                instances=resolver.instances,
            ),
        ),
        project_facts={name: Sourced(value, origin) for name, value in hand_set.items()},
        models=(model,),
    )
    return DeviceBundle(compile_bundle(content))


def sheet(**facts: object) -> str:
    values = {name.replace("__", "."): {"value": value} for name, value in facts.items()}
    return json.dumps({"etconfig_fact_sheet": 1, "facts": values})


etdevice = device_program(str(ETDEVICE), *SANITIZED)


@pytest.fixture
def run(
    etdevice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command on the bundle, in a directory with it and a sheet."""
    monkeypatch.chdir(tmp_path)
    bundle().save("app.etbundle")
    Path("board.json").write_text(sheet(acme__serial=SERIAL, acme__rev=2))

    def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [etdevice, arguments[0], "--bundle", "app.etbundle", *arguments[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run_command


class TestPrivacy:
    """A plugin's fact that identifies the device is hidden as `device.id` is: the bundle says which."""

    @pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
    def test_reasons_show_that_it_is_set_and_not_which(
        self, run: Callable[..., object], form: list[str]
    ) -> None:
        done = run("select", "--facts", "board.json", *form)
        assert SERIAL not in done.stdout + done.stderr
        assert f"acme.serial is {HIDDEN}" in done.stdout
        assert "acme.rev is 2" in done.stdout

    def test_facts_that_it_prints_are_hidden(self, run: Callable[..., object]) -> None:
        assert SERIAL not in run("facts", "--fact", f"acme.serial={SERIAL}").stdout
        shown = json.loads(run("facts", "--fact", f"acme.serial={SERIAL}", "--json").stdout)
        assert (
            shown["facts"]["acme.serial"]["unknown"] == "it is set, but not shown: it identifies the device"
        )

    def test_python_hides_it_in_the_bundle_and_in_what_the_bundle_decides(self) -> None:
        packed = DeviceBundle.from_bytes(bundle(**{"acme.serial": SERIAL}).to_bytes())
        described = describe_bundle(packed.tables)
        assert described["project_facts"] == {"acme.serial": HIDDEN}
        identifying = {each["name"]: each["is_identifying"] for each in described["facts"]}
        assert identifying == {"acme.rev": False, "acme.serial": True, "runtime.backends": False}

    def test_a_decision_from_a_bundle_shows_no_id(self) -> None:
        tables = compile_bundle(_with_core(SERIAL))
        facts = FactSheet.from_values({"device.id": SERIAL})
        shown = DeviceBundle(tables).resolve(facts, "p").to_jsonable()
        assert shown["facts"] == {"device.id": HIDDEN}
        assert SERIAL not in json.dumps(shown)


def _with_core(serial: str) -> BundleContent:
    """Return a bundle with one profile that reads `device.id`, of methods that need no more."""
    match = parse_expression(f'device.id == "{serial[:0]}x"', BUILTIN_FACTS, expect=ExpressionType.BOOL)
    profile = BundledProfile(name="p", bases=(), match=match, provider=Provider.USER, facts={}, instances={})
    return BundleContent(producer="test", registry=BUILTIN_FACTS, profiles=(profile,), project_facts={})


class TestMistakes:
    """A message names the thing, what was expected, and what to do."""

    def test_unknown_facts_of_a_sheet_are_named(self, run: Callable[..., object]) -> None:
        Path("typo.json").write_text(sheet(acme__rve=3, acme__rev=2, acme__serial="a", cpu__model="A76"))
        done = run("select", "--facts", "typo.json")
        assert done.returncode == 0
        assert done.stderr == (
            "warning: typo.json: unknown fact acme.rve, which the bundle does not read: it is ignored\n"
            "help: check the names: `etdevice facts --bundle FILE` lists those that it reads\n"
        )

    def test_many_unknown_facts_are_counted(self, run: Callable[..., object]) -> None:
        Path("many.json").write_text(sheet(**{f"x__f{n}": n for n in range(14)}))
        lines = run("select", "--facts", "many.json").stderr.splitlines()
        assert len([line for line in lines if line.startswith("warning: many.json: unknown fact x.f")]) == 10
        assert "warning: and 4 more unknown facts" in lines

    def test_names_of_a_sheet_control_no_terminal(self, run: Callable[..., object]) -> None:
        Path("bad.json").write_text('{"etconfig_fact_sheet": 1, "facts": {"a.\\u001b[2J": {"value": 1}}}')
        assert "\x1b" not in run("select", "--facts", "bad.json").stderr

    @pytest.mark.parametrize("path", ["Acme.core", "forward:Acme.core"])
    def test_an_option_without_a_value_is_an_error(self, run: Callable[..., object], path: str) -> None:
        done = run("explain", path, "--facts", "board.json")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: forward:Acme.core")
        assert "is required and not set" in done.stderr

    def test_an_option_with_a_value_is_explained(self, run: Callable[..., object]) -> None:
        done = run("explain", "Acme.threads", "--facts", "board.json")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("forward:Acme.threads = 2 from default")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["explain", "Acme.cores"], "no such option: Acme.cores\nhelp: `etdevice resolve` lists"),
            (["explain", "foward:Acme.core"], "no such method: foward\nhelp: `etdevice resolve` lists"),
            (["resolve", "--profile", "acme/bord"], "no such profile: acme/bord\nhelp: `etdevice select`"),
            (["model", "n"], "no such model: n\nhelp: `etconfig inspect BUNDLE` lists"),
            (
                ["select", "--fact", "acme.rve=3"],
                "the bundle reads no such fact: acme.rve\nhelp: leave it out",
            ),
            (["select", "--fact", "acme.rev"], "--fact takes NAME=VALUE: acme.rev\n"),
            (
                ["select", "--fact", "acme.rev=two"],
                "not a value of the fact: acme.rev=two\nhelp: give an integer",
            ),
            (["select", "--fact", "acme.rev=99999999999999999999"], "not a value of the fact: acme.rev=9"),
        ],
    )
    def test_messages_say_what_to_do(
        self, run: Callable[..., object], arguments: list[str], message: str
    ) -> None:
        done = run(arguments[0], "--facts", "board.json", *arguments[1:])
        assert done.returncode == 2
        assert message in done.stderr

    @pytest.mark.parametrize("last", ["--fact", "--facts", "--profile"])
    def test_an_option_without_its_value_is_named(self, run: Callable[..., object], last: str) -> None:
        done = run("select", last)
        assert done.returncode == 2
        assert f"error: no value for {last}\n" in done.stderr


class TestFacts:
    """`--fact` sets what cannot be detected, such as the backends of the runtime."""

    def test_a_model_needs_the_backends_of_the_runtime(self, run: Callable[..., object]) -> None:
        done = run("model", "m", "--facts", "board.json")
        assert done.returncode == 1
        assert "no variant suits this device: m\nhelp: name the backends of the runtime" in done.stderr
        assert "--fact runtime.backends=" in done.stderr

    @pytest.mark.parametrize(("backends", "status"), [("Acme", 0), ("Xnn,Acme", 0), ("Xnn", 1), ("", 1)])
    def test_an_option_names_them(self, run: Callable[..., object], backends: str, status: int) -> None:
        done = run("model", "m", "--facts", "board.json", "--fact", f"runtime.backends={backends}")
        assert done.returncode == status
        assert done.stdout.startswith("m.pte\n") is (status == 0)

    def test_they_win_over_the_sheet(self, run: Callable[..., object]) -> None:
        done = run("select", "--facts", "board.json", "--fact", "acme.rev=0")
        assert "acme.rev is 0" in done.stdout
        assert done.returncode == 1


TEXT_PLUGIN = """
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl, option

class TextOptions(BackendOptions):
    title: str = option("a", applies="load", doc="A text.")
    lanes: int = option(1, applies="load", doc="Lanes.")

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id=request.name, doc="A text.", options=TextOptions, api=ApiRange(1, 1))
"""


class TestTooSmall:
    """An error names the limit of `etdevice`, the room that a bundle needs, and how to get it."""

    @pytest.fixture
    def run_small(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., subprocess.CompletedProcess[str]]:
        """Compile `etdevice` with flags, and run a command on a bundle whose backend has two options."""
        site = tmp_path / "site"
        write_distribution(site, "acme_text-1.0.dist-info", "[etconfig.backends]\nAcmeText = acme_text\n")
        (site / "acme_text.py").write_text(TEXT_PLUGIN)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.chdir(tmp_path)
        title = "has(device.model) ? device.model + device.model : ''"
        Path("board.toml").write_text(
            f'[profile]\nname = "board"\n\n[options.AcmeText]\ntitle = {{ expr = "{title}" }}\n'
        )
        etconfig.pack_bundle(profiles=["./board.toml"]).save("app.etbundle")
        Path("board.json").write_text(sheet(device__model="a long name of a device"))

        def compile_and_run(flags: list[str], *words: str) -> subprocess.CompletedProcess[str]:
            program = compile_device_program(str(ETDEVICE), tmp_path / "etdevice", *flags)
            command = [program, words[0], "--bundle", "app.etbundle", "--facts", "board.json", *words[1:]]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        return compile_and_run

    @pytest.mark.parametrize(
        "words", [("resolve",), ("explain", "AcmeText.lanes"), ("explain", "x:AcmeText.lanes")]
    )
    def test_options(
        self, run_small: Callable[..., subprocess.CompletedProcess[str]], words: list[str]
    ) -> None:
        done = run_small(["-DETDEVICE_MAX_OPTIONS=1"], *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "error: storage too small: a method instance has 2 options, and this etdevice keeps 1\n"
            "help: compile etdevice with -DETDEVICE_MAX_OPTIONS=2; an app needs Arguments<2>\n"
        )

    def test_computed_values(self, run_small: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = run_small(["-DETDEVICE_MAX_VALUE_BYTES=40"], "resolve", "--json")
        assert list(json.loads(done.stdout).values()) == [
            "storage too small",
            "the computed values of a method instance take more than the 40 bytes of this etdevice",
            "compile etdevice with -DETDEVICE_MAX_VALUE_BYTES=80, or more; an app needs as many in Arguments",
        ]
        assert run_small(["-DETDEVICE_MAX_VALUE_BYTES=400"], "resolve").returncode == 0

    def test_a_name_that_is_longer_than_names_are(self, run: Callable[..., object]) -> None:
        done = run("explain", f"{'a' * 257}:Acme.threads", "--facts", "board.json")
        assert done.stderr.startswith("error: no such method: aaaa")
