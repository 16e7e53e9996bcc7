"""Work that grows in proportion to a document, counted in calls of functions: no test looks at a clock."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import etconfig
from etconfig import FactSheet
from etconfig.diagnostics import suggest
from etconfig.diagnostics.suggest import edit_distance
from etconfig.profile.names import name_matcher
from etconfig.profile.settings import MAX_GUESSED
from etconfig.resolver.compiling.scopes import MethodPatterns

SMALL = 150
SHEET = '{"etconfig_fact_sheet": 1, "facts": {"cpu.available_cores": {"value": 4, "origin": "file"}}}'

BACKEND = "ReferenceNpuBackend"


def calls_of(work: Callable[[], object]) -> int:
    """Count the calls of Python and C functions that `work` makes."""
    count = 0

    def profiler(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profiler)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def table(header: str) -> str:
    return f"[{header}.options.{BACKEND}]\ncore = 1\n"


DOCUMENTS: dict[str, Callable[[int], str]] = {
    "methods": lambda n: "".join(table(f"methods.m{i}") for i in range(n)),
    "patterns": lambda n: "".join(table(f'methods."*m{i}"') + table(f"methods.m{i}") for i in range(n)),
    "instances": lambda n: "".join(f'[instances.i{i}]\nmethod = "forward"\n' for i in range(n)),
    "instances with options": lambda n: "".join(
        f'[instances.i{i}]\nmethod = "f{i}"\n{table(f"instances.i{i}")}' for i in range(n)
    ),
    "overlays": lambda n: "".join(
        f'[[when]]\nif = "cpu.available_cores > {i}"\noptions.{BACKEND}.core = 1\n' for i in range(n)
    ),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
class TestResolving:
    """Resolving a document of twice the size takes about twice the calls."""

    def test_calls_are_in_proportion_to_the_document(self, kind: str, tmp_path: Path) -> None:
        def calls(count: int) -> int:
            installation = etconfig.Installation(environ={})  # one keeps what it parsed
            path = tmp_path / f"{count}.toml"
            path.write_text(f'[profile]\nname = "app/p{count}"\n{DOCUMENTS[kind](count)}')
            sheet = FactSheet.from_json(SHEET, "sheet.json")

            def work() -> None:
                configuration = etconfig.configure(profile=path, facts=sheet, installation=installation)
                assert len(configuration.resolve()) >= 1

            return calls_of(work)

        calls(2)  # imports and caches
        assert calls(2 * SMALL) < 2.5 * calls(SMALL)


class TestSuggestions:
    """A name that is mistyped again and again is compared with the known ones once."""

    @pytest.mark.parametrize("count", [10, 1000])
    def test_the_number_of_distances_does_not_grow(
        self, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compared: list[tuple[str, str]] = []

        def counting(a: str, b: str, limit: int) -> int:
            compared.append((a, b))
            return edit_distance(a, b, limit)

        monkeypatch.setattr(suggest, "edit_distance", counting)
        path = tmp_path / "big.toml"
        facts = "".join(f'"gpu.{i}.nam{count}" = "x"\n' for i in range(count))
        path.write_text(f'[profile]\nname = "app/big"\n[facts]\n{facts}')
        problems = etconfig.validate_file(path, etconfig.Installation(environ={}))
        assert len(problems) == count
        guessed = ["did you mean" in (problem.help or "") for problem in problems]
        assert guessed == [number < MAX_GUESSED for number in range(count)]
        assert compared
        assert len(compared) == len({*compared}), "two words are compared once, however many names have them"


NAMES = ["m", "m1", "m12", "forward", "a]b", "[", "*", "x*y", "aXbXc", "ab", "aab", "m" * 30]
PATTERNS = [
    "*", "m*", "*m", "m?", "m[0-9]", "m[!1]*", "*1*", "a*b*c", "a*a*b", "[", "a]*", "[*]", "?", "[[]",
    "m*m", "**", "mm*mmmmmmmmmmmmmmmmmmmm*m", "x[*]y", "[a-b]*", "f*[xyz]*",
]  # fmt: skip


class TestMethodPatterns:
    """Filed patterns give what `fnmatch.fnmatchcase` gives."""

    @pytest.mark.parametrize("name", NAMES)
    def test_the_same_patterns_fit(self, name: str) -> None:
        expected = {pattern for pattern in PATTERNS if fnmatch.fnmatchcase(name, pattern)}
        assert set(MethodPatterns(PATTERNS).fitting(name)) == expected

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_each_pattern_alone_fits_the_same_names(self, pattern: str) -> None:
        fits = name_matcher(pattern)
        assert [bool(fits(name)) for name in NAMES] == [fnmatch.fnmatchcase(n, pattern) for n in NAMES]
