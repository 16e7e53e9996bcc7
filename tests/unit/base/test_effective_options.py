"""The value of an option in force: its source, and its comparison with the requested one."""

from __future__ import annotations

import enum
import pickle

import pytest

from etconfig.base.effective import ComparedOption, EffectiveOption, EffectiveSource, compare_options


class Mode(enum.Enum):
    LOW = "low"


def compared(requested: object, effective: EffectiveOption) -> ComparedOption:
    return compare_options({"mode": requested}, {"mode": effective})["mode"]


class TestEffectiveOption:
    """A value has a source and a reason; `is_asked` is true for values that were read back."""

    @pytest.mark.parametrize(
        ("option", "source", "is_asked"),
        [
            (EffectiveOption.read_back(2), "read back", True),
            (EffectiveOption.observed(2), "observed", False),
            (EffectiveOption.assumed(2, "it was passed"), "assumed", False),
            (EffectiveOption(value=2, is_asked=True, reason="asked"), "read back", True),
            (EffectiveOption(value=2, is_asked=False, reason="sent"), "assumed", False),
        ],
    )
    def test_each_way_to_make_one(self, option: EffectiveOption, source: str, is_asked: bool) -> None:
        assert (option.value, option.source.value, option.is_asked) == (2, source, is_asked)
        assert option.is_known
        assert pickle.loads(pickle.dumps(option)) == option

    def test_an_unknown_one_has_a_reason_and_no_value(self) -> None:
        option = EffectiveOption.unknown("no function reports it")
        assert (option.value, option.is_known, option.reason) == (None, False, "no function reports it")

    def test_a_contradiction_is_refused(self) -> None:
        with pytest.raises(ValueError, match="is_asked is True, but the source is 'observed'"):
            EffectiveOption(value=2, is_asked=True, reason="", source=EffectiveSource.OBSERVED)

    def test_a_backend_reports_plain_values_or_marked_ones(self) -> None:
        marked = EffectiveOption.observed(4, "counted")
        assert EffectiveOption.of_backend(marked) is marked
        assert EffectiveOption.of_backend(4).reason == "the backend reports it"


class TestComparedOption:
    """An option differs if another value than the requested one is in force."""

    @pytest.mark.parametrize(
        ("requested", "value", "differs"),
        [
            (64, 2, True),
            (2, 2, False),
            (Mode.LOW, "low", False),
            ((1, 2), [1, 2], False),
            (None, 4, False),
            (False, True, True),
        ],
    )
    def test_a_known_value_is_compared(self, requested: object, value: object, differs: bool) -> None:
        assert compared(requested, EffectiveOption.read_back(value)).differs is differs

    @pytest.mark.parametrize(("requested", "differs"), [(0, False), (2, False), (4, True), (None, False)])
    def test_a_backend_may_decide_which_requests_its_value_meets(
        self, requested: object, differs: bool
    ) -> None:
        option = EffectiveOption.read_back(2, meets=lambda request: request in (0, 2))
        assert compared(requested, option).differs is differs
        counted = EffectiveOption.observed(2, meets=lambda request: request in (0, 2))
        assert compared(requested, counted).differs is differs
        assert option == EffectiveOption.read_back(2)

    def test_an_unknown_value_may_differ(self) -> None:
        assert compared(4, EffectiveOption.unknown("no function reports it")).differs is None

    def test_an_option_that_is_left_out_is_unknown(self) -> None:
        option = compare_options({"mode": "low"}, {})["mode"]
        assert option.effective == EffectiveOption.unknown("the backend does not report it")

    def test_the_order_is_that_of_the_request_and_other_names_follow(self) -> None:
        effective = {"extra": EffectiveOption.read_back(1), "b": EffectiveOption.read_back(2)}
        found = compare_options({"a": 1, "b": 2}, effective)
        assert list(found) == ["a", "b", "extra"]
        assert (found["extra"].requested, found["extra"].differs) == (None, False)

    def test_it_is_plain_data_for_json(self) -> None:
        data = compared(Mode.LOW, EffectiveOption.read_back(object, "the engine reports it")).to_jsonable()
        assert data == {
            "requested": "low",
            "value": "<class 'object'>",
            "source": "read back",
            "differs": True,
            "reason": "the engine reports it",
        }
