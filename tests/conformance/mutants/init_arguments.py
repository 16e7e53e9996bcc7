"""Mutants of the checks of the other arguments of `init`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from driver import STATE
from etconfig_reference.conformance import GOLDEN
from etconfig_reference.errors import MissingDataError
from etconfig_reference.plugin import SPECS

from etconfig.backend import Capabilities, InitContext, Processed
from etconfig.conformance.checks.init_arguments import OTHER_HOST
from etconfig.conformance.interpose.interposer import Interposer
from mutants.mutant import BACKEND, Mutant

STATE.named_data = {}

_SPEC = SPECS[BACKEND]
assert isinstance(_SPEC.capabilities, Capabilities)


class IgnoresSpecs(Interposer):
    """Reads only the compile specs that it knows."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        known = {key: value for key, value in compile_specs.items() if key in _SPEC.compile_specs}
        return super().init(context, processed, known)


class GuessesSpecs(Interposer):
    """Treats a compile spec that it cannot decode as absent."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        readable = {
            key: value
            for key, value in compile_specs.items()
            if key not in _SPEC.compile_specs or value in (b"\0", b"\1")
        }
        return super().init(context, processed, readable)


class SharesWeights(Interposer):
    """Uses weights of earlier programs instead of missing ones."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        STATE.named_data |= context.named_data
        context = replace(context, named_data=dict(STATE.named_data))
        return super().init(context, processed, compile_specs)


class BlamesNothing(Interposer):
    """Refuses with an unhelpful message."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        try:
            return super().init(context, processed, compile_specs)
        except MissingDataError:
            raise RuntimeError("weights are missing") from None


class BoundMutant(Mutant):
    """A mutant with a golden program for another host."""

    def install(self, directory: Path, place: str) -> Path:
        programs = directory / "golden"
        shutil.copytree(GOLDEN / BACKEND, programs)
        shutil.copy(programs / "add.pte", programs / f"{OTHER_HOST}.pte")
        return super().install(directory, place)


_BOUND_GOLDEN = """
from dataclasses import replace
from pathlib import Path
from etconfig_reference import conformance
from etconfig.plugin.v1 import hookimpl

@hookimpl
def etconfig_conformance(request):
    return replace(conformance.etconfig_conformance(request), programs=Path(__file__).parent / "golden")
"""

IGNORES_SPECS = Mutant("spec-bad", "'etconfig_conformance_unknown' of .* was loaded", backend=IgnoresSpecs)
GUESSES_SPECS = Mutant("spec-bad", "refuse values that are not bool, as declared", backend=GuessesSpecs)
SHARES_WEIGHTS = Mutant(
    "named-data-missing", "without its named data .* it was loaded, expected an error", backend=SharesWeights
)
BLAMES_NOTHING = Mutant(
    "named-data-missing", "the error does not name it: .*weights are missing; look up", backend=BlamesNothing
)
RUNS_ANYWHERE = BoundMutant(
    "host-mismatch",
    r"other_host\.pte was loaded here, expected an error from init; compare the host",
    declared={"capabilities": replace(_SPEC.capabilities, is_bound_to_host=True)},
    entry_points={"etconfig.conformance": f"{BACKEND} = bound_golden"},
    files={"bound_golden.py": _BOUND_GOLDEN},
)
