"""The options of loaded methods, as requested and in force: as text and as data for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from etconfig.cli.shared.output import print_table, show
from etconfig.errors import EtconfigError
from etconfig.plain_data import jsonable
from etconfig.records import record
from etconfig.schema import show_value

if TYPE_CHECKING:
    from etconfig.effective import ComparedOption
    from etconfig.method.method import Method

BackendsOptions: TypeAlias = "Mapping[str, Mapping[str, ComparedOption]]"
"""By backend id and option name."""

_DIFFERS = {True: "yes", False: "no", None: "unknown"}


@record(frozen=True, kw_only=True)
class EffectiveView:
    """The options of one loaded method.

    Attributes:
        options: The options, or None if a backend failed to report them.
        error: The failure of that backend.
    """

    options: BackendsOptions | None
    error: str | None = None

    @classmethod
    def of_method(cls, method: Method) -> EffectiveView:
        """Return the options of a loaded method."""
        try:
            return cls(options=method.compared_options())
        except EtconfigError as error:
            return cls(options=None, error=str(error))

    def to_jsonable(self) -> dict[str, object]:
        """Return the options as JSON values, or the reason why a backend cannot report them."""
        if self.options is None:
            return {"effective_options": None, "effective_options_error": self.error}
        described = {
            backend: {name: option.to_jsonable() for name, option in options.items()}
            for backend, options in self.options.items()
        }
        return {"effective_options": described, "effective_options_error": None}

    def print_table(self, label: str) -> None:
        """Print all options on stdout, below the label of the method."""
        show(f"options of {label}:")
        if self.options is None:
            show(f"  {self.error}")
            return
        rows = [
            (
                f"  {backend}.{name}",
                show_value(jsonable(option.requested)),
                show_value(jsonable(option.effective.value)) if option.effective.is_known else "unknown",
                option.effective.source.value,
                _DIFFERS[option.differs],
                option.effective.reason,
            )
            for backend, options in self.options.items()
            for name, option in options.items()
        ]
        if rows:
            print_table(("  OPTION", "REQUESTED", "IN FORCE", "SOURCE", "DIFFERS", "REASON"), rows)
        else:
            show("  none")

    def print_differences(self, label: str) -> None:
        """Print a line on stderr for each option that has another value in force than the requested one."""
        if self.options is None:
            show(f"note: {self.error}", err=True)
            return
        for backend, options in self.options.items():
            for name, option in options.items():
                if option.differs:
                    show(f"note: {label}:{backend}.{name} {_difference(option)}", err=True)


def _difference(option: ComparedOption) -> str:
    effective = option.effective
    value, requested = show_value(jsonable(effective.value)), show_value(jsonable(option.requested))
    return f"is {value} in force ({effective.source.value}: {effective.reason}), not {requested} as requested"
