"""The lines of the documentation that install etconfig's packages, for tools/generate_docs.py.

All follow from `etconfig.packages.WHEELS`: until the packages are on PyPI, every line says where they come
from, and each page says how to build them.
"""

from __future__ import annotations

import re

from etconfig.packages import OWN_PACKAGES, WHEELS

_INSTALL = re.compile(
    r"""(?P<command>\bpip\ install (?:\ --quiet)?)
    (?P<source>\ --find-links\ (?:"[^"\n]*"|\S+))?
    (?P<words>[^`\n#]*)""",
    re.VERBOSE,
)
_OWN = re.compile(rf"(?<![\w./-])(?:{'|'.join(sorted(OWN_PACKAGES, key=len, reverse=True))})(?![\w./-])")


def how_to_build_wheels(checkout: str) -> str:
    """Return how to build the wheels, at the root of a checkout or from anywhere; once published, nothing.

    Args:
        checkout: The shell variable with the path of the checkout, such as `$CHECKOUT`, or nothing.
    """
    if WHEELS is None:
        return ""
    if checkout:
        place, command = f"`{checkout}` is the path of a checkout; build", f'make -C "{checkout}" dist'
    else:
        place, command = "At the root of a checkout, build", "make dist"
    return f"etconfig is not on PyPI yet. {place} the wheels of all its packages:\n\n```sh\n{command}\n```"


def with_current_sources(text: str) -> str:
    """Return the text of a page whose `pip install` lines name the place of etconfig's packages, if any."""
    return _INSTALL.sub(_with_source, text)


def _with_source(line: re.Match[str]) -> str:
    source = line["source"] or ""
    if WHEELS is None:
        source = ""
    elif not source and _OWN.search(line["words"]):
        source = f" --find-links {WHEELS}"
    return f"{line['command']}{source}{line['words']}"
