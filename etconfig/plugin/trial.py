"""Trial of imports in a process of their own, since an import can end or hang its process."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from etconfig.base.own_python import code_command

_TRIAL = """\
import faulthandler, importlib, os
out, limit_s = os.dup(1), float(sys.argv[1])
os.dup2(2, 1)
for module in sys.argv[2:]:
    os.write(out, b"\\0")
    faulthandler.dump_traceback_later(limit_s, exit=True, file=out)
    try:
        importlib.import_module(module)
    except BaseException:
        pass  # the import that follows in the other process reports it
os.write(out, b"\\0ended")
os._exit(0)
"""


def ends_of_imports(modules: Sequence[str], limit_s: float) -> dict[str, str]:
    """Import modules in another process; return how it ended, for each whose import ends or hangs it.

    An exception does not count. Without another process, the result is empty: the caller's imports show the
    same.

    Args:
        modules: The names of the modules.
        limit_s: The time limit of each import, in seconds.
    """
    found: dict[str, str] = {}
    rest = [*modules]
    while rest:
        try:
            done = subprocess.run(  # noqa: S603  # this Python
                [*code_command(_TRIAL), str(limit_s), *rest],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError:
            break
        _, *started = done.stdout.split(b"\0")
        if not started or done.stdout.endswith(b"\0ended"):
            break
        at = len(started)
        found[rest[at - 1]] = _end(done.returncode, limit_s, is_late=started[-1].startswith(b"Timeout"))
        rest = rest[at:]
    return found


def _end(status: int, limit_s: float, *, is_late: bool) -> str:
    if is_late:
        return f"did not finish within {limit_s:g} s"
    if status < 0:
        return f"ends the process by signal {-status}"
    return f"ends the process with status {status}"
