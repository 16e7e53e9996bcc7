"""`SeveralPrograms`: programs whose methods get their options together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from etconfig.app.configuring.targets import Delegating, model_names_of, model_needing
from etconfig.app.installation.installation import Installation
from etconfig.base.provenance import Sourced
from etconfig.base.records import record
from etconfig.diagnostics import Diagnostic
from etconfig.errors import ModelError, OptionError
from etconfig.schema.spec import BackendSpec


@record(frozen=True)
class SeveralPrograms:
    """Several programs as one: a method that two of them have delegates to the backends of both."""

    programs: tuple[Delegating, ...]

    @classmethod
    def of(cls, programs: Sequence[Delegating]) -> Delegating | None:
        """Return the only program, or all as one; None if there is none. Raises as `joined`."""
        if len(programs) < 2:
            return programs[0] if programs else None
        return cls.joined(programs)

    @classmethod
    def joined(cls, programs: Sequence[Delegating]) -> SeveralPrograms:
        """Return all as one.

        Raises:
            ModelError: a model has the name of a method of a program.
        """
        several = cls(tuple(programs))
        models = {*several.model_names}
        methods = {
            name for each in programs for name in each.method_names if name not in model_names_of(each)
        }
        for name in sorted(models & methods):
            problem = Diagnostic(
                code="duplicate-model",
                message=f"model {name!r} has the name of a method of a program; options would be for both",
                help="give the model another name",
            )
            raise ModelError(diagnostics=(problem,))
        return several

    @property
    def installation(self) -> Installation:
        """The plugins, profiles and project file of the first one."""
        return self.programs[0].installation

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods of all, each once."""
        return tuple(dict.fromkeys(name for program in self.programs for name in program.method_names))

    @property
    def model_names(self) -> tuple[str, ...]:
        """Those of them that are models, which engines run without a program."""
        return tuple(name for program in self.programs for name in model_names_of(program))

    def backends(self, method: str) -> tuple[str, ...]:
        """Return the ids of the backends that a method delegates to in any of them.

        Raises:
            MethodNotFoundError: none of them has such a method.
        """
        having = [program for program in self.programs if method in program.method_names]
        found = (program.backends(method) for program in having or self.programs[:1])
        return tuple(dict.fromkeys(backend for backends in found for backend in backends))

    def _model_needing(self, backend: str) -> str:
        """Return the first model of a backend, as `Models` does."""
        return next(filter(None, (model_needing(each, backend) for each in self.programs)), "")

    def program_values(self, method: str, spec: BackendSpec) -> Mapping[str, Sourced[object]]:
        """Return the values of options that the programs fix ahead of time.

        Raises:
            OptionError: two programs fix different values.
            PluginCallError: the backend cannot read the compile specs.
        """
        found: dict[str, Sourced[object]] = {}
        for program in self.programs:
            if method not in program.method_names or spec.id not in program.backends(method):
                continue
            for name, value in program.program_values(method, spec).items():
                if found.setdefault(name, value) != value:
                    message = f"the programs fix different values of {spec.id}.{name} for {method!r}"
                    help = "pack a bundle for each of them"
                    problem = Diagnostic(code="cannot-carry", message=message, help=help)
                    raise OptionError(diagnostics=(problem,))
        return found


def programs_in(program: Delegating | None) -> Sequence[Delegating]:
    """Return the programs and models that are one; none for None."""
    if program is None:
        return ()
    return program.programs if isinstance(program, SeveralPrograms) else (program,)
