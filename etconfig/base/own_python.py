"""Code in another process of this Python, with the import path of this one."""

from __future__ import annotations

import sys


def code_command(code: str) -> list[str]:
    """Return the command that runs code.

    By itself, Python would import files of the current directory first, which may be a stranger's.
    """
    return [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]


def module_command(module: str) -> list[str]:
    """Return the command that runs a module."""
    return code_command(f"import runpy; runpy.run_module({module!r}, run_name='__main__')")
