"""The time to open, select from and resolve a device bundle in C++, and what that allocates.

    python benchmarks/bench_device.py [--repeats N] [--compiler c++]

The workloads: every bundled profile and one with 14 backends of 8 or of 30 options each (112 and 420 in
all), 10 conditional overlays, expressions and recommendations, on the sheet of a phone. Each time is shown
beside a floor: for opening, reading every byte once; for selecting and resolving, looking up every fact once.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import create_model

from etconfig.app.installation.installation import Installation
from etconfig.device import device_include_dir
from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.compiling.compilation import compile_bundle
from etconfig.device.compiling.content import BundleContent, BundledProfile
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.sheet import load_fact_sheet
from etconfig.plugin.v1 import Advice, ApiRange, BackendOptions, BackendSpec, Ge, option
from etconfig.profile.document import parse_document
from etconfig.profile.inheritance import ProfileReader
from etconfig.profile.layers import layers_of
from etconfig.profile.library import Provider
from etconfig.profile.profile import parse_profile
from etconfig.resolver.compiling.resolver import Resolver, Target

ROOT = Path(__file__).parents[1]
SHEET = ROOT / "sheets" / "google" / "tensor-g3.json"
KNOWN = {
    "cpu.available_cores": 8,
    "cpu.performance_cores": 4,
    "cpu.cache.l2": 524288,
    "memory.total": 8 << 30,
    "power.source": "battery",
}
BACKENDS = 14
CONDITIONS = (
    'power.source == "battery"',
    "cpu.available_cores > 4",
    'os.name == "android" && cpu.arch == "arm64"',
    'soc.model.startsWith("Tensor")',
    "memory.total > 4000000000 || has(thermal.state)",
)


class DeviceOptions(BackendOptions):
    num_threads: Annotated[int, Ge(1)] = option(
        1, from_fact="cpu.available_cores", applies="execute", doc="."
    )
    cache: bool = option(True, applies="load", doc=".")
    share: float = option(0.5, applies="execute", doc=".")
    path: str = option("", applies="load", doc=".")
    level: int = option(0, applies="load", doc=".")
    mode: str = option("plain", applies="load", doc=".")
    order: tuple[int, ...] = option((1, 2), applies="load", doc=".")
    labels: dict[str, str] = option({"a": "b"}, applies="load", doc=".")


EXTRA: dict[str, Any] = {f"extra_{number}": (int, option(0, applies="load", doc=".")) for number in range(22)}
ManyOptions = create_model("ManyOptions", __base__=DeviceOptions, **EXTRA)

ADVICE = (
    Advice("num_threads", expr="max(1, min(cpu.available_cores, cpu.performance_cores))"),
    Advice("mode", expr='"fast"', when='power.source == "mains"'),
)
NAMES = tuple(f"Device{number}Backend" for number in range(BACKENDS))


def document() -> str:
    """Return a profile that sets options of every backend."""
    lines = ['[profile]\nname = "bench/phone"\nmatch = \'os.name == "android" && cpu.arch == "arm64"\'']
    for name in NAMES:
        lines += [f"[options.{name}]", "cache = false", 'labels = { c = "d" }']
        lines.append('level = { expr = "has(cpu.cache.l2) ? cpu.cache.l2 / 1024 : 0" }')
    for number in range(10):
        lines.append(f"[[when]]\nif = '{CONDITIONS[number % len(CONDITIONS)]}'")
        for name in NAMES[number % 3 :: 3]:
            lines += [f"[when.options.{name}]", f"share = {number}.5", f'path = "/data/{number}"']
    return "\n".join(lines)


def bundled_profiles() -> Iterator[BundledProfile]:
    """Yield the profiles that come with etconfig, for selection only."""
    reader = ProfileReader(Installation(environ={}).profiles)
    for name in reader.library.names:
        file = reader.library.find(name)
        chain = reader.chain(file)
        yield BundledProfile(
            name=name,
            bases=tuple(base.name for base in chain[:-1]),
            match=chain[-1].match,
            provider=file.provider,
            facts={},
            instances={},
        )


def content(options: type[BackendOptions]) -> BundleContent:
    """Return the workload in which each backend has these options."""
    specs = {
        name: BackendSpec(id=name, doc=".", options=options, api=ApiRange(1, 1), advice=ADVICE)
        for name in NAMES
    }
    profile = parse_profile(parse_document(document(), "phone.toml"), ExpressionParser(BUILTIN_FACTS))
    resolver = Resolver.compile(specs, layers_of([profile]), [Target(method="forward", backends=NAMES)])
    own = BundledProfile(
        name=profile.name,
        bases=(),
        match=profile.match,
        provider=Provider.USER,
        facts={},
        instances=resolver.instances,
    )
    return BundleContent(
        producer="bench", registry=BUILTIN_FACTS, profiles=(own, *bundled_profiles()), project_facts={}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--compiler", default=shutil.which("c++") or "g++")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bundle, program, sheet = (
            Path(directory) / name for name in ("bench.etbundle", "measure", "sheet.json")
        )
        sheet.write_text(load_fact_sheet(SHEET).with_overrides(KNOWN).to_json())
        flags = ["-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", f"-I{device_include_dir()}"]
        source = str(ROOT / "benchmarks" / "measure_bundle.cpp")
        subprocess.run([arguments.compiler, *flags, source, "-o", str(program)], check=True)
        command = [str(program), str(bundle), str(sheet), "forward", str(arguments.repeats)]
        for options in (DeviceOptions, ManyOptions):
            bundle.write_bytes(write_tables(compile_bundle(content(options))))
            show(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def show(measured: str) -> None:
    first, *lines = measured.splitlines()
    print(first)
    print(f"{'':12} {'us':>8} {'allocations':>12}")
    for line in lines:
        name, allocations, nanoseconds = line.split()
        print(f"{name:12} {int(nanoseconds) / 1000:8.2f} {allocations:>12}")


if __name__ == "__main__":
    main()
