"""Load one plugin: import it, register it with pluggy, check its hook, call it, check the answer.

Each plugin gets its own `PluginManager`. So plugins cannot affect each other, loading needs no lock across
plugins, and dropping the manager unregisters a plugin that fails.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pluggy

from etconfig.base.interrupts import going_on, is_own_process, may_be_ctrl_c
from etconfig.base.records import record
from etconfig.diagnostics import did_you_mean
from etconfig.diagnostics.error_text import error_message
from etconfig.errors import PluginLoadError
from etconfig.plugin import hookspecs
from etconfig.plugin.api_version import CURRENT, negotiate
from etconfig.plugin.call_check import call_problem, code_place
from etconfig.plugin.entry_points import BACKENDS, FACTS, EntryPoint
from etconfig.plugin.failure import load_error, reinstall_help
from etconfig.plugin.hookspecs import PROJECT, PluginRequest
from etconfig.plugin.trial import ends_of_imports
from etconfig.schema.spec import ApiRange

ResultT = TypeVar("ResultT")

IMPORT_LIMIT_S = 10.0
"""The time limit of importing a plugin of facts, in seconds."""

_UNKNOWN_FIELD = re.compile(
    r"(?P<name>\w+)\.__init__\(\) got an unexpected keyword argument '(?P<field>\w+)'"
)

_PYTHONS_GUESS = re.compile(r"\. Did you mean '\w+'\?$")

_VALUE = re.compile(r"(?P<module>\w+(?:\.\w+)*)(?::(?P<object>\w+(?:\.\w+)*))?\s*(?:\[.*\])?")

_RULES = {
    "its import": "its import must succeed on every machine",
    "its factory": "a factory returns a Backend",
    "its availability()": "availability() returns Availability.no(reason, fix) if something is missing",
}
"""The rule that an exception breaks, by what raised it; anything else is a hook."""


class Answer(Protocol):
    """The answer of any hook; all name the plugin API versions that the plugin can work with."""

    @property
    def api(self) -> ApiRange:
        """The plugin API versions."""


AnswerT = TypeVar("AnswerT", bound=Answer)


@record(frozen=True)
class Hook(Generic[AnswerT]):
    """A hook that the core calls.

    Attributes:
        group: The entry-point group of the plugins that implement it.
        name: The hook's name.
        request: The type of its request.
        answer: The type of its answer.
        check: Raises PluginLoadError if the core cannot use an answer.
        check_beside: Raises PluginLoadError if an answer conflicts with other plugins' answers, which are its
            last argument; None if answers cannot conflict.
    """

    group: str
    name: str
    request: type[PluginRequest]
    answer: type[AnswerT]
    check: Callable[[EntryPoint, AnswerT], None]
    check_beside: Callable[[EntryPoint, AnswerT, Sequence[AnswerT]], None] | None = None


def load_plugin(
    entry: EntryPoint, hook: Hook[AnswerT], *, core_api: int = CURRENT, is_needed: bool = False
) -> AnswerT:
    """Return the plugin's answer to `hook`.

    Args:
        entry: The plugin.
        hook: The hook to call.
        core_api: The plugin API version in the request.
        is_needed: True if something asked for what it gives, so that no trial protects others from it.

    Raises:
        PluginLoadError: it cannot be imported, does not implement the hook, or returns a wrong answer.
    """
    plugin = guarded(entry, "its import", _imported, entry, is_needed)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    guarded(entry, "its registration", _register, entry, manager, hook.name, plugin)
    caller = getattr(manager.hook, hook.name)
    request = hook.request(name=entry.name, core_api=core_api)
    answers = guarded(entry, hook.name, partial(caller, request=request))
    answer = _checked(entry, hook, answers[0] if answers else None, caller.get_hookimpls()[0].function)
    # A plugin that was built for a newer API may implement hooks that this core does not know.
    unknown = _unknown_hooks(manager, plugin) if answer.api.built <= CURRENT else ()
    if unknown:
        known = [name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_")]
        help_text = did_you_mean(unknown[0], known) or f"the hooks are {', '.join(known)}"
        raise load_error(entry, f"{entry.value} implements an unknown hook {unknown[0]}", help_text)
    hook.check(entry, answer)
    return answer


def guarded(entry: EntryPoint, symbol: str, work: Callable[..., ResultT], *arguments: Any) -> ResultT:
    """Run a plugin's code and turn whatever it raises into a PluginLoadError, except for Ctrl-C.

    SystemExit is caught too, and a KeyboardInterrupt of the plugin's own, since a plugin must not end its
    host; in a process of the command line, neither may it by `os._exit` or `os.abort`.
    """
    try:
        with going_on():
            return work(*arguments)
    except PluginLoadError:
        raise
    except BaseException as error:
        if may_be_ctrl_c(error):
            raise type(error)(f"{symbol}, plugin {entry.name!r} ({entry.group}) of {entry.source}") from error
        # Python 3.13 appends a guess, which the help below makes anyway
        first_line = _PYTHONS_GUESS.sub("", (error_message(error).splitlines() or ["no message"])[0])
        cause = f"{error_place(entry, error)}{symbol} raised {type(error).__name__}: {first_line}"
        fix = _fix_of_author(entry, symbol, error)
        raise load_error(entry, cause, _exception_help(entry, error), author_help=fix, error=error) from error


def error_place(entry: EntryPoint, error: BaseException | None) -> str:
    """Return the last line of the plugin's own package that raised, as `plugin.py:12: `, or an empty text."""
    place, step = "", None if error is None else error.__traceback__
    while step is not None:
        if str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] == entry.package:
            place = f"{Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}: "
        step = step.tb_next
    return place


