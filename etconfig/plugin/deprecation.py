"""Names of the plugin API that are going away: they work and warn, then fail by name.

Three minor versions are the least notice: two in which the thing itself is served, and one in which an
adapter may stand in for it. docs/compatibility.md is the policy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from importlib import import_module

from etconfig.records import record
from etconfig.version import __version__

NOTICE_MINORS = 3
"""For how many minor versions a deprecated name still works."""


@record(frozen=True, kw_only=True)
class Deprecation:
    """A public name that is going away.

    Attributes:
        module: The public module that has it, such as `etconfig.plugin.v1`.
        name: The name in it. It stands no longer in the module itself.
        home: Where it lives until it is removed, as `MODULE:NAME`: itself, or an adapter to what replaces it.
        replacement: What to write instead.
        since: The version of etconfig that is the first to warn, such as `0.3`.
        removal: The version that has it no longer.

    Raises:
        ValueError: it would go too early.
    """

    module: str
    name: str
    home: str
    replacement: str
    since: str
    removal: str

    def __post_init__(self) -> None:
        since, removal = _minor(self.since), _minor(self.removal)
        # after how many minors a major follows is not known: count those that come after it
        noticed = removal[1] - since[1] if removal[0] == since[0] else removal[1] + 1
        if removal < since or noticed < NOTICE_MINORS:
            raise ValueError(
                f"{self.symbol} is deprecated since {self.since} and would go in {self.removal}; "
                f"keep it for {NOTICE_MINORS} minor versions at least"
            )

    @property
    def symbol(self) -> str:
        """Module and name."""
        return f"{self.module}.{self.name}"

    def is_served_by(self, core: str) -> bool:
        """Whether the version `core` of etconfig still has it."""
        return _minor(core) < _minor(self.removal)

    def target(self) -> object:
        """What the name stands for, without a warning."""
        module, _, name = self.home.partition(":")
        found: object = getattr(import_module(module), name)
        return found


DEPRECATIONS: tuple[Deprecation, ...] = ()
"""All deprecated names. A line stays when the name is gone, for the error that names its replacement."""


def deprecated_names(
    module: str, table: Iterable[Deprecation] = DEPRECATIONS, core: str = __version__
) -> Callable[[str], object]:
    """The `__getattr__` of a public module: it is asked only for what does not stand in the module.

    Args:
        module: The module's `__name__`.
        table: What is deprecated, in any module.
        core: The version of etconfig.
    """
    known = {each.name: each for each in table if each.module == module}

    def fetch(name: str) -> object:
        if name not in known:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _serve(known[name], core)

    return fetch


def _serve(deprecation: Deprecation, core: str) -> object:
    if not deprecation.is_served_by(core):
        from etconfig.errors import RemovedNameError

        raise RemovedNameError(
            symbol=deprecation.symbol, removal=deprecation.removal, help=f"write {deprecation.replacement}"
        )
    text = (
        f"{deprecation.symbol} is deprecated since etconfig {deprecation.since} and goes in "
        f"{deprecation.removal}; write {deprecation.replacement}"
    )
    warnings.warn(text, DeprecationWarning, stacklevel=3)  # where it is used, which Python tells once
    return deprecation.target()


def _minor(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
