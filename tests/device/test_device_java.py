"""The Java and Kotlin classes over `etconfig_device.h`, run on the JVM against the real library."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest
from bundle_tables import FINGERPRINT, small_tables
from compilers import cmake, compiled, kotlin_compiler, system_compiler
from device_stacks import Stack
from doc_pages import ROOT, Page
from doc_shell import Shell
from reader_commands import write_commands

import etconfig
from etconfig.cli.startup.command_group import run as run_etconfig
from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.device_bundle import DeviceBundle
from etconfig.errors import EtconfigError
from etconfig.facts.sheet import FactSheet

JAVA = device_include_dir().parent / "bindings" / "java"
SOURCES = ROOT / "tests" / "data" / "device" / "java"
DIGITS = ROOT / "tests" / "data" / "digits"
pytestmark = pytest.mark.timeout(300)
PROFILE = r"""[profile]
name = "acme/board"
match = '''cpu.available_cores >= 2 &&
  power.battery_level < 0.9 && "fp16" in cpu.features && thermal.state != "fair"'''
[options.ReferenceCpuBackend]
num_threads = { expr = "cpu.available_cores" }
"""
PROJECT = """[model.digits]
fallback = true
[[model.digits.variants]]
file = "digits_xnnpack.pte"
when = "cpu.available_cores >= 2"
[[model.digits.variants]]
file = "digits.onnx"
backend = "XnnpackBackend"
"""


def java_home() -> Path:
    """Return the directory of the JDK; skips the test without one."""
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("no Java compiler (javac) on the PATH; Debian's package default-jdk-headless has it")
    home = Path(javac).resolve().parents[1]
    if not (home / "include" / "jni.h").is_file():
        pytest.skip(f"no jni.h in {home}: install a whole JDK")
    return home


def run(*command: object) -> str:
    """Run a command, and return its output."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the library and the classes, built with all warnings as errors."""
    home = java_home()
    directory = tmp_path_factory.mktemp("java")
    (system,) = (each for each in (home / "include").iterdir() if (each / "jni_md.h").is_file())
    command = (
        *(system_compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Os", "-shared", "-fPIC"),
        *(f"-I{home / 'include'}", f"-I{system}", f"-I{device_include_dir()}"),
        *(JAVA / "etconfig_device_jni.cpp", JAVA.parents[1] / "etconfig_device.cpp"),
    )
    compiled(command, directory / "libetconfig_device_jni.so")
    classes = sorted((JAVA / "src" / "main" / "java").rglob("*.java"))
    run(
        "javac",
        "-Xlint:all",
        "-Werror",
        "-encoding",
        "UTF-8",
        "-d",
        directory,
        *classes,
        SOURCES / "UseDevice.java",
        SOURCES / "UseDelivery.java",
    )
    return directory


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with every bundled profile, one of a board, and a model of two variants."""
    directory = tmp_path_factory.mktemp("bundle")
    for name in ("digits.pte", "digits_xnnpack.pte"):
        shutil.copy(DIGITS / name, directory)
    (directory / "digits.onnx").touch()
    (directory / "etconfig.toml").write_text(PROJECT)
    (directory / "profiles" / "acme").mkdir(parents=True)
    (directory / "profiles" / "acme" / "board.toml").write_text(PROFILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        command = ["pack", "digits.pte", "--profile-path", "profiles", "-o", "app.etbundle"]
        assert run_etconfig(command) == 0
    return directory / "app.etbundle"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with options of every kind, whose first profile resolves without any fact."""
    for seed in range(100):
        directory = tmp_path_factory.mktemp("kinds")
        try:
            tables = Stack(random.Random(seed), directory).tables()
            DeviceBundle(tables).resolve(empty_sheet(), DeviceBundle(tables).profile_names[0])
        except EtconfigError:
            continue
        (directory / "kinds.etbundle").write_bytes(write_tables(tables))
        return directory / "kinds.etbundle"
    raise AssertionError("no stack resolves without facts")


def empty_sheet() -> FactSheet:
    return FactSheet.from_json('{"etconfig_fact_sheet": 1, "facts": {}}', "sheet.json")


@pytest.fixture(scope="module")
def answers(built: Path, bundle: Path, kinds: Path) -> dict[str, str]:
    """The answers of UseDevice, with the JVM's own checks of native code."""
    java = ("java", "-Xcheck:jni", f"-Djava.library.path={built}", "-cp", built, "UseDevice")
    lines = run(*java, bundle, kinds).splitlines()
    assert not [line for line in lines if line.startswith("WARNING")]
    return dict(line.split("\t", 1) for line in lines)


def sheet_of(text: str) -> FactSheet:
    return FactSheet.from_json(text.replace("|", "\n"), "device.json")


class TestJava:
    """`org.etconfig.device.Device` answers as Python does."""

    def test_the_bundle_is_listed(self, answers: dict[str, str], bundle: Path) -> None:
        packed = etconfig.load_bundle(bundle)
        assert answers["position"] == "4"
        assert answers["producer"] == packed.producer
        assert answers["facts"] == f"[{', '.join(packed.facts_read)}]"
        assert answers["profiles"] == f"[{', '.join(packed.profile_names)}]"
        live = answers["live"].strip("[]").split(", ")
        assert set(live) < set(packed.facts_read)
        assert "power.source" in live or "power.battery_level" in live

    def test_the_detected_device_selects_as_in_python(self, answers: dict[str, str], bundle: Path) -> None:
        selection = etconfig.load_bundle(bundle).select(sheet_of(answers["sheet"]))
        assert answers["selected"] == selection.profile
        assert answers["fallback"] == str(selection.is_fallback).lower()

    def test_facts_that_were_set_arrive_whole(self, answers: dict[str, str]) -> None:
        sheet = sheet_of(answers["sheet set"])
        assert sheet.values["cpu.features"] == ("fp16", "dotprod")
        assert (sheet.values["cpu.available_cores"], sheet.values["power.battery_level"]) == (4, 0.5)
        assert sheet["thermal.state"].reason == "the service did not answer é 😀"

    def test_every_option_has_the_value_and_origin_of_python(
        self, answers: dict[str, str], bundle: Path
    ) -> None:
        sheet = sheet_of(answers["sheet set"])
        resolution = etconfig.load_bundle(bundle).resolve(sheet, "acme/board").to_jsonable()
        wanted = {
            f"{row['backend']}.{name}": option
            for row in resolution["arguments"]
            for name, option in row["options"].items()
        }
        found = {
            key.partition(" ")[2]: json.loads(text) for key, text in answers.items() if key[:7] == "option "
        }
        assert found == {path: option["value"] for path, option in wanted.items()}
        for path, option in wanted.items():
            assert answers[f"explain {path}"].startswith(f"forward:{path} = ")
            assert answers[f"explain {path}"].endswith(f" from {option['origin']}")

    def test_values_have_types(self, answers: dict[str, str], kinds: Path) -> None:
        assert (answers["long"], answers["text"], answers["none"]) == ("4", "4", "null")
        assert answers["kind"] == "102 ReferenceCpuBackend.num_threads: the value has another kind"
        assert answers["missing"] == "13 ReferenceCpuBackend.nothing: no such option"
        resolution = etconfig.load_bundle(kinds).resolve(
            empty_sheet(), etconfig.load_bundle(kinds).profile_names[0]
        )
        (slot,) = (each for each in resolution.slots if (each.method, each.instance) == ("forward", None))
        wanted = {
            f"{backend}.{name}": getattr(option, "value", None)
            for backend, options in slot.backends.items()
            for name, option in options.items()
        }
        found = {
            key.partition(" ")[2]: json.loads(text) for key, text in answers.items() if key[:6] == "value "
        }
        assert found == wanted
        assert json.loads(answers["is_on"]) == wanted["WideBackend.is_on"]
        assert float(answers["scale"]) == wanted["WideBackend.scale"]

    def test_an_update_says_what_changed_and_keeps_the_arguments_if_it_fails(
        self, answers: dict[str, str]
    ) -> None:
        assert answers["empty"] == "true"
        assert answers["at execute"] == "[ReferenceCpuBackend.num_threads]"
        assert answers["at load"] == "[]"
        problem = (
            "15 {}: unknown fact|forward:ReferenceCpuBackend.num_threads: cpu.available_cores has no value: "
            "cpu.available_cores is not known on this device"
        )
        assert answers["update"] == problem.format("update")
        assert answers["resolve"] == problem.format("forward")
        assert answers["kept"] == "8"
        assert answers["method"] == "11 decode@left: no such method"

    def test_variants_follow_each_other(self, answers: dict[str, str]) -> None:
        assert (answers["model"], answers["next"]) == ("digits_xnnpack.pte", "digits.onnx")
        assert answers["variants"] == "[digits_xnnpack.pte, digits.onnx]"
        assert (answers["index"], answers["backends"]) == ("1", "null XnnpackBackend")
        assert answers["backend"] == "IllegalArgumentException no variant 2"
        assert answers["failed"] == "its load failed: code é 0x12"
        assert answers["chosen"] == "XnnpackBackend is in runtime.backends"
        assert answers["last"] == "null"
        assert answers["variant"] == "IllegalArgumentException no variant 2"
        assert answers["no model"] == "19 nothing: no such model"

    def test_usage_is_recorded(self, answers: dict[str, str], bundle: Path) -> None:
        found, named = (json.loads(answers[each].rstrip("|")) for each in ("usage", "usage all"))
        assert (found["profile"], found["reason"], found["model"]) == ("acme/board", "fallback", "digits")
        assert found["rejected"] == [
            {"variant": "digits_xnnpack.pte", "reason": "its load failed: code é 0x12"}
        ]
        assert found["bundle"] == etconfig.load_bundle(bundle).id
        assert len(found["options"]) == 7
        assert found["facts"]["cpu.available_cores"] == 4
        given = {"device": "phone é 😀", "at": 1700000000000}
        durations = {"load": 8200, "first_run": 900.5, "p50": 310, "p95": 402.25, "runs": 100}
        assert named == {**found, **given, "durations_us": durations}
        failed = {**named, "reason": "error", "failure": 'it "crashed"'}
        assert json.loads(answers["usage failed"].rstrip("|")) == failed
        assert (answers["usage reason"], answers["usage failed reason"]) == ("FALLBACK", "ERROR")
        assert json.loads(answers["usage without arguments"].rstrip("|"))["failure"] == "no such method"
        assert answers["usage order"] == "101 usage: open, select or resolve first"
        assert answers["usage negative"] == "IllegalArgumentException -1 is negative"
        assert answers["usage duration"] == "IllegalArgumentException NaN is not a duration"
        assert answers["usage text"] == "IllegalArgumentException a text has a null character"

    def test_errors_are_exceptions_with_a_message(self, answers: dict[str, str]) -> None:
        assert answers["damaged"] == "3 the bundle: damaged"
        assert answers["not a bundle"] == answers["no bytes"] == "1 the bundle: not a bundle"
        assert answers["order"] == "101 forward: open, select or resolve first"
        assert answers["no fact"] == "4 cpu.nothing: the bundle reads no such fact"
        not_a_value = "5 cpu.available_cores: not a value of this fact"
        assert answers["wrong fact"] == answers["wrong type"] == not_a_value
        assert answers["null"].startswith("NullPointerException")
        assert answers["null text"].startswith("NullPointerException")
        assert answers["null character"] == "IllegalArgumentException a text has a null character"
        assert answers["no profile"] == "10 tablet: no such profile"
        assert answers["no match"] == "IllegalArgumentException the bundle has no profile tablet"

    def test_a_closed_device_refuses_every_call(self, answers: dict[str, str]) -> None:
        assert answers["closed"] == answers["closed list"] == "IllegalStateException the device is closed"

    def test_threads_wait_for_each_other(self, answers: dict[str, str]) -> None:
        assert answers["failures"] == "[]"
        assert answers["stopped"] == "the device is closed"


@pytest.fixture(scope="module")
def said(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The answers of UseDelivery, for bundles of revisions 1 and 2, the latter until a second of 1970."""
    pytest.importorskip("cryptography", reason="the extra [sign] is not installed")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

    place = tmp_path_factory.mktemp("delivery")
    keys = [Ed25519PrivateKey.generate() for _ in range(2)]
    for number, key in enumerate(keys):
        (place / f"key-{number}").write_bytes(key.public_key().public_bytes_raw())
    packed = DeviceBundle(small_tables())
    first = packed.released(revision=1).signed(keys[0].sign)
    until = datetime(1970, 1, 2, tzinfo=timezone.utc)
    second = packed.released(revision=2, not_after=until).signed(keys[1].sign)
    for name, each in (("plain", packed), ("first", first), ("second", second)):
        (place / name).write_bytes(each.to_bytes())
    java = ("java", "-Xcheck:jni", f"-Djava.library.path={built}", "-cp", built, "UseDelivery", place)
    lines = run(*java).splitlines()
    assert not [line for line in lines if line.startswith("WARNING")]
    key = load_der_public_key((place / "java.der").read_bytes())
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (place / "java.pem").write_bytes(pem)
    etconfig.load_bundle(place / "java.etbundle").check_signature(place / "java.pem")
    return dict(line.split("\t", 1) for line in lines)


class TestDelivery:
    """Java verifies what `cryptography` signed, and the other way round; its store keeps the last good."""

    def test_signatures_are_verified(self, said: dict[str, str]) -> None:
        assert said["id"] == FINGERPRINT[:16]
        assert (said["signed"], said["either key"]) == ("1", "2")
        assert said["other key"] == said["changed"] == said["no key"] == "24 the bundle: wrong signature"
        assert said["unsigned"] == "23 the bundle: not signed"
        assert said["unsigned is normal"] == "0"
        assert said["short key"] == "IllegalArgumentException a public key has 32 bytes"
        assert said["no algorithm"].startswith("IllegalStateException no provider")

    def test_old_and_expired_bundles_are_refused(self, said: dict[str, str]) -> None:
        assert said["old"] == "25 the bundle: old revision"
        assert (said["valid"], said["until"]) == ("2", "86400")
        assert said["expired"] == "26 the bundle: expired"

    def test_the_store_keeps_the_last_good_bundle(self, said: dict[str, str]) -> None:
        assert said["empty"] == "null"
        assert said["confirmed"] == said["confirmed again"] == "1"
        assert said["trials"] == "[2, 2, 2, 1, 1]"
        assert said["again"] == "28 the bundle: rolled back before"
        assert said["lower"] == "25 the bundle: old revision"
        assert said["not loaded"] == "22 the bundle: of a bundle that was replaced"
        assert said["nowhere"] == "29 the store: the store cannot be read or written"


@pytest.mark.device
def test_the_kotlin_class_answers_as_the_java_class(built: Path, bundle: Path, tmp_path: Path) -> None:
    compiler = kotlin_compiler()
    sources = (JAVA / "src" / "main" / "kotlin" / "org" / "etconfig" / "device", SOURCES)
    kotlin = [each for directory in sources for each in sorted(directory.glob("*.kt"))]
    run(compiler, "-Werror", "-include-runtime", "-cp", built, "-d", tmp_path / "use.jar", *kotlin)
    path = f"{tmp_path / 'use.jar'}{os.pathsep}{built}"
    lines = run("java", f"-Djava.library.path={built}", "-cp", path, "UseDeviceConfigKt", bundle).splitlines()
    assert lines[1:] == [
        "4",
        "7",
        "null",
        "forward:ReferenceCpuBackend.num_threads = 4 from profile profiles/acme/board.toml:6:1 "
        "(expr cpu.available_cores)",
        "[ReferenceCpuBackend.num_threads]",
        "digits_xnnpack.pte",
        "digits.onnx",
        "1 null XnnpackBackend",
        "its load failed: code 0x12",
        "FALLBACK 1",
        "cpu.available_cores: not a value of this fact",
        "the device is closed",
    ]


@pytest.mark.device
def test_what_gradle_builds_is_built_on_a_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the arguments and the target of the Gradle project, but without the NDK."""
    monkeypatch.setenv("JAVA_HOME", str(java_home()))
    gradle = (JAVA.parent / "android" / "build.gradle").read_text()
    arguments, targets = (
        re.findall(r'"([^"]+)"', line)
        for line in re.findall(r"^ +(?:arguments|targets) (.+)$", gradle, re.MULTILINE)
    )
    run(cmake(), "-S", JAVA.parents[1], "-B", tmp_path, *arguments)
    run(cmake(), "--build", tmp_path, "--target", *targets)
    (library,) = re.findall(
        r'loadLibrary\("(\w+)"\)', (JAVA / "src/main/java/org/etconfig/device/Device.java").read_text()
    )
    assert (tmp_path / f"lib{library}.so").is_file()


JAVA_PAGE = Page(ROOT / "docs" / "device-api.md")


def follow_sections(tmp_path: Path, *headings: str) -> None:
    """Follow sections of the page, after the blocks before them that write and pack the profile."""
    home = tmp_path / "home"
    home.mkdir()
    shell = Shell(home, write_commands(tmp_path / "bin"))
    lines = JAVA_PAGE.text.splitlines()
    for fence in JAVA_PAGE.fences():
        heading = next(line for line in reversed(lines[: fence.line]) if line.startswith(("# ", "## ")))
        is_setup = fence.file == "profiles/acme/phone.toml" or "etconfig pack --profile-path" in fence.text
        if heading in headings or is_setup:
            shell.do(JAVA_PAGE, fence)


def test_the_example_in_java_prints_what_the_page_shows(tmp_path: Path) -> None:
    java_home()
    system_compiler()
    follow_sections(tmp_path, "## In Java")


@pytest.mark.device
def test_the_example_in_kotlin_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_home()
    monkeypatch.setenv("PATH", f"{Path(kotlin_compiler()).parent}{os.pathsep}{os.environ['PATH']}")
    follow_sections(tmp_path, "## In Java", "## In Kotlin")
