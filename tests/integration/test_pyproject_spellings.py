"""`[tool.etconfig]` in pyproject.toml: found in every spelling, or names what it cannot read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from command_line import ON_DEVICE, Outcome

from etconfig.app.installation.project_location import find_project_file

OPTION = "ReferenceCpuBackend.num_threads"
SPELLINGS = {
    "header": "[tool.etconfig.options.ReferenceCpuBackend]\nnum_threads = 3\n",
    "table of etconfig": f"[tool.etconfig]\noptions.{OPTION} = 3\n",
    "dotted from the root": f"tool.etconfig.options.{OPTION} = 3\n",
    "table of tools": f"[tool]\netconfig.options.{OPTION} = 3\n",
    "inline table of tools": f"tool = {{ etconfig.options.{OPTION} = 3 }}\n",
    "inline table": f"[tool]\netconfig = {{ options = {{ {OPTION} = 3 }} }}\n",
    "dotted, inline": "tool.etconfig = { options = { ReferenceCpuBackend = { num_threads = 3 } } }\n",
    "dotted, spaces": f"tool . etconfig\t. options.{OPTION} = 3\n",
    "quoted header": '["tool".\'etconfig\'."options".ReferenceCpuBackend]\nnum_threads = 3\n',
    "quoted key": f'[tool]\n"etconfig".options.{OPTION} = 3\n',
    "quoted inline key": f"'tool' = {{ \"etconfig\" = {{ options.{OPTION} = 3 }} }}\n",
    "short escape": f'[tool]\n"\\u0065tconfig".options.{OPTION} = 3\n',
    "long escape": f'["\\U00000074ool"."etconfi\\U00000067".options]\n{OPTION} = 3\n',
    "all escaped": '[tool."\\u0065\\u0074\\u0063\\u006F\\u006e\\u0066\\u0069\\u0067".options]\n'
    + f"{OPTION} = 3\n",
    "carriage returns": f"[tool.etconfig]\r\noptions.{OPTION} = 3\r\n",
    "beside other tools": f"[tool.other]\na = 1\n[tool]\netconfig.options.{OPTION} = 3\n",
}
NOT_MEANT = {
    "another tool": "[tool.other]\nname = 'etconfig'\n",
    "a dependency": "[project]\ndependencies = ['etconfig']\n",
    "a text with lines": '[project]\ndescription = """\n[tool.etconfig]\n"""\n',
    "a comment": "# [tool.etconfig]\n",
    "a table of another root": "[other.tool.etconfig]\nprofile = 'x'\n",
    "a longer name": "[tool.etconfig-other]\n",
    "an escape": '[project]\ndescription = "\\u0065"\n',
}
TEXT = SPELLINGS["header"]
UNREADABLE = {
    "starts with a byte order mark": TEXT.encode("utf-8-sig"),
    "is UTF-16": TEXT.encode("utf-16"),
    "is UTF-16 ": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "is UTF-16  ": TEXT.encode("utf-16-be"),
    "is UTF-16   ": TEXT.encode("utf-16-le"),
    "is UTF-32": TEXT.encode("utf-32"),
    "is UTF-32 ": TEXT.encode("utf-32-be"),
    "is UTF-32  ": TEXT.encode("utf-32-le"),
    "(0xe9) is not UTF-8": f"# caf\xe9\n{TEXT}".encode("latin-1"),
    "'tool.etconfig' must be a table": b"[tool]\netconfig = 3\n",
    "a value is missing": b"[tool.etconfig]\nprofile = \n",
}
COMMANDS = (
    ("validate", "pyproject.toml"),
    ("resolve", *ON_DEVICE),
    ("explain", OPTION, *ON_DEVICE),
    ("lock", *ON_DEVICE),
    ("matrix", *ON_DEVICE),
    ("pack", "-o", "x.etbundle"),
    ("profiles", "match", *ON_DEVICE),
    ("run", "model.pte", "--input", "x.npy", *ON_DEVICE),
    ("backends",),
    ("doctor",),
)


def test_every_spelling_sets_the_option(cli: Callable[..., Outcome], place: Path) -> None:
    wrong = []
    for name, text in SPELLINGS.items():
        (place / "pyproject.toml").write_bytes(text.encode())
        found = cli("explain", OPTION, "--profile", "generic/any", *ON_DEVICE)
        if f"{OPTION} = 3" not in found.stdout:
            wrong.append((name, "resolve", found))
        (place / "pyproject.toml").write_bytes(text.replace("= 3", "= 'x'").encode())
        found = cli("validate", "pyproject.toml", "--format", "concise")
        line = next(i for i, each in enumerate(text.split("\n"), 1) if "= 3" in each)
        if f"pyproject.toml:{line}:" not in found.stdout or found.status != 1:
            wrong.append((name, "validate", found))
    assert not wrong


def test_what_only_looks_like_it_is_no_project_file(place: Path) -> None:
    (place / "below").mkdir()
    (place / "etconfig.toml").write_text("")
    (place / "below/pyproject.toml").write_bytes(b"\xff\xfe" + "[tool.other]".encode("utf-16-le"))
    wrong = [] if find_project_file(place / "below") == place / "etconfig.toml" else ["UTF-16"]
    for name, text in NOT_MEANT.items():
        (place / "below/pyproject.toml").write_text(text)
        if find_project_file(place / "below") != place / "etconfig.toml":
            wrong.append(name)
    assert not wrong


def test_what_cannot_be_read_is_an_error_in_every_command(cli: Callable[..., Outcome], place: Path) -> None:
    wrong = []
    for reason, content in UNREADABLE.items():
        (place / "pyproject.toml").write_bytes(content)
        for command in COMMANDS:
            done = cli(*command)
            if done.status == 0 or reason.strip() not in done.stdout + done.stderr:
                wrong.append((reason, command[0], done))
    assert not wrong
