"""The version of the C++ headers, and the mistakes of callers that a compiler or an assert reports."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from compilers import system_compiler
from device_programs import SANITIZED, STRICT

import etconfig
from etconfig.device import device_include_dir

pytestmark = pytest.mark.device

HEADERS = sorted((device_include_dir() / "etconfig").rglob("*.h"))
OPEN = """
#include <etconfig/device.h>
#include <etconfig/facts.h>
using namespace etconfig::device;
int main() {
  Bundle bundle;
  FactStore<4> facts;
  Arguments<4> arguments;
  %s
}
"""
IGNORED = (
    'bundle.open("", 0);',
    'bundle.set(&facts, "cpu.arch", "arm64");',
    'bundle.set_list(&facts, "runtime.backends", {"A"});',
    "bundle.select(facts);",
    'bundle.resolve(bundle.select(facts), facts, "forward", "", &arguments);',
    "bundle.update(facts, &arguments);",
    "arguments.status();",
    'facts.set("cpu.arch", "arm64");',
    "detect(bundle, &facts);",
)
OUT_OF_RANGE = (
    "bundle.fact(0);",
    "bundle.profile_name(0);",
    "bundle.profile_fingerprint(0);",
    "bundle.model_name(0);",
    "bundle.variant_count(0);",
    "arguments[0];",
    "arguments.backend(0);",
    "arguments.problem(0);",
    "facts.at(0);",
)


def syntax(code: str, directory: Path) -> str:
    """Return what the compiler says of a program."""
    source = directory / "program.cpp"
    source.write_text(code)
    command = [system_compiler(), *STRICT, f"-I{device_include_dir()}", "-fsyntax-only", source]
    return subprocess.run(command, capture_output=True, text=True).stderr


def test_the_version_is_that_of_the_package() -> None:
    text = (device_include_dir() / "etconfig" / "version.h").read_text()
    numbers = re.findall(r"ETCONFIG_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
    assert ".".join(numbers) == etconfig.__version__
    assert f"ETCONFIG_INLINE_NAMESPACE v{'_'.join(numbers)}\n" in text


def test_all_names_lie_in_the_namespace_of_the_version() -> None:
    """Libraries that were built with different headers can be linked into one program."""
    opened = re.compile(r"^namespace etconfig(?:::\w+)* \{\n(.*)$", re.MULTILINE)
    found = {path.name: set(opened.findall(path.read_text())) for path in HEADERS}
    found = {name: lines for name, lines in found.items() if lines}
    assert len(found) > 25
    assert set().union(*found.values()) == {"inline namespace ETCONFIG_INLINE_NAMESPACE {"}


def test_a_compiler_warns_of_a_status_that_nobody_reads(tmp_path: Path) -> None:
    assert syntax(OPEN % "(void)arguments.status();", tmp_path) == ""
    said = {line: syntax(OPEN % line, tmp_path) for line in IGNORED}
    assert [line for line, text in said.items() if "nodiscard" not in text] == []


def test_an_index_out_of_range_is_a_failed_assertion(tmp_path: Path) -> None:
    cases = "\n  ".join(f"if (count == {i + 2}) (void){line}" for i, line in enumerate(OUT_OF_RANGE))
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text((OPEN % cases).replace("main()", "main(int count, char**)"))
    flags = [*STRICT, *SANITIZED, f"-I{device_include_dir()}"]
    subprocess.run([system_compiler(), *flags, source, "-o", program], check=True)
    subprocess.run([program], check=True)
    for i, line in enumerate(OUT_OF_RANGE):
        done = subprocess.run([program, *"x" * (i + 1)], capture_output=True, text=True)
        assert "Assertion `index <" in done.stderr or "Assertion `model <" in done.stderr, line
