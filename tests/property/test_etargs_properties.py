"""`.etargs` files: any package comes back, and no damaged file does harm."""

from __future__ import annotations

from etargs_mutations import mutant, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import configuration, packed

from etconfig.schema import Applies, Scope
from etconfig.transport import Package, PackedBackend, PackedMethod, read_package, write_package

MUTANTS = 4000
"""tests/peers have 50,000."""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
options = st.builds(
    packed,
    texts,
    values,
    key=st.none() | texts,
    sent=values,
    scope=st.sampled_from(Scope),
    applies=st.sampled_from(Applies),
    is_set=st.booleans(),
)
backends = st.builds(
    PackedBackend, texts, st.lists(options, max_size=3, unique_by=lambda each: each.name).map(tuple)
)
methods = st.builds(
    PackedMethod,
    texts,
    st.none() | texts,
    st.lists(backends, max_size=2, unique_by=lambda each: each.id).map(tuple),
)
configurations = st.tuples(texts, st.lists(methods, max_size=2, unique_by=lambda each: each.label)).map(
    lambda drawn: configuration(drawn[0], *drawn[1])
)
packages = st.builds(
    Package, texts, st.lists(configurations, max_size=2, unique_by=lambda each: each.name).map(tuple)
)


@settings(max_examples=150, deadline=None)
@given(packages)
def test_any_package_comes_back(package: Package) -> None:
    assert read_package(write_package(package)) == package


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    assert refused(data[:4] + b"ETAR" + data[4:])


def test_no_mutant_does_harm() -> None:
    count = sum(map(refused, map(mutant, range(MUTANTS))))
    assert count > 0.8 * MUTANTS
