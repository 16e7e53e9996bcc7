"""Configurations that were resolved when packing, as a program in C++ reads them without facts."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from c_interface import Device, build_library
from device_programs import SANITIZED, compile_device_program, device_program
from resolving import make_facts, make_layer
from wired_options import WiredOptions

import etconfig
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.plugin.v1 import ApiRange, BackendSpec, option
from etconfig.profile.layer import Layer
from etconfig.resolver.compiling.resolver import Resolver, Target
from etconfig.resolver.deciding.resolution import Resolution


class AcmeOptions(WiredOptions):
    cache: str | None = option(None, applies="load", doc="Where.")
    note: str = option("", applies="load", doc="Recommended.")
    budget: int = option(0, applies="load", doc="Fixed by the program.")
    share: float = option(0.5, applies="load", doc="A share.")


SPEC = BackendSpec(
    id="Acme",
    doc="Acme.",
    options=AcmeOptions,
    api=ApiRange(1, 1),
    recommend=lambda facts: {"note": "für Ünïcode 🦊"},
)


reader = device_program("configurations.cpp", "-O1", *SANITIZED)
"""The program that prints the configurations of a bundle."""


def resolved(layer: Layer, cores: int = 4) -> Resolution:
    fixed = {"budget": Sourced(2**40, Origin(OriginKind.PROGRAM, "model.pte"))}
    target = Target(method="forward", backends=("Acme",), instances=("left",), program={"Acme": fixed})
    return Resolver.compile({"Acme": SPEC}, [layer], [target]).resolve(make_facts(cpu__available_cores=cores))


def printed(reader: Path, bundle: etconfig.DeviceBundle, path: Path) -> list[str]:
    bundle.save(path)
    done = subprocess.run([reader, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_option_is_there_with_all_that_is_known_of_it(reader: Path, tmp_path: Path) -> None:
    lines = (
        ("Acme.sharing", "all"),
        ("Acme.layers", ["a", "b"]),
        ("forward@left:Acme.labels", {"x": [1, 2]}),
    )
    resolution = resolved(make_layer(*lines))
    bundle = etconfig.pack_resolutions({"board": resolution})
    common = [
        'Acme.sharing = "all" sent 2 as share_mode, method, load, set, from profile p.toml:1:1',
        'Acme.layers = ["a", "b"] sent ["a", "b"] joined as layers, method, load, set, '
        "from profile p.toml:2:1",
        "Acme.threads = 4 sent 4 as nothing, process, execute, "
        "from default AcmeOptions (fact cpu.available_cores)",
    ]
    rest = [
        "Acme.cache = none sent none as cache, method, load, from default AcmeOptions",
        'Acme.note = "für Ünïcode 🦊" sent "für Ünïcode 🦊" as note, method, load, from recommendation Acme',
        "Acme.budget = 1099511627776 sent 1099511627776 as budget, method, load, from program model.pte",
        "Acme.share = 0.5 sent 0.5 as share, method, load, from default AcmeOptions",
    ]
    of_default = "Acme.labels = {} sent {} as labels, method, load, from default AcmeOptions"
    of_left = (
        "Acme.labels = {x = [1, 2]} sent {x = [1, 2]} as labels, method, load, set, from profile p.toml:3:1"
    )
    assert printed(reader, bundle, tmp_path / "app.etbundle") == [
        "selects 0",
        f"board {resolution.fingerprint()}",
        "forward@",
        *(*common, of_default, *rest),
        "forward@left",
        *(*common, of_left, *rest),
    ]


def test_profiles_that_come_with_etconfig_set_nothing(reader: Path, tmp_path: Path) -> None:
    layer = replace(make_layer(("Acme.cache", "/x")), is_bundled=True)
    bundle = etconfig.pack_resolutions({"board": resolved(layer)})
    lines = printed(reader, bundle, tmp_path / "app.etbundle")
    assert 'Acme.cache = "/x" sent "/x" as cache, method, load, from profile p.toml:1:1' in lines


def test_one_of_several_is_selected_by_name(reader: Path, tmp_path: Path) -> None:
    layer = make_layer()
    bundle = etconfig.pack_resolutions({"pi": resolved(layer), "laptop": resolved(layer, cores=8)})
    lines = printed(reader, bundle, tmp_path / "app.etbundle")
    assert lines[0] == "selects none of 2"
    threads = [line.split()[2] for line in lines if line.startswith("Acme.threads")]
    assert threads == ["8", "8", "4", "4"]


def test_etdevice_takes_one_by_its_name(tmp_path: Path) -> None:
    source = "../../../etconfig/device/etdevice/main.cpp"
    etdevice = compile_device_program(source, tmp_path / "etdevice")
    layer = make_layer()
    bundle = etconfig.pack_resolutions({"pi": resolved(layer), "laptop": resolved(layer, cores=8)})
    bundle.save(tmp_path / "app.etbundle")
    explain = [etdevice, "explain", "--bundle", tmp_path / "app.etbundle", "forward:Acme.threads"]
    done = subprocess.run([*explain, "--profile", "pi"], capture_output=True, text=True, check=True)
    assert done.stdout == ("forward:Acme.threads = 4 from default AcmeOptions (fact cpu.available_cores)\n")
    done = subprocess.run(explain, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == ("error: its configurations were resolved when packing: name one with --profile\n")


def test_the_c_interface_takes_one_by_its_name(tmp_path: Path) -> None:
    library = build_library(tmp_path / "libetconfig_device.so")
    layer = make_layer(("Acme.sharing", "all"))
    two = etconfig.pack_resolutions({"pi": resolved(layer), "laptop": resolved(layer, cores=8)})
    device = Device(library, two.to_bytes())
    assert (device.opened, device.listed("fact_name"), device.status("select")) == ("OK", [], "NO_MATCH")
    for name, threads in (("pi", 4), ("laptop", 8)):
        assert device.status("use_profile", name) == "OK"
        assert device.status("resolve", "forward", "left") == "OK"
        assert device.integer("Acme", "threads") == threads
    only = Device(library, etconfig.pack_resolutions({"pi": resolved(layer)}).to_bytes())
    assert (only.status("select"), only.call("profile")) == ("OK", "pi")
    assert only.status("resolve", "forward", None) == "OK"
    assert only.value("Acme", "sharing") == "all"
    line = only.written("explain", "forward:Acme.sharing")
    assert line == 'forward:Acme.sharing = "all" from profile p.toml:1:1'
