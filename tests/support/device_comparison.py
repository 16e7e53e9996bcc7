"""Random stacks, as Python's resolver and `etdevice` decide them."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from device_stacks import Stack, random_sheet

import etconfig
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.deciding.bundle_fingerprints import values_fingerprint
from etconfig.errors import EtconfigError
from etconfig.facts.sheet import FactSheet
from etconfig.resolver.deciding.resolution import Resolution

_SHEETS = 5
_CODES = {
    "missing option": "missing-option",
    "unknown fact": "unknown-fact-value",
    "evaluation failed": "evaluation-failed",
    "invalid value": "invalid-value",
}
_CONFLICT = "process-scope-conflict"


class Batch:
    """`etdevice batch`, one process for all questions."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [*command, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *fields: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, fields)) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def rows(resolution: Resolution) -> list[dict[str, Any]]:
    """Return the arguments as `etdevice resolve --json` prints them."""
    return [
        {
            "method": arguments.method,
            "instance": arguments.instance,
            "backend": backend,
            "options": {
                name: {
                    "value": resolved.options.to_jsonable()[name],
                    "origin": str(resolved.provenance(name).winner.origin),
                }
                for name in resolved.candidates
            },
        }
        for arguments in resolution
        for backend, resolved in arguments.backends.items()
    ]


def values(resolution: Resolution) -> dict[tuple[str, str | None, str], object]:
    return {
        (row["method"], row["instance"], f"{row['backend']}.{name}"): option["value"]
        for row in rows(resolution)
        for name, option in row["options"].items()
    }


class Comparison:
    """Python's resolver and the program, side by side on one stack."""

    def __init__(self, stack: Stack, bundle: Path, etdevice: Batch, seen: Counter[str]) -> None:
        self._stack, self._bundle, self._etdevice, self._seen = stack, bundle, etdevice, seen

    def _ask(self, command: str, bundle: Path, *words: Path | str) -> dict[str, Any]:
        """Return the answer without the id and revision of the bundle; an error has neither."""
        found = self._etdevice.ask(command, bundle, *words)
        if "error" not in found and "problems" not in found:
            assert (found.pop("bundle"), found.pop("revision")) == (etconfig.load_bundle(bundle).id, None)
        return found

    def compare_selection(self, sheet: FactSheet, path: Path) -> None:
        wanted = self._stack.expected_selection(sheet)
        found = self._ask("select", self._bundle, path, "-")
        status = found.pop("status")
        self._seen[f"select: {status}"] += 1
        if wanted["profile"] is None:
            found["is_fallback"] = wanted["is_fallback"]  # which says why there is none
            assert status == (
                "several profiles match" if wanted["is_fallback"] == "ambiguous-profile" else status
            )
            assert status in ("several profiles match", "no profile matches", "fallback refused")
        else:
            found["is_fallback"] = str(found["is_fallback"])
        assert found == wanted

    def resolved(self, name: str, sheet: FactSheet) -> Resolution | set[str]:
        try:
            return self._stack.resolve(name, sheet)
        except EtconfigError as error:
            return {problem.code for problem in error.diagnostics}

    def compare_arguments(self, name: str, sheet: FactSheet, path: Path) -> Resolution | set[str]:
        wanted = self.resolved(name, sheet)
        found = self._ask("resolve", self._bundle, path, name)
        if isinstance(wanted, Resolution):
            self._seen["resolve: ok"] += 1
            assert found == {"arguments": rows(wanted), "profile": name}
            self.compare_packed(wanted, path)
            return wanted
        self._seen.update(f"resolve: {code}" for code in wanted)
        if wanted == {_CONFLICT}:
            assert found["error"] == "method instances disagree on an option of the process"
        else:
            problems = {_CODES[problem["problem"]] for problem in found["problems"]}
            assert problems == wanted - {_CONFLICT}
        return wanted

    def compare_packed(self, wanted: Resolution, path: Path) -> None:
        """Compare the same arguments in a bundle of their own, which is resolved when packing."""
        bundle = etconfig.pack_resolutions({"board": wanted})
        packed = self._bundle.with_name("packed.etbundle")
        packed.write_bytes(bundle.to_bytes())
        found = self._ask("resolve", packed, path, "-")
        assert found == {"arguments": rows(wanted), "profile": "board"}
        assert bundle.resolve().to_jsonable()["arguments"] == rows(wanted)
        assert values_fingerprint(bundle.resolve().slots) == wanted.fingerprint()

    def compare_changes(
        self, name: str, before: Resolution, sheet: FactSheet, paths: tuple[Path, Path]
    ) -> None:
        after = self.resolved(name, sheet)
        if not isinstance(after, Resolution):
            return
        old, new = values(before), values(after)
        wanted = {key: value for key, value in new.items() if key in old and old[key] != value}
        found = self._etdevice.ask("update", self._bundle, paths[0], name, paths[1])["changed"]
        self._seen["update: changed"] += bool(wanted)
        assert {(each["method"], each["instance"], each["option"]): each["value"] for each in found} == wanted


def check_same_answers(etdevice: Batch, directory_of_all: Path, stacks: int, first_seed: int = 0) -> None:
    """Check that selection, reasons, values, origins, problems and changes are those of Python."""
    seen: Counter[str] = Counter()
    for seed in range(first_seed, first_seed + stacks):
        rng = random.Random(seed)
        directory = directory_of_all / str(seed % 8)
        for path in sorted(directory.rglob("*.toml")):
            path.unlink()
        directory.mkdir(exist_ok=True)
        try:
            stack = Stack(rng, directory)
            data = write_tables(stack.tables())
        except EtconfigError:
            seen["contradictory stacks"] += 1
            continue
        bundle = directory / "app.etbundle"
        bundle.write_bytes(data)
        paths = [directory / f"{number}.json" for number in range(_SHEETS)]
        sheets = [random_sheet(rng, path) for path in paths]
        comparison = Comparison(stack, bundle, etdevice, seen)
        for number, sheet in enumerate(sheets):
            comparison.compare_selection(sheet, paths[number])
            name = rng.choice(sorted(stack.resolvers))
            resolved = comparison.compare_arguments(name, sheet, paths[number])
            if isinstance(resolved, Resolution):
                next_one = (number + 1) % _SHEETS
                comparison.compare_changes(name, resolved, sheets[next_one], (paths[number], paths[next_one]))
    assert seen["contradictory stacks"] < stacks / 5
    assert seen["resolve: ok"] > stacks, seen
    assert seen["update: changed"] > stacks / 4, seen
    assert len(seen) > 10, seen
