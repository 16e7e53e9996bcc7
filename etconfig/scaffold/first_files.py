"""The first files of a project: a project file, a profile, a test and a job for CI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath

from etconfig.base.packages import IS_PUBLISHED, OWN_PACKAGES, source_path
from etconfig.base.records import record
from etconfig.diagnostics.escape import escape_text
from etconfig.schema.option_type import OptionKind, OptionType
from etconfig.schema.spec import BackendSpec

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_WIDTH = 100

_CHECKOUT = "third_party/etconfig"


@record(frozen=True, kw_only=True)
class NewProject:
    """The findings of a directory that its first files are made of.

    Attributes:
        directory: The name of the directory.
        programs: The paths of its programs.
        models: The backend and the file of each model that an engine runs without a program, by name.
        devices: The names of known devices, and the paths of fact sheets.
        backends: The schemas of the backends that these need.
        values: The value of each option on this device, by `BACKEND.OPTION`.
        packages: The distributions to install.
        bases: The conditions, as TOML, of the profiles of etconfig that set something on these devices, by
            name.
        root: The root of the repository, as a path from the directory: `.`, or one that begins with `..`.
        below_root: The path of the directory from there.
    """

    directory: str
    programs: Sequence[str]
    models: Mapping[str, tuple[str, str]]
    devices: Sequence[str]
    backends: Sequence[BackendSpec]
    values: Mapping[str, str]
    packages: Sequence[str]
    bases: Mapping[str, str] = field(default_factory=dict)
    root: str = "."
    below_root: str = "."

    @property
    def name(self) -> str:
        """The name of the directory, as names of profiles are spelled."""
        return _NOT_IN_NAMES.sub("-", self.directory.lower()).strip("-") or "project"


def model_name(path: PurePath) -> str:
    """Return the name of the model in a file."""
    return _NOT_IN_NAMES.sub("_", path.stem.lower()).strip("_") or "model"


def project_files(project: NewProject) -> dict[str, str]:
    """Return the text of each file, by its path."""
    suffix = "" if project.root == "." else f"-{project.name}"
    job = PurePath(project.root, f".github/workflows/etconfig{suffix}.yml").as_posix()
    return {
        "etconfig.toml": _project_file(project),
        f"profiles/{project.name}/default.toml": _profile(project),
        **dict(_of_devices(project)),
        job: _workflow(project),
    }


def _project_file(project: NewProject) -> str:
    lines = [
        'profile = "auto"',
        'profile_path = ["profiles"]',
        *([f"programs = {_array(project.programs)}"] if project.programs else []),
        "# what `etconfig test`, `matrix` and `report` look at: known devices and fact sheets",
        f"devices = {_array(project.devices)}",
        "",
    ]
    for name, (backend, file) in project.models.items():
        lines += [f"[model.{name}]", f'backends = ["{backend}"]', f"file = {_quoted(file)}", ""]
    for name, assertion in _tests(project.backends):
        lines += ["[[test]]", f'name = "{name}"', f"assert = '{assertion}'", ""]
    lines += [
        "# [rules]  # levels of findings: error, warning, note, off; `etconfig rules` lists the codes",
        '# unusual-value = "off"',
    ]
    return "\n".join(lines) + "\n"


def _tests(backends: Sequence[BackendSpec]) -> list[tuple[str, str]]:
    """Return a test of each option that is a number of threads; without any, a test that shows the form."""
    found = [
        (f"{spec.id}.{name}: no more threads than cores", _limited(f"{spec.id}.{name}", info.type))
        for spec in backends
        for name, info in spec.options.option_infos().items()
        if info.type.kind is OptionKind.INTEGER and info.consumes and info.consumes.resource == "threads"
    ]
    return found or [("every device has a name for its system", 'os.name != ""')]


def _limited(option: str, type_: OptionType) -> str:
    """Return a condition that an option is no more than the cores of a device."""
    found = f"{option} <= cpu.logical_cores"
    return f"!has({option}) || {found}" if type_.is_optional else found


def _profile(project: NewProject) -> str:
    lines = [
        "[profile]",
        f'name = "{project.name}/default"',
        "match = 'true'  # every device; `etconfig tune` writes profiles that extend it",
        "",
    ]
    for spec in project.backends:
        lines += [f"[options.{spec.id}]"]
        for name, info in spec.options.option_infos().items():
            value = project.values.get(f"{spec.id}.{name}")
            if value is None or info.deprecated:
                continue
            doc = info.doc.partition(". ")[0].rstrip(".")
            line = f"# {name} = {value}  # {doc}"
            lines += [line if len(line) <= _WIDTH else f"{line[:_WIDTH]}..."]
        lines += [""]
    lines += [
        "# [[when]]  # other values on some devices",
        "# if = 'os.name == \"android\"'",
        *(f"# options.{spec.id}.OPTION = VALUE" for spec in project.backends[:1]),
    ]
    return "\n".join(lines) + "\n"


def _of_devices(project: NewProject) -> Iterator[tuple[str, str]]:
    """Yield a profile for each one of etconfig that sets something, which the default one would replace."""
    for base, match in project.bases.items():
        name = base.replace("/", "-")
        lines = [
            f"# {base} comes with etconfig; without this profile, {project.name}/default would replace it.",
            "[profile]",
            f'name = "{project.name}/{name}"',
            f'extends = ["{base}", "{project.name}/default"]',
            f"match = {match}",
        ]
        yield f"profiles/{project.name}/{name}.toml", "\n".join(lines) + "\n"


def _workflow(project: NewProject) -> str:
    place = "" if project.root == "." else f"\n        working-directory: {_quoted(project.below_root)}"
    return f"""\
name: configuration
on: [push, pull_request]
jobs:
  etconfig:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          submodules: true
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      {_install(project.packages)}
      - run: etconfig validate etconfig.toml profiles --format github{place}
      - run: etconfig test --junit etconfig-tests.xml{place}
"""


def _install(packages: Sequence[str]) -> str:
    if IS_PUBLISHED or not OWN_PACKAGES.issuperset(packages):
        return f"- run: python -m pip install {' '.join(packages)}"
    paths = " ".join(source_path(each, _CHECKOUT) for each in packages)
    return (
        f"# etconfig has no public address yet; its repository is a submodule here\n"
        f"      - run: python -m pip install {paths}"
    )


def _array(texts: Sequence[str]) -> str:
    return "[" + ", ".join(_quoted(each) for each in texts) + "]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escape_text(escaped)}"'
