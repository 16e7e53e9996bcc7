"""`Interposer`: stands between the core and a vendor's backend, to look at calls or to disturb them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class Interposer(Backend[Any, Any]):
    """Hands every call on to the vendor's backend; subclasses override what they look at.

    Attributes:
        inner: The vendor's backend; set when the core creates one.
    """

    inner: Backend[Any, Any]

    def around(self, inner: Backend[Any, Any]) -> Interposer:
        """Stand in front of `inner`."""
        self.inner = inner
        return self

    def availability(self) -> Availability:
        """What the vendor's backend says."""
        return self.inner.availability()

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        """Hand on; the handle is the vendor's."""
        return self.inner.init(context, processed, compile_specs)

    def execute(self, context: ExecuteContext[Any], handle: Any, args: Sequence[Value]) -> None:
        """Hand on."""
        self.inner.execute(context, handle, args)

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        """Hand on."""
        self.inner.update(context, handle, changed)

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        """What the vendor's backend says."""
        return self.inner.effective_options(handle)

    def destroy(self, handle: Any) -> None:
        """Hand on."""
        self.inner.destroy(handle)
