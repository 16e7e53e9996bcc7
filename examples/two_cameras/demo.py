"""One program, two cameras, two backends: four sets of typed arguments, from facts and a profile.

make demo
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import etconfig
from etconfig.diagnostics.render import ansi, plain, render

HERE = Path(__file__).parent
DIGITS = HERE.parents[1] / "tests" / "data" / "digits"
NPU, CPU = "ReferenceNpuBackend", "ReferenceCpuBackend"


def main() -> None:
    """Run the six steps."""
    installation = etconfig.Installation(profile_directories=[HERE / "profiles"])
    program = etconfig.load_program(DIGITS / "digits.pte", installation=installation)
    recorded = np.load(DIGITS / "digits.npz")
    print(
        f"{program}\na small CNN on 8x8 images of digits: features on {NPU}, classifier on {CPU}\n"
        f"({NPU} computes real results, and takes the time of a simulated clock)"
    )

    title(1, "The facts about this device that were used")
    facts = etconfig.detect_facts(installation=installation)
    config = etconfig.resolve(program, facts=facts)
    show_facts(facts, config)

    title(2, "The selected profile, and the reason")
    show_selection(config)

    title(3, "Typed arguments: 2 instances x 2 backends")
    show_arguments(config)

    title(4, "200 test images through each instance")
    left = program.load_method("forward", config.arguments("forward", "left"))
    right = program.load_method("forward", config.arguments("forward", "right"))
    methods = {"left": left, "right": right}
    images, labels = recorded["images"], recorded["labels"]
    before = {name: run(method, images) for name, method in methods.items()}
    accuracy = np.mean(recorded["forward"].argmax(1) == labels)
    print(f"PyTorch, recorded at export  accuracy {accuracy:.1%}")
    for name, (outputs, median_ms) in before.items():
        error = np.abs(outputs - recorded["forward"]).max()
        right_share = np.mean(outputs.argmax(1) == labels)
        print(f"{name:<28} accuracy {right_share:.1%}  median {median_ms:.2f} ms  max error {error:.1e}")

    title(5, f"left.update({NPU}.power_mode = high), between two executes")
    left.update({f"{NPU}.power_mode": "high"})
    for name, method in methods.items():
        outputs, median_ms = run(method, images)
        mode = method.effective_options()[NPU]["power_mode"].value
        same = "outputs equal bit for bit" if np.array_equal(outputs, before[name][0]) else "OUTPUTS DIFFER"
        print(f"{name:<6} power_mode {mode:<9} median {before[name][1]:.2f} -> {median_ms:.2f} ms  {same}")

    title(6, "A mistyped option is an error")
    problems = etconfig.validate_file(HERE / "typo.toml", installation, facts=facts)
    print(shortened(render(problems, "text", ansi if sys.stdout.isatty() else plain)), end="")
    for method in methods.values():
        method.close()


def title(number: int, text: str) -> None:
    """Print the title of a step."""
    print(f"\n--- {number}. {text}")


def show_facts(facts: etconfig.FactSheet, config: etconfig.Resolution) -> None:
    """Print the facts that conditions, expressions, schemas or the selection used."""
    used = {name for arguments in config for b in arguments for name in arguments.backends[b].facts_used}
    for match in config.selection.matches if config.selection else ():
        used |= match.profile.match.facts if match.profile.match else set()
    for name in sorted(used):
        fact = facts[name]
        if fact.is_known:
            print(f"{name:<22} {f'{fact.value} {fact.unit or str()}'.strip():<14} from {fact.origin.place}")
        else:
            print(f"{name:<22} unknown: {fact.reason}")


def show_selection(config: etconfig.Resolution) -> None:
    """Print the profiles that match and those of the demo, with the clauses that decided."""
    assert config.selection is not None
    shown = [m for m in config.selection.matches if m.is_match or m.profile.name.startswith("demo/")]
    for match in shown:
        answer = "matches" if match.is_match else "no match"
        print(f"{match.profile.name:<30} {answer}")
        for reason in match.reasons:
            print(f"    {reason}")
    others = len(config.selection.matches) - len(shown)
    print(f"({others} others do not match; `etconfig profiles match` shows the reasons)")
    chain = " < ".join(profile.name for profile in config.selection.chain)
    print(f"selected: {config.profile}, the most derived one that matches\nlayers:   {chain}")
    for profile in config.selection.outranked:
        print(f"not:      {profile.name} matches, too, but is not the user's own")


def show_arguments(config: etconfig.Resolution) -> None:
    """Print each option of each instance and backend, with its origin."""
    rows = [("", "OPTION", "VALUE", "FROM")]
    for number, instance in enumerate(("left", "right"), 1):
        arguments = config.arguments("forward", instance)
        for letter, backend in (("A", NPU), ("B", CPU)):
            for option, value in arguments[backend].to_jsonable().items():
                origin = shortened(str(arguments.origin(backend, option)))
                rows.append((f"{number}-{letter} {instance} {backend}", option, str(value), origin))
    print_columns(rows)


def shortened(text: str) -> str:
    """Return a text with paths relative to this directory."""
    return text.replace(f"{HERE}/", "")


def print_columns(rows: Sequence[Iterable[str]]) -> None:
    """Print rows with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def run(method: etconfig.Method, images: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the outputs for all images, (N, 10), and the median latency in milliseconds."""
    outputs, latencies_s = [], []
    for image in images:
        start_s = time.perf_counter()
        (output,) = method.execute([image[None]])
        latencies_s.append(time.perf_counter() - start_s)
        outputs.append(output[0])
    return np.stack(outputs), statistics.median(latencies_s) * 1e3


if __name__ == "__main__":
    main()