def _exception_help(entry: EntryPoint, error: BaseException) -> str:
    is_missing_name = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == PROJECT
    fields = _fields_instead(error)
    guess = fields and did_you_mean(fields[0], fields[1:])
    if is_missing_name or fields:
        upgrade = f"upgrade etconfig, or install a version of {entry.distribution} that fits this one"
        return f"{guess} or else {upgrade}" if guess else upgrade
    if isinstance(error, ModuleNotFoundError) and _is_own_module(entry, error.name or ""):
        return f"name a module that {entry.distribution} has, or {reinstall_help(entry.distribution)}"
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name}, or else {reinstall_help(entry.distribution)}"
    return f"upgrade or uninstall {entry.distribution}, or report it to its author"


def _fix_of_author(entry: EntryPoint, symbol: str, error: BaseException) -> str:
    """Return the rule that an exception broke, and what the plugin's author has to do."""
    fields = _fields_instead(error)
    if fields:
        return did_you_mean(fields[0], fields[1:]) or f"the fields are {', '.join(fields[1:])}"
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == PROJECT:
        from etconfig.plugin import v1  # imported late: it is needed for this help only

        missing = error_message(error).partition("cannot import name ")[2].partition("'")[2].partition("'")[0]
        guess = did_you_mean(missing, v1.__all__) or "docs/public-api.md lists the names"
        return f"import names that etconfig.plugin.v1 has; {guess}"
    if isinstance(error, ModuleNotFoundError) and error.name == entry.module:
        return f"correct the module of the entry point {entry.name} in pyproject.toml, and install it again"
    if isinstance(error, ModuleNotFoundError) and symbol == "its import" and entry.group != BACKENDS:
        return f"import {error.name} only when it is needed, or correct the name"
    if isinstance(error, ModuleNotFoundError) and symbol == "its import":
        return (
            f"import {error.name} only when a backend is created, or correct the name; without it, "
            "availability() returns Availability.no(reason, fix)"
        )
    rule = _RULES.get(symbol, "the hook returns its answer")
    return (
        f"correct this line: {rule}, and raises nothing" if symbol != "its import" else f"correct it: {rule}"
    )


def _is_own_module(entry: EntryPoint, module: str) -> bool:
    """True if a missing module would belong to the plugin's own package, which itself was found."""
    return "." in module and module.partition(".")[0] == entry.package


def _fields_instead(error: BaseException) -> list[str]:
    """Return the unknown field that a class of the plugin API was given, then the fields that it has.

    Empty if the error has another cause.
    """
    match = isinstance(error, TypeError) and _UNKNOWN_FIELD.match(error_message(error))
    if not match:
        return []
    from etconfig.plugin import v1  # imported late: it is needed for this help only

    if match["name"] not in v1.__all__:
        return []
    return [match["field"], *inspect.signature(getattr(v1, match["name"])).parameters]


