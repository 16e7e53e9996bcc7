"""The mistakes that `validate --fix` fixes, and those that it leaves to the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

HEAD = '[profile]\nname = "acme/board"\n'
NPU = "options.ReferenceNpuBackend"

SAFE = {
    "renamed option": ("[options.AcmeDspBackend]\nlibrary = 'a'\n", "heap_size", "heap_bytes", " = 1"),
    "integer": (f"[{NPU}]\ncore = ", "2.0", "2", " # the third"),
}
"""Text before, the mistake, its fix, text after."""

GUESSES = {
    "option": (f"[{NPU}]\n", "coer", "core", " = 1"),
    "option with an escape": (f"[{NPU}]\n", '"co\\u0065r"', '"core"', " = 1"),
    "quoted option": (f"[{NPU}]\n", '"coer"', '"core"', " = 1"),
    "dotted option": ("options.ReferenceNpuBackend.", "coer", "core", " = 1"),
    "choice": (f"[{NPU}]\npower_mode = ", "'hihg'", "'high'", ""),
    "backend": ("[options.", "ReferenceNpuBackedn", "ReferenceNpuBackend", "]\ncore = 1"),
    "key": ("[[when]]\nif = 'true'\n[when.", "option", "options", ".ReferenceNpuBackend]\ncore = 1"),
    "fact": ("[facts]\n", '"cpu.performance_core"', '"cpu.performance_cores"', " = 4"),
    "choice of a fact": ('[facts]\n"power.source" = ', '"batery"', '"battery"', ""),
    "fact in an expression": ("[[when]]\nif = '", "cpu.availabel_cores", "cpu.available_cores", " > 1'"),
    "method": ("[methods.", "foward", "forward", f".{NPU}]\ncore = 1"),
    "methods, called models": ("[", "models", "methods", f".forward.{NPU}]\ncore = 1"),
    "methods, called model, in an overlay": (
        "[[when]]\nif = 'true'\n[when.",
        "model",
        "methods",
        f".forward.{NPU}]\ncore = 1",
    ),
    "method of an instance, called model": (
        "[instances.camera0]\n",
        "model",
        "method",
        " = 'forward'",
    ),
    "method of an instance": ("[instances.camera0]\nmethod = ", '"foward"', '"forward"', ""),
    "instance": (
        "[instances.camera0]\nmethod = 'forward'\n[[when]]\nif = 'true'\n[when.instances.",
        "camra0",
        "camera0",
        f".{NPU}]\ncore = 1",
    ),
}

LEFT_ALONE = {
    "number that is written otherwise": f"[{NPU}]\ncore = 2e0\n",
    "option with an escape that only TOML has": f'[{NPU}]\n"co\\x65r" = 1\n',
    "expression over several lines": '[[when]]\nif = """\ncpu.availabel_cores > 1"""\n',
    "value out of bounds": f"[{NPU}]\ncore = 9\n",
    "word with another meaning": f"[{NPU}]\nprecision = 'fp8'\n",
    "number that may mean none": "[options.ReferenceCpuBackend]\nscratch_bytes = 'none'\n",
    "table of an unknown kind": f"[variants.left.{NPU}]\ncore = 1\n",
    "table in a method": f"[methods.forward.variants.left.{NPU}]\ncore = 1\n",
    "instance of another number": (
        "[instances.camera0]\nmethod = 'forward'\n[[when]]\nif = 'true'\n"
        f"[when.instances.camera1.{NPU}]\ncore = 1\n"
    ),
    "method of another name": f"[methods.backward.{NPU}]\ncore = 1\n",
    "option far from any": f"[{NPU}]\nfrequency = 9\n",
    "renamed option beside its new name": (
        "[options.AcmeDspBackend]\nlibrary = 'a'\nheap_size = 1\nheap_bytes = 1\n"
    ),
}


@pytest.fixture
def fixed(cli: Callable[..., Outcome], installed: Callable[..., None]) -> Callable[..., str]:
    """Return the text with its fixes."""
    installed("acme-dsp")

    def fix(text: str, *options: str) -> str:
        path = Path("board.toml")
        path.write_text(text)
        cli("validate", path, "--program", "model.pte", "--fix", *options)
        return path.read_text()

    return fix


@pytest.mark.parametrize(("before", "wrong", "right", "after"), SAFE.values(), ids=SAFE)
def test_a_fix_that_keeps_the_meaning_is_made(
    fixed: Callable[..., str], before: str, wrong: str, right: str, after: str
) -> None:
    assert fixed(f"{HEAD}{before}{wrong}{after}\n") == f"{HEAD}{before}{right}{after}\n"


@pytest.mark.parametrize(("before", "wrong", "right", "after"), GUESSES.values(), ids=GUESSES)
def test_a_guess_is_made_on_request_only(
    fixed: Callable[..., str], before: str, wrong: str, right: str, after: str
) -> None:
    # what is set before a table belongs to the document
    head, before = (before, "") if before.startswith("options.") else ("", before)
    text = "{}{}{}\n" + HEAD if head else HEAD + "{}{}{}\n"
    mistaken = text.format(head or before, wrong, after)
    assert fixed(mistaken) == mistaken
    assert fixed(mistaken, "--unsafe-fixes") == text.format(head or before, right, after)


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_mistake_that_needs_more_than_one_word_is_left_alone(fixed: Callable[..., str], text: str) -> None:
    assert fixed(HEAD + text, "--unsafe-fixes") == HEAD + text


def test_only_fixes_that_can_be_made_are_counted(cli: Callable[..., Outcome]) -> None:
    """A second table of the right name is not TOML, so the mistyped name stays."""
    path = Path("board.toml")
    path.write_text(
        f"{HEAD}[{NPU}]\ncore = 1\n[options.ReferenceNpuBackedn]\nprecision = 'fp16'\n"
        "[options.ReferenceCpuBackend]\nnum_thread = 1\n"
    )
    assert cli("validate", path).stderr == (
        "1 file checked: 2 errors, 0 warnings; 1 fixable with --fix --unsafe-fixes\n"
    )
    assert cli("validate", path, "--fix", "--unsafe-fixes").stderr == (
        "1 problem fixed in 1 file\n1 file checked: 1 error, 0 warnings\n"
    )
