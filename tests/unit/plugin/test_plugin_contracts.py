"""The table of contracts is complete and agrees with `Backend`."""

from __future__ import annotations

import inspect

import pytest

from etconfig.plugin.api_version import CURRENT, OLDEST
from etconfig.plugin.backends import BACKEND_CONTRACTS
from etconfig.plugin.v1 import Backend

CALLS = BACKEND_CONTRACTS[1].calls


class TestContracts:
    """Each version that is understood has its calls; those of version 1 are the methods of its `Backend`."""

    def test_every_version_that_is_understood_is_there(self):
        assert set(BACKEND_CONTRACTS) == set(range(OLDEST, CURRENT + 1))

    def test_every_public_method_is_called(self):
        assert set(CALLS) == {name for name in vars(Backend) if not name.startswith("_")}

    @pytest.mark.parametrize("method", CALLS)
    def test_a_call_is_as_the_method_is_declared(self, method):
        declared = list(inspect.signature(getattr(Backend, method)).parameters)
        assert ["self", *CALLS[method]] == declared

    def test_the_definition_is_a_line_of_python(self):
        contract = BACKEND_CONTRACTS[1]
        assert contract.definition("destroy") == "def destroy(self, handle)"
        assert contract.definition("availability") == "def availability(self)"
