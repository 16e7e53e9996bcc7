"""`KeyCheck`: the checks of tables for options that pydantic creates, by calling their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etconfig.base.records import record
from etconfig.schema.coerce import Mismatch, coerce
from etconfig.schema.option_type import OptionType

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


@record(frozen=True)
class KeyCheck:
    """Metadata of a field that has pydantic check tables as `coerce` does: their keys, or what they become.

    Attributes:
        option_type: The type of the option.
    """

    option_type: OptionType

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the field with this check after others; before them for tables of options."""
        from pydantic import AfterValidator, BeforeValidator

        if self.option_type.has_tables:
            return BeforeValidator(self.coerced).__get_pydantic_core_schema__(source, handler)
        return AfterValidator(self.checked).__get_pydantic_core_schema__(source, handler)

    def coerced(self, value: object) -> object:
        """Return the value with the tables of options that its tables stand for.

        Raises:
            ValueError: one of them does not fit.
        """
        found = coerce(self.option_type, value)
        if isinstance(found, Mismatch):
            place = f"{found.place.lstrip('.')}: " if found.path else ""
            raise ValueError(f"{place}{found.message}" + (f"; {found.help}" if found.help else ""))
        return found

    def checked(self, value: object) -> object:
        """Return the value.

        Raises:
            ValueError: a key is unknown, or its text is.
        """
        found = coerce(self.option_type, value)
        if isinstance(found, Mismatch):
            raise ValueError(f"{found.place.lstrip('.')}: {found.message}; {found.help}")
        return value
