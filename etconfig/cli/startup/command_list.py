"""The commands by name, and the text of `etconfig --help`, without importing click."""

from __future__ import annotations

COMMAND_SUMMARIES = {
    "backends": "List installed backends and their options.",
    "bench": "Measure a model, and compare configurations of it.",
    "conformance": "Check a backend against the contract and its own claims.",
    "devices": "List and show the known devices, and compare them.",
    "diff": "Show which options differ between two configurations.",
    "doctor": "Check this installation, and say how to fix problems.",
    "env": "Print options as the environment variables that engines read.",
    "exec": "Run a command with options as environment variables.",
    "explain": "Show where an option's value comes from and what it overrides.",
    "facts": "Show what is known about this device.",
    "fleet": "Resolve very many devices from tables; needs etconfig[fleet].",
    "init": "Write a project file, a first profile, a test and a job for CI.",
    "inspect": "Show what a program contains and what it needs to run here.",
    "lock": "Record resolutions and what they depend on, for --locked.",
    "lsp": "Serve an editor on standard input and output.",
    "matrix": "Show side by side what each of several devices gets.",
    "models": "Select the variant of a model for a device; check them all.",
    "new-backend": "Write a complete and tested package for a new backend.",
    "pack": "Write a bundle for devices, or code with resolved options.",
    "profiles": "List and show profiles, and explain which of them match.",
    "report": "Write a page that shows what each device gets, and why.",
    "resolve": "Resolve the arguments of every method, instance and backend.",
    "rules": "List the codes of findings, their levels and fixes.",
    "run": "Run a method of a program.",
    "schema": "Print an option schema as JSON Schema, Markdown or typed code.",
    "test": "Check that the project's tests hold on each of its devices.",
    "tune": "Find better options for a model on this machine.",
    "validate": "Check configuration files; exit with 1 if there are errors.",
    "verify": "Run a bundled program's cases; exit with 1 if outputs differ.",
    "watch": "Follow this device's facts; show which options would change.",
}
"""Every command and its summary; a test compares each with the docstring of the command."""


def group_help() -> str:
    """Return the text of `etconfig --help`; a test compares it with click's."""
    width = max(map(len, COMMAND_SUMMARIES))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMAND_SUMMARIES.items())
    return f"""\
Usage: etconfig [OPTIONS] COMMAND [ARGS]...

  Typed configuration and plugin discovery for ExecuTorch backends.

  Example:
    etconfig run model.pte --profile auto --input x.npy

Options:
  -V, --version                   Show the version and exit.
  -q, --quiet                     On stderr, print errors only: no notes,
                                  warnings, summaries and progress.
  --color [auto|always|never]     When to color; by default auto: on a
                                  terminal, or by FORCE_COLOR and NO_COLOR.
  --fail-on [error|warning|note]  Exit with 1 if a finding of this level, or a
                                  worse one, is shown.
  -h, --help                      Show this message and exit.

Commands:
{commands}
"""
