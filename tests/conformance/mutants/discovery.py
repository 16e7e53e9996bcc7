"""Mutants of the checks on finding a plugin."""

from __future__ import annotations

from etconfig_reference.conformance import GOLDEN

from mutants.mutant import BACKEND, Mutant

MALFORMED = Mutant(
    "static-metadata",
    "^mutant 1.0: its entry_points.txt is malformed: line 6: expected NAME = VALUE, found 'profiles/'; "
    "rebuild the wheel",
    entry_points={"etconfig.profiles": "profiles/"},
)

GREGARIOUS = Mutant(
    "bad-sibling",
    r"^mutant 1.0, next to a plugin that cannot be imported: mutant_gregarious.py:\d+: its import raised "
    "RuntimeError: broken on purpose; do not load plugins of other distributions",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_gregarious"},
    files={
        "mutant_gregarious.py": """
from importlib.metadata import entry_points

from etconfig_reference.plugin import etconfig_backend

ALL_BACKENDS = [each.load() for each in entry_points(group="etconfig.backends")]
"""
    },
)

MISTAKABLE = Mutant(
    "unique-id",
    "^mutant 1.0 declares REFERENCECPUBACKEND and mutant 1.0 declares ReferenceCpuBackend, expected ids that "
    "cannot be confused; rename one",
    entry_points={"etconfig.backends": f"{BACKEND} = {{plugin}}\nREFERENCECPUBACKEND = {{plugin}}"},
)


PROGRAMS = {f"golden/{path.name}": path.read_bytes() for path in (GOLDEN / BACKEND).glob("*.pte")}

RENAMED = Mutant(
    "aot-id-match",
    "^acme.pte delegates to ReferenceGpuBackend, which no plugin declares, expected ReferenceCpuBackend; "
    "give the subclass of BackendDetails the name of the entry point",
    entry_points={"etconfig.conformance": f"{BACKEND} = mutant_renamed"},
    files={
        "mutant_renamed.py": """
from pathlib import Path

from etconfig.plugin.v1 import ApiRange, ConformanceContribution, hookimpl

@hookimpl
def etconfig_conformance(request):
    return ConformanceContribution(api=ApiRange(min=1, built=1), programs=Path(__file__).parent / "golden")
""",
        **PROGRAMS,
        # the class in the ahead-of-time half was renamed, and one program was lowered afterwards
        "golden/acme.pte": PROGRAMS["golden/add.pte"].replace(b"ReferenceCpu", b"ReferenceGpu"),
    },
)
