"""The text of the Kotlin class, which is compiled where a compiler is: it has what the Java class has."""

from __future__ import annotations

import re

from etconfig.device import device_include_dir

MAIN = device_include_dir().parent / "bindings" / "java" / "src" / "main"
JAVA = (MAIN / "java" / "org" / "etconfig" / "device" / "Device.java").read_text()
KOTLIN = (MAIN / "kotlin" / "org" / "etconfig" / "device" / "DeviceConfig.kt").read_text()


def test_every_public_method_of_the_java_class_is_called() -> None:
    methods = set(re.findall(r"^  public (?:synchronized )?[\w<>]+ (\w+)\(", JAVA, re.MULTILINE))
    assert len(methods) > 25
    # Kotlin reads isFallback() as a property, and takes close() over from AutoCloseable
    called = set(re.findall(r"\bdevice\.(\w+)", KOTLIN))
    assert called == methods - {"close"}
    assert "AutoCloseable by device" in KOTLIN
    assert KOTLIN.count("Device.open(bundle") == len(re.findall(r"public static Device open\(", JAVA)) == 3


def test_every_overload_of_set_is_there() -> None:
    java = re.findall(r"public synchronized void set\(String fact, ([\w<>]+) ", JAVA)
    kotlin = re.findall(r"operator fun set\(fact: String, values?: ([\w<>]+)\)", KOTLIN)
    names = {"boolean": "Boolean", "long": "Long", "double": "Double"}
    assert {names.get(each, each) for each in java} | {"Int"} == set(kotlin)


def test_brackets_are_balanced() -> None:
    code = re.sub(r'/\*.*?\*/|//[^\n]*|"[^"\n]*"', "", KOTLIN, flags=re.DOTALL)
    assert all(code.count(one) == code.count(other) for one, other in ("()", "{}"))
