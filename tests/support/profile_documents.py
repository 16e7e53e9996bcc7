"""Valid documents, and documents with mistakes that a schema can find, for the reference backends."""

from __future__ import annotations

from collections.abc import Mapping

_HEAD = '[profile]\nname = "acme/board"\n'
_NPU = "options.ReferenceNpuBackend"
_EVIDENCE = (
    f'{_HEAD}[evidence]\nmade = 2026-11-01\nmodel = "sha256:0f"\nengine = "tiny 1.0"\n'
    "device = {}\nnoise = 1.01\n"
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
    "whole evidence": f'{_EVIDENCE}backend = "TinyBackend"\nshapes = ["x=1,3,48,192"]\nobjective = "memory"\n'
    f'{_GAIN}[[evidence.options]]\noption = "TinyBackend.threads"\n{_GAIN}',
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

BAD_PROJECTS: Mapping[str, str] = {
    "head of a profile": _HEAD,
    "plugins": "[plugins]\nallow = true\n",
    "key of plugins": "[plugins]\nallowed = []\n",
    "profile path": 'profile_path = "boards"\n',
    "executor": 'executor = ["numpy"]\n',
    "programs": "programs = [1]\n",
    "key of the document": 'profil = "auto"\n',
}
