"""`Interposer`: stands between the core and a vendor's backend, to observe calls or change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from etconfig.backend import (
    Availability,
    Backend,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)
from etconfig.base.compile_specs import CompileSpecs


class Interposer(Backend[Any, Any]):
    """A backend that forwards every call to the vendor's; subclasses override the calls they are about.

    It has no `native_call`, so executors call `execute`, which it sees.

    Attributes:
        inner: The vendor's backend; set by `around` when the core creates one.
    """

    inner: Backend[Any, Any]

    def around(self, inner: Backend[Any, Any]) -> Interposer:
        """Forward calls to `inner` from now on."""
        self.inner = inner
        return self

    def availability(self) -> Availability:
        """Return the answer of the vendor's backend."""
        return self.inner.availability()

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Forward the call; the handle is the vendor's.

        Subclasses may pass other arrays than the executor's to `execute`, so nothing is promised about them.
        """
        return self.inner.init(replace(context, has_stable_arrays=False), processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Forward the call."""
        self.inner.execute(context, handle, args)

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        """Forward the call."""
        self.inner.update(context, handle, changed)

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        """Return the answer of the vendor's backend."""
        return self.inner.effective_options(handle)

    def destroy(self, handle: Any) -> None:
        """Forward the call."""
        self.inner.destroy(handle)


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
