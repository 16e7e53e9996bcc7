"""`version(text)`: its order, the texts without a version, and the checks of expressions that use it."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from effort import seeds
from version_texts import SIGNS, model_comparison, random_version_text

from etconfig.errors import ProfileError
from etconfig.expression import ExpressionType, Fault, Unknown, parse_expression
from etconfig.expression.operations import NO_VERSION
from etconfig.facts.builtin import BUILTIN_FACTS

ROOT = Path(__file__).parents[3]
USAGE = 'compare a version with ==, !=, <, <=, > or >= with a version in quotes, as in "1.2"'
BY_LETTER = """compares texts letter by letter, so "9" is more than "12"; write version(os.version)"""


def condition(text: str):
    return parse_expression(text, BUILTIN_FACTS, expect=ExpressionType.BOOL)


def problem(text: str) -> str:
    with pytest.raises(ProfileError) as caught:
        condition(text)
    (found,) = caught.value.diagnostics
    return f"{found.message}; {found.help}" if found.help else found.message


def fixed(text: str) -> str:
    with pytest.raises(ProfileError) as caught:
        condition(text)
    (found,) = caught.value.diagnostics
    assert found.fix is not None
    return found.fix.replacement


class TestValue:
    """Numbers with dots after an optional v; what follows does not count, and a missing number is 0."""

    @pytest.mark.parametrize(
        ("text", "holds"),
        [
            ("1.2", 'version(os.version) == "1.2.0"'),
            ("1.10", 'version(os.version) > "1.9"'),
            ("v1.2", 'version(os.version) == "1.2"'),
            ("1.2.3-rc1", 'version(os.version) == "1.2.3"'),
            ("535.104.05", 'version(os.version) < "535.104.12"'),
            ("4.0 (Build 123)", 'version(os.version) == "4"'),
            ("v75", 'version(os.version) > "73"'),
            ("1..2", 'version(os.version) == "1"'),
            ("0", 'version(os.version) < "0.0.1"'),
            ("2", 'version("1.9") < version(os.version)'),
        ],
    )
    def test_texts_have_their_order(self, text: str, holds: str) -> None:
        assert condition(holds).evaluate({"os.version": text}) is True

    def test_the_page_says_what_is_so(self) -> None:
        page = (ROOT / "docs" / "expressions.md").read_text(encoding="utf-8")
        table = page.partition("| text | version |")[2].partition("\n\n")[0]
        rows = re.findall(r"^\| (`.+?) \| (no|equal|more|less)(?:.+`\"(.+)\"`)?", table, re.MULTILINE)
        signs = {"equal": "==", "more": ">", "less": "<", "no": "=="}
        assert len(rows) == 5
        for texts, order, bound in rows:
            compared = condition(f'version(os.version) {signs[order]} "{bound or 1}"')
            for text in re.findall("`(.+?)`", texts):
                found = compared.evaluate({"os.version": text})
                assert isinstance(found, Fault) if order == "no" else found is True, text

    @pytest.mark.parametrize("text", ["", "v", "V@0530.0", " 1", "Baklava", "٣", "1.1234567890123456789"])
    def test_other_texts_have_no_value(self, text: str) -> None:
        for each in ('version(os.version) < "1"', '!(version(os.version) < "1")'):
            assert condition(each).evaluate({"os.version": text}) == Fault(NO_VERSION)

    def test_an_unknown_text_has_an_unknown_version(self) -> None:
        assert condition('version(os.version) < "1"').evaluate({}) == Unknown(("os.version",))

    @pytest.mark.parametrize("seed", seeds(5))
    def test_random_texts_have_the_order_of_the_model(self, seed: int) -> None:
        random = Random(seed)
        both = {sign: condition(f"version(os.version) {sign} version(os.kernel)") for sign in SIGNS}
        for _ in range(2_000):
            left, right = random_version_text(random), random_version_text(random)
            sign = random.choice(SIGNS)
            found = both[sign].evaluate({"os.version": left, "os.kernel": right})
            known = found if isinstance(found, bool) else None
            assert known is model_comparison(left, sign, right), (left, sign, right)


class TestChecks:
    """A version compares with versions only: other expressions say what to write."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                "version(os.version) < 1.2",
                "'<' cannot compare a version with a float; write \"1.2\" in quotes",
            ),
            (
                "12 >= version(os.version)",
                "'>=' cannot compare an int with a version; write \"12\" in quotes",
            ),
            (
                "os.version < 12",
                "'<' cannot compare a string with an int; compare a text with a text, in quotes; in the "
                "order of versions: version(os.version)",
            ),
            (
                'os.version.version() < "12"',
                "'version' does not take string; write version(os.version)",
            ),
            ("version(os.version) < 0x1F", f"'<' cannot compare a version with an int; {USAGE}"),
            (
                "version(os.version) < os.kernel",
                "'<' cannot compare a version with a string; write version(os.kernel)",
            ),
            (
                'version(os.version) < "1.2-rc1"',
                "'1.2-rc1' is not a version; write \"1.2\": only numbers and dots are compared",
            ),
            ('version("x") < version(os.version)', f"'x' is not a version; {USAGE}"),
            (
                'version(os.version) < "12345678901234567890"',
                f"'12345678901234567890' is not a version; {USAGE}",
            ),
            (
                'version(os.version) < "os.kernel"',
                "'os.kernel' is not a version; write os.kernel without quotes",
            ),
            (
                'version(os.version) in ["1.2"]',
                f"'in' cannot look for a version in a list of string; {USAGE}",
            ),
            ("[version(os.version)] == []", "lists cannot contain versions"),
            ('os.version < "12"', f"'<' {BY_LETTER}"),
            ('"6.1" <= os.version', f"'<=' {BY_LETTER}"),
            (
                "version(os.api_level) < '34'",
                "'version' does not take int; version takes a string, as in version(os.version) < \"12\"",
            ),
            (
                "version(os.version)",
                "a condition needs a bool, but 'version(os.version)' is a version; "
                'compare it: version(os.version) >= "1.2"',
            ),
            ("semver(os.version) < '1'", "there is no function 'semver'; did you mean 'version'?"),
        ],
    )
    def test_wrong_uses_say_what_to_write(self, text: str, said: str) -> None:
        assert problem(text) == said

    def test_texts_may_still_be_equal_or_in_the_order_of_words(self) -> None:
        for text in ('os.version == "12"', 'os.name < "m"', "os.version < os.kernel"):
            condition(text)
