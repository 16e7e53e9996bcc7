"""`etconfig fleet`: very many devices at once, from tables with a row for each."""

from __future__ import annotations

from etconfig.cli.commands.fleet.group import command

__all__ = ["command"]
