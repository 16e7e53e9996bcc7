"""Reports on programs, speed and installations: what commands print, as typed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etconfig.base.lazy import lazy_names

_HOME = {
    "DeviceMatrix": "device_matrix",
    "Finding": "examination",
    "InstallationReport": "examination",
    "MachineReport": "machine",
    "MatrixDevice": "device_matrix",
    "MethodReport": "program_report",
    "ProgramReport": "program_report",
    "VerificationReport": "verification",
    "VerifiedCase": "verification",
    "describe_machine": "machine",
    "device_page": "matrix_page",
    "examine_installation": "examination",
    "generate_inputs": "generated_inputs",
    "inspect_program": "inspection",
    "resolve_devices": "matrix_building",
    "verify_program": "verification",
}
"""Which module each public name lives in."""

if TYPE_CHECKING:
    from etconfig.analysis.device_matrix import DeviceMatrix, MatrixDevice
    from etconfig.analysis.examination import Finding, InstallationReport, examine_installation
    from etconfig.analysis.generated_inputs import generate_inputs
    from etconfig.analysis.inspection import inspect_program
    from etconfig.analysis.machine import MachineReport, describe_machine
    from etconfig.analysis.matrix_building import resolve_devices
    from etconfig.analysis.matrix_page import device_page
    from etconfig.analysis.program_report import MethodReport, ProgramReport
    from etconfig.analysis.verification import VerificationReport, VerifiedCase, verify_program

__all__ = [
    "DeviceMatrix",
    "Finding",
    "InstallationReport",
    "MachineReport",
    "MatrixDevice",
    "MethodReport",
    "ProgramReport",
    "VerificationReport",
    "VerifiedCase",
    "describe_machine",
    "device_page",
    "examine_installation",
    "generate_inputs",
    "inspect_program",
    "resolve_devices",
    "verify_program",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
