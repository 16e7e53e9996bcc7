"""The process of the checks that need none of their own: requests are lines of stdin, answers of stdout.

Run as `python -m etconfig.conformance.runner.common_process`; `process.shared_process` asks it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from etconfig.conformance.checks.check_catalog import all_checks
from etconfig.conformance.kit.kit_settings import Settings
from etconfig.conformance.runner.kit_report import findings_of_report
from etconfig.conformance.runner.runner import run_here
from etconfig.conformance.subject.subject import Subject


def serve_checks() -> None:
    """Answer requests until stdin ends.

    A request names the `settings`, and a `check`; its result is the answer, null for an unknown one. Without
    a check, the answer is what the report needs to know of the backend.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the backend may print
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    subjects: dict[str, Subject] = {}
    while line := requests.readline():
        request = json.loads(line)
        key = json.dumps(request["settings"])
        if key not in subjects:
            subjects[key] = Subject(Settings.from_jsonable(request["settings"]))
        answers.write(json.dumps(_answer(subjects[key], request.get("check"))).encode() + b"\n")
        answers.flush()


def _answer(subject: Subject, check_id: str | None) -> Any:
    if check_id is None:
        return findings_of_report(subject)
    for check in all_checks():
        if check.id == check_id:
            return run_here(check, subject, owns_process=True).to_jsonable()
    return None


if __name__ == "__main__":
    serve_checks()
    sys.stdout.flush()
