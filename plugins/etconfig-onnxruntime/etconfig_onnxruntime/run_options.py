"""Options of a run. Any `RunOptions` cost about 60 us a call, so there are none unless an option is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etconfig_onnxruntime.built import built_of
from etconfig_onnxruntime.engine import import_engine
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, RUN_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.settings import LOG_LEVELS, entry_text
from etconfig_onnxruntime.versions import check_versions

RUN_ATTRIBUTES: Mapping[str, str] = {
    "run_log_severity_level": "log_severity_level",
    "run_log_verbosity_level": "log_verbosity_level",
    "run_logid": "logid",
    "only_execute_path_to_fetches": "only_execute_path_to_fetches",
}
"""The attribute of RunOptions of each option."""

RUN_OPTIONS = frozenset((*RUN_ATTRIBUTES, *RUN_ENTRIES, "run_config_entries", "newer_run_config_entries"))
"""The options that are passed with each run."""


def make_run_options(options: OnnxRuntimeOptions) -> Any:
    """Return the `onnxruntime.RunOptions` for `session.run`, or None if no option of a run is set.

    Example: `session.run(None, inputs, make_run_options(config.options_for("detector")))`.
    """
    infos = type(options).option_infos()
    changed = [name for name in RUN_OPTIONS if getattr(options, name) != infos[name].default]
    if not changed:
        return None
    made = import_engine().RunOptions()
    for name in changed:
        value = getattr(options, name)
        if name in RUN_ATTRIBUTES:
            is_level = name == "run_log_severity_level"
            setattr(made, RUN_ATTRIBUTES[name], LOG_LEVELS[value] if is_level else value)
        elif name in RUN_ENTRIES:
            made.add_run_config_entry(RUN_ENTRIES[name], entry_text(value))
    for key, text in {**options.run_config_entries, **options.newer_run_config_entries}.items():
        made.add_run_config_entry(key, text)
    return made


def update_session(
    session: Any, options: OnnxRuntimeOptions, previous: OnnxRuntimeOptions, changed: frozenset[str]
) -> None:
    """Bring changed options of a loaded session into force.

    Options of a run need nothing: `make_run_options` reads them for each run.

    Raises:
        BackendUnavailableError: this version of ONNX Runtime cannot change them.
    """
    names = {key: name for name, key in DYNAMIC_ENTRIES.items() if name in changed}
    entries = {key: getattr(options, name) for key, name in names.items()}
    if entries:
        check_versions(import_engine().__version__, names)
        session.set_ep_dynamic_options(entries)
    built = built_of(session)
    if built is not None:
        built.options = options
