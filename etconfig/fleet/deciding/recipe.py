"""`PlanRecipe`: all that a plan is made of, as plain data, so that another machine makes the same plan."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from etconfig.app.configuring.default_program import program_by_default
from etconfig.app.configuring.profile_choice import AUTO
from etconfig.app.configuring.project_tests import CheckedTests
from etconfig.app.configuring.several_programs import SeveralPrograms
from etconfig.app.configuring.targets import Delegating, model_names_of, options_by_backend
from etconfig.app.installation.installation import Installation
from etconfig.app.programs.variant_conditions import ReadModel
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.base.records import record
from etconfig.base.version import __version__
from etconfig.errors import PluginError
from etconfig.facts.assignment import parse_fact_assignments
from etconfig.fleet.deciding.plan import FleetPlan
from etconfig.plugin import FACTS
from etconfig.profile.library import Provider
from etconfig.resolver.compiling.matching import CALL_SOURCE
from etconfig.resolver.compiling.overrides import layer_from_overrides
from etconfig.schema.signature import schema_signature
from etconfig.schema.spec import BackendSpec
from etconfig.schema.validate import check_value, find_option

_UNUSABLE = "unusable here"
"""In place of a fingerprint: the plugin is broken, or several claim the backend."""


def surroundings_of(installation: Installation) -> dict[str, str]:
    """Return the version of etconfig, and fingerprints of facts, shipped profiles, and plugins, by name."""
    shipped = [each for each in installation.profiles.files if each.provider is not Provider.USER]
    profiles = [(each.name, hashlib.sha256(each.path.read_bytes()).hexdigest()) for each in shipped]
    return {
        "etconfig": __version__,
        "the definitions of facts": _hash(repr(installation.fact_registry.infos)),
        "the profiles that are installed": _hash(repr(sorted(profiles, key=repr))),
        **dict(_plugins(installation)),
    }


def _plugins(installation: Installation) -> Iterator[tuple[str, str]]:
    for entry in installation.index.entries(FACTS):
        yield f"the plugin {entry.distribution}", entry.version
    for backend in installation.backend_ids:
        try:
            source = installation.plugins.backend_entry(backend).source
            signature = schema_signature(installation.plugins.backend_spec(backend))
        except PluginError:  # no plan uses it, or it could not have been made
            yield f"the backend {backend}", _UNUSABLE
            continue
        text = json.dumps(signature, sort_keys=True, default=repr)
        yield f"the backend {backend}", f"{source}, schema {_hash(text)[:12]}"


def different_surroundings(wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Yield what is not the same, as texts."""
    for name in sorted({*wanted, *found}):
        if wanted.get(name) in (found.get(name), _UNUSABLE):
            continue
        if name not in found:
            yield f"{name} is missing there"
        elif name not in wanted:
            yield f"{name} is installed there only"
        elif name == "etconfig" or name.startswith("the plugin"):
            yield f"{name} is {found[name]} there and {wanted[name]} here"
        else:
            yield f"{name} is another one there" if name.startswith("the backend") else f"{name} differ"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_LOCATIONS = ("ETCONFIG_PROFILE_PATH", "ETCONFIG_PROJECT")
"""The variables that name files, which travel as contents."""

_PREFIX = "ETCONFIG_"

HandSet: TypeAlias = "Sequence[str] | Mapping[str, object]"
"""Facts or options that are set by hand: texts `NAME=VALUE` of the command line, or plain values by name."""


def make_plan(
    installation: Installation,
    programs: Sequence[Delegating],
    *,
    profile: str | None,
    require_match: bool,
    fact_overrides: HandSet,
    overrides: HandSet,
    with_memory: bool = False,
    tests: CheckedTests | None = None,
    variants: Sequence[ReadModel] = (),
) -> FleetPlan:
    """Compile what decides on every device.

    Args:
        installation: The plugins, profiles and project file.
        programs: The programs, or none.
        profile: `auto`, a name, a path, or None for the choice of the project file.
        require_match: Refuse the fallback of `auto`.
        fact_overrides: Facts that are set by hand on every device.
        overrides: Options that are set by hand on every device.
        with_memory: Estimate the memory of the programs, which are read for that.
        tests: Tests of the project.
        variants: Models whose variants are selected.

    Raises:
        ConfigError: a profile or another setting is wrong.
    """
    known_options = partial(options_by_backend, installation)
    registry = installation.fact_registry
    if not isinstance(fact_overrides, Mapping):
        fact_overrides = parse_fact_assignments(fact_overrides, registry)
    source = CALL_SOURCE if isinstance(overrides, Mapping) else "--set"
    return FleetPlan(
        SeveralPrograms.of(programs),
        installation,
        profile=profile,
        require_match=require_match,
        fact_overrides=fact_overrides,
        overrides=layer_from_overrides(
            overrides, source, backends=installation.backend_ids, known_options=known_options
        ),
        with_memory=with_memory,
        tests=tests,
        variants=variants,
    )


