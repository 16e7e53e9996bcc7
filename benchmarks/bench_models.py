"""Whole models, against ExecuTorch without and with XNNPACK and against torch, on one thread.

Prints etconfig's time in microseconds and its ratio to the others' in the same rounds, as
bench_kernels.py does, and to itself without the optimizer. Needs what `make test-peers` installs.

    PYTHONPATH=tools python benchmarks/bench_models.py [--size small] [--keep FOLDER] [NAME ...]

Most of the time goes into exporting; programs in FOLDER, of the same versions, are not exported again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from architectures import ARCHITECTURES, SIZES, make
from peers import print_ratios, print_settings, runs_of, times_in_turns, use_one_thread

PEERS = ("faithful", "portable", "xnnpack", "torch")


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(ARCHITECTURES))
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where exported programs are kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # torch's own, while it exports
    print_settings()
    print(f"{'model':<34}{'etconfig us':>11}" + "".join(f"{'/' + name:>12}" for name in PEERS))
    for name in options.names:
        example = make(name, options.size)
        kept = options.keep and options.keep / f"{name}-{options.size}"
        runs = runs_of(example.module, example.calls[0], kept, faithful={"optimize": False})
        print_ratios(PEERS, f"{name} {options.size}", times_in_turns(runs))


if __name__ == "__main__":
    main()
