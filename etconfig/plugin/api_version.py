"""The version of the plugin API: an integer, independent of etconfig's own version."""

from __future__ import annotations

from etconfig.schema.spec import ApiRange

CURRENT = 1
"""The version that this etconfig implements."""

OLDEST = 1
"""The oldest version that this etconfig still understands."""


def negotiate(plugin: ApiRange, *, oldest: int = OLDEST, current: int = CURRENT) -> int:
    """Return the version that core and plugin will use: the newest that both know.

    A plugin that was built for a newer version is accepted if it can work with an older one.

    Raises:
        ValueError: there is none; the message says which of the two must be upgraded.
    """
    if plugin.min > current:
        raise ValueError(
            f"it needs plugin API {plugin.min} or newer, this etconfig has {current}: upgrade etconfig"
        )
    if plugin.built < oldest:
        raise ValueError(
            f"it was built for plugin API {plugin.built}, this etconfig needs {oldest} or newer: "
            "upgrade the plugin"
        )
    return min(plugin.built, current)
