"""A process that measures one configuration: requests and answers are lines of JSON.

`python -m etconfig.measuring.worker` reads the configuration, then operations: `generate`, `run`, `time`. It
ends when its input does, also if an engine hangs. What plugins print goes to stderr.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any

import ml_dtypes  # noqa: F401  (numpy then knows its types by name)
import numpy as np

from etconfig.app.installation.installation import Installation
from etconfig.base.plain_data import jsonable
from etconfig.facts.sheet import FactSheet
from etconfig.measuring.subjects import LoadedSubject, reason_of
from etconfig.measuring.workplace import SubjectRequest, Workplace

END_S = 5.0
"""The time that the process has to end by itself."""


def encode_values(values: Sequence[Any]) -> list[Any]:
    """Return inputs or outputs as plain data.

    Raises:
        ValueError: a value is of a type that cannot be sent to another process.
    """
    found = [_encoded(value) for value in values]
    for index, each in enumerate(found):
        if "bytes" in each:
            continue
        try:
            json.dumps(each)
        except (TypeError, ValueError) as error:
            raise ValueError(f"value {index} cannot be sent between processes: {error}") from error
    return found


def decode_values(data: Sequence[Any]) -> list[Any]:
    """Return the inputs or outputs that `encode_values` made plain data of."""
    return [_decoded(each) for each in data]


def describe(workplace: Workplace, request: SubjectRequest) -> dict[str, Any]:
    """Return a configuration and its workplace as plain data, for another process."""
    installation = workplace.installation
    project = installation.project_path
    return {
        "directory": None if installation.directory is None else os.fspath(installation.directory),
        "project": None if project is None else os.fspath(project),
        "profile_directories": [os.fspath(each) for each in installation.profile_directories],
        "executor_texts": installation.executor_texts,
        "facts": workplace.facts.to_json(),
        "fact_overrides": {
            name: jsonable(getattr(value, "value", value)) for name, value in workplace.fact_overrides.items()
        },
        "overrides_name": workplace.overrides_name,
        "request": {name: getattr(request, name) for name in SubjectRequest.__dataclass_fields__},
    }


def _made(data: Mapping[str, Any]) -> LoadedSubject:
    installation = Installation(data["directory"], profile_directories=data["profile_directories"])
    if data["project"] is not None and str(installation.project_path) != data["project"]:
        installation = installation.with_project(data["project"])
    installation = installation.with_executor_texts((name, value) for name, value in data["executor_texts"])
    registry = installation.fact_registry
    workplace = Workplace(
        installation=installation,
        facts=FactSheet.from_json(data["facts"], "the facts of the measurement", registry),
        fact_overrides=data["fact_overrides"],
        overrides_name=data["overrides_name"],
    )
    given: dict[str, Any] = data["request"]
    lists = {name: tuple(given[name]) for name in ("overrides", "data", "shapes", "others")}
    return LoadedSubject(workplace, SubjectRequest(**{**given, **lists}))


def _serve(read: Callable[[], bytes], answer: Callable[[str], object]) -> None:
    subject: LoadedSubject | None = None
    while line := read():
        operation, data = json.loads(line)
        try:
            if subject is None:
                subject = _made(data)
                found: Any = {
                    name: getattr(subject, name)
                    for name in ("load_s", "input_names", "open_inputs", "options")
                }
            elif operation == "generate":
                found = encode_values(subject.generate(data))
            elif operation == "run":
                outputs = subject.run(decode_values(data))
                found = {"outputs": encode_values(outputs), "peak_bytes": subject.peak_bytes}
            else:
                found = list(subject.time_block(data))
            text = json.dumps({"result": found})
        except Exception as error:
            text = json.dumps({"failure": reason_of(error)})
        answer(text)


def _encoded(value: Any) -> Any:
    if isinstance(value, (complex, np.complexfloating)):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return {"value": value.item() if isinstance(value, np.generic) else value}
    if value.dtype.hasobject:
        return {"shape": value.shape, "objects": value.ravel().tolist()}
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    dtype = value.dtype.str if value.dtype.kind in "USmM" else value.dtype.name  # others have no short name
    return {"dtype": dtype, "shape": value.shape, "order": order, "bytes": data}


def _decoded(data: Mapping[str, Any]) -> Any:
    if "value" in data:
        return data["value"]
    if "objects" in data:
        objects = np.empty(len(data["objects"]), object)
        objects[:] = data["objects"]
        return objects.reshape(data["shape"])
    flat = np.frombuffer(base64.b64decode(data["bytes"]), np.dtype(data["dtype"]))
    return np.array(flat.reshape(data["shape"]), order=data["order"])


def serve() -> None:
    """Serve requests from stdin, with answers on what stdout was."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests: SimpleQueue[bytes] = SimpleQueue()

    def read_all() -> None:
        with os.fdopen(os.dup(0), "rb") as lines:
            while line := lines.readline():
                requests.put(line)
        requests.put(b"")
        time.sleep(END_S)
        os._exit(1)  # nobody waits for an engine that hangs

    def answer(text: str) -> None:
        answers.write(text + "\n")
        answers.flush()

    threading.Thread(target=read_all, daemon=True).start()
    try:
        _serve(requests.get, answer)
    except OSError:  # the process that measures is gone
        os._exit(1)


if __name__ == "__main__":
    serve()
