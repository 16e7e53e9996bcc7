"""Writes the file of the public surface, which `tests/meta/test_api_surface.py` compares with the code.

    python tools/write_api_surface.py [--freeze]

`tests/data/api/surface.txt` is the surface. Describe a change in CHANGELOG.md before writing it.
`tests/data/api/v1-frozen.txt` is the part that is promised to plugins for as long as plugin API 1 is
supported. At a release, `--freeze` adds new names to it; nothing in it is ever changed or removed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from api_breaks import breaks
from api_surface import Surface, as_text, parse, surface

ROOT = Path(__file__).parents[1]
COMMAND = "python tools/write_api_surface.py"

_API = "etconfig.plugin.v1"

NOT_FROZEN = frozenset(
    {
        f"{_API}.System.__init__",
        *(f"{_API}_kernels.{owner}.__init__" for owner in ("Register", "Scratch", "Tensor")),
        *(f"{_API}_kernels.Tensor.{name}" for name in ("ensure_memory", "of_form", "set_array", "release")),
        *(f"{_API}_kernels.Kernel.{name}" for name in ("bind", "parameters", "register_positions")),
        *(f"{_API}_kernels.Kernel.{name}" for name in ("varying_positions", "wants_unread")),
    }
)
"""Members that only the core calls, of objects that it passes to plugins."""


class SurfaceFiles:
    """The files of the surface, under a directory such as the repository."""

    def __init__(self, root: Path) -> None:
        self.surface = root / "tests" / "data" / "api" / "surface.txt"
        self.frozen = root / "tests" / "data" / "api" / "v1-frozen.txt"
        self.changelog = root / "CHANGELOG.md"

    def write_surface(self, now: Surface) -> str:
        """Write `now`; return a description of what was done.

        Raises:
            SystemExit: the surface changed, and CHANGELOG.md did not since it was written last.
        """
        remark = f"# CHANGELOG.md at the time: {hashlib.sha256(self.changelog.read_bytes()).hexdigest()[:12]}"
        before = self.surface.read_text(encoding="utf-8") if self.surface.exists() else ""
        if parse(before) == now:
            return f"{self.surface.name} is current"
        if remark in before.splitlines():
            raise SystemExit("the public surface changed: describe it in CHANGELOG.md, then run this again")
        self.surface.write_text(f"# Written by {COMMAND}\n{remark}\n{as_text(now)}", encoding="utf-8")
        return f"{self.surface.name} written"

    def freeze(self, now: Surface) -> str:
        """Promise everything that plugins can name now; return a description of what was done.

        Raises:
            SystemExit: a promise is broken.
        """
        promised = parse(self.frozen.read_text(encoding="utf-8")) if self.frozen.exists() else {}
        broken = breaks(promised, now)
        if broken:
            raise SystemExit("\n".join(map(str, broken)))
        offered = {p: form for p, form in now.items() if p.startswith(_API) and p not in NOT_FROZEN}
        kept = dict(sorted({**offered, **promised}.items()))
        remark = f"# Grown by {COMMAND} --freeze; nothing is ever changed or removed by hand"
        self.frozen.write_text(f"{remark}\n{as_text(kept)}", encoding="utf-8")
        return f"{self.frozen.name} promises {len(kept) - len(promised)} more"


def main(arguments: Sequence[str]) -> None:
    """Write the surface, and freeze it with `--freeze`."""
    files, now = SurfaceFiles(ROOT), surface()
    print(files.write_surface(now))
    if "--freeze" in arguments:
        print(files.freeze(now))


if __name__ == "__main__":
    main(sys.argv[1:])
