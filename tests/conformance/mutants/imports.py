"""Mutants of the checks on importing a plugin."""

from __future__ import annotations

from mutants.mutant import BACKEND, Mutant

REFERENCE = "from etconfig_reference.plugin import etconfig_backend\n"

HEAVY = Mutant(
    "import-budget",
    r"mutant_heavy.py:1 imports torch while the plugin is loaded; import it only in the ahead-of-time half",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_heavy"},
    files={"mutant_heavy.py": f"import torch\n{REFERENCE}", "torch.py": ""},
)

SLEEPING = Mutant(
    "import-budget",
    r"^mutant_sleeping: loading it took \d\.\d\d s, expected at most 0\.6 s; postpone costly imports, and",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_sleeping"},
    files={"mutant_sleeping.py": f"import time\ntime.sleep(0.7)\n{REFERENCE}"},
)

SECOND = Mutant(
    "import-reentrant",
    "^mutant_second, imported before etconfig: ImportError: etconfig comes first; import everything that",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_second"},
    files={
        "mutant_second.py": f"""
import sys
if "etconfig.plugin.loader" not in sys.modules:
    raise ImportError("etconfig comes first")
{REFERENCE}
"""
    },
)

MARKING = Mutant(
    "import-pure",
    "^mutant_marking: loading it changes os.environ: MUTANT_HOME; do not change the process, and do what a",
    entry_points={"etconfig.backends": f"{BACKEND} = mutant_marking"},
    files={"mutant_marking.py": f"import os\nos.environ['MUTANT_HOME'] = '/opt/mutant'\n{REFERENCE}"},
)
