"""`ReplacingInit`: calls a vendor's `init` with other arguments than the program's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from etconfig.backend import InitContext, Processed
from etconfig.base.compile_specs import CompileSpecs
from etconfig.conformance.interpose.interposer import Interposer


class ReplacingInit(Interposer):
    """Each argument maps the program's value to the one passed to `init`; by default it stays the same.

    Args:
        compile_specs: Maps the compile specs.
        named_data: Maps the named data.
    """

    def __init__(
        self,
        *,
        compile_specs: Callable[[CompileSpecs], CompileSpecs] = lambda specs: specs,
        named_data: Callable[[Mapping[str, memoryview]], Mapping[str, memoryview]] = lambda data: data,
    ) -> None:
        self._compile_specs = compile_specs
        self._named_data = named_data

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Forward the call with the mapped values."""
        given = self._compile_specs(context.compile_specs)
        context = replace(context, named_data=self._named_data(context.named_data), compile_specs=given)
        return super().init(context, processed, given)
