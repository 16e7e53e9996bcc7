"""What a vendor's `init` is given instead of what the program holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from etconfig.backend import InitContext, Processed
from etconfig.conformance.interpose.interposer import Interposer


class ReplacingInit(Interposer):
    """Each argument makes what is given of what the program holds; one that is left out changes nothing.

    Args:
        compile_specs: Makes other compile specs.
        named_data: Makes other named data.
    """

    def __init__(
        self,
        *,
        compile_specs: Callable[[Mapping[str, bytes]], Mapping[str, bytes]] = lambda specs: specs,
        named_data: Callable[[Mapping[str, memoryview]], Mapping[str, memoryview]] = lambda data: data,
    ) -> None:
        self._compile_specs = compile_specs
        self._named_data = named_data

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Hand on what was made."""
        context = replace(context, named_data=self._named_data(context.named_data))
        return super().init(context, processed, self._compile_specs(compile_specs))
