"""Tables of configurations in 80 columns: no empty columns, and a legend of numbers where names are long."""

from __future__ import annotations

from collections.abc import Sequence

from etconfig.base.records import record
from etconfig.cli.shared.output import print_table, show

_WIDTH = 80
_NOTHING = ("", "0", "0.0e+00")
"""Cells of columns that say nothing if there are no others."""


@record(frozen=True)
class ConfigurationTable:
    """Rows of which one cell is the name of a configuration.

    Attributes:
        headers: The headers.
        rows: The cells; columns that say nothing are left out.
        names: The name of each row as it is shown: by itself, or as a number.
        legend: The lines that explain the numbers; empty without any.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Sequence[str]
    legend: Sequence[str]

    @classmethod
    def of(
        cls, headers: Sequence[str], rows: Sequence[Sequence[str]], name: int, first: int = 1
    ) -> ConfigurationTable:
        """Return a table that fits.

        Args:
            headers: The headers of all columns.
            rows: The cells of all columns.
            name: The column of the names.
            first: The number of the first row.
        """
        columns = [
            column for column in range(len(headers)) if any(row[column] not in _NOTHING for row in rows)
        ]
        names = [row[name] for row in rows]
        legend: Sequence[str] = ()
        widths = [max(len(headers[at]), *(len(row[at]) for row in rows)) for at in columns]
        if sum(widths) + 2 * (len(widths) - 1) > _WIDTH:
            texts, names = names, [str(number) for number in range(first, first + len(rows))]
            width = len(names[-1])
            legend = [f"{number:>{width}}  {text}" for number, text in zip(names, texts, strict=True)]
        shown = [[names[at] if c == name else row[c] for c in columns] for at, row in enumerate(rows)]
        heads = ["#" if each == name and legend else headers[each] for each in columns]
        if legend:  # numbers come first
            at = columns.index(name)
            heads = [heads[at], *heads[:at], *heads[at + 1 :]]
            shown = [[row[at], *row[:at], *row[at + 1 :]] for row in shown]
        return cls(headers=heads, rows=shown, names=names, legend=legend)

    def show(self) -> None:
        """Print it on stdout."""
        print_table(self.headers, self.rows)
        if self.legend:
            show()
            for line in self.legend:
                show(line)
