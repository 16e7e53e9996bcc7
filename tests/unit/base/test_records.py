"""`record` behaves like `dataclass`."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from etconfig.base.records import record

T = TypeVar("T")


@record(frozen=True)
class Pair(Generic[T]):
    """Two values, of which only the first counts."""

    first: T
    second: object = field(default=0, compare=False)
    shared: ClassVar[int] = 7


@record(frozen=True, kw_only=True)
class Named:
    """Fields of every kind."""

    name: str
    parts: list[int] = field(default_factory=list)
    note: str | None = None
    hidden: int = field(default=1, repr=False)
    size: int = field(init=False)
    cache: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.parts))

    @cached_property
    def doubled(self) -> int:
        """Computed once."""
        return 2 * self.size


@record(frozen=True)
class Longer(Pair[int]):
    """A record may extend another one."""

    third: int = 3


@record(frozen=True)
class Empty:
    """It has no fields."""


@record(frozen=True)
class Spoken:
    """A record with its own `__repr__` and `__eq__`."""

    word: str

    def __repr__(self) -> str:
        return f"<{self.word}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spoken) and self.word.lower() == other.word.lower()

    def __hash__(self) -> int:
        return hash(self.word.lower())


@record(kw_only=True, eq=False, repr=False)
class Failure(Exception):
    """An exception with an attribute."""

    cause: str

    def __str__(self) -> str:
        return self.cause


@dataclass(frozen=True, kw_only=True)
class Standard:
    """The dataclass that `Named` is compared with."""

    name: str
    parts: list[int] = field(default_factory=list)
    note: str | None = None
    hidden: int = field(default=1, repr=False)


class TestMaking:
    """A record is created like a dataclass."""

    def test_by_position_and_by_name(self):
        assert Pair(1, 2).second == Pair(first=1, second=2).second == 2
        assert Longer(1, 2, 4).third == 4

    def test_defaults_are_used_and_made_anew(self):
        assert Pair(1).second == 0
        one, two = Named(name="a"), Named(name="a")
        assert one.parts == []
        assert one.parts is not two.parts
        assert one.cache is not two.cache

    def test_post_init_runs(self):
        assert Named(name="a", parts=[1, 2]).size == 2

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Pair(), "Pair.__init__() missing 1 required positional argument: 'first'"),
            (
                lambda: Pair(1, 2, 3),
                "Pair.__init__() takes from 2 to 3 positional arguments",
            ),
            (lambda: Pair(1, first=1), "Pair.__init__() got multiple values for argument 'first'"),
            (lambda: Named("a"), "Named.__init__() takes 1 positional argument but 2 were given"),
            (lambda: Named(name="a", size=1), "Named.__init__() got an unexpected keyword argument 'size'"),
        ],
    )
    def test_wrong_arguments_are_refused(self, make, message):
        with pytest.raises(TypeError) as error:
            make()
        assert message in str(error.value)

    def test_a_class_without_objects_is_not_compiled(self):
        @record(frozen=True)
        class Unused:
            """A class without objects."""

            part: int

        assert not inspect.isfunction(vars(Unused)["__init__"])
        assert Unused(1).part == Unused(part=1).part == 1
        assert inspect.isfunction(vars(Unused)["__init__"])

    def test_a_base_is_initialized_by_its_own_init(self):
        @record(frozen=True)
        class Base:
            """It has one part."""

            part: int

        class Derived(Base):
            """It adds none."""

        assert Derived(1).part == 1
        assert "__init__" not in vars(Derived)
        assert inspect.isfunction(vars(Base)["__init__"])

    def test_a_missing_docstring_is_refused(self):
        with pytest.raises(AssertionError, match="Untold needs a docstring"):

            @record(frozen=True)
            class Untold:
                part: int

    def test_the_signature_is_known(self):
        assert str(inspect.signature(Pair)) == "(first, second=0)"


class TestOneThatIsNotFrozen:
    """Without `frozen`, a record's attributes may be set, and it is equal to itself only."""

    def test_it_keeps_the_methods_of_its_bases(self):
        failure = Failure(cause="it broke")
        failure.cause = "it melted"
        assert (str(failure), repr(failure)) == ("it melted", "Failure()")
        assert failure != Failure(cause="it melted")
        assert str(inspect.signature(Failure)) == "(*, cause)"


class TestUsing:
    """A record can be used like a dataclass."""

    def test_it_is_frozen(self):
        pair = Pair(1)
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
            pair.first = 2
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
            del pair.first

    def test_fields_that_do_not_count_are_not_compared(self):
        assert Pair(1, 2) == Pair(1, 3)
        assert hash(Pair(1, 2)) == hash(Pair(1, 3))
        assert Pair(1) != Pair(2)
        assert Pair(1) != Longer(1)
        assert Pair(1) != 1
        assert Empty() == Empty()
        assert hash(Empty()) == hash(Empty())

    def test_its_own_methods_stay(self):
        assert Spoken("Yes") == Spoken("yes")
        assert {Spoken("Yes"), Spoken("yes")} == {Spoken("yes")}
        assert repr(Spoken("yes")) == "<yes>"

    def test_it_is_shown_as_a_dataclass_is(self):
        expected = repr(Standard(name="a", parts=[1])).replace("Standard", "Named")
        assert repr(Named(name="a", parts=[1])) == expected.replace(")", ", size=1)")
        loop: list[Any] = []
        loop.append(Pair(loop))
        assert repr(loop[0]) == "Pair(first=[...], second=0)"

    def test_the_tools_of_dataclasses_work(self):
        named = Named(name="a", parts=[1])
        assert replace(named, name="b") == Named(name="b", parts=[1])
        assert asdict(Pair(1, 2)) == {"first": 1, "second": 2}
        assert [part.name for part in fields(Longer)] == ["first", "second", "third"]
        assert Pair.__match_args__ == ("first", "second")

    def test_copies_are_equal(self):
        named = Named(name="a", parts=[1])
        assert named.doubled == 2
        assert copy.copy(named) == copy.deepcopy(named) == pickle.loads(pickle.dumps(named)) == named
