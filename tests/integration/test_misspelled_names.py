"""Names that no schema checks, of plugins and of backends among facts: a near one is a warning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import DEVICE, ON_DEVICE, Outcome

RUNS = (
    ("resolve", "model.pte"),
    ("explain", "ReferenceCpuBackend.num_threads", "model.pte"),
    ("diff", "generic/any", "generic/any", "--program", "model.pte"),
    ("matrix", "model.pte"),
    ("lock", "model.pte"),
)
CHOICES = {
    "deny": 'deny = ["NAME"]',
    "allow": 'allow = ["*", "NAME"]',
    "prefer": 'prefer = { ReferenceCpuBackend = "NAME" }',
    "prefer, of a backend": 'prefer = { "NAME" = "etconfig-reference" }',
}
PLUGINS = {
    "etconfig-refrence": "etconfig-reference",
    "ReferenceCpuBakend": "ReferenceCpuBackend",
    "etconfig_referenec": "etconfig-reference",
    "acme-npu": None,
    "etconfig-tvm": None,
}
BACKENDS = {
    "XnnpackBakend": "XnnpackBackend",
    "referencecpubackend": "ReferenceCpuBackend",
    "ReferenceNpuBackendd": "ReferenceNpuBackend",
    "QnnBackend": None,
    "AcmeBackend": None,
    "XnnpackBackend": None,
}


def _warnings(done: Outcome, code: str) -> list[str]:
    """Return the lines of all warnings with this code, and of their help."""
    lines = (done.stdout + done.stderr).split("\n")
    heads = [line for line in lines if line.startswith(f"warning[{code}]: ")]
    return heads + [line for line in lines if "did you mean" in line]


def test_a_plugin(cli: Callable[..., Outcome], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = []

    def check(where: str, name: str, meant: str | None, *commands: tuple[str, ...]) -> None:
        head = f"warning[unknown-plugin]: {name!r} names no installed plugin"
        expected = [] if meant is None else [head, f"  = help: did you mean {meant!r}?"]
        for command in commands:
            found = _warnings(cli(*command), "unknown-plugin")
            if found != expected:
                wrong.append((where, name, command, found))

    resolve = ("resolve", "model.pte", *ON_DEVICE)
    for name, meant in PLUGINS.items():
        for where, line in CHOICES.items():
            (place / "etconfig.toml").write_text("[plugins]\n" + line.replace("NAME", name))
            check(where, name, meant, ("validate", "etconfig.toml"), resolve)
        (place / "etconfig.toml").unlink()
        monkeypatch.setenv("ETCONFIG_DISABLE_PLUGINS", name)
        check("the variable", name, meant, resolve)
        assert cli("doctor").stdout.count(f"{name!r} names no installed plugin") == 1
        monkeypatch.delenv("ETCONFIG_DISABLE_PLUGINS")
    assert not wrong


def test_a_backend_among_the_facts(cli: Callable[..., Outcome], place: Path) -> None:
    (place / "board.toml").write_text(
        "[profile]\nname = 'board'\n[options.ReferenceCpuBackend]\nnum_threads = 1\n"
    )
    others = (
        ("facts",),
        ("backends", "ReferenceCpuBackend"),
        ("profiles", "match"),
        ("validate", "board.toml"),
    )
    wrong = []
    for name, meant in BACKENDS.items():
        facts = {each: {"value": value} for each, value in DEVICE.items()}
        facts["runtime.backends"] = {"value": [name]}
        Path("listed.json").write_text(json.dumps({"etconfig_fact_sheet": 1, "facts": facts}))
        for command in (*RUNS, *others):
            by_hand = (*ON_DEVICE, "--fact", f"runtime.backends={name}")
            for device in (by_hand, ("--facts", "listed.json")):
                found = _warnings(cli(*command, *device), "unknown-backend")
                shown = [line.split(" from ")[0] for line in found]
                head = f"warning[unknown-backend]: {name!r} in the fact runtime.backends,"
                expected = [] if meant is None else [head, f"  = help: did you mean {meant!r}?"]
                if shown != expected:
                    wrong.append((name, command, device, found))
    assert not wrong
