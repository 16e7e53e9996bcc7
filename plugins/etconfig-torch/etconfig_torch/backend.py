"""`TorchBackend`: runs delegates with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from etconfig.plugin.v1 import (
    Availability,
    Backend,
    EffectiveOption,
    Envelope,
    ExecuteContext,
    InitContext,
    Processed,
    UpdateContext,
    Value,
)
from etconfig_torch.errors import BACKEND_ID
from etconfig_torch.installed import installed
from etconfig_torch.options import TorchOptions

KIND = "torch exported program"
VERSIONS = (1,)
"""The versions of the payload that this release reads; it writes the last one."""


@dataclass(kw_only=True)
class TorchHandle:
    """One loaded delegate.

    Attributes:
        program: What runs it.
        options: The options in force.
        claim: The settings of the process that it needs.
        follow_threads: Takes the latest number of threads in the thread that calls it.
    """

    program: Any
    options: TorchOptions
    claim: int
    follow_threads: Callable[[], None]


class TorchBackend(Backend[TorchOptions, TorchHandle]):
    """Runs exported programs on a device of PyTorch."""

    def availability(self) -> Availability:
        """Look for PyTorch without importing it."""
        return installed()

    def init(
        self, context: InitContext[TorchOptions], processed: Processed, compile_specs: Mapping[str, bytes]
    ) -> TorchHandle:
        """Read the program and place it on its device.

        Raises:
            DelegateInvalidCompatibilityError: the payload is for something else.
            InvalidPayloadError: it is damaged.
            UnsafeArchiveError: it contains code.
            UnreadableModelError: the program in it is damaged.
            BackendUnavailableError: the device is not here.
            SettingRefusedError: a setting of the process cannot be brought into force.
            ValueError: there are compile specs.
        """
        for key in compile_specs:
            raise ValueError(f"compile spec {key!r} is not known; {BACKEND_ID} has none")
        envelope, payload = Envelope.read(processed.data)
        envelope.check(backend_id=BACKEND_ID, kind=KIND, versions=VERSIONS, engine_version=version("torch"))

        from etconfig_torch.devices import find_device
        from etconfig_torch.process_settings import PROCESS, THREADS
        from etconfig_torch.program import LoadedProgram

        device = find_device(context.options)
        claim = PROCESS.claim(context.options)
        try:
            program = LoadedProgram(payload, device, context.options, context.has_stable_arrays)
        except BaseException:
            PROCESS.release(claim)
            raise
        del payload
        processed.free()
        return TorchHandle(
            program=program, options=context.options, claim=claim, follow_threads=THREADS.follow
        )

    def execute(
        self, context: ExecuteContext[TorchOptions], handle: TorchHandle, args: Sequence[Value]
    ) -> None:
        """Run the program. Raises CallRefusedError for other values than its own."""
        if handle.options.num_threads is not None:
            handle.follow_threads()
        handle.program.run(args, context.resize_output)

    def update(
        self, context: UpdateContext[TorchOptions], handle: TorchHandle, changed: frozenset[str]
    ) -> None:
        """Bring changed settings of the process into force. Raises SettingRefusedError."""
        from etconfig_torch.process_settings import PROCESS

        PROCESS.change(handle.claim, context.options)
        handle.options = context.options

    def effective_options(self, handle: TorchHandle) -> Mapping[str, EffectiveOption]:
        """Return the settings as PyTorch reports them, and the device of the weights."""
        from etconfig_torch.build import effective_options

        program = handle.program
        return effective_options(handle.options, program.device, has_tensors=program.has_tensors)

    def destroy(self, handle: TorchHandle) -> None:
        """Release the weights and the settings of the process."""
        from etconfig_torch.process_settings import PROCESS

        handle.program.close()
        handle.program = None
        PROCESS.release(handle.claim)