@record(frozen=True, kw_only=True)
class PlanRecipe:
    """The profiles, the project file, programs and settings of a plan, as plain data.

    Attributes:
        files: The text of each profile of the user, and of the project file, by absolute path.
        shown: The paths that reports show of these files, by absolute path.
        directories: The absolute path of each directory of profiles, with the path that reports show.
        project: The absolute path of the project file, with the path in reports; None without one.
        named: The absolute path of the profile, if it was named by path.
        environ: The variables of etconfig.
        programs: Of each program, the backends of its methods, and the values that it fixes.
        profile: `auto`, a name, a path, or None.
        require_match: Refuse the fallback of `auto`.
        fact_overrides: Facts by hand.
        overrides: Options by hand.
        surroundings: The fingerprints of what must be the same where the plan is made.
    """

    files: Mapping[str, str]
    shown: Mapping[str, str]
    directories: Sequence[tuple[str, str]]
    project: tuple[str, str] | None
    named: str | None
    environ: Mapping[str, str]
    programs: Sequence[Mapping[str, Any]]
    profile: str | None
    require_match: bool
    fact_overrides: HandSet
    overrides: HandSet
    surroundings: Mapping[str, str]

    @classmethod
    def of(
        cls,
        plan: FleetPlan,
        programs: Sequence[Delegating],
        *,
        profile: str | None,
        require_match: bool,
        fact_overrides: HandSet,
        overrides: HandSet,
    ) -> PlanRecipe:
        """Return the recipe of a plan that `make_plan` made of the same settings.

        Raises:
            OSError: a profile cannot be read.
            PluginCallError: a backend cannot read the compile specs of a program.
        """
        installation = plan.installation
        default = None if programs else program_by_default(installation)
        if default is not None:
            programs = [default]  # described, since the files of programs and models do not travel
        own = [each for each in installation.profiles.sources if each.provider is Provider.USER]
        paths = {file.path for file in installation.profiles.files if file.provider is Provider.USER}
        if not plan.is_auto:
            configuration = plan.configuration(AUTO)
            chain = getattr(configuration, "chain", ())
            paths |= {
                each.path for each in chain if each.path is not None and _is_below(each.path, own) is None
            }
        project = installation.project_path
        named = profile if profile is not None and profile.endswith(".toml") else None
        everything = {*paths, *(() if project is None else (project,))}
        return cls(
            files={_absolute(path): Path(path).read_text(encoding="utf-8") for path in sorted(everything)},
            shown={_absolute(path): str(path) for path in sorted(everything)},
            directories=[(_absolute(each.directory), str(each.directory)) for each in own],
            project=None if project is None else (_absolute(project), str(project)),
            named=None if named is None else _absolute(Path(named)),
            environ={
                name: value
                for name, value in sorted(installation.environ.items())
                if name.startswith(_PREFIX) and name not in _LOCATIONS
            },
            programs=[_described(program) for program in programs],
            profile=profile,
            require_match=require_match,
            fact_overrides=fact_overrides,
            overrides=overrides,
            surroundings=surroundings_of(installation),
        )

    def to_jsonable(self) -> dict[str, Any]:
        """Return the recipe as plain data."""
        return asdict(self)

    @classmethod
    def from_jsonable(cls, data: Mapping[str, Any]) -> PlanRecipe:
        """Return the recipe that `to_jsonable` described."""
        directories = [(path, shown) for path, shown in data["directories"]]
        project = None if data["project"] is None else (data["project"][0], data["project"][1])
        return cls(**{**data, "directories": directories, "project": project})

    def installation(self, scratch: Path) -> Installation:
        """Write the profiles and the project file below a directory; return the installation with them."""
        for path, text in self.files.items():
            target = _moved(path, scratch)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        directories = [_moved(path, scratch) for path, _ in self.directories]
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
        found = Installation(None, environ=self.environ, profile_directories=directories)
        return found if self.project is None else found.with_project(_moved(self.project[0], scratch))

    def plan(self, scratch: Path) -> FleetPlan:
        """Make the plan again, with profiles below a directory that `installation` wrote.

        Raises:
            ConfigError: a profile or another setting is wrong.
        """
        installation = self.installation(scratch)
        profile = self.profile if self.named is None else str(_moved(self.named, scratch))
        return make_plan(
            installation,
            [DescribedProgram(installation, each) for each in self.programs],
            profile=profile,
            require_match=self.require_match,
            fact_overrides=self.fact_overrides,
            overrides=self.overrides,
        )

    def shown_paths(self, scratch: Path) -> list[tuple[str, str]]:
        """Return the paths below that directory, with their paths in reports, the longest first."""
        pairs = [*self.directories, *(() if self.project is None else (self.project,))]
        if self.named is not None and self.profile is not None:
            pairs.append((self.named, self.profile))
        moved = {str(_moved(path, scratch)): shown for path, shown in pairs}
        for path, shown in self.shown.items():
            moved.setdefault(str(_moved(path, scratch)), shown)
        return sorted(moved.items(), key=lambda pair: -len(pair[0]))