def _imported(entry: EntryPoint, is_needed: bool) -> Any:
    """Import a plugin; one of facts, which commands need that know nothing of it, within a time limit.

    It runs in a thread then, where no Ctrl-C arrives: what it raises is its own. In a process of the command
    line, a trial comes first where nothing asked for its facts, since an import can end its process.
    """
    if entry.group != FACTS:
        return _import(entry)
    match = _VALUE.fullmatch(entry.value)
    is_loaded = match is None or match["module"] in sys.modules
    if match is not None and not is_loaded and not is_needed and is_own_process():
        for end in ends_of_imports([match["module"]], IMPORT_LIMIT_S).values():
            raise import_error(entry, end)
    found: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            found.append(_import(entry))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="etconfig-import", daemon=True)
    thread.start()
    thread.join(IMPORT_LIMIT_S)
    if raised and isinstance(raised[0], KeyboardInterrupt):
        raise ImportError("KeyboardInterrupt, though nobody pressed Ctrl-C") from raised[0]
    if raised:
        raise raised[0]
    if not found:
        raise import_error(entry, f"did not finish within {IMPORT_LIMIT_S:g} s")
    return found[0]


def import_error(entry: EntryPoint, end: str) -> PluginLoadError:
    """Return the error of a plugin whose import ends or hangs its process, with how it does."""
    help_text = f"upgrade or uninstall {entry.distribution}, or report it to its author"
    return load_error(entry, f"its import {end}", help_text)


def _import(entry: EntryPoint) -> Any:
    match = _VALUE.fullmatch(entry.value)
    if match is None:
        cause = f"its entry point has the value {entry.value!r}"
        raise load_error(entry, cause, "write MODULE or MODULE:OBJECT in the plugin's pyproject.toml")
    module = importlib.import_module(match["module"])
    if match["object"] is None:
        return module
    try:
        return operator.attrgetter(match["object"])(module)
    except AttributeError:
        guess = did_you_mean(match["object"], [name for name in vars(module) if not name.startswith("_")])
        fix = f"name an object of that module in the entry point {entry.name} of pyproject.toml"
        cause = f"{match['module']} has no {match['object']!r}, which its entry point names"
        raise load_error(entry, cause, f"{guess} {fix}" if guess else fix) from None


def _register(entry: EntryPoint, manager: pluggy.PluginManager, hook_name: str, plugin: Any) -> None:
    """Register a plugin, and check that it implements a hook as the core will call it."""
    if isinstance(plugin, type):
        cause = f"{entry.value} is a class"
        raise load_error(entry, cause, "name a module or an instance in the entry point")
    try:
        manager.register(plugin)
    except pluggy.PluginValidationError as error:
        cause = " ".join(error_message(error).split())
        raise load_error(entry, cause, "let each hook take the one argument request") from error
    _check_implementation(entry, manager, hook_name, plugin)


def _unknown_hooks(manager: pluggy.PluginManager, plugin: Any) -> list[str]:
    return [caller.name for caller in manager.get_hookcallers(plugin) or () if not caller.has_spec()]


def _check_implementation(
    entry: EntryPoint, manager: pluggy.PluginManager, hook_name: str, plugin: Any
) -> None:
    implementations = getattr(manager.hook, hook_name).get_hookimpls()
    signature = f"def {hook_name}(request)"
    if not implementations:
        is_unmarked = callable(getattr(plugin, hook_name, None))
        others = "".join(f", but {name}" for name in _unknown_hooks(manager, plugin))
        cause = f"{entry.value} has {'an unmarked' if is_unmarked else 'no'} {hook_name}{others}"
        raise load_error(entry, cause, f"write: @hookimpl {signature}: ...")
    function, passed = implementations[0].function, implementations[0].argnames
    problem = call_problem(function, hook_name, passed)
    # pluggy does not pass arguments that have a default or are keyword-only.
    if problem is None and "request" in set(inspect.signature(function).parameters).difference(passed):
        problem = f"{code_place(function)}{hook_name} would not get its request"
    if problem is not None:
        raise load_error(entry, problem, f"write: {signature}", code=function)


def _checked(entry: EntryPoint, hook: Hook[AnswerT], answer: object, function: Callable[..., Any]) -> AnswerT:
    if not isinstance(answer, hook.answer):
        given = "None" if answer is None else f"a {type(answer).__name__}"
        expected = hook.answer.__name__
        cause = f"{code_place(function)}{hook.name} returned {given}, not a {expected}"
        raise load_error(entry, cause, f"return a {expected}")
    api: object = answer.api
    if not isinstance(api, ApiRange):
        expected = hook.answer.__name__
        cause = f"{code_place(function)}{hook.name} returned a {expected} whose api is not an ApiRange"
        raise load_error(entry, cause, "say api=ApiRange(min=..., built=...)")
    try:
        negotiate(api)
    except ValueError as error:
        raise load_error(entry, str(error), "see the plugin's notes on versions") from None
    return answer
