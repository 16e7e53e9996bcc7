"""The Swift package: its text calls what the C interface has; it is compiled where a compiler is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_interface import PROTOTYPES
from doc_pages import ROOT, Page

from etconfig.device import device_include_dir

PACKAGE = device_include_dir().parent
SOURCE = PACKAGE / "bindings" / "swift" / "Sources" / "Device.swift"
NOT_CALLED = {
    "version",  # the library is a part of the package
    "abi",
    "usage_reason_name",  # an enum has the words
    "producer",
    "fingerprint",
    "sources",
    "fact_unit",
    "fact_kind",
    "model_name",
    "method",
    "instance",
    "origin",
    "is_changed",
    "has_fallback",
}


def arguments_of(text: str, start: int) -> int:
    """Return the number of arguments of a call whose opening parenthesis is before `start`."""
    depth, count = 1, 1
    for character in text[start:]:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            break
        count += depth == 1 and character == ","
    return count


class TestSwift:
    """`Device.swift` stands on `etconfig_device.h`."""

    def test_it_calls_the_functions_of_the_header_with_all_of_their_arguments(self) -> None:
        text = SOURCE.read_text()
        called = set()
        for call in re.finditer(r"\betconfig_device_(\w+)\(", text):
            if call[1] == "demands":  # a struct
                continue
            parameters = PROTOTYPES[call[1]][1]
            expected = 0 if parameters == "void" else parameters.count(",") + 1
            found = 0 if text[call.end()] == ")" else arguments_of(text, call.end())
            assert found == expected, call[0]
            called.add(call[1])
        assert called == set(PROTOTYPES) - NOT_CALLED

    def test_the_paths_of_the_manifest_exist(self) -> None:
        manifest = (PACKAGE / "Package.swift").read_text().partition("import")[2]
        named = re.findall(r'(?:path|publicHeadersPath): "([^"]+)"', manifest)
        named += re.findall(r'"([^"]+)"', "".join(re.findall(r"(?:exclude|sources): \[([^\]]*)\]", manifest)))
        assert len(named) == 9, named
        assert all((PACKAGE / each).exists() for each in named)

    def test_clang_imports_the_module_of_the_header_for_c(self, tmp_path: Path) -> None:
        clang = shutil.which("clang")
        if clang is None:
            pytest.skip("no clang on the PATH")
        (tmp_path / "use.c").write_text(
            "#pragma clang module import CEtconfigDevice\n"
            "unsigned f(void) { return etconfig_device_version(); }\n"
        )
        flags = [f"-I{device_include_dir()}", "-fmodules", f"-fmodules-cache-path={tmp_path / 'cache'}"]
        subprocess.run([clang, *flags, "-Werror", "-fsyntax-only", tmp_path / "use.c"], check=True)

    def test_the_page_shows_the_class_as_it_is(self) -> None:
        """Each method that the example calls is declared by the class."""
        page = Page(ROOT / "docs" / "device-api.md")
        (example,) = (fence.text for fence in page.fences() if fence.language == "swift")
        declared = set(re.findall(r"(?:func|var) (\w+)", SOURCE.read_text()))
        called = set(re.findall(r"\bdevice\.(\w+)", example))
        assert called
        assert called <= declared

    def test_a_compiler_builds_it(self, tmp_path: Path) -> None:
        if shutil.which("swift") is None:
            pytest.skip("no Swift compiler (swift) on the PATH")
        shutil.copytree(PACKAGE, tmp_path / "device")
        subprocess.run(["swift", "build"], cwd=tmp_path / "device", check=True)
