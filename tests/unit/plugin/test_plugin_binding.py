"""The core's calls are checked against the signatures when a plugin is loaded, not when they happen."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import pytest

from etconfig.plugin.call_check import call_problem, code_place

CALL = ("context", "handle", "args")


class Accepted:
    """Signatures that can take the call `execute(context, handle, args)`."""

    def other_names(self, ctx, h, a): ...
    def one_more_with_a_default(self, context, handle, args, stream=None): ...
    def one_more_by_keyword(self, context, handle, args, *, stream=None): ...
    def any_keywords(self, context, handle, args, **kwargs): ...
    def any_arguments(self, *args): ...
    def positional_only(self, context, handle, args, /): ...
    def all_with_defaults(self, context=None, handle=None, args=()): ...
    @staticmethod
    def static(context, handle, args): ...
    @classmethod
    def of_the_class(cls, context, handle, args): ...

    @wraps(other_names)
    def decorated(self, *args, **kwargs): ...

    applied = staticmethod(partial(lambda stream, context, handle, args: None, None))


class Refused:
    """Signatures that cannot."""

    def too_few(self, context, handle): ...
    def too_many(self, context, handle, args, stream): ...
    def by_keyword(self, context, *, handle, args): ...
    def keyword_needed(self, context, handle, args, *, stream): ...
    def only_keywords(self, **kwargs): ...
    async def coroutine(self, context, handle, args): ...
    async def asynchronous_generator(self, context, handle, args):
        yield

    def generator(self, context, handle, args):
        yield


def methods(cls: type) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_")]


def problem(backend: Any, method: str) -> str | None:
    return call_problem(getattr(backend, method), f"{type(backend).__name__}.{method}", CALL)


class TestCallProblem:
    """Extra optional arguments and other names are accepted; a call that must fail is a problem."""

    @pytest.mark.parametrize("method", methods(Accepted))
    def test_a_method_that_can_take_the_call_is_accepted(self, method):
        assert problem(Accepted(), method) is None

    @pytest.mark.parametrize(
        ("method", "reason"),
        [
            (
                "too_few",
                " cannot take the call too_few(context, handle, args): too many positional arguments",
            ),
            (
                "too_many",
                " cannot take the call too_many(context, handle, args): missing a required argument: "
                "'stream'",
            ),
            (
                "by_keyword",
                " cannot take the call by_keyword(context, handle, args): too many positional arguments",
            ),
            (
                "only_keywords",
                " cannot take the call only_keywords(context, handle, args): too many positional arguments",
            ),
            ("coroutine", " is async, but the core calls it and uses its result at once"),
            ("asynchronous_generator", " is async, but the core calls it and uses its result at once"),
            ("generator", " is a generator, but must return its result"),
        ],
    )
    def test_a_method_that_cannot_is_refused_with_file_line_and_symbol(self, method, reason):
        line = getattr(Refused, method).__code__.co_firstlineno
        assert problem(Refused(), method) == f"test_plugin_binding.py:{line}: Refused.{method}{reason}"

    def test_a_required_keyword_is_named(self):
        # Python 3.10 to 3.13 word it in two ways
        assert "'stream'" in str(problem(Refused(), "keyword_needed"))

    def test_built_in_code_without_a_signature_is_left_to_the_call(self):
        assert call_problem(dict, "factory", ()) is None


class TestPlace:
    """A message begins with file and line, if there are any."""

    def test_a_class_has_a_place(self):
        assert code_place(Refused).startswith("test_plugin_binding.py:")

    @pytest.mark.parametrize("code", [dict, len, type("Made", (), {"__module__": "nowhere"})])
    def test_built_in_and_generated_code_has_no_place(self, code):
        assert code_place(code) == ""
