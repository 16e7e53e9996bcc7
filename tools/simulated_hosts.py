"""Run tests on simulated hosts: other machines, environments and users.

    python tools/simulated_hosts.py                  tests that read a machine, and a sample, on all hosts
    python tools/simulated_hosts.py --all-tests      the whole suite on all hosts
    python tools/simulated_hosts.py --host arm64 tests/unit -k facts

A host is a machine of `tests/support/simulated`, with other variables, file modes, tools or another user. The
exit status is 1 if tests fail on any host.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support" / "simulated"))
from simulated_machine import MACHINES  # noqa: E402

SAMPLE = (
    "tests/integration/test_project_facts.py",
    "tests/unit/cli/test_facts_command.py",
    "tests/unit/facts/test_fact_detection.py",
    "tests/unit/facts/test_fact_redetection.py",
)
"""The tests of the short form; the second starts processes."""

COMPILERS = ("c++", "g++", "clang++", "cc", "gcc", "clang")
NOBODY = 65534
NOT_NEEDED = shutil.ignore_patterns("test", "tests", "idlelib", "site-packages", "share")


class Around(NamedTuple):
    """The surroundings of a machine: variables, the mask of file modes, the compilers and the user."""

    variables: Mapping[str, str] = {}
    umask: int = 0o022
    has_compilers: bool = True
    is_ordinary_user: bool = False
    directory: str = "hosts"


HOSTS: Mapping[str, Around] = {
    "usual": Around(),
    "one-core": Around({"LC_ALL": "C", "TZ": "Asia/Kathmandu"}, umask=0o077),
    "two-cores": Around({"LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati"}, umask=0o027),
    "many-cores": Around({"LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "LC_ALL": ""}),
    "quota": Around(is_ordinary_user=True),
    "no-sys": Around(has_compilers=False),
    "battery": Around(directory="Größe und Höhe"),
    "arm64": Around({"LC_ALL": "POSIX"}),
}
"""The surroundings of each machine of `MACHINES`."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run tests on simulated hosts.", allow_abbrev=False)
    parser.add_argument("--host", action="append", choices=[*HOSTS], help="only this host; repeatable")
    parser.add_argument("--all-tests", action="store_true", help="the whole suite instead of a sample")
    parser.add_argument("--list", action="store_true", help="list the hosts, and run nothing")
    options, arguments = parser.parse_known_args()
    chosen = options.host or [*HOSTS]
    if options.list:
        for name in chosen:
            print(f"{name:12}{MACHINES[name]}\n{'':12}{HOSTS[name]}")
        return 0
    tests = arguments if options.all_tests or arguments else [*SAMPLE]
    results = []
    for name in chosen:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        outcome = run_on(name, tests)
        results.append((name, outcome, time.monotonic() - start))
    print(f"\n{'host':12}{'outcome':12}seconds")
    for name, outcome, seconds in results:
        print(f"{name:12}{outcome:12}{seconds:7.1f}")
    return int(any(outcome == "failed" for _, outcome, _ in results))


def run_on(name: str, arguments: list[str]) -> str:
    """Run pytest on a host, and say how that ended."""
    around = HOSTS[name]
    if around.is_ordinary_user and (os.name != "posix" or os.geteuid() != 0):
        around = around._replace(is_ordinary_user=False)  # whoever runs this is one
    with surroundings(around) as (directory, environ):
        python, user = sys.executable, {}
        if around.is_ordinary_user:
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            python = python_for_everybody(directory, environ)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        command.append(f"--basetemp={directory / 'tests'}")
        environ |= {"SIMULATED_HOST": name, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environ, umask=around.umask, **user)  # type: ignore[call-overload]
    return "failed" if done.returncode else "passed"


def python_for_everybody(directory: Path, environ: dict[str, str]) -> str:
    """Return this Python, at a path that every user can reach; what it has installed is found by PYTHONPATH.

    One below the home directory of root is linked file by file into `directory`.
    """
    base = Path(sys.base_prefix)
    if not all(parent.stat().st_mode & 0o001 for parent in (base, *base.parents)):
        shutil.copytree(base, directory / "python", symlinks=True, copy_function=linked, ignore=NOT_NEEDED)
        base = directory / "python"
        environ["LD_LIBRARY_PATH"] = str(base / "lib")
    places = (sysconfig.get_path("purelib"), ROOT, ROOT / "plugins" / "etconfig-reference")
    environ["PYTHONPATH"] = os.pathsep.join(map(str, places))
    return str(base / "bin" / f"python3.{sys.version_info.minor}")


def linked(source: str, target: str) -> None:
    """Make a hard link, or a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def surroundings(around: Around) -> Iterator[tuple[Path, dict[str, str]]]:
    """A directory for a run, and its variables."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top:
        directory = Path(top) / around.directory
        (directory / "home").mkdir(parents=True)
        Path(top).chmod(0o755)  # tests of permissions become another user
        environ = {
            **os.environ,
            **around.variables,
            "HOME": str(directory / "home"),
            "TMPDIR": str(directory),
        }
        if not around.has_compilers:
            environ = {name: value for name, value in environ.items() if name not in ("CC", "CXX")}
            environ["PATH"] = str(path_without(COMPILERS, directory / "bin"))
        if around.is_ordinary_user:
            for place in (Path(top), directory, directory / "home"):
                os.chown(place, NOBODY, NOBODY)
        yield directory, environ


def path_without(programs: tuple[str, ...], directory: Path) -> Path:
    """Link every program of PATH but these into a directory."""
    directory.mkdir()
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            base = program.name.rstrip("0123456789-.")
            link = directory / program.name
            if not base.endswith(programs) and not link.is_symlink() and shutil.which(program):
                link.symlink_to(program)
    return directory


if __name__ == "__main__":
    sys.exit(main())
