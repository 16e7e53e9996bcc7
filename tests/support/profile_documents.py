"""Documents for the reference backends: valid ones, and ones with mistakes, some beyond a schema."""

from __future__ import annotations

from collections.abc import Mapping

_HEAD = '[profile]\nname = "acme/board"\n'
_NPU = "options.ReferenceNpuBackend"
_CPU = "options.ReferenceCpuBackend"
_EVIDENCE = (
    f'{_HEAD}[evidence]\nmade = 2026-11-01\nmodel = "sha256:0f"\nengine = "tiny 1.0"\n'
    "device = {}\nnoise = 1.01\n"
)
_USED = (
    f'{_HEAD}[evidence]\nsource = "usage"\nmade = 2026-11-01\nrollout = "a"\nobjective = "p95"\n'
    "ratio = 0.58\ninterval = [0.56, 0.6]\ndevices = 600\n"
)
_GAIN = "ratio = 0.58\ninterval = [0.56, 0.6]\npairs = 160\n"

GOOD_PROFILES: Mapping[str, str] = {
    "least": _HEAD,
    "whole head": '[profile]\nname = "a.b/c-d_1"\nextends = ["generic/any"]\ndescription = "A board."\n'
    'match = "cpu.available_cores > 1"\n',
    "options": f'{_HEAD}[{_NPU}]\ncore = 3\npower_mode = "low"\n',
    "expression": f'{_HEAD}[{_NPU}]\ncore = {{ expr = "min(cpu.available_cores, 3)" }}\n',
    "unset": f"{_HEAD}[{_NPU}]\ncore = {{ unset = true }}\n",
    "glob": f'{_HEAD}[methods."embed*".{_NPU}]\ncore = 1\n',
    "instance": f'{_HEAD}[instances.camera0]\nmethod = "forward"\n[instances.camera0.{_NPU}]\ncore = 1\n',
    "overlay": f"{_HEAD}[[when]]\nif = 'power.source == \"battery\"'\n[when.{_NPU}]\ncore = 1\n"
    f"[when.methods.forward.{_NPU}]\ncore = 2\n",
    "facts": f'{_HEAD}[facts]\n"cpu.performance_cores" = 4\n"gpu.0.name" = "A"\n"cpu.features" = ["neon"]\n',
    "another backend": f"{_HEAD}[options.VendorsOwnDelegate]\nanything = [1, 2]\n",
    "evidence": _EVIDENCE,
    "quantity": f'{_HEAD}[{_CPU}]\nscratch_bytes = "512 KiB"\n',
    "number for a quantity": f"{_HEAD}[{_CPU}]\nscratch_bytes = 4096\n",
    "inline tables": f"options.ReferenceNpuBackend = {{ core = 1 }}\n{_HEAD}",
    "TOML 1.1": f'{_HEAD}[{_NPU}]\ncore = {{\n  expr = "1",\n}}\n',
    "unset in an overlay": f"{_HEAD}[[when]]\nif = 'true'\n[when.{_NPU}]\ncore = {{ unset = true }}\n",
    "instance in an overlay": f'{_HEAD}[instances.c]\nmethod = "f"\n[[when]]\nif = "true"\n'
    f"[when.instances.c.{_NPU}]\ncore = 2\n",
    "two overlays": f"{_HEAD}[[when]]\nif = 'true'\n[[when]]\nif = 'cpu.available_cores > 1'\n"
    f"[when.{_NPU}]\ncore = 1\n",
    "tables of unknown backends": f"{_HEAD}[options.VendorsOwnDelegate.more]\na = 1.5\nb = [{{ c = 1 }}]\n",
    "whole evidence": f'{_EVIDENCE}backend = "TinyBackend"\nshapes = ["x=1,3,48,192"]\nobjective = "memory"\n'
    f'{_GAIN}[[evidence.options]]\noption = "TinyBackend.threads"\n{_GAIN}',
    "evidence from usage": f'{_USED}[[evidence.options]]\noption = "TinyBackend.threads"\n',
}

