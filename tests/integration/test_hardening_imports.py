"""No text of a configuration is ever imported, called or run as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ON_DEVICE
from mutations import sharded

NAMES = (
    *("trap", "trap.run", "trap:run", "os.system", "logging.os.system", "builtins.eval", "subprocess.Popen"),
    *(
        "!!python/object/apply:os.system",
        "__import__('trap')",
        "${{trap.run}}",
        "$(touch sprung)",
        "`touch sprung`",
    ),
)
"""Names that other configuration languages would import, call or run. Importing `trap` leaves a file."""

POSITIONS = {
    "profile name": '[profile]\nname = "{0}"\n',
    "extends": '[profile]\nname = "p"\nextends = ["{0}"]\n',
    "extends by path": '[profile]\nname = "p"\nextends = ["{0}.toml"]\n',
    "description": '[profile]\nname = "p"\ndescription = "{0}"\n',
    "match": '[profile]\nname = "p"\nmatch = "{0}"\n',
    "string in match": '[profile]\nname = "p"\nmatch = \'os.name == "{0}"\'\n',
    "key of the head": '[profile]\nname = "p"\n"{0}" = 1\n',
    "key of the document": '"{0}" = 1\n[profile]\nname = "p"\n',
    "backend": '[profile]\nname = "p"\n[options."{0}"]\na = 1\n',
    "option": '[profile]\nname = "p"\n[options.ReferenceNpuBackend]\n"{0}" = 1\n',
    "value": '[profile]\nname = "p"\n[options.ReferenceNpuBackend]\npower_mode = "{0}"\n',
    "quantity": '[profile]\nname = "p"\n[options.ReferenceCpuBackend]\nscratch_bytes = "{0}"\n',
    "table as value": '[profile]\nname = "p"\n[options.ReferenceNpuBackend]\n'
    'core = {{ _target_ = "{0}", "{0}" = 1 }}\n',
    "expression": '[profile]\nname = "p"\n[options.ReferenceNpuBackend]\ncore = {{ expr = "{0}" }}\n',
    "method": '[profile]\nname = "p"\n[methods."{0}".options.ReferenceNpuBackend]\ncore = 1\n',
    "instance": '[profile]\nname = "p"\n[instances."{0}"]\nmethod = "{0}"\n',
    "overlay": '[profile]\nname = "p"\n[[when]]\nif = "{0}"\n[when.options.ReferenceNpuBackend]\ncore = 1\n',
    "fact": '[profile]\nname = "p"\n[facts]\n"{0}" = "{0}"\n"device.model" = "{0}"\n',
}
PROJECTS = {
    "profile": 'profile = "{0}"\n',
    "plugins": '[plugins]\nallow = ["{0}"]\ndeny = ["{0}"]\n[plugins.prefer]\nReferenceNpuBackend = "{0}"\n'
    '"{0}" = "{0}"\n',
}
WATCHED = """\
import contextlib, io, json, sys
from pathlib import Path
from etconfig.cli.startup.command_group import run

events = []
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class")

def watch(event, arguments):
    if event in FORBIDDEN or (event == "import" and str(arguments[0]).partition(".")[0] == "trap"):
        events.append([event, str(arguments[0])])

sys.addaudithook(watch)
for arguments, project in json.load(sys.stdin):
    Path("etconfig.toml").write_text(project)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run(arguments)
print(json.dumps([events, "trap" in sys.modules]))
"""


def command_lines(place: Path, name: str) -> list[tuple[list[str], str]]:
    """Commands that read `name` in every position, and the project file at that time."""
    lines: list[tuple[list[str], str]] = []
    for number, template in enumerate(POSITIONS.values()):
        path = place / f"p{number}.toml"
        path.write_text(template.format(name))
        lines += [(["validate", path.name], ""), (["resolve", "--profile", path.name, *ON_DEVICE], "")]
    for template in PROJECTS.values():
        lines += [(["resolve", *ON_DEVICE], template.format(name))]
        lines += [(["backends", "ReferenceNpuBackend"], template.format(name))]
    for arguments in (
        ["--profile", name],
        ["--set", name],
        ["--set", f"{name}={name}"],
        ["--set", f"ReferenceNpuBackend.power_mode={name}"],
        ["--fact", f"device.model={name}"],
        ["--fact", f"{name}={name}"],
    ):
        lines.append((["resolve", *ON_DEVICE, *arguments], ""))
    return [*lines, (["explain", name], ""), (["schema", name], ""), (["backends", name], "")]


def watched(place: Path, code: str, lines: list[tuple[list[str], str]]) -> list[object]:
    """The forbidden events while the commands run, and whether `trap` was imported."""
    (place / "trap.py").write_text("open('sprung', 'w').close()\ndef run(*a): pass\n")
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(lines),
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", sharded(NAMES))
def test_a_name_is_only_a_text(place: Path, name: str) -> None:
    assert watched(place, WATCHED, command_lines(place, name)) == [[], False]
    assert not (place / "sprung").exists()


def test_an_import_would_be_noticed(place: Path) -> None:
    code = WATCHED.replace("        run(arguments)", "        import trap; trap.run(arguments)")
    assert watched(place, code, [(["resolve"], "")]) == [[["import", "trap"]], True]
    assert (place / "sprung").exists()
