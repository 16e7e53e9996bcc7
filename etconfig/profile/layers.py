"""The layers of a chain of profiles and a project file; named instances get their methods here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from etconfig.base.provenance import OriginKind
from etconfig.diagnostics import Diagnostic, guessed_fix, nearest
from etconfig.errors import ProfileError
from etconfig.profile.layer import InstanceDeclaration, Layer
from etconfig.profile.profile import Profile
from etconfig.profile.project import ProjectFile
from etconfig.profile.settings import DocumentSettings


def layers_of(chain: Sequence[Profile], project: ProjectFile | None = None) -> tuple[Layer, ...]:
    """Return the layers of the profiles in `chain`, base first, and then of `project`.

    A document may name an instance that it declares itself or that an earlier document declares.

    Raises:
        ProfileError: with every instance that nothing declares, or that two documents declare for
            different methods.
    """
    sources = [(OriginKind.PROFILE, profile.name, profile.settings) for profile in chain]
    if project is not None:
        sources.append((OriginKind.PROJECT, project.name, project.settings))
    declared: dict[str, InstanceDeclaration] = {}
    problems: list[Diagnostic] = []
    for _, _, settings in sources:
        problems += _declare(settings, declared)
    if problems:
        raise ProfileError(diagnostics=tuple(problems))
    methods = {name: declaration.method for name, declaration in declared.items()}
    layers = tuple(settings.to_layer(kind, name, methods) for kind, name, settings in sources)
    bundled = [profile.is_bundled and bool(profile.settings.assignments) for profile in chain]
    if not any(bundled):
        return layers
    of_profiles = (
        replace(layer, is_bundled=True) if each else layer
        for layer, each in zip(layers, bundled, strict=False)
    )
    return (*of_profiles, *layers[len(chain) :])


def salvage_layers(chain: Sequence[Profile]) -> tuple[tuple[Layer, ...], tuple[Diagnostic, ...]]:
    """Make layers of profiles though instances are declared wrongly; one without a method is of any.

    Returns:
        The layers, base first; and what is wrong with the instances.
    """
    try:
        return layers_of(chain), ()
    except ProfileError as error:
        layers = (
            profile.settings.to_layer(
                OriginKind.PROFILE, profile.name, dict.fromkeys(profile.settings.inherited, "*")
            )
            for profile in chain
        )
        return tuple(layers), error.diagnostics


def _declare(settings: DocumentSettings, declared: dict[str, InstanceDeclaration]) -> Iterator[Diagnostic]:
    """Add the instances of one document to those `declared` before; yields the problems."""
    for declaration in settings.instances:
        earlier = declared.setdefault(declaration.name, declaration)
        if earlier.method != declaration.method:
            yield _conflict(earlier, declaration)
    for name, find_span in settings.inherited.items():
        if name not in declared:
            guess, span = nearest(name, declared), find_span()
            yield Diagnostic(
                code="unknown-instance",
                message=f"instance {name!r} has no method",
                spans=(span,),
                help=(
                    f"did you mean {guess!r}?" if guess else f'write method = "..." under [instances.{name}]'
                ),
                fix=guessed_fix(name, guess, declared, span),
            )


def _conflict(earlier: InstanceDeclaration, later: InstanceDeclaration) -> Diagnostic:
    return Diagnostic(
        code="conflicting-instance",
        message=(
            f"instance {later.name!r} is declared for method {later.method!r}, "
            f"but {earlier.span.place} declares it for {earlier.method!r}"
        ),
        spans=(later.span, earlier.span),
        help="give one of them another name",
    )
