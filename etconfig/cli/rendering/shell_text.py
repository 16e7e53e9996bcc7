"""Environment variables as text that a shell, or a reader of .env files, takes."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=+@%-]+")
_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
"""The characters that end a text in single quotes there."""

SHELLS = ("sh", "fish", "powershell", "dotenv")


def shell_text(shell: str, variables: Mapping[str, str], encoding: str) -> str:
    """Return lines that set variables in a shell.

    Args:
        shell: One of `SHELLS`.
        variables: The text of each variable, by its name.
        encoding: The encoding of the output.

    Raises:
        ValueError: a text cannot be written in a way that is read as the same text; the message says why.
    """
    for name, text in variables.items():
        _check(shell, name, text, encoding)
    return "".join(f"{_line(shell, name, text)}\n" for name, text in variables.items())


def _line(shell: str, name: str, text: str) -> str:
    if shell == "sh":  # the semicolons separate the lines in `eval $(...)` without quotes
        quoted = text.replace("'", "'\\''")
        return f"export {name}='{quoted}';"
    if shell == "fish":
        quoted = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {name} '{quoted}';"
    if shell == "powershell":
        quoted = _POWERSHELL_QUOTES.sub(r"\1\1", text)
        return f"$env:{name} = '{quoted}'"
    if _PLAIN.fullmatch(text):
        return f"{name}={text}"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{quoted}"'


def _check(shell: str, name: str, text: str, encoding: str) -> None:
    unseen = next((each for each in text if not each.isprintable() and each not in "\n\t"), None)
    if unseen is not None:
        raise ValueError(f"{name} has the character {unseen!a}, which a terminal may act on")
    if text.encode(encoding, "replace").decode(encoding) != text:
        raise ValueError(f"{name} is {text!a}, which the output's encoding {encoding} cannot express")
    if shell == "dotenv" and "$" in text:
        raise ValueError(f"{name} is {text!r}, and readers of .env files differ in what they make of $")
    if shell == "powershell" and not text:
        raise ValueError(f"{name} is empty, which removes a variable in PowerShell")
