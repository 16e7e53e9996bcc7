"""All diagnostic codes. Each has a page: docs/diagnostics/<code>.md."""

from __future__ import annotations

from collections.abc import Mapping

from etconfig.base.records import record


@record(frozen=True)
class CodeInfo:
    """A code and the kind of problem that it names.

    Attributes:
        code: The code.
        summary: The problem, in a sentence.
        levels: The levels that its findings have, apart from rules: `error`, `warning`, `note`.
        fix: The fixes that its findings may have: `safe`, `guess`; empty without any.
    """

    code: str
    summary: str
    levels: str = "error"
    fix: str = ""


def _codes(*rows: tuple[str, ...]) -> Mapping[str, CodeInfo]:
    return {row[0]: CodeInfo(*row) for row in rows}


CODES: Mapping[str, CodeInfo] = _codes(
    # TOML documents
    ("invalid-toml", "The file is not valid TOML.", "error", "safe, guess"),
    ("document-too-large", "The file exceeds a bound on size, depth, key parts or digits."),
    ("unreadable-file", "The file cannot be read."),
    ("untrusted-file", "A file that was found, not named, may have been written by another user."),
    # settings against the schemas
    ("invalid-option-path", "A text is not an option path."),
    ("unknown-backend", "No installed plugin declares this backend id.", "error, warning", "guess"),
    (
        "backend-not-installed",
        "Options are set for a backend whose plugin is not installed, or a model needs one.",
        "error, warning, note",
    ),
    ("program-conflict", "A setting replaces a value that the program fixes ahead of time.", "warning"),
    (
        "not-delegated",
        "Options are set for a backend to which the program or method delegates nothing.",
        "error, warning, note",
    ),
    ("unknown-option", "The backend has no option of this name.", "error, warning", "safe, guess"),
    ("unknown-method", "The program has no method of this name.", "error, warning, note", "guess"),
    ("unknown-instance", "No layer declares this named instance.", "error", "guess"),
    (
        "invalid-value",
        "A value has the wrong type or breaks a constraint.",
        "error, warning, note",
        "safe, guess",
    ),
    (
        "unproven-value",
        "An expression may give a value that the option does not accept on some device.",
        "error, warning",
        "guess",
    ),
    ("unit-mismatch", "An expression has another unit than its option.", "error, warning", "guess"),
    ("missing-option", "A required option is not set.", "error, warning"),
    ("unknown-fact-value", "An expression needs a fact that is not known on this device."),
    ("option-conflict", "Two options contradict each other.", "error, warning"),
    ("process-scope-conflict", "Two methods disagree on an option of the whole process."),
    ("deprecated-option", "An option is deprecated or was renamed.", "warning", "safe"),
    ("not-updatable", "The option applies at load and cannot change on a loaded method."),
    ("failing-option-check", "A backend's own check of its options failed."),
    # profiles and project files
    (
        "invisible-character",
        "A key, a path or an expression contains an invisible character.",
        "error",
        "safe",
    ),
    ("unknown-key", "A table has no key of this name.", "error", "guess"),
    ("missing-key", "A required key is missing.", "error", "guess"),
    (
        "wrong-type",
        "A key of a profile or project file has a value of the wrong type.",
        "error",
        "safe, guess",
    ),
    ("invalid-name", "A profile, backend, option, method or instance has a name that is not allowed."),
    ("conflicting-instance", "A named instance is declared for two methods."),
    ("unknown-profile", "There is no profile of this name.", "error", "guess"),
    ("duplicate-profile", "Two files have the same profile name."),
    ("profile-name-mismatch", "The name and the path of a profile differ.", "error, warning", "guess"),
    ("unknown-kernel", "The project file prefers a kernel that no installed distribution has."),
    (
        "ignored-kernel-choice",
        "The project file chooses kernels, but its executor brings its own.",
        "warning",
    ),
    (
        "unknown-executor",
        "The project file names an executor that no installed plugin declares.",
        "error, warning",
        "guess",
    ),
    ("ignored-project-file", "A project file has no effect, since another one beside it counts.", "warning"),
    ("extends-cycle", "A profile extends itself, directly or through others."),
    ("extends-conflict", "No order of profiles respects every `extends` list.", "error", "safe, guess"),
    ("extends-too-deep", "A chain of profiles, or a list of what one extends, is longer than the bound."),
    ("extends-outside-tree", "A profile extends a file outside its directory tree."),
    ("no-matching-profile", "No profile's condition holds on this device.", "error, note"),
    ("ambiguous-profile", "Several unrelated profiles match this device."),
    # rules
    ("invalid-rule", "A rule or comment names no code or level, or a fixed one.", "error", "guess"),
    ("unused-allowance", "A comment or rule is for a finding or file that is not there.", "warning"),
    # models
    ("unknown-model", "There is no model of this name.", "error, note", "guess"),
    ("duplicate-model", "Two files declare a model of the same name."),
    ("no-model-variant", "No variant of a model suits the device."),
    (
        "unreachable-variant",
        "An earlier variant suits wherever this one does, so no device selects it.",
        "warning",
    ),
    ("model-mismatch", "Two variants of a model differ in methods, inputs or outputs."),
    ("wrong-model-file", "The file of a variant has another size or hash than its table declares."),
    ("missing-data-file", "A variant's data file cannot be read, or none has a tensor outside its program."),
    # expressions
    ("invalid-expression", "A text is not an expression of the condition language.", "error", "safe, guess"),
    ("expression-too-large", "An expression exceeds a bound on length or depth."),
    ("expression-type", "A part of an expression has a type that does not fit.", "error", "safe, guess"),
    ("evaluation-failed", "An expression divides by zero or exceeds 64 bits."),
    ("known-quirk", "A backend gave wrong results or crashed on such devices.", "warning, note"),
    ("undecided-condition", "A condition needs a fact that is not known on this device.", "note"),
    ("constant-condition", "A condition never holds, or always does.", "warning"),
    ("unusual-value", "A condition names a value that its fact usually does not have.", "warning"),
    (
        "unselectable-profile",
        "Another profile matches wherever this one does, so auto never selects it.",
        "error, warning",
    ),
    ("shadowed-assignment", "A later assignment always replaces this one.", "error, warning"),
    ("unchecked-combinations", "Conditions combine in more ways than validate tries.", "warning"),
    # memory
    ("memory-exceeded", "The instances of a program need more memory than the device has.", "error, warning"),
    # payloads
    ("payload-mismatch", "A payload is for another device, or cannot be described.", "error, warning"),
    # budgets
    ("budget-exceeded", "Instances that may run together take more than their budget.", "error, warning"),
    (
        "budget-unknown",
        "It is not known if instances that may run together stay within their budget.",
        "note",
    ),
    # facts
    ("unknown-fact", "No fact has this name.", "error", "safe, guess"),
    ("invalid-fact-value", "A fact has a value of another type or out of its range.", "error", "guess"),
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
        "error, warning",
    ),
    ("lock-mismatch", "The current resolution differs from the lock file."),
    ("invalid-matrix-file", "A file does not contain the expected options of devices."),
    ("matrix-mismatch", "A device gets something else than the file of expected options says."),
    # tests of a project
    ("failed-test", "A test of the project does not hold on a device."),
    ("undecided-test", "A test of the project needs a fact that is not known on a device."),
    ("untried-test", "No device tries a test of the project.", "warning"),
    # other runtimes
    ("invalid-bundle", "A file is not a device bundle, or is damaged."),
    ("invalid-signature", "The signature of a bundle is missing or wrong, or a key cannot be used."),
    (
        "cannot-carry",
        "A runtime's option map, or a bundle, cannot carry the value of an option.",
        "error, warning, note",
    ),
    # plugins
    ("unknown-plugin", "The choice of plugins names one that is not installed.", "warning"),
    (
        "broken-plugin",
        "An installed plugin is broken; everything that does not need it still works.",
        "error, warning, note",
    ),
)
