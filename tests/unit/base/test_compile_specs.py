"""`CompileSpecs`: a sequence, seen as a mapping that says where a key repeats."""

from __future__ import annotations

import pytest

from etconfig.plugin.v1 import CompileSpecs

REPEATED = CompileSpecs([("op", b"a"), ("z", b"1"), ("op", b"b")])


class TestSequence:
    """Order and repeated keys are those of the program."""

    def test_everything_is_there_in_order(self) -> None:
        assert REPEATED.in_order == (("op", b"a"), ("z", b"1"), ("op", b"b"))
        assert REPEATED.every("op") == (b"a", b"b")
        assert REPEATED.every("z") == (b"1",)
        assert REPEATED.every("missing") == ()
        assert REPEATED.repeated == ("op",)
        assert repr(REPEATED) == "CompileSpecs([('op', b'a'), ('z', b'1'), ('op', b'b')])"

    def test_order_counts(self) -> None:
        assert CompileSpecs(reversed(REPEATED.in_order)) != REPEATED
        assert CompileSpecs(REPEATED.in_order) == REPEATED
        assert hash(REPEATED) == hash(CompileSpecs(REPEATED.in_order))


class TestMapping:
    """A mapping has one value for each key, or says that there are several."""

    def test_keys_are_counted_once(self) -> None:
        assert list(REPEATED) == ["op", "z"]
        assert len(REPEATED) == 2
        assert "op" in REPEATED
        assert "missing" not in REPEATED

    def test_other_keys_are_read_as_usual(self) -> None:
        assert REPEATED["z"] == b"1"
        assert REPEATED.get("missing") is None
        with pytest.raises(KeyError):
            REPEATED["missing"]

    def test_a_repeated_key_never_has_one_value(self) -> None:
        for read in (
            lambda: REPEATED["op"],
            lambda: REPEATED.get("op"),
            lambda: dict(REPEATED),
            lambda: list(REPEATED.items()),
        ):
            with pytest.raises(ValueError, match=r"^compile spec 'op' appears 2 times, .*every\('op'\)"):
                read()

    def test_it_equals_a_dictionary_unless_a_key_repeats(self) -> None:
        assert CompileSpecs([("a", b"1"), ("b", b"2")]) == {"b": b"2", "a": b"1"}
        assert REPEATED != {"op": b"b", "z": b"1"}
        assert CompileSpecs() == {}
