"""The lines of the documentation that install etconfig's packages, for tools/generate_docs.py.

All follow from `etconfig.base.packages.IS_PUBLISHED`. Until then, lines name directories of a checkout, and
pages link to docs/install.md, which says why.
"""

from __future__ import annotations

import re

from etconfig.base import packages
from etconfig.base.packages import OWN_NEEDS, OWN_PACKAGES, pip_install, source_path
from etconfig.base.version import __version__

_INSTALL = re.compile(r"(?P<command>\bpip install)(?P<words>(?: +[^`\s#]+)+)")
_OWN = re.compile(
    r"""(?P<quote>["']?)
    (?:(?:\.|\$CHECKOUT)(?:/plugins/(?P<plugin>etconfig-[a-z]+))? | (?P<name>etconfig(?:-[a-z]+)?))
    (?P<extras>(?:\[[a-z,]+\])?)(?P=quote)""",
    re.VERBOSE,
)


def how_to_install_here(argument: str) -> str:
    """Return the state of the release, or where the install lines below work.

    Args:
        argument: `state` and `front` on the front page, `page` on the page about installing. Elsewhere the
            address of that page, followed by `$CHECKOUT` if the lines name a checkout by this variable.
    """
    if argument == "state":
        where = "" if packages.IS_PUBLISHED else ", not on PyPI yet"
        return f"Version {__version__}{where}. Tested on Linux; see [what has run where](docs/status.md)."
    if argument == "front":
        return _on_the_front_page()
    if argument == "page":
        return _on_its_page()
    address, _, about = argument.partition(" ")
    if packages.IS_PUBLISHED:
        return ""
    if about == "$CHECKOUT":
        return f"`$CHECKOUT` is the path of a checkout of etconfig ([Install]({address}))."
    return f"At the root of a checkout ([Install]({address})):"


def _on_the_front_page() -> str:
    line = f"```sh\n{pip_install('etconfig-upstream')}    # with the options of ExecuTorch's backends\n```"
    if packages.IS_PUBLISHED:
        return line
    return f"At the root of a checkout; [other ways to install](docs/install.md):\n\n{line}"


def _on_its_page() -> str:
    tried = f"nothing is installed:\n\n```sh\n{_uvx('etconfig-upstream')} --help\n```"
    if packages.IS_PUBLISHED:
        return f"With [uv](https://docs.astral.sh/uv/), {tried}"
    return (
        "etconfig is not on PyPI yet: all lines work at the root of a checkout. With\n"
        f"[uv](https://docs.astral.sh/uv/), {tried}\n\n"
        "For machines without a checkout, `make dist` writes wheels of the pure Python packages to\n"
        "`dist/`; give pip `--find-links dist`."
    )


def _uvx(package: str) -> str:
    """Return the command that runs etconfig with one of its packages, and installs nothing."""
    if packages.IS_PUBLISHED:
        return f"uvx --with {package} etconfig"
    return f"uvx --from {source_path('etconfig')} --with {source_path(package)} etconfig"


def with_current_sources(text: str) -> str:
    """Return the text of a page whose `pip install` lines name etconfig's packages as they are found now."""
    return _INSTALL.sub(_with_source, text)


def _with_source(line: re.Match[str]) -> str:
    words = re.findall(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", line["words"])
    found = [
        None if before == "-e" else _OWN.fullmatch(word)
        for before, word in zip(["", *words], words, strict=False)
    ]
    own = [(each["plugin"] or each["name"] or "etconfig") for each in found if each is not None]
    if not own or not {*own} <= OWN_PACKAGES:
        return line[0]
    if not packages.IS_PUBLISHED:
        is_by_name = any(each is not None and each["name"] for each in found)
        return pip_install(*words) if is_by_name else line[0]
    needed = {need for name in own for need in OWN_NEEDS[name]}
    if any(each is None and not word.startswith("-") for each, word in zip(found, words, strict=True)):
        needed.add("etconfig")  # the package of a reader brings it
    kept = [
        word if each is None else _by_name(each)
        for each, word in zip(found, words, strict=True)
        if each is None or each["extras"] or (each["plugin"] or each["name"] or "etconfig") not in needed
    ]
    return " ".join((line["command"], *kept))


def _by_name(found: re.Match[str]) -> str:
    quote = "'" if found["extras"] else ""
    return f"{quote}{found['plugin'] or found['name'] or 'etconfig'}{found['extras']}{quote}"
