"""`Given`: gives a vendor's `init` something else than the program holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from etconfig.backend import InitContext, Processed
from etconfig.conformance.interposed import Interposed
from etconfig.executor.delegate import Payload


class Given(Interposed):
    """Each argument makes what is given of what the program holds; one that is left out changes nothing.

    Args:
        payload: Makes other bytes.
        compile_specs: Makes other compile specs.
        named_data: Makes other named data.
    """

    def __init__(
        self,
        *,
        payload: Callable[[memoryview], bytes | memoryview] | None = None,
        compile_specs: Callable[[Mapping[str, bytes]], Mapping[str, bytes]] | None = None,
        named_data: Callable[[Mapping[str, memoryview]], Mapping[str, memoryview]] | None = None,
    ) -> None:
        self._payload = payload
        self._compile_specs = compile_specs
        self._named_data = named_data

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Hand on what was made."""
        if self._payload is not None:
            processed = Payload(memoryview(self._payload(processed.data)).toreadonly())
        if self._compile_specs is not None:
            compile_specs = self._compile_specs(compile_specs)
        if self._named_data is not None:
            context = replace(context, named_data=self._named_data(context.named_data))
        return super().init(context, processed, compile_specs)
