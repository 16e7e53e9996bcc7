"""Modules of exported programs, without the work that PyTorch does around each call.

`ExportedProgram.module()` flattens its arguments, compares each size with the exported one, and packs the
results again: for a small network several times the time of its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

_CHECK = "_check_input_constraints_pre_hook"
"""PyTorch's function that compares arguments with the exported ones."""

_MOST_KEPT = 1024


def module_of(program: torch.export.ExportedProgram) -> Any:
    """Return the module of a program: it takes what `program.module()` takes, and refuses what that refuses.

    If arguments and results are tensors, not tables or lists of them, they go straight to the operators, and
    sizes that were accepted once are not compared again.
    """
    unlift: Callable[..., Any] = program.module
    module = unlift(check_guards=False)
    check = next((each for each in module._forward_pre_hooks.values() if each.__name__ == _CHECK), None)
    if check is None or not _takes_tensors(module):
        return module
    results = _plain_results(module)
    if results is None:
        return module
    exported = SimpleNamespace(
        validate_inputs=True,
        _in_spec=module._in_spec,
        graph=module.graph,
        range_constraints=module.range_constraints,
    )
    module.graph.output_node().args = results
    module.graph.set_codegen(torch.fx.graph.CodeGen())
    module.recompile()
    for hooks in (module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs):
        hooks.clear()
    # the others are for modules as arguments
    for hooks in (
        module._forward_hooks,
        module._forward_hooks_with_kwargs,
        module._forward_hooks_always_called,
    ):
        hooks.clear()
    module.register_forward_pre_hook(AcceptedSizes(check, exported), with_kwargs=True)
    return module


class AcceptedSizes:
    """A hook that lets PyTorch check arguments, unless it accepted tensors of the same sizes before.

    Args:
        check: PyTorch's check.
        exported: The module to check arguments for.
    """

    def __init__(self, check: Callable[..., None], exported: object) -> None:
        self._check = check
        self._exported = exported
        self._accepted: set[tuple[torch.Size, ...]] = set()

    def __call__(self, module: object, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Raise what PyTorch raises for arguments that the program does not take."""
        try:
            sizes = tuple([each.shape for each in args])
        except AttributeError:  # it is not a tensor
            self._check(self._exported, args, named)
            return
        if named or sizes not in self._accepted:
            self._check(self._exported, args, named)
            if len(self._accepted) < _MOST_KEPT:
                self._accepted.add(sizes)


def _takes_tensors(module: Any) -> bool:
    """Return True if all arguments are given by position, and are tensors."""
    positional, named = module._in_spec.children()
    inputs = module.graph.find_nodes(op="placeholder")
    is_flat = all(each.is_leaf() for each in positional.children())
    return not named.children() and is_flat and all(_is_tensor(node.meta.get("val")) for node in inputs)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _plain_results(module: Any) -> tuple[Any] | None:
    """Return what the output node of plain code has as its argument; None if the results are nested."""
    (results,) = module.graph.output_node().args
    spec = module._out_spec
    if spec.is_leaf():
        return (results[0],)
    if spec.type not in (tuple, list) or not all(each.is_leaf() for each in spec.children()):
        return None
    return (spec.type(results),)