def recipe_hash(text: str) -> str:
    """Return the hash of the text of a job, by which workers remember it."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (symbolic links stay, as profiles are found below them)


def _moved(path: str, scratch: Path) -> Path:
    """Return the place of a file or a directory below another directory."""
    pure = Path(path)
    drive = pure.drive.replace(":", "").replace("\\", "_")
    return scratch.joinpath(*((drive,) if drive else ()), *pure.parts[1:])


def _is_below(path: Path, sources: Sequence[Any]) -> Any:
    return next((each for each in sources if Path(path).is_relative_to(each.directory)), None)


# --- programs ----------------------------------------------------------------------------


def _described(program: Delegating) -> dict[str, Any]:
    return {
        "methods": {method: list(program.backends(method)) for method in program.method_names},
        "models": list(model_names_of(program)),
        "values": {method: dict(_values(program, method)) for method in program.method_names},
    }


def _values(program: Delegating, method: str) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    plugins = program.installation.plugins
    for backend in program.backends(method):
        if backend not in program.installation.backend_ids:
            continue
        spec = plugins.backend_spec(backend)
        if spec.from_program is not None:
            found = program.program_values(method, spec)
            yield backend, {name: _plain(each) for name, each in found.items()}


def _plain(value: Sourced[object]) -> list[Any]:
    return [json.loads(json.dumps(value.value)), value.origin.source, value.origin.detail]


class DescribedProgram:
    """The part of a program that configuring needs, as a recipe describes it.

    Attributes:
        installation: The plugins, profiles and project file.
        model_names: Those of its methods that are models, which engines run without a program.
    """

    def __init__(self, installation: Installation, described: Mapping[str, Any]) -> None:
        self.installation = installation
        self._methods: Mapping[str, Sequence[str]] = described["methods"]
        self._values: Mapping[str, Mapping[str, Mapping[str, list[Any]]]] = described["values"]
        self.model_names: Sequence[str] = tuple(described["models"])

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods."""
        return tuple(self._methods)

    def backends(self, method: str) -> tuple[str, ...]:
        """Return the ids of the backends that a method delegates to."""
        return tuple(self._methods[method])

    def program_values(self, method: str, spec: BackendSpec) -> Mapping[str, Sourced[object]]:
        """Return the values of a backend's options that the program fixes ahead of time, by name."""
        found: dict[str, Sourced[object]] = {}
        for name, (raw, source, detail) in self._values[method].get(spec.id, {}).items():
            info, _ = find_option(spec, name)
            value = raw if info is None else check_value(spec, info, raw)
            found[name] = Sourced(value, Origin(OriginKind.PROGRAM, source, detail=detail))
        return found
