"""`KeyCheck`: the check of a table's keys for options that pydantic creates, by calling their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etconfig.records import record
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.option_type import OptionType

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


@record(frozen=True)
class KeyCheck:
    """Metadata of a field that has pydantic check known keys as `coerce` does.

    Attributes:
        option_type: The type of the option.
    """

    option_type: OptionType

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the field with this check after all others."""
        from pydantic import AfterValidator

        return AfterValidator(self.checked).__get_pydantic_core_schema__(source, handler)

    def checked(self, value: object) -> object:
        """Return the value.

        Raises:
            ValueError: a key is unknown, or its text is.
        """
        found = coerce(self.option_type, value)
        if isinstance(found, Mismatch):
            raise ValueError(f"{found.place.lstrip('.')}: {found.message}; {found.help}")
        return value
