"""A correct plugin package, and a table of changes that each break a rule, with the resulting report."""

from __future__ import annotations

from pathlib import Path

import etconfig

ENTRY_POINTS = """
[etconfig.backends]
AcmeBackend = acme_npu.plugin
[etconfig.facts]
acme = acme_npu.facts
[etconfig.conformance]
AcmeBackend = acme_npu.kit
"""

PLUGIN = """
from acme_npu.options import AcmeOptions
from etconfig.plugin.v1 import ApiRange, BackendSpec, hookimpl

def make_backend():
    from acme_npu.runtime import AcmeBackend
    return AcmeBackend()

def recommend(facts):
    return {"cores": 2}

@hookimpl
def etconfig_backend(request):
    return BackendSpec(
        id="AcmeBackend", doc="Runs on Acme's NPU.", options=AcmeOptions, api=ApiRange(min=1, built=1),
        factory=make_backend, recommend=recommend,
    )
"""

OPTIONS = """
from typing import Annotated
from etconfig.plugin.v1 import BackendOptions, Ge, option

class AcmeOptions(BackendOptions):
    cores: Annotated[int, Ge(1)] = option(1, applies="load", doc="How many cores the delegate takes.")
"""

RUNTIME = """
from etconfig.plugin.v1 import Availability, Backend

class AcmeBackend(Backend):
    def availability(self):
        return Availability.yes()

    def init(self, context, processed, compile_specs):
        return context.options

    def execute(self, context, handle, args):
        args[1][...] = args[0]
"""

FACTS = """
from etconfig.plugin.v1 import (
    ApiRange, FactInfo, FactsContribution, FactType, FunctionDetector, Reading, Volatility, hookimpl,
)

CORES = FactInfo(name="acme.cores", type=FactType.INT, doc="Cores of the NPU.", volatility=Volatility.STATIC)

def find_cores(system):
    yield Reading.of("acme.cores", system.read_int("/sys/acme/cores"), "/sys/acme/cores", otherwise="no NPU")

@hookimpl
def etconfig_facts(request):
    detector = FunctionDetector("acme", ("acme.cores",), find_cores)
    return FactsContribution(api=ApiRange(min=1, built=1), facts=(CORES,), detectors=(detector,))
"""

KIT = """
from pathlib import Path
from etconfig.plugin.v1 import ApiRange, ConformanceContribution, hookimpl

@hookimpl
def etconfig_conformance(request):
    return ConformanceContribution(api=ApiRange(min=1, built=1), programs=Path(__file__).parent / "golden")
"""

FILES = {
    "plugin.py": PLUGIN,
    "options.py": OPTIONS,
    "runtime.py": RUNTIME,
    "facts.py": FACTS,
    "kit.py": KIT,
    "entry_points.txt": ENTRY_POINTS,
}

ROOT = Path(etconfig.__file__).parents[1]
OPTION = "cores: Annotated[int, Ge(1)] = option(1,"
DOC = 'doc="How many cores the delegate takes."'

