"""The Gradle project and the podspec: their text, since neither an NDK, Gradle nor CocoaPods is here.

Brackets and texts close, every path exists, the version is read from the headers, and CMake builds the target
that Gradle would ask for (`test_device_java.py`). With Ruby on the PATH, `ruby -c` reads the podspec.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import etconfig
from etconfig.device import device_include_dir

DEVICE = device_include_dir().parent
ANDROID = DEVICE / "bindings" / "android"
POD = DEVICE / "EtconfigDevice.podspec"
FILES = (ANDROID / "build.gradle", ANDROID / "settings.gradle", POD)
TOKEN = re.compile(
    r"""//[^\n]*|(?<!["'/\w])[#](?!\{)[^\n]*|/[^/\n ]+/"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[(){}\[\]"']|\b(?:do|end)\b"""
)
"""Comments, patterns, texts, and what has a partner."""

PAIRS = {")": "(", "}": "{", "]": "[", "end": "do"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_brackets_and_texts_close(path: Path) -> None:
    waiting: list[str] = []
    for token in TOKEN.findall(path.read_text()):
        assert token not in ('"', "'"), f"a text does not close after {waiting}"
        if token in PAIRS:
            assert waiting.pop() == PAIRS[token]
        elif token in PAIRS.values():
            waiting.append(token)
    assert waiting == []


def test_the_paths_of_the_gradle_project_exist() -> None:
    named = re.findall(r'"(\.\./[^"]+)"', (ANDROID / "build.gradle").read_text())
    assert len(named) == 5
    assert [each for each in named if not (ANDROID / each).exists()] == []


def test_the_header_for_prefab_has_the_names_of_the_cmake_package() -> None:
    """`find_package(etconfig)` and `etconfig::device`, in an app for Android as elsewhere."""
    assert 'rootProject.name = "etconfig"' in (ANDROID / "settings.gradle").read_text()
    assert re.search(r"prefab \{\s+device \{", (ANDROID / "build.gradle").read_text())


def test_the_versions_are_read_from_the_headers() -> None:
    header = (device_include_dir() / "etconfig" / "version.h").read_text()
    for path in (ANDROID / "build.gradle", POD):
        text = path.read_text()
        assert "etconfig/version.h" in text
        assert "ETCONFIG_VERSION_" in text
        assert etconfig.__version__ not in text
    parts = [
        re.findall(f"ETCONFIG_VERSION_{each} ([0-9]+)", header)[0] for each in ("MAJOR", "MINOR", "PATCH")
    ]
    assert ".".join(parts) == etconfig.__version__


def test_the_files_of_the_pod_exist() -> None:
    text = POD.read_text()
    named = re.findall(r'"([\w/*.]+\.(?:cpp|h|swift))"', text)
    assert len(named) == 6
    assert [each for each in named if not list(DEVICE.glob(each))] == []


def test_ruby_reads_the_podspec() -> None:
    if (ruby := shutil.which("ruby")) is None:
        pytest.skip("no ruby on the PATH")
    subprocess.run([ruby, "-c", POD], check=True)