BAD_PROFILES: Mapping[str, str] = {
    "engine of evidence": _EVIDENCE.replace("tiny 1.0", " 1.0"),
    "model of evidence": _EVIDENCE.replace("sha256:0f", ""),
    "objective of evidence": f'{_EVIDENCE}objective = "nonsense"\n',
    "backend of evidence": f'{_EVIDENCE}backend = ""\n',
    "shapes of evidence": f'{_EVIDENCE}shapes = ["x=a"]\n',
    "interval of evidence": f"{_EVIDENCE}{_GAIN}".replace("0.56", "-1"),
    "interval without a ratio": f"{_EVIDENCE}interval = [0.56, 0.6]\n",
    "pairs of evidence": f"{_EVIDENCE}{_GAIN}".replace("160", "0"),
    "option of evidence": f'{_EVIDENCE}[[evidence.options]]\noption = "threads"\n{_GAIN}',
    "source of evidence": _USED.replace('"usage"', '"use"'),
    "objective of usage": _USED.replace("p95", "latency"),
    "devices of usage": _USED.replace("600", "0"),
    "usage without devices": _USED.replace("devices = 600\n", ""),
    "usage without an interval": _USED.replace("interval = [0.56, 0.6]\n", ""),
    "model of usage": f'{_USED}model = "sha256:0f"\n',
    "gain of an option of usage": f'{_USED}[[evidence.options]]\noption = "TinyBackend.threads"\n{_GAIN}',
    "float for an integer": f"{_HEAD}[{_NPU}]\ncore = 2.0\n",
    "float for a fact": f'{_HEAD}[facts]\n"cpu.performance_cores" = 4.0\n',
    "float for a bounded integer": f"{_HEAD}[{_CPU}]\nnum_threads = 4.0\n",
    "below the bound": f"{_HEAD}[{_CPU}]\nnum_threads = 0\n",
    "boolean for an integer": f"{_HEAD}[{_CPU}]\nnum_threads = true\n",
    "quantity in another unit": f'{_HEAD}[{_CPU}]\nscratch_bytes = "20 ms"\n',
    "list for an option": f"{_HEAD}[{_NPU}]\ncore = [1]\n",
    "key beside unset": f"{_HEAD}[{_NPU}]\ncore = {{ unset = true, expr = '1' }}\n",
    "misspelt expr": f'{_HEAD}[{_NPU}]\ncore = {{ exp = "1" }}\n',
    "extends as a text": '[profile]\nname = "acme/board"\nextends = "generic/any"\n',
    "match that is not a text": '[profile]\nname = "acme/board"\nmatch = true\n',
    "condition that is not a text": f"{_HEAD}[[when]]\nif = true\n",
    "options of an instance outside": f'{_HEAD}[instances.a]\nmethod = "f"\n'
    "[instances.a.ReferenceNpuBackend]\ncore = 1\n",
    "no head": "[options.ReferenceNpuBackend]\ncore = 1\n",
    "no name": "[profile]\n",
    "name": '[profile]\nname = "a//b"\n',
    "name like a path": '[profile]\nname = "a.toml"\n',
    "key of the head": f'{_HEAD}macth = "true"\n',
    "key of the document": f"option = 1\n{_HEAD}",
    "head of a project file": f"plugins = {{}}\n{_HEAD}",
    "option": f"{_HEAD}[{_NPU}]\ncoer = 1\n",
    "bound": f"{_HEAD}[{_NPU}]\ncore = 4\n",
    "type": f'{_HEAD}[{_NPU}]\ncore = "1"\n',
    "choice": f'{_HEAD}[{_NPU}]\npower_mode = "hihg"\n',
    "expression of no string": f"{_HEAD}[{_NPU}]\ncore = {{ expr = 1 }}\n",
    "expression and more": f'{_HEAD}[{_NPU}]\ncore = {{ expr = "1", unset = true }}\n',
    "unset but not": f"{_HEAD}[{_NPU}]\ncore = {{ unset = false }}\n",
    "option outside a backend": f"{_HEAD}[options]\ncore = 1\n",
    "method name": f'{_HEAD}[methods."a b".{_NPU}]\ncore = 1\n',
    "method without options": f"{_HEAD}[methods.forward.ReferenceNpuBackend]\ncore = 1\n",
    "instance name": f'{_HEAD}[instances."camera*"]\nmethod = "forward"\n',
    "instance of a pattern": f'{_HEAD}[instances.camera0]\nmethod = "for*"\n',
    "overlay without condition": f"{_HEAD}[[when]]\n[when.{_NPU}]\ncore = 1\n",
    "overlay that is not an array": f'{_HEAD}[when]\nif = "true"\n',
    "method in an overlay": f'{_HEAD}[instances.c]\nmethod = "f"\n[[when]]\nif = "true"\n'
    '[when.instances.c]\nmethod = "g"\n',
    "unknown fact": f'{_HEAD}[facts]\n"cpu.performance_core" = 4\n',
    "type of a fact": f'{_HEAD}[facts]\n"cpu.performance_cores" = "4"\n',
    "bound of a fact": f'{_HEAD}[facts]\n"power.battery_level" = 2.0\n',
}

