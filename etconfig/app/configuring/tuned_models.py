"""The models that are configured, compared with the model in the evidence of a tuned profile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from etconfig.app.installation.installation import Installation
from etconfig.base.fingerprint import file_sha256
from etconfig.profile.evidence import TuningEvidence
from etconfig.profile.selector import ConcernsModel

if TYPE_CHECKING:
    from etconfig.app.configuring.targets import Delegating


def model_hash(content: bytes | memoryview) -> str:
    """Return the name of a model in evidence: `sha256:` and the hash of its file."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def models_of(find_parts: Callable[[], Sequence[Delegating]]) -> ConcernsModel:
    """Return a function that compares evidence with programs, and with models that engines run.

    No file is read before it is called. The files of an engine's models are known if all have a `file`.

    Args:
        find_parts: Returns the programs and models; nothing is known without any.
    """

    @cache
    def hashes(is_of_engine: bool) -> frozenset[str] | None:
        from etconfig.app.configuring.engine_models import Models  # few profiles were tuned

        parts = find_parts()
        if is_of_engine:
            engines = [part for part in parts if isinstance(part, Models)]
            found = {_hash_of_file(part.files.get(name)) for part in engines for name in part.method_names}
        else:
            found = {_hash_of_program(part) for part in parts if not isinstance(part, Models)}
        return None if not parts or None in found else frozenset(filter(None, found))

    def concerns(evidence: TuningEvidence) -> bool | None:
        if evidence.rollout is not None:  # devices use it with every model
            return True
        known = hashes(evidence.backend is not None)
        return None if known is None else evidence.model in known

    return concerns


def models_in_use(installation: Installation, program: Delegating | None) -> ConcernsModel:
    """Return `models_of` a program or models, by default the models that the project file names."""

    def find_parts() -> Sequence[Delegating]:
        from etconfig.app.configuring.default_program import program_by_default
        from etconfig.app.configuring.several_programs import programs_in

        is_default = program is None and installation.may_name_targets
        return programs_in(program_by_default(installation) if is_default else program)

    return models_of(find_parts)


def _hash_of_program(program: Delegating) -> str | None:
    from etconfig.app.configuring.default_program import OpenedProgram

    return model_hash(program.program.whole()) if isinstance(program, OpenedProgram) else None


def _hash_of_file(path: Path | None) -> str | None:
    try:
        return None if path is None else f"sha256:{file_sha256(path)}"
    except OSError:  # a directory, or it lies elsewhere: `models check` and `bench` report it
        return None
