"""`Percentage`: the type of an option that is a share."""

from __future__ import annotations

from typing import Any

import click

from etconfig.cli.shared.options import FiniteNumber


class Percentage(FiniteNumber):
    """A share that is written as `5%` or `0.05`."""

    name = "percentage"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share. Raises click.BadParameter."""
        text = str(value)
        number = FiniteNumber().convert(text.removesuffix("%").strip(), param, ctx)
        return number / 100 if text.endswith("%") else number