GOOD_PROJECTS: Mapping[str, str] = {
    "empty": "",
    "profile": 'profile = "generic/any"\n',
    "plugins": 'profile = "generic/any"\n[plugins]\nallow = ["etconfig-reference"]\ndeny = []\n'
    '[plugins.prefer]\nReferenceNpuBackend = "etconfig-reference"\n',
    "profile path and executor": 'profile_path = ["."]\nexecutor = "numpy"\n',
    "programs": 'programs = ["model.pte"]\n',
    "settings": f'profile = "generic/any"\n[{_NPU}]\ncore = 1\n[[when]]\nif = "true"\n',
}

GOOD_MODELS: Mapping[str, str] = {
    "variants": '[model.detector]\nfallback = true\n[[model.detector.variants]]\nfile = "a.pte"\n'
    "when = 'cpu.available_cores > 2'\nfits = 0.25\n[[model.detector.variants]]\nfile = \"b.pte\"\n"
    'data = ["b.ptd"]\n',
    "engine": '[model.detector]\nbackends = ["ReferenceCpuBackend"]\n',
}

BAD_MODELS: Mapping[str, str] = {
    "no variants": "[model.detector]\nvariants = []\n",
    "no file": "[[model.detector.variants]]\nwhen = 'true'\n",
    "backends and variants": '[model.a]\nbackends = ["ReferenceCpuBackend"]\n'
    '[[model.a.variants]]\nfile = "a.pte"\n',
    "name": '[model."a b"]\nbackends = ["ReferenceCpuBackend"]\n',
    "margin": '[[model.a.variants]]\nfile = "a.pte"\nfits = -0.5\n',
    "backend twice": '[model.a]\nbackends = ["ReferenceCpuBackend", "ReferenceCpuBackend"]\n',
}

ONLY_VALIDATE_SEES: Mapping[str, str] = {
    "expression": f'{_HEAD}[{_NPU}]\ncore = {{ expr = "min(cpu.available_coers, 3)" }}\n',
    "type of an expression": f'{_HEAD}[{_NPU}]\ncore = {{ expr = "os.name" }}\n',
    "bounds of an expression": f'{_HEAD}[{_NPU}]\ncore = {{ expr = "9" }}\n',
    "condition": '[profile]\nname = "acme/board"\nmatch = "cpu.available_cores"\n',
    "word of a fact in a condition": '[profile]\nname = "acme/board"\nmatch = \'os.name == "andriod"\'\n',
    "base": '[profile]\nname = "acme/board"\nextends = ["generic/nay"]\n',
    "base twice": '[profile]\nname = "acme/board"\nextends = ["generic/any", "generic/any"]\n',
    "itself as a base": '[profile]\nname = "acme/board"\nextends = ["p.toml"]\n',
    "misspelt backend": f"{_HEAD}[options.ReferenceNpuBackned]\ncore = 1\n",
    "part of a byte": f'{_HEAD}[{_CPU}]\nscratch_bytes = "4096.5 B"\n',
    "bound of a quantity": f'{_HEAD}[{_CPU}]\nscratch_bytes = "1 B"\n',
    "evidence of tomorrow": _EVIDENCE.replace("2026-11-01", '"2026-11-01"'),
    "invisible character": f'{_HEAD}[methods."f\u200b".{_NPU}]\ncore = 1\n',
    "instance that no profile declares": f"{_HEAD}[[when]]\nif = 'true'\n"
    f"[when.instances.c.{_NPU}]\ncore = 1\n",
}
"""Profiles that a schema cannot refuse, by what is wrong."""

BAD_PROJECTS: Mapping[str, str] = {
    "head of a profile": _HEAD,
    "plugins": "[plugins]\nallow = true\n",
    "key of plugins": "[plugins]\nallowed = []\n",
    "profile path": 'profile_path = "boards"\n',
    "executor": 'executor = ["numpy"]\n',
    "programs": "programs = [1]\n",
    "key of the document": 'profil = "auto"\n',
}
