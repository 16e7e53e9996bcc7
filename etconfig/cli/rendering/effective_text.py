"""The options of loaded methods, as requested and in force: as text and as data for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import click

from etconfig.base.plain_data import jsonable
from etconfig.base.records import record
from etconfig.cli.shared.output import note, print_table, show
from etconfig.errors import EtconfigError
from etconfig.schema.coerce import show_value

if TYPE_CHECKING:
    from etconfig.base.effective import ComparedOption
    from etconfig.method.method import Method
    from etconfig.resolver.deciding.arguments import Arguments

BackendsOptions: TypeAlias = "Mapping[str, Mapping[str, ComparedOption]]"
"""By backend id and option name."""

no_defaults_option = click.option(
    "--no-defaults", is_flag=True, help="Leave out of --effective what nothing sets and does not differ."
)

_DIFFERS = {True: "yes", False: "no", None: "unknown"}


@record(frozen=True, kw_only=True)
class EffectiveView:
    """The options of one loaded method.

    Attributes:
        options: The options, or None if a backend failed to report them.
        error: The failure of that backend.
        defaults: The backend and name of each option that nothing sets or recommends.
    """

    options: BackendsOptions | None
    error: str | None = None
    defaults: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of_method(cls, method: Method, arguments: Arguments) -> EffectiveView:
        """Return the options of a loaded method.

        Args:
            method: The method.
            arguments: The arguments that it was loaded with.
        """
        defaults = frozenset(
            (backend, name)
            for backend, resolved in arguments.backends.items()
            for name in resolved.candidates
            if resolved.is_default(name)
        )
        try:
            return cls(options=method.compared_options(), defaults=defaults)
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

    def print_table(self, label: str, *, no_defaults: bool = False) -> None:
        """Print the options on stdout, below the label of the method.

        Args:
            label: The method and its instance.
            no_defaults: True to leave out what nothing sets or recommends, unless it differs.
        """
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
            if not no_defaults or option.differs or (backend, name) not in self.defaults
        ]
        if rows:
            print_table(("  OPTION", "REQUESTED", "IN FORCE", "SOURCE", "DIFFERS", "REASON"), rows)
        else:
            show("  none")

    def print_differences(self, label: str) -> None:
        """Print a line on stderr for each option that has another value in force than the requested one."""
        if self.options is None:
            note(f"note: {self.error}")
            return
        for backend, options in self.options.items():
            for name, option in options.items():
                if option.differs:
                    note(f"note: {label}:{backend}.{name} {_difference(option)}")


def check_no_defaults(no_defaults: bool, *, effective: bool, as_json: bool) -> None:
    """Raise UsageError if `--no-defaults` is given where no table is printed."""
    if no_defaults and (not effective or as_json):
        raise click.UsageError("--no-defaults is for the table of --effective")


def _difference(option: ComparedOption) -> str:
    effective = option.effective
    value, requested = show_value(jsonable(effective.value)), show_value(jsonable(option.requested))
    return f"is {value} in force ({effective.source.value}: {effective.reason}), not {requested} as requested"