CASES = [
    (
        "entry_points.txt",
        "acme_npu.facts",
        "",
        "static-metadata",
        "acme-npu 1.0: its entry_points.txt is malformed: line 4: expected NAME = VALUE, found 'acme "
        "='; rebuild the wheel",
    ),
    (
        "entry_points.txt",
        "acme_npu.plugin",
        "acme_npu.plugin\nAcme_Backend = x",
        "unique-id",
        "acme-npu 1.0 declares Acme_Backend and acme-npu 1.0 declares AcmeBackend, expected ids that "
        "cannot be confused; rename one, or uninstall one distribution",
    ),
    (
        "entry_points.txt",
        "AcmeBackend = acme_npu.plugin",
        "AcmeBackend = acme npu",
        "signature-bind",
        "acme npu (entry_points.txt: [etconfig.backends] AcmeBackend): its entry point has the "
        "value 'acme npu'; write MODULE or MODULE:OBJECT in the plugin's pyproject.toml",
    ),
    (
        "entry_points.txt",
        "[etconfig.conformance]",
        "[etconfig.conformence]",
        "static-metadata",
        "acme-npu 1.0: it has entry points in the group 'etconfig.conformence', which etconfig does not "
        "read; write 'etconfig.conformance' in pyproject.toml, and install it again",
    ),
    (
        "entry_points.txt",
        "acme_npu.plugin",
        "acme_npu.plugn",
        "signature-bind",
        "acme_npu.plugn (entry_points.txt: [etconfig.backends] AcmeBackend): its import raised "
        "ModuleNotFoundError: No module named 'acme_npu.plugn'; correct the module of the entry point "
        "AcmeBackend in pyproject.toml, and install it again",
    ),
    (
        "facts.py",
        "from etconfig",
        "import acme_sdk\nfrom etconfig",
        "facts-bounded",
        "acme_npu.facts (facts.py:1): its import raised ModuleNotFoundError: No module named 'acme_sdk'; "
        "import acme_sdk only when it is needed, or correct the name",
    ),
    (
        "plugin.py",
        'return {"cores": 2}',
        'return {"cores": facts.get("acme.core") or facts.get("gpus.0.count") or facts.get("cpu.cores", 2)}',
        "recommend-valid",
        "plugin.py:8: recommend of AcmeBackend reads the fact 'acme.core', which no plugin declares; did you "
        "mean 'acme.cores'?",
    ),
    (
        "entry_points.txt",
        "acme_npu.plugin",
        "acme_npu.plugin:nothing",
        "signature-bind",
        "acme_npu.plugin (plugin.py:1): acme_npu.plugin has no 'nothing', which its entry point "
        "names; name an object of that module in the entry point AcmeBackend of pyproject.toml",
    ),
    (
        "plugin.py",
        "from acme_npu.options",
        "import os\nos.environ['ACME'] = '/opt'\nfrom acme_npu.options",
        "import-pure",
        "acme_npu.plugin: loading it changes os.environ: ACME; do not change the process, and do "
        "what a delegate needs in Backend.init",
    ),
    (
        "plugin.py",
        "from acme_npu.options",
        "import torch\nfrom acme_npu.options",
        "import-budget",
        ".../acme_npu/plugin.py:1 imports torch while the plugin is loaded; import it only in the "
        "ahead-of-time half",
    ),
    (
        "plugin.py",
        "from acme_npu.options",
        "import acme_sdk\nfrom acme_npu.options",
        "signature-bind",
        "acme_npu.plugin (plugin.py:1): its import raised ModuleNotFoundError: No module named "
        "'acme_sdk'; import acme_sdk only when a backend is created, or correct the name; without"
        " it, availability() returns Availability.no(reason, fix)",
    ),
    (
        "plugin.py",
        "from acme_npu.options",
        "from acme_npu.optionz",
        "signature-bind",
        "acme_npu.plugin (plugin.py:1): its import raised ModuleNotFoundError: No module named "
        "'acme_npu.optionz'; import acme_npu.optionz only when a backend is created, or correct "
        "the name; without it, availability() returns Availability.no(reason, fix)",
    ),
    (
        "plugin.py",
        "factory=make_backend",
        "factroy=make_backend",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised TypeError: "
        "BackendSpec.__init__() got an unexpected keyword argument 'factroy'; did you mean "
        "'factory'?",
    ),
    (
        "plugin.py",
        "ApiRange, BackendSpec",
        "ApiRange, BackendSpec, NewSpec",
        "signature-bind",
        "acme_npu.plugin (plugin.py:2): its import raised ImportError: cannot import name "
        f"'NewSpec' from 'etconfig.plugin.v1' ({ROOT}/etconfig/plugin/v1.py); import names "
        "that etconfig.plugin.v1 has; docs/public-api.md lists the names",
    ),
    (
        "plugin.py",
        "from acme_npu.options",
        "raise SystemExit(3)\nfrom acme_npu.options",
        "signature-bind",
        "acme_npu.plugin (plugin.py:1): its import raised SystemExit: 3; correct "
        "it: its import must succeed on every machine",
    ),
    (
        "plugin.py",
        "@hookimpl",
        "",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:12): acme_npu.plugin has an unmarked "
        "etconfig_backend; write: @hookimpl def etconfig_backend(request): ...",
    ),
    (
        "plugin.py",
        "def etconfig_backend",
        "def etconfig_backends",
        "signature-bind",
        "acme_npu.plugin (plugin.py:1): acme_npu.plugin has no etconfig_backend, but "
        "etconfig_backends; write: @hookimpl def etconfig_backend(request): ...",
    ),
    (
        "plugin.py",
        "etconfig_backend(request)",
        "etconfig_backend(spec)",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): Plugin 'acme_npu.plugin' for hook "
        "'etconfig_backend' hookimpl definition: etconfig_backend(spec) Argument(s) {'spec'} are "
        "declared in the hookimpl but can not be found in the hookspec; let each hook take the "
        "one argument request",
    ),
    (
        "plugin.py",
        "etconfig_backend(request)",
        "etconfig_backend(request=None)",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): etconfig_backend would not get its "
        "request; write: def etconfig_backend(request)",
    ),
    (
        "plugin.py",
        "def etconfig_backend",
        "async def etconfig_backend",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): etconfig_backend is async, but the core"
        " calls it and uses its result at once; write: def etconfig_backend(request)",
    ),
    (
        "plugin.py",
        "return BackendSpec(",
        "BackendSpec(",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): etconfig_backend returned None, not a "
        "BackendSpec; return a BackendSpec",
    ),
    (
        "plugin.py",
        'id="AcmeBackend"',
        'id="AcmeNpu"',
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): its entry point is named 'AcmeBackend',"
        " but its spec has the id 'AcmeNpu'; name both after the id that programs use; a module of several "
        "backends looks at request.name",
    ),
    (
        "plugin.py",
        'id="AcmeBackend"',
        'id="Acme Backend"',
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised ValueError: "
        "'Acme Backend' is not a backend id; expected at most 63 letters, digits, _ and -, not "
        "beginning with a digit or -; correct this line: the hook returns its answer, and raises "
        "nothing",
    ),
    (
        "plugin.py",
        "Runs on Acme's NPU.",
        "",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised ValueError: "
        "backend AcmeBackend needs a doc: say what the backend is; correct this line: the hook "
        "returns its answer, and raises nothing",
    ),
    (
        "plugin.py",
        "options=AcmeOptions",
        "options=dict",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:13): etconfig_backend raised TypeError: "
        "backend AcmeBackend: options must be a subclass of BackendOptions; correct this line: "
        "the hook returns its answer, and raises nothing",
    ),
    (
        "plugin.py",
        "min=1, built=1",
        "min=2, built=1",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:14): etconfig_backend raised ValueError: "
        "ApiRange(min=2, built=1) is not a range: expected 1 <= min <= built; correct this line: "
        "the hook returns its answer, and raises nothing",
    ),
    (
        "plugin.py",
        "min=1, built=1",
        "min=2, built=2",
        "api-range",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): it needs plugin API 2 or newer, this "
        "etconfig has 1: upgrade etconfig; see the plugin's notes on versions",
    ),
    (
        "plugin.py",
        "api=ApiRange(min=1, built=1)",
        "api=1",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): etconfig_backend returned a BackendSpec"
        " whose api is not an ApiRange; say api=ApiRange(min=..., built=...)",
    ),
    (
        "plugin.py",
        "factory=make_backend",
        "factory=make_backend, capabilities={}",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): its spec's capabilities are a dict; "
        "give an etconfig.plugin.v1.Capabilities",
    ),
    (
        "plugin.py",
        "factory=make_backend",
        "factory=make_backend()",
        "signature-bind",
        "acme_npu.plugin:etconfig_backend (plugin.py:11): its spec's factory is an object of "
        "AcmeBackend; give factory a function, not what the function returns",
    ),
    (
        "plugin.py",
        "def make_backend()",
        "def make_backend(device)",
        "signature-bind",
        "acme_npu.plugin:make_backend (plugin.py:4): factory cannot take the call factory(): "
        "missing a required argument: 'device'; let factory take the arguments ()",
    ),
    (
        "plugin.py",
        "return AcmeBackend()",
        "return None",
        "signature-bind",
        "acme_npu.plugin:make_backend (plugin.py:4): its factory made an object of NoneType, "
        "which is not a Backend; derive the class from etconfig.plugin.v1.Backend",
    ),
    (
        "plugin.py",
        "return AcmeBackend()",
        "return AcmeBackend(2)",
        "signature-bind",
        "acme_npu.plugin:make_backend (plugin.py:6): its factory raised TypeError: AcmeBackend() "
        "takes no arguments; correct this line: a factory returns a Backend, and raises nothing",
    ),
    (
        "plugin.py",
        "def recommend(facts)",
        "def recommend()",
        "signature-bind",
        "acme_npu.plugin:recommend (plugin.py:8): recommend cannot take the call "
        "recommend(facts): too many positional arguments; let recommend take the arguments "
        "(facts)",
    ),
    (
        "plugin.py",
        "    return BackendSpec(",
        "    assert request.core_api == 1\n    return BackendSpec(",
        "api-range",
        "acme_npu.plugin, for a core with plugin API 2, fails: plugin.py:13: etconfig_backend raised "
        "AssertionError: no message; accept every core from plugin API 1 on, newer ones stay compatible",
    ),
    (
        "plugin.py",
        '"cores": 2',
        '"cores": 0',
        "recommend-valid",
        "plugin.py:8: recommend of AcmeBackend fails where no fact is known: AcmeBackend.cores: "
        "expected an integer >= 1, given 0; look facts up with get(), and recommend only what the "
        "options allow",
    ),
    (
        "plugin.py",
        '"cores": 2',
        '"core": 2',
        "recommend-valid",
        "plugin.py:8: recommend of AcmeBackend fails where no fact is known: AcmeBackend has no "
        "option 'core'; look facts up with get(), and recommend only what the options allow",
    ),
    (
        "plugin.py",
        "return {",
        "return facts['acme.cores'] and {",
        "recommend-valid",
        "plugin.py:8: recommend of AcmeBackend fails where no fact is known: KeyError: 'acme.cores'; "
        "look facts up with get(), and recommend only what the options allow",
    ),
    (
        "options.py",
        OPTION,
        "cores: int = 1  #",
        "signature-bind",
        "acme_npu.options (options.py:4): its import raised TypeError: AcmeOptions.cores must be "
        "declared with option(...); correct "
        "it: its import must succeed on every machine",
    ),
    (
        "options.py",
        DOC,
        'doc=""',
        "signature-bind",
        "acme_npu.options (options.py:4): its import raised TypeError: AcmeOptions.cores needs a "
        "doc: say what the option does; correct "
        "it: its import must succeed on every machine",
    ),
    (
        "options.py",
        DOC,
        'doc="Cores."',
        "schema-documented",
        "options.py:4: AcmeOptions: the option cores of AcmeBackend is described as 'Cores.', "
        "expected a sentence; describe what it does",
    ),
    (
        "options.py",
        DOC,
        'doc="How many cores the delegate takes.", unit="bananas"',
        "signature-bind",
        "acme_npu.options:AcmeOptions (options.py:5): its import raised ValueError: unit of "
        "option() is 'bananas'; expected one of 'bytes', 'ns', 'us', 'ms', 's', 'hz', 'fps', "
        "'threads', 'cores', 'count', 'fraction', 'percent', 'celsius'; correct "
        "it: its import must succeed on every machine",
    ),
    (
        "options.py",
        OPTION,
        "cores: Annotated[int, Ge(1)] = option(0,",
        "signature-bind",
        "acme_npu.options (options.py:4): its import raised TypeError: AcmeOptions.cores has a "
        "wrong default: expected an integer >= 1, given 0; correct "
        "it: its import must succeed on every machine",
    ),
    (
        "options.py",
        OPTION,
        "cores: Annotated[int, Ge(1)] = option(",
        "defaults-valid",
        "options.py:4: AcmeOptions.cores has no value, expected one that works without "
        "configuration; give option() a default",
    ),
    (
        "options.py",
        OPTION,
        "cores: complex = option(1,",
        "signature-bind",
        "acme_npu.options (options.py:4): its import raised TypeError: AcmeOptions.cores has the "
        "type complex; supported are bool, int, float, str, enums of strings, Literal, list[T], "
        "tuple[T, ...], dict[str, T] and T | None; correct "
        "it: its import must succeed on every machine",
    ),
    (
        "options.py",
        "class AcmeOptions(BackendOptions):",
        "class AcmeOptions(BackendOptions):\n"
        '    core: int = option(1, applies="load", doc="The number of the core.")',
        "unknown-option",
        "options.py:4: AcmeOptions.cores: a typo of it, core, is another option, expected names that "
        "differ by more than a letter; rename one and keep the name in renamed_from",
    ),
    (
        "options.py",
        DOC,
        f"{DOC})\n    def to_jsonable(self): return {{'cores': {{1}}}}\n    _ = (0",
        "schema-roundtrip",
        "options.py:4: AcmeOptions: to_jsonable() of cores=2 cannot be written as JSON: Object of "
        "type set is not JSON serializable; use plain values",
    ),
    (
        "runtime.py",
        "def execute(self, context, handle, args)",
        "def execute(self, handle, args)",
        "signature-bind",
        "acme_npu.runtime:AcmeBackend.execute (runtime.py:10): AcmeBackend.execute cannot take "
        "the call execute(context, handle, args): too many positional arguments; write: def "
        "execute(self, context, handle, args)",
    ),
    (
        "runtime.py",
        "def execute",
        "async def execute",
        "signature-bind",
        "acme_npu.runtime:AcmeBackend.execute (runtime.py:10): AcmeBackend.execute is async, but "
        "the core calls it and uses its result at once; write: def execute(self, context, handle,"
        " args)",
    ),
    (
        "runtime.py",
        "def availability",
        "def availabilty",
        "signature-bind",
        "runtime.py:4: AcmeBackend.availabilty is never called, and AcmeBackend has no availability; "
        "rename it to availability, or to a name that is less similar",
    ),
    (
        "runtime.py",
        "return Availability.yes()",
        "return True",
        "signature-bind",
        "acme_npu.runtime:AcmeBackend.availability (runtime.py:4): its availability() returned a "
        "bool; return Availability.yes() or Availability.no(reason, fix)",
    ),
    (
        "runtime.py",
        "return Availability.yes()",
        "raise OSError('no driver')",
        "signature-bind",
        "acme_npu.runtime:AcmeBackend.availability (runtime.py:5): its availability() raised "
        "OSError: no driver; correct this line: availability() returns Availability.no(reason, "
        "fix) if something is missing, and raises nothing",
    ),
    (
        "runtime.py",
        "return Availability",
        "open('/dev/acme')\n        return Availability",
        "no-device",
        "acme-npu 1.0, without device files: runtime.py:5: its availability() raised "
        "FileNotFoundError: [Errno 2] No such file or directory: '/dev/acme'; look for the device in "
        "availability(), and return Availability.no(reason, fix)",
    ),
    (
        "facts.py",
        "def find_cores(system)",
        "def find_cores()",
        "signature-bind",
        "acme_npu.facts:find_cores (facts.py:7): find_cores cannot take the call "
        "find_cores(system): too many positional arguments; let it take the argument (system) and"
        " give readings",
    ),
    (
        "facts.py",
        '"acme.cores", type',
        '"cpu.acme", type',
        "facts-serialisable",
        "acme-npu 1.0: fact 'cpu.acme' lies in the namespace 'cpu', which is taken; choose one of your "
        "own, such as your plugin's name",
    ),
    (
        "facts.py",
        "    yield Reading",
        "    open('/sys/acme/driver')\n    yield Reading",
        "facts-serialisable",
        "facts.py:7: detector 'acme' failed on this device: FileNotFoundError: [Errno 2] No such "
        "file or directory: '/sys/acme/driver'; return Reading.unknown with a reason for a fact that "
        "cannot be found out",
    ),
    (
        "facts.py",
        'system.read_int("/sys/acme/cores")',
        "'four'",
        "facts-serialisable",
        "facts.py:7: detector 'acme' failed on this device: ValueError: acme.cores: expected an int "
        "of at most 64 bits, found 'four'; return Reading.unknown with a reason for a fact that cannot "
        "be found out",
    ),
    (
        "kit.py",
        '"golden"',
        '"programs"',
        "aot-id-match",
        ".../acme_npu/programs does not exist, expected golden programs of AcmeBackend; add them to "
        "the wheel, or make them: etconfig conformance AcmeBackend --lower .../acme_npu/programs",
    ),
    (
        "kit.py",
        "Path(__file__).parent / ",
        "",
        "aot-id-match",
        "acme_npu.kit:etconfig_conformance (kit.py:4): its programs are in golden, which is "
        "another directory wherever etconfig is run; give Path(__file__).parent / ...",
    ),
    (
        "kit.py",
        'Path(__file__).parent / "golden"',
        'Path("golden")',
        "aot-id-match",
        "acme_npu.kit:etconfig_conformance (kit.py:4): its programs are in golden, which is "
        "another directory wherever etconfig is run; give Path(__file__).parent / ...",
    ),
]
"""The file, a piece of its text, the replacement, the rule, and the resulting report."""
