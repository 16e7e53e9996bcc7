"""The layout of `.etargs` files: the slots of each table, in the order of `etargs.fbs`."""

from __future__ import annotations

import enum
from typing import Final

IDENTIFIER: Final = b"ETAR"
VERSION: Final = 1
MAX_DEPTH: Final = 16
"""How deep arrays and tables nest at most."""


class ValueKind(enum.IntEnum):
    """What a value is."""

    NONE = 0
    BOOLEAN = 1
    INTEGER = 2
    NUMBER = 3
    TEXT = 4
    ARRAY = 5
    TABLE = 6


class ValueSlot(enum.IntEnum):
    """The fields of a `Value`."""

    KIND = 0
    INTEGER = 1
    NUMBER = 2
    TEXT = 3
    ITEMS = 4
    KEYS = 5


class OptionSlot(enum.IntEnum):
    """The fields of an `Option`."""

    NAME = 0
    VALUE = 1
    KEY = 2
    SENT = 3
    SCOPE = 4
    APPLIES = 5
    IS_SET = 6


class BackendSlot(enum.IntEnum):
    """The fields of a `Backend`."""

    ID = 0
    OPTIONS = 1


class MethodSlot(enum.IntEnum):
    """The fields of a `Method`."""

    NAME = 0
    INSTANCE = 1
    BACKENDS = 2


class ConfigurationSlot(enum.IntEnum):
    """The fields of a `Configuration`."""

    NAME = 0
    FINGERPRINT = 1
    METHODS = 2


class PackageSlot(enum.IntEnum):
    """The fields of a `Package`, the root."""

    VERSION = 0
    PRODUCER = 1
    CONFIGURATIONS = 2
