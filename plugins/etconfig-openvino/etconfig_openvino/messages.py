"""The meaning of OpenVINO's errors: the reason without the places in its source, and what to do."""

from __future__ import annotations

import re

_NOISE = re.compile(r"^(.*?Exception from \S+|Check '.*' failed at \S+)\s*:?\s*")
_HELP = {
    "proc_type_table is empty": "another model of this process reserved the cores (enable_cpu_reservation); "
    "close it, or leave the option out",
    "built for a different runtime configuration": "export it again, with this OpenVINO on this kind of "
    "processor",
    "libOpenCL": "install the OpenCL driver of the GPU",
    "npu_compiler_loader": "install the driver of the NPU",
    "Unsupported config key": "leave the option out for this device",
    "Unsupported property": "leave the option out, or install another OpenVINO",
    "Unable to read the model": "export the model again; the file is damaged or of another format",
    "Incorrect weights in bin file": "the .xml and the .bin do not belong together, or one is cut off: "
    "copy both",
    "Couldn't create directory": "let cache_dir name a directory that can be written",
    "Error parsing": "export the model again; the file is damaged",
}


def reason_of(text: str) -> str:
    """Return the reason in an error of OpenVINO, on one line and without places in its source."""
    lines = [_NOISE.sub("", line.strip()) for line in text.strip().splitlines()]
    kept = [line for line in lines if line]
    return re.sub(r"[\s;:]+$", "", " ".join(kept)) or "OpenVINO gives no reason"


def help_for(text: str) -> str:
    """Return what to do about an error, after a semicolon; empty where nothing is known."""
    return next((f"; {advice}" for sign, advice in _HELP.items() if sign in text), "")
