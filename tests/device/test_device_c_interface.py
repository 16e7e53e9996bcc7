"""`etconfig_device.h`: the C interface, called through ctypes."""

from __future__ import annotations

import ctypes
import json
import platform
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from bundle_tables import FINGERPRINT, named_tables
from c_interface import PROTOTYPES, STATUSES, Device, build_library, text_array
from device_stacks import Stack, random_sheet

import etconfig
from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.errors import EtconfigError
from etconfig.facts.sheet import FactSheet
from etconfig.resolver.deciding.resolution import Resolution

TABLES = named_tables()
DIGITS = Path(__file__).parents[1] / "data" / "digits"
_PROBLEMS = {
    "MISSING_OPTION": "missing-option",
    "UNKNOWN_FACT": "unknown-fact-value",
    "EVALUATION_FAILED": "evaluation-failed",
    "INVALID_VALUE": "invalid-value",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library, built as its header says."""
    return build_library(tmp_path_factory.mktemp("library") / "libetconfig_device.so")


@pytest.fixture
def device(library: ctypes.CDLL) -> Device:
    """An object with the small bundle."""
    return Device(library, write_tables(TABLES))


@pytest.fixture
def models(library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """An object with a bundle that has a model of three variants."""
    for name in ("digits.pte", "digits_xnnpack.pte"):
        shutil.copy(DIGITS / name, tmp_path / name)
    (tmp_path / "etconfig.toml").write_text(
        "[model.digits]\nfallback = true\n"
        '[[model.digits.variants]]\nfile = "digits_xnnpack.pte"\nwhen = "cpu.available_cores >= 2"\n'
        '[[model.digits.variants]]\nfile = "digits_xnnpack.pte"\nwhen = "power.source == \\"mains\\""\n'
        '[[model.digits.variants]]\nfile = "digits_xnnpack.pte"\n'
    )
    monkeypatch.chdir(tmp_path)
    bundle = etconfig.pack_bundle(profiles=["generic/any"])
    return Device(library, bundle.to_bytes())


class TestCInterface:
    """The C functions do what the C++ classes do."""

    def test_a_compiler_for_c_accepts_the_header(self, tmp_path: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        (tmp_path / "use.c").write_text(
            "#include <etconfig/etconfig_device.h>\nint main(void) { return (int)sizeof(size_t) - 8; }\n"
        )
        command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        subprocess.run([*command, f"-I{device_include_dir()}", "-c", "use.c"], cwd=tmp_path, check=True)

    def test_every_function_of_the_header_is_in_the_library(self, library: ctypes.CDLL) -> None:
        assert len(PROTOTYPES) == 70
        assert all(hasattr(library, f"etconfig_device_{name}") for name in PROTOTYPES)

    def test_the_library_has_the_version_of_the_header(self, library: ctypes.CDLL) -> None:
        header = (device_include_dir() / "etconfig" / "etconfig_device.h").read_text()
        assert f"#define ETCONFIG_DEVICE_VERSION {library.etconfig_device_version()}\n" in header

    def test_every_status_has_a_name(self, library: ctypes.CDLL) -> None:
        names = {library.etconfig_device_status_name(status) for status in STATUSES}
        assert len(names) == len(STATUSES)
        assert library.etconfig_device_status_name(-1) == b"unknown status"
        assert library.etconfig_device_status_name(99) == b"unknown status"

    def test_a_profile_is_selected_and_resolved(self, device: Device) -> None:
        assert device.opened == "OK"
        assert (device.call("producer"), device.call("fingerprint")) == ("etconfig 0.1.0", FINGERPRINT)
        assert (device.call("id"), device.call("sources")) == (FINGERPRINT[:16], "")
        assert device.status("select") == "NO_MATCH"
        assert device.set("cpu.cores", 6) == "OK"
        assert device.status("select") == "OK"
        assert (device.call("profile"), device.call("is_fallback")) == ("phone", 0)
        assert device.written("explain_match", 0) == "cores > 4 holds: cpu.cores is 6"
        assert device.listed("method") == ["forward", "forward"]
        assert [device.call("instance", index) for index in range(3)] == [None, "left", None]
        assert device.status("resolve", "forward", None) == "OK"
        assert device.integer("B", "threads") == 6
        assert device.written("explain", "forward:B.threads") == "forward:B.threads = 6 from a.toml:3:1"
        assert device.call("origin", "B", "threads") == "a.toml:3:1"
        assert device.written("text", "B", "threads") == device.written("json", "B", "threads") == "6"
        assert (device.integer("B", "fast"), device.integer("B", "nothing")) == (
            "OTHER_KIND",
            "NO_SUCH_OPTION",
        )
        assert list(zip(device.listed("option_backend"), device.listed("option_name"), strict=True)) == [
            ("B", "threads"),
            ("B", "fast"),
        ]
        assert device.value("B", "fast") == json.loads(device.written("json", "B", "fast"))

    def test_only_an_accepted_bundle_replaces_the_one_before(self, device: Device) -> None:
        device.set("cpu.cores", 6)
        device.call("select")
        assert device.status("resolve", "forward", None) == "OK"
        assert device.status("open", b"x", 1) == "NOT_A_BUNDLE"
        assert device.call("profile") == "phone"
        assert device.integer("B", "threads") == 6
        again = write_tables(TABLES)
        assert device.status("open", again, len(again)) == "OK"
        assert device.call("profile") is None
        assert device.integer("B", "threads") == "WRONG_ORDER"
        assert device.call("option_name", 0) is None

    def test_an_update_lists_the_options_that_changed(self, device: Device) -> None:
        device.set("cpu.cores", 6)
        device.call("select")
        assert device.status("resolve", "forward", "left") == "OK"
        assert device.update() == ("OK", 0, 0)
        assert device.listed("changed_name") == []
        device.set("cpu.cores", 64)
        assert device.update() == ("OK", 1, 1)
        assert (device.listed("changed_backend"), device.listed("changed_name")) == (["B"], ["threads"])
        assert device.call("is_changed", "B", "threads") == 1
        assert device.call("applies_at_execute", "B", "threads") == 1
        assert device.call("applies_at_execute", "B", "fast") == 0
        device.set("cpu.cores", 65)
        assert device.update() == ("INVALID_VALUE", 0, 0)
        assert device.integer("B", "threads") == 64
        assert (device.listed("changed_name"), device.call("is_changed", "B", "threads")) == ([], 0)

    def test_options_without_a_value_are_problems(self, device: Device) -> None:
        device.set("cpu.cores", 64)
        device.call("select")
        assert device.status("resolve", "forward", None) == "OK"
        assert device.call("problem_status", 0) == -1
        line = "forward:B.threads: the option does not accept the value of cores from a.toml:3:1"
        device.set("cpu.cores", 65)
        for attempt in (device.update()[0], device.status("resolve", "forward", None)):
            assert attempt == "INVALID_VALUE"
            assert STATUSES[device.call("problem_status", 0)] == "INVALID_VALUE"
            assert device.written("problem", 0) == line
            assert (device.call("problem_status", 1), device.written("problem", 1)) == (-1, "")

    def test_wrong_facts_and_names_have_a_status(self, device: Device) -> None:
        assert device.set("cpu.cores", 0) == "WRONG_FACT"
        assert device.set("cpu.cores", "6") == "WRONG_FACT"
        assert device.set("cpu.nothing", "6") == "NO_SUCH_FACT"
        assert device.status("set_unknown", "cpu.nothing", "why") == "NO_SUCH_FACT"
        assert device.status("forget", "cpu.nothing") == "NO_SUCH_FACT"
        assert device.status("set_unknown", "cpu.cores", b"\xff") == "BAD_TEXT"
        assert device.status("use_profile", "tablet") == "NO_SUCH_PROFILE"
        assert device.status("resolve", "forward", None) == "NO_SUCH_PROFILE"
        assert device.status("use_profile", "phone") == "OK"
        assert device.status("resolve", "forward", "right") == "NO_SUCH_INSTANCE"
        assert device.status("resolve", "decode", None) == "NO_SUCH_METHOD"

    def test_facts_are_listed_with_kind_unit_and_whether_they_are_live(self, device: Device) -> None:
        assert device.listed("fact_name") == ["cpu.cores", "cpu.model"]
        assert [device.call("fact_kind", index) for index in range(3)] == [2, 4, -1]
        assert [device.call("fact_unit", index) for index in range(3)] == [None, None, None]
        assert [device.call("fact_is_live", index) for index in range(3)] == [0, 1, -1]

    def test_an_unknown_fact_keeps_a_copy_of_its_reason(self, device: Device) -> None:
        reason = ctypes.create_string_buffer(b"the service did not answer")
        device.set("cpu.cores", 6)
        assert device.status("set_unknown", "cpu.cores", ctypes.cast(reason, ctypes.c_char_p)) == "OK"
        reason.value = b"x" * 26
        sheet = json.loads(device.written("facts_json"))
        assert sheet["facts"]["cpu.cores"] == {
            "unknown": "the service did not answer",
            "origin": "override application",
        }
        assert device.status("select") == "NO_MATCH"
        assert device.status("forget", "cpu.cores") == "OK"
        assert json.loads(device.written("facts_json"))["facts"] == {}

    def test_damaged_bytes_are_refused(self, library: ctypes.CDLL) -> None:
        assert Device(library, b"text").opened == "NOT_A_BUNDLE"
        assert Device(library, write_tables(TABLES)[:-4]).opened == "DAMAGED"

    def test_buffers_that_are_too_small_are_filled(self, device: Device) -> None:
        device.set("cpu.cores", 6)
        buffer = ctypes.create_string_buffer(b"................")
        assert device.call("explain_match", 0, buffer, 8) == len("cores > 4 holds: cpu.cores is 6")
        assert buffer.raw[:9] == b"cores >\0."


class TestMisuse:
    """No call crashes: neither NULL nor calls in another order."""

    def test_null_for_the_object_is_refused_by_every_function(self, library: ctypes.CDLL) -> None:
        for name, (result, parameters) in PROTOTYPES.items():
            if not parameters.startswith(("etconfig_device* ", "const etconfig_device* ")):
                continue
            function = getattr(library, f"etconfig_device_{name}")
            zeros = [None if "*" in each or "char" in each else 0 for each in parameters.split(", ")]
            returned = function(*zeros)
            if result == "int" and returned != -1:
                assert STATUSES[returned] == "BAD_ARGUMENT", name
            else:
                assert returned in (None, 0, -1), name

    @pytest.mark.parametrize("opened", [False, True])
    def test_null_for_anything_else_is_refused(self, library: ctypes.CDLL, opened: bool) -> None:
        device = Device(library, write_tables(TABLES) if opened else None)
        for name, (result, parameters) in PROTOTYPES.items():
            first, *others = parameters.split(", ")
            if (
                "device" not in first
                or name in ("create", "update", "usage_reason")
                or not any("*" in each for each in others)
            ):
                continue
            zeros = [None if "*" in each else 0 for each in others]
            returned = device.call(name, *zeros)
            if result == "int" and returned != -1:
                expected = {"BAD_ARGUMENT"} if name != "set_backends" else {"OK", "WRONG_ORDER"}
                assert STATUSES[returned] in expected, name
            elif name != "facts_json":
                assert returned in (None, 0, -1) or opened, name

    def test_calls_before_open_select_and_resolve_say_so(self, library: ctypes.CDLL) -> None:
        device = Device(library)
        assert (
            device.status("detect") == device.set("cpu.cores", 6) == device.status("select") == "WRONG_ORDER"
        )
        assert device.status("use_profile", "phone") == device.model("select_model", "m")[0] == "WRONG_ORDER"
        data = write_tables(TABLES)
        assert device.status("open", data, len(data)) == "OK"
        assert device.status("resolve", "forward", None) == "WRONG_ORDER"
        assert device.update() == ("WRONG_ORDER", 0, 0)
        assert device.integer("B", "threads") == "WRONG_ORDER"
        assert device.model("next_variant", "why") == ("WRONG_ORDER", None)
        assert device.written("explain", "B.threads") == device.written("explain_variant", 0) == ""
        assert device.call("is_fallback") == device.call("variant") == device.call("has_fallback") == -1

    def test_lists_with_null_in_them_are_refused(self, device: Device) -> None:
        assert device.status("set_backends", text_array(["A", None]), 2) == "OK"  # it does not read the fact
        assert device.status("set_texts", "cpu.model", None, 2) == "BAD_ARGUMENT"
        assert device.status("set_texts", "cpu.model", text_array([None]), 1) == "BAD_ARGUMENT"
        assert device.status("set_texts", "cpu.model", text_array(["a"] * 1025), 1025) == "FACTS_FULL"

    def test_memory_that_is_too_small_or_not_aligned_is_refused(self, library: ctypes.CDLL) -> None:
        size = library.etconfig_device_size()
        memory = ctypes.create_string_buffer(size + 16)
        assert library.etconfig_device_create(None, size) is None
        assert library.etconfig_device_create(memory, size - 1) is None
        assert library.etconfig_device_create(ctypes.addressof(memory) + 1, size) is None


class TestModels:
    """Variants of models are chosen and explained, and follow each other after failed loads."""

    def test_a_file_of_an_engine_has_its_backend(self, library: ctypes.CDLL, tmp_path: Path) -> None:
        shutil.copy(DIGITS / "digits_portable.pte", tmp_path)
        (tmp_path / "m.onnx").touch()
        (tmp_path / "etconfig.toml").write_text(
            '[[model.m.variants]]\nfile = "m.onnx"\nbackend = "ReferenceCpuBackend"\n'
            '[[model.m.variants]]\nfile = "digits_portable.pte"\n'
        )
        here = etconfig.Installation().with_project(tmp_path / "etconfig.toml")
        device = Device(library, etconfig.pack_bundle(profiles=["generic/any"], installation=here).to_bytes())
        assert device.call("variant_backend", 0) is None
        assert device.model("select_model", "m") == ("OK", "digits_portable.pte")
        assert device.status("set_backends", text_array(["ReferenceCpuBackend"]), 1) == "OK"
        assert device.model("select_model", "m") == ("OK", "m.onnx")
        backends = [device.call("variant_backend", index) for index in range(3)]
        assert backends == ["ReferenceCpuBackend", None, None]

    def test_a_model_is_selected_with_the_facts(self, device: Device) -> None:
        assert device.model("select_model", "nothing") == ("NO_SUCH_MODEL", None)
        assert device.listed("model_name") == ["cpu.model"]
        assert device.model("select_model", "cpu.model") == ("NO_VARIANT", None)
        assert device.model("next_variant", "code 0x12") == ("NO_VARIANT", None)
        assert (device.call("variant"), device.call("has_fallback")) == (-1, 1)

    def test_variants_follow_each_other_as_in_python(self, models: Device) -> None:
        facts = {"cpu.available_cores": 4, "runtime.backends": ["XnnpackBackend"], "power.source": "battery"}
        assert models.set("cpu.available_cores", 4) == models.set("power.source", "battery") == "OK"
        assert models.status("set_backends", text_array(["XnnpackBackend"]), 1) == "OK"
        assert models.model("select_model", "digits") == ("OK", "digits_xnnpack.pte")
        assert (models.call("variant"), models.call("has_fallback")) == (0, 1)
        assert models.listed("variant_file") == ["digits_xnnpack.pte"] * 3
        choice = etconfig.select_model("digits", facts=_sheet(facts))
        self._compare(models, choice)
        reason = ctypes.create_string_buffer(b"code 0x12")
        assert models.status("next_variant", ctypes.cast(reason, ctypes.c_char_p), None) == "OK"
        reason.value = b"gone"
        after = choice.next("code 0x12")
        assert after is not None
        assert models.call("variant") == 2
        self._compare(models, after)
        assert models.model("next_variant", "again") == ("NO_VARIANT", None)

    def _compare(self, models: Device, choice: etconfig.ModelChoice) -> None:
        expected = {choice.variant.number - 1: "\n".join(choice.reasons)}
        expected |= {each.variant.number - 1: "\n".join(each.reasons) for each in choice.rejected}
        assert {number: models.written("explain_variant", number) for number in range(3)} == expected
        assert models.written("explain_variant", 3) == ""

    def test_a_device_answers_whether_a_program_fits(self, library: ctypes.CDLL, tmp_path: Path) -> None:
        program = etconfig.load_program(DIGITS / "digits_portable.pte")
        needed = etconfig.memory_need(program).peak.size_bytes
        bundle = etconfig.pack_bundle(program, profiles=["generic/any"], with_memory=True)
        device = Device(library, bundle.to_bytes())
        assert device.status("set_backends", text_array([]), 0) == "OK"
        for fact, size, answer in (
            ("memory.total", needed, ("OK", "digits_portable.pte")),
            ("memory.available", needed - 1, ("NO_VARIANT", None)),
            ("memory.available", needed, ("OK", "digits_portable.pte")),
        ):
            assert device.set(fact, size) == "OK"
            assert device.model("select_model", "digits_portable") == answer
        assert f"memory.available >= {needed}" in device.written("explain_variant", 0)

    def test_a_long_reason_is_cut_at_a_whole_character(self, models: Device) -> None:
        models.set("cpu.available_cores", 4)
        models.status("set_backends", text_array(["XnnpackBackend"]), 1)
        assert models.model("select_model", "digits")[0] == "OK"
        assert models.model("next_variant", "é" * 200)[0] == "OK"
        assert models.written("explain_variant", 0) == "its load failed: " + "é" * 127


@pytest.mark.skipif(platform.system() == "Windows", reason="facts.h detects nothing on Windows")
def test_the_detected_facts_are_those_of_python(library: ctypes.CDLL) -> None:
    bundle = etconfig.pack_bundle()
    device = Device(library, bundle.to_bytes())
    assert device.status("detect") == "OK"
    found = json.loads(device.written("facts_json"))["facts"]
    detected = json.loads(etconfig.detect_facts().to_json())["facts"]
    live = {name for i, name in enumerate(device.listed("fact_name")) if device.call("fact_is_live", i)}
    own = {name for name in bundle.facts_read if name.startswith(("runtime.", "gpu."))}
    compared = set(bundle.facts_read) - live - own
    assert len(compared) > 5
    assert {name: found[name] for name in compared} == {name: detected[name] for name in compared}
    sheet = FactSheet.from_json(device.written("facts_json"), "device.json")
    units = {name: device.call("fact_unit", i) for i, name in enumerate(device.listed("fact_name"))}
    assert {name: found[name].get("unit") for name in compared} == {name: units[name] for name in compared}
    assert "bytes" in units.values()
    assert device.status("select") == "OK"
    selection = bundle.select(sheet)
    assert device.call("profile") == selection.profile
    assert device.call("is_fallback") == selection.is_fallback


def _sheet(facts: dict[str, object]) -> FactSheet:
    entries = {name: {"value": value} for name, value in facts.items()}
    return FactSheet.from_json(json.dumps({"etconfig_fact_sheet": 1, "facts": entries}), "sheet.json")


def _values(
    resolution: Resolution, method: str, instance: str | None
) -> dict[tuple[str, str], tuple[object, str]]:
    return {
        (backend, name): (
            resolved.options.to_jsonable()[name],
            str(resolved.provenance(name).winner.origin),
        )
        for arguments in resolution
        if (arguments.method, arguments.instance) == (method, instance)
        for backend, resolved in arguments.backends.items()
        for name in resolved.candidates
    }


class TestRandomStacks:
    """The answers through the C interface are those of Python's resolver."""

    def _answers(self, device: Device) -> dict[tuple[str, str], tuple[object, str]]:
        names = zip(device.listed("option_backend"), device.listed("option_name"), strict=True)
        return {each: (device.value(*each), device.call("origin", *each)) for each in names}

    def _compare(self, device: Device, stack: Stack, name: str, sheet: FactSheet) -> int:
        for fact in device.listed("fact_name"):
            device.status("forget", fact)
            if fact in sheet.values:
                assert device.set(fact, sheet.values[fact]) == "OK"
        try:
            resolution = stack.resolve(name, sheet)
        except EtconfigError as error:
            return self._compare_problems(device, {each.code for each in error.diagnostics})
        for arguments in resolution:
            label = (arguments.method, arguments.instance)
            assert device.status("resolve", *label) == "OK"
            assert self._answers(device) == _values(resolution, *label)
        return 1

    def _compare_problems(self, device: Device, codes: set[str]) -> int:
        """Check that no method instance has another problem; those of the whole process are not one's own."""
        found: set[str] = set()
        for index, method in enumerate(device.listed("method")):
            device.call("resolve", method, device.call("instance", index))
            for number in range(99):
                status = device.call("problem_status", number)
                if status == -1:
                    break
                found.add(_PROBLEMS[STATUSES[status]])
        assert codes - {"process-scope-conflict"} <= found
        assert found - {"missing-option"} <= codes
        return 0

    def test_selection_values_origins_and_problems(self, library: ctypes.CDLL, tmp_path: Path) -> None:
        resolved = 0
        for seed in range(70):
            rng = random.Random(seed)
            directory = tmp_path / str(seed)
            directory.mkdir()
            try:
                stack = Stack(rng, directory)
                device = Device(library, write_tables(stack.tables()))
            except EtconfigError:
                continue
            for number in range(4):
                sheet = random_sheet(rng, directory / f"{number}.json")
                wanted = stack.expected_selection(sheet)["profile"]
                name = wanted or rng.choice(sorted(stack.resolvers))
                assert device.status("use_profile", name) == "OK"
                resolved += self._compare(device, stack, name, sheet)
                device.call("select")
                assert device.call("profile") == wanted
        assert resolved > 100
