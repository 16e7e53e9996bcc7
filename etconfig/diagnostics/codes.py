"""All diagnostic codes. Each has a page: docs/diagnostics/<code>.md."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.records import record


@record(frozen=True)
class CodeInfo:
    """A code and the kind of problem that it names."""

    code: str
    summary: str


def _codes(*rows: tuple[str, str]) -> Mapping[str, CodeInfo]:
    return {code: CodeInfo(code, summary) for code, summary in rows}


CODES: Mapping[str, CodeInfo] = _codes(
    # TOML documents
    ("invalid-toml", "The file is not valid TOML."),
    ("document-too-large", "The file exceeds a bound on size, depth, key parts or digits."),
    ("unreadable-file", "The file cannot be read."),
    ("untrusted-file", "A file that was found, not named, may have been written by another user."),
    # settings against the schemas
    ("invalid-option-path", "A text is not an option path."),
    ("unknown-backend", "No installed plugin declares this backend id."),
    (
        "backend-not-installed",
        "Options are set for a backend whose plugin is not installed, or a model needs one.",
    ),
    ("program-conflict", "A setting replaces a value that the program fixes ahead of time."),
    ("not-delegated", "Options are set for a backend to which the program or method delegates nothing."),
    ("unknown-option", "The backend has no option of this name."),
    ("unknown-method", "The program has no method of this name."),
    ("unknown-instance", "No layer declares this named instance."),
    ("invalid-value", "A value has the wrong type or breaks a constraint."),
    ("unproven-value", "An expression may give a value that the option does not accept on some device."),
    ("unit-mismatch", "An expression has another unit than its option."),
    ("missing-option", "A required option is not set."),
    ("unknown-fact-value", "An expression needs a fact that is not known on this device."),
    ("option-conflict", "Two options contradict each other."),
    ("process-scope-conflict", "Two methods disagree on an option of the whole process."),
    ("deprecated-option", "An option is deprecated or was renamed."),
    ("not-updatable", "The option applies at load and cannot change on a loaded method."),
    ("failing-option-check", "A backend's own check of its options failed."),
    # profiles and project files
    ("invisible-character", "A key, a path or an expression contains an invisible character."),
    ("unknown-key", "A table has no key of this name."),
    ("missing-key", "A required key is missing."),
    ("wrong-type", "A key of a profile or project file has a value of the wrong type."),
    ("invalid-name", "A profile, backend, option, method or instance has a name that is not allowed."),
    ("conflicting-instance", "A named instance is declared for two methods."),
    ("unknown-profile", "There is no profile of this name."),
    ("duplicate-profile", "Two files have the same profile name."),
    ("profile-name-mismatch", "A profile's name is not the name that its path gives."),
    ("unknown-kernel", "The project file prefers a kernel that no installed distribution has."),
    ("ignored-kernel-choice", "The project file chooses kernels, but its executor brings its own."),
    ("unknown-executor", "The project file names an executor that no installed plugin declares."),
    ("ignored-project-file", "A project file has no effect, since another one beside it counts."),
    ("extends-cycle", "A profile extends itself, directly or through others."),
    ("extends-conflict", "No order of profiles respects every `extends` list."),
    ("extends-too-deep", "A chain of profiles, or a list of what one extends, is longer than the bound."),
    ("extends-outside-tree", "A profile extends a file outside its directory tree."),
    ("no-matching-profile", "No profile's condition holds on this device."),
    ("ambiguous-profile", "Several unrelated profiles match this device."),
    # models
    ("unknown-model", "There is no model of this name."),
    ("duplicate-model", "Two files declare a model of the same name."),
    ("no-model-variant", "No variant of a model suits the device."),
    ("unreachable-variant", "An earlier variant suits wherever this one does, so no device selects it."),
    ("model-mismatch", "Two variants of a model differ in methods, inputs or outputs."),
    ("missing-data-file", "A variant's data file cannot be read, or none has a tensor outside its program."),
    # expressions
    ("invalid-expression", "A text is not an expression of the condition language."),
    ("expression-too-large", "An expression exceeds a bound on length or depth."),
    ("expression-type", "A part of an expression has a type that does not fit."),
    ("evaluation-failed", "An expression divides by zero or exceeds 64 bits."),
    ("undecided-condition", "A condition needs a fact that is not known on this device."),
    ("constant-condition", "A condition never holds, or always does."),
    ("unusual-value", "A condition names a value that its fact usually does not have."),
    ("unselectable-profile", "Another profile matches wherever this one does, so auto never selects it."),
    ("shadowed-assignment", "A later assignment always replaces this one."),
    ("unchecked-combinations", "Conditions combine in more ways than validate tries."),
    # memory
    ("memory-exceeded", "The instances of a program need more memory than the device has."),
    # budgets
    ("budget-exceeded", "Instances that may run together take more than their budget."),
    ("budget-unknown", "It is not known if instances that may run together stay within their budget."),
    # facts
    ("unknown-fact", "No fact has this name."),
    ("invalid-fact-value", "A fact has a value of another type or out of its range."),
    ("invalid-fact-assignment", "A fact set on the command line has no value, or two."),
    ("invalid-fact-sheet", "A text is not a fact sheet."),
    ("unsupported-fact-sheet", "A fact sheet has a format version that cannot be read."),
    ("unknown-device", "No known device has this name, or several have."),
    ("unreachable-device", "The device whose facts are needed cannot be reached."),
    # saved results
    ("invalid-resolution", "A file is not a saved resolution."),
    ("invalid-lock-file", "A file is not a lock file, or has a version that cannot be read."),
    (
        "stale-evidence",
        "A profile was tuned with another model, or another version of the engine.",
    ),
    ("lock-mismatch", "The current resolution differs from the lock file."),
    ("invalid-matrix-file", "A file does not contain the expected options of devices."),
    ("matrix-mismatch", "A device gets something else than the file of expected options says."),
    # other runtimes
    ("invalid-bundle", "A file is not a device bundle, or is damaged."),
    ("cannot-carry", "A runtime's option map, or a bundle, cannot carry the value of an option."),
    # plugins
    ("unknown-plugin", "The choice of plugins names one that is not installed."),
    ("broken-plugin", "An installed plugin is broken; everything that does not need it still works."),
)
