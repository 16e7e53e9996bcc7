"""Mutants of the checks on state that methods share: options and variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from driver import STATE

from etconfig.backend import InitContext, Processed, UpdateContext
from etconfig.conformance.interpose.interposer import Interposer
from etconfig.schema.declaration import Applies
from mutants.mutant import Mutant

STATE.live = []


class LastLoadWins(Interposer):
    """Has one configuration for its device: the one of the last load."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        STATE.configuration = context.options
        return super().init(context, processed, compile_specs)

    def effective_options(self, handle: Any) -> Mapping[str, object]:
        infos = STATE.configuration.option_infos()
        fixed = [name for name, info in infos.items() if info.applies is Applies.LOAD]
        own = {name: getattr(STATE.configuration, name) for name in fixed}
        return {**super().effective_options(handle), **own}


class UpdatesAll(Interposer):
    """Passes an update to every loaded delegate."""

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        STATE.live.append(handle)
        return handle

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        for each in STATE.live:
            super().update(context, each, changed)

    def destroy(self, handle: Any) -> None:
        STATE.live.remove(handle)
        super().destroy(handle)


class UpdatesNothing(Interposer):
    """Ignores updates."""

    def update(self, context: UpdateContext[Any], handle: Any, changed: frozenset[str]) -> None:
        pass


class HandleTable(Interposer):
    """Numbers its handles in a table of its class."""

    handles: ClassVar[dict[int, Any]] = {}

    def init(
        self, context: InitContext[Any], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> Any:
        handle = super().init(context, processed, compile_specs)
        self.handles[id(handle)] = handle
        return handle

    def destroy(self, handle: Any) -> None:
        del self.handles[id(handle)]
        super().destroy(handle)


LAST_LOAD_WINS = Mutant(
    "option-leak", r"reported .*, but .* after an instance with .* was loaded; keep", backend=LastLoadWins
)
UPDATES_ALL = Mutant("execute-update", "of another method was changed to", backend=UpdatesAll)
UPDATES_NOTHING = Mutant("execute-update", "still reports .* apply the change in", backend=UpdatesNothing)
HANDLE_TABLE = Mutant(
    "no-globals",
    r"state.py: mutants\.state\.HandleTable\.handles changed when .* loaded",
    backend=HandleTable,
)
