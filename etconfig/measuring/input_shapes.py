"""Shapes of inputs that are made up: the model's shapes, with sizes that it leaves open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from etconfig.base.records import record
from etconfig.errors import MeasurementError

if TYPE_CHECKING:
    from etconfig.backend import ModelInput

Shapes: TypeAlias = "Mapping[str, Sequence[int]] | Sequence[str]"
"""The shape by the name of an input, or texts `NAME=1,3,224,224`."""

_FORM = re.compile(r"(.+)=([0-9]+(?:,[0-9]+)*)")
_MOST_CHARACTERS = 1000
_MOST_BYTES = 1 << 30


@record(frozen=True)
class MadeUpShapes:
    """The shapes of inputs that are made up.

    Attributes:
        shapes: The shape of each input, in order.
        guessed: Those with sizes that the model leaves open and nobody gave, as `NAME=1,3,1,1`: these are 1.
    """

    shapes: tuple[tuple[int, ...], ...]
    guessed: tuple[str, ...]

    @classmethod
    def of(cls, inputs: Sequence[ModelInput], texts: Sequence[str], label: str) -> MadeUpShapes:
        """Return the shapes for the inputs of a model.

        Raises:
            MeasurementError: a text names no input, or a size is not the one that the model has; or the model
                declares a negative size.
        """
        given = dict(map(_parsed, texts))
        found, guessed = [], []
        for each in inputs:
            if any(size is not None and size < 0 for size in each.shape):
                reason = f"its plugin declares the input {each.name!r} with the shape {list(each.shape)}"
                raise MeasurementError(label=label, reason=reason)
            shape = tuple(size or 1 for size in each.shape)
            wanted = given.pop(each.name, None)
            if wanted is None and None in each.shape:
                guessed.append(f"{each.name}={','.join(map(str, shape))}")
            if wanted is not None:
                _check(label, each, wanted)
            found.append(wanted or shape)
        if given:
            name = next(iter(given))
            names = ", ".join(each.name for each in inputs)
            reason = f"shapes: expected the name of an input: {names}, given {name!r}"
            raise MeasurementError(label=label, reason=reason)
        return cls(tuple(found), tuple(guessed))


def shape_texts(shapes: Shapes) -> tuple[str, ...]:
    """Return shapes as texts `NAME=1,3,224,224`.

    Raises:
        ValueError: a text has another form, or two are for one input.
    """
    if isinstance(shapes, Mapping):
        shapes = [f"{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]
    texts = (shapes,) if isinstance(shapes, str) else tuple(shapes)
    names = [_parsed(text)[0] for text in texts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"expected one shape of {name}, given {names.count(name)}")
    return texts


def check_made_up_size(label: str, forms: Sequence[tuple[str, Sequence[int], int]]) -> None:
    """Check that inputs can be made up, from the name, the shape and the bytes of each.

    Raises:
        MeasurementError: all together take more than 1 GiB.
    """
    if sum(size for _, _, size in forms) > _MOST_BYTES:
        name, shape, _ = max(forms, key=itemgetter(2))
        raise MeasurementError(
            label=label,
            reason=f"made up inputs take 1 GiB at most, and these take more: {name} {list(shape)} most",
            help="give smaller sizes with --shape, or inputs of your own with --input FILE.npy",
        )


def guessed_note(guessed: Sequence[str]) -> tuple[str, ...]:
    """Return what to know about guessed sizes, in a sentence; nothing if there are none."""
    if not guessed:
        return ()
    return (f"sizes that the model leaves open are 1: {', '.join(guessed)}; --shape gives others",)


def _parsed(text: str) -> tuple[str, tuple[int, ...]]:
    match = _FORM.fullmatch(text)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"expected NAME=1,3,224,224, given {len(text):,} characters: {text[:40]!r}...")
    if match is None:
        raise ValueError(f"expected NAME=1,3,224,224, the shape of an input, given {text!r}")
    return match[1], tuple(map(int, match[2].split(",")))


def _check(label: str, declared: ModelInput, wanted: tuple[int, ...]) -> None:
    fits = len(wanted) == len(declared.shape) and all(
        size in (None, chosen) for size, chosen in zip(declared.shape, wanted, strict=True)
    )
    if not fits:
        sizes = ", ".join("?" if size is None else str(size) for size in declared.shape)
        reason = f"input {declared.name}: expected the shape [{sizes}], given {list(wanted)}"
        raise MeasurementError(label=label, reason=reason)
