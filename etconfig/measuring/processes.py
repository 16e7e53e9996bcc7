"""Subjects in processes of their own, for options of a whole process and for exact memory."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from etconfig.app.installation.installation import Installation
from etconfig.base.own_python import module_command
from etconfig.errors import MeasurementError
from etconfig.measuring.measurement_requests import override_texts
from etconfig.measuring.subjects import LoadedSubject, MeasuredSubject, generated
from etconfig.measuring.worker import END_S, decode_values, describe, encode_values
from etconfig.measuring.workplace import EXECUTOR_PREFIX, SubjectRequest, Workplace


def make_subject(workplace: Workplace, request: SubjectRequest, *, in_own_process: bool) -> MeasuredSubject:
    """Load a configuration, here or in a process of its own.

    Raises:
        MeasurementError: loading failed in another process, with the reason there.
        Exception: what opening, resolving and loading raise here.
    """
    is_process = in_own_process or workplace.device is not None
    return (ProcessSubject if is_process else LoadedSubject)(workplace, request)


class LocalChannel:
    """A worker on this machine, with which lines are exchanged.

    Args:
        environ: Its environment.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # this Python
            module_command("etconfig.measuring.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environ,
            start_new_session=True,  # Ctrl-C is for the process that measures
        )

    def ask(self, line: str) -> str:
        """Send a line, and return the answer, or how the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        return answer or json.dumps({"ended": self._ended()})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._ended()
        self._process.stdout.close()

    def _ended(self) -> int:
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class ProcessSubject(MeasuredSubject):
    """A configuration that is loaded in a process of its own, here or on the device of the workplace.

    Raises:
        MeasurementError: the process cannot load it.
        RemoteDeviceError: the device is lost, or has another version of a plugin.
    """

    def __init__(self, workplace: Workplace, request: SubjectRequest) -> None:
        self.label = request.label
        self.peak_bytes = None
        self._workplace, self._request = workplace, request
        device = workplace.device
        described = describe(workplace, request) if device is None else describe_there(workplace, request)
        self._channel = (
            LocalChannel(workplace.installation.environ) if device is None else device.open_channel()
        )
        try:
            found = self._ask("load", described)
            _check_options(request.label, described.get("options"), found["options"])
        except BaseException:
            self.close()
            raise
        self.load_s, self.input_names = found["load_s"], tuple(found["input_names"])
        self.open_inputs = tuple(found["open_inputs"])

    def generate(self, seed: int) -> list[Any]:
        """Make up inputs that fit. Raises MeasurementError, InvalidInputError."""
        if self._request.backend is not None:  # only its engine knows them
            return decode_values(self._ask("generate", seed))
        with self._workplace.open_program(self._request) as program:
            return generated(self.label, program.metadata(self._request.method), seed)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run once, and keep the inputs for `time_block`; return the outputs. Raises MeasurementError."""
        try:
            values = encode_values(inputs)
        except ValueError as error:
            raise MeasurementError(label=self.label, reason=f"its inputs: {error}") from error
        found = self._ask("run", values)
        if self.peak_bytes is None:
            self.peak_bytes = found["peak_bytes"]
        return decode_values(found["outputs"])

    def time_block(self, count: int) -> Sequence[int]:
        """Run a number of times; return the time of each run in nanoseconds. Raises MeasurementError."""
        times: list[int] = self._ask("time", count)
        return times

    def close(self) -> None:
        """End the process."""
        self._channel.close()

    def _ask(self, operation: str, data: object) -> Any:
        answer = json.loads(self._channel.ask(json.dumps([operation, data])))
        if "result" in answer:
            return answer["result"]
        reason = answer.get("failure", f"its process ended with status {answer.get('ended')}")
        raise MeasurementError(label=self.label, reason=reason)


def describe_there(workplace: Workplace, request: SubjectRequest) -> dict[str, Any]:
    """Return a configuration for the device: what resolves here on its facts, set by hand there.

    So profiles and the project file stay here; the files of the model are sent.

    Raises:
        RemoteDeviceError: the device lacks a plugin, or has it in another version.
        EtconfigError: the configuration does not resolve.
    """
    device = workplace.device
    assert device is not None
    found = workplace.resolved(request)
    installation = workplace.installation
    for backend in found.backends:
        entry = installation.plugins.backend_entry(backend)
        device.check_package(entry.distribution, entry.version)
    is_of_executor = {path: path.startswith(EXECUTOR_PREFIX) for path in found.values}
    given = {
        path: value
        for path, value in found.values.items()
        if value is not None and (path in found.given or is_of_executor[path])
    }
    there = replace(
        request,
        model=device.send(Path(request.model)),
        data=tuple(device.send(Path(each)) for each in request.data),
        instance=None,
        executor=None if request.backend is not None else found.runs_on,
        profile="generic/any",
        require_match=False,
        overrides=override_texts(given),
        others=(),
    )
    bare = replace(workplace, installation=Installation(), facts=found.facts, fact_overrides={})
    options = {path: value for path, value in found.values.items() if not is_of_executor[path]}
    return {**describe(bare, there), "directory": None, "options": options}


def _check_options(label: str, here: Mapping[str, object] | None, there: Mapping[str, object]) -> None:
    """Check that a configuration resolved on a device to what it is here. Raises MeasurementError."""
    for path, value in (here or {}).items():
        if there.get(path) != value:
            reason = f"{path} is {there.get(path)!r} on the device, and {value!r} here"
            help = "a variable or another version of a plugin is in force there"
            raise MeasurementError(label=label, reason=reason, help=help)
