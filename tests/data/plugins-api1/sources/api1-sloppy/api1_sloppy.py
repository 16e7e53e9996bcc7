"""Odd, but legal: what a vendor may have written who never read the advice."""

import logging
from typing import Optional

from etconfig.plugin import v1
from etconfig.plugin.v1 import *  # noqa: F403

log = logging.getLogger("api1_sloppy")
log.warning("api1_sloppy is imported")

VERSION = (1, 0)


class sloppyOptions(v1.BackendOptions):
    Factor: Optional[float] = v1.option(None, doc="What to multiply with.", applies="execute")
    maxIterations: int = v1.option(1, doc="How often.", applies=v1.Applies.LOAD, scope="method")


class sloppyBackend(v1.Backend):
    options = sloppyOptions
    verbose = False
    instances = 0

    def __init__(self, name="sloppy", *rest, **settings):
        self.name, self.settings = name, settings

    def init(self, ctx, blob=None, specs=(), debug=False, *more, **kwargs):
        """Other names, more arguments with defaults, and a payload that is freed twice."""
        data = bytes(blob.data)
        blob.free()
        blob.free()
        return {"ctx": ctx, "data": data, "specs": dict(specs), "runs": 0}

    def execute(self, ctx, handle, arguments, stream=None, *more, **kwargs):
        """Options are looked up late, and something is returned."""
        factor = getattr(ctx.options, "Factor", None)
        iterations = vars(handle["ctx"].options)["maxIterations"]
        x, y = arguments
        y[:] = x
        for _ in range(iterations):
            y *= 3.0 if factor is None else factor
        handle["runs"] += 1
        return y

    def effective_options(self, handle, detailed=False):
        return {"maxIterations": handle["ctx"].options.maxIterations}

    def destroy(self, handle=None, force=True):
        handle.clear()
        return True

    def helper(self):
        raise NotImplementedError


class Plugins:
    """Not a module, but something that has the hooks."""

    @v1.hookimpl(tryfirst=True)
    def etconfig_backend(self, request, verbose=False):
        log.info("asked for %s by plugin API %d", request.name, request.core_api)
        return v1.BackendSpec(
            id=request.name,
            doc="   Odd, but legal.\n\n",
            options=sloppyOptions,
            api=v1.ApiRange(1, 1),
            factory=sloppyBackend,
            capabilities=v1.Capabilities(dtypes=frozenset(["float32", "a dtype of my own"])),
            environment=dict(SLOPPY_HOME="Where it looks."),
        )

    @v1.hookimpl
    def etconfig_facts(self, request):
        info = v1.FactInfo(name="sloppy.cores", type=v1.FactType.INT, doc="Cores.", volatility=v1.Volatility.BOOT)
        return v1.FactsContribution(api=v1.ApiRange(1, 1), facts=[info], detectors=[Detector()])


class Detector:
    """Structurally one."""

    name = "sloppy"
    provides = ["sloppy.cores"]
    color = "red"

    def detect(self, system, deep=False):
        return [v1.Reading("sloppy.cores", 2, "thin air")]


Plugins.instance = Plugins()
