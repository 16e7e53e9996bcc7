"""Checks of the other arguments of `init`: compile specs, the host of the payload, named data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from etconfig.base.compile_specs import CompileSpecs
from etconfig.conformance.checks.check import check
from etconfig.conformance.interpose.interposer import ReplacingInit
from etconfig.conformance.kit.outcomes import CheckFailedError, NotDelegatedError
from etconfig.conformance.subject.golden import DelegatedCase
from etconfig.conformance.subject.subject import Subject
from etconfig.errors import EtconfigError
from etconfig.schema.spec import CompileSpecInfo

UNKNOWN_KEY = "etconfig_conformance_unknown"
"""A compile spec that no backend declares."""

OTHER_HOST = "other_host"
"""The name of the vendor's program for another kind of machine."""


@check(
    "spec-bad",
    level=2,
    rests_on=("answers",),
    prevents="compile specs that are ignored or misread",
    isolated=True,
)
def spec_bad(subject: Subject) -> None:
    """Undeclared compile specs and wrongly encoded ones are refused, and the error names them."""
    case = subject.simplest
    _check_usual(subject, case, ReplacingInit())
    wrong = [(UNKNOWN_KEY, b"1", "refuse keys that `compile_specs` does not declare")]
    for key, info in subject.spec.compile_specs.items():
        value = _unfit(info)
        if value is not None:
            wrong.append((key, value, f"refuse values that are not {info.encoding.value}, as declared"))
    for key, value, fix in wrong:
        where = f"{case.name}, with a compile spec {key!r} of {value!r}"
        replacing = ReplacingInit(compile_specs=partial(_with_spec, key, value))
        _require_refusal(subject, case, replacing, key, where, fix)


def _with_spec(key: str, value: bytes, specs: CompileSpecs) -> CompileSpecs:
    others = (each for each in specs.in_order if each.key != key)
    return CompileSpecs([*others, (key, value)])


def _unfit(info: CompileSpecInfo) -> bytes | None:
    """Return bytes that the encoding does not allow; None if it allows all."""
    for value in (b"\xff", b"\xff\xfe\xfd"):
        try:
            info.decode(value)
        except ValueError:
            return value
    return None


@check(
    "host-mismatch",
    level=2,
    rests_on=("answers",),
    prevents="payloads that run on a machine they were not made for",
    requires=("is_bound_to_host",),
    isolated=True,
)
def host_mismatch(subject: Subject) -> None:
    """A program that was made for another kind of machine is refused when it is loaded.

    The vendor adds such a program, `other_host.pte`, to the golden programs.
    """
    with subject.load(subject.simplest) as method:
        subject.check_runs(method, subject.simplest)
    path = subject.programs.get(OTHER_HOST)
    if path is None or not subject.delegates(path):
        raise NotDelegatedError(
            f"{subject.backend_id} declares is_bound_to_host, but no {OTHER_HOST}.pte delegates to it; add a "
            "program for another kind of machine under this name"
        )
    try:
        with subject.open(path) as program:
            subject.load_from(program, program.method_names[0]).close()
    except EtconfigError:
        return
    raise CheckFailedError(
        f"{path.name} was loaded here, expected an error from init; compare the host that the payload names "
        "with this one"
    )


@check(
    "named-data-missing",
    level=2,
    rests_on=("answers",),
    prevents="failures after loading, and weights of another program",
    requires=("uses_named_data",),
)
def named_data_missing(subject: Subject) -> None:
    """If the program does not store a key, `init` raises an error that names it."""
    *_, case = subject.cases(requires="uses_named_data")
    read: set[str] = set()
    _check_usual(subject, case, ReplacingInit(named_data=lambda data: _Watched(data, read)))
    if not read:
        raise CheckFailedError(
            f"{case.name}: uses_named_data is declared, but init read none of the keys of its named data; "
            "store data under a key, or do not declare it"
        )
    for key in sorted(read):
        where = f"{case.name}, without its named data {key!r}"
        replacing = ReplacingInit(named_data=partial(_without, key))
        _require_refusal(
            subject, case, replacing, key, where, "look up every key in init, and name what is missing"
        )


class _Watched(Mapping[str, memoryview]):
    """Named data that records the keys that are read."""

    def __init__(self, data: Mapping[str, memoryview], read: set[str]) -> None:
        self._data = data
        self._read = read

    def __getitem__(self, key: str) -> memoryview:
        self._read.add(key)
        return self._data[key]

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


def _without(key: str, data: Mapping[str, memoryview]) -> Mapping[str, memoryview]:
    return {name: data[name] for name in data if name != key}


def _check_usual(subject: Subject, case: DelegatedCase, replacing: ReplacingInit) -> None:
    """Raise EtconfigError or CheckFailedError if not even the program's own arguments work."""
    with subject.load(case, through=replacing) as method:
        subject.check_runs(method, case)


def _require_refusal(
    subject: Subject, case: DelegatedCase, replacing: ReplacingInit, name: str, where: str, fix: str
) -> None:
    try:
        subject.load(case, through=replacing).close()
    except EtconfigError as error:
        if name not in str(error):
            raise CheckFailedError(f"{where}: the error does not name it: {error}; {fix}") from error
        return
    raise CheckFailedError(f"{where}: it was loaded, expected an error from init; {fix}")
