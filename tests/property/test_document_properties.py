"""No text makes reading a profile fail in another way than with diagnostics."""

from __future__ import annotations

import random

from effort import scaled
from hypothesis import example, given, settings
from hypothesis import strategies as st
from profile_texts import REGISTRY

from etconfig.diagnostics import Span
from etconfig.errors import ConfigError
from etconfig.expression import ExpressionParser
from etconfig.profile.document import parse_document
from etconfig.profile.profile import parse_profile
from etconfig.profile.project import parse_project

PIECES = st.sampled_from(
    [
        *(
            "[profile]\n",
            "name = 'p'\n",
            "extends = ['q']\n",
            "match = 'net.is_up'\n",
            "[[when]]\n",
            "[when]\n",
        ),
        *("if = 'net.is_up'\n", "[options.B]\n", "[options]\n", "o = 1\n", "o = { expr = 'cpu.cores' }\n"),
        *(
            "o = { unset = true }\n",
            "[methods.'*'.options.B]\n",
            "[instances.i]\n",
            "method = 'f'\n",
            "x.y = ",
        ),
        *(
            "[facts]\n",
            "'cpu.cores' = 1\n",
            "1979-05-27\n",
            "[",
            "]",
            "{",
            "}",
            "'",
            '"',
            "=",
            ".",
            ",",
            "#",
            "\n",
        ),
        *(
            '"""',
            "'''",
            "\\u200b",
            "\\",
            "\r\n",
            "\r",
            "\0",
            "\ud800",
            "9" * 70,
            "[" * 40,
            "a." * 70,
            "true\n",
        ),
    ]
)
TEXT = st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=60))


class TestAnyText:
    """Reading a document raises nothing but `ConfigError`."""

    @given(TEXT)
    @settings(max_examples=scaled(600), deadline=None)
    @example("[profile]\n\r\r\n")
    @example("x = 1979-13-99")
    @example("x = 0x" + "f" * 64)
    @example("x = '''" + "\n" * 99)
    def test_only_config_errors_come_out_and_they_point_into_the_text(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").split("\n")
        for parse in (parse_profile, parse_project):
            try:
                parse(parse_document(text, "p.toml"), ExpressionParser(REGISTRY))
            except ConfigError as error:
                spans = [span for problem in error.diagnostics for span in problem.spans]
            else:
                spans = [Span(file="p.toml")]
            assert spans
            assert all(1 <= span.column <= len(lines[span.line - 1]) + 1 for span in spans)


def test_elements_of_arrays_have_their_places_however_they_are_written() -> None:
    chance = random.Random(5)
    items = (
        "1",
        "-2.5e3",
        "0x1F",
        "true",
        "inf",
        '"x"',
        "'y'",
        '""',
        "''",
        '"""z"""',
        '""","""',
        "'''q',]'''",
    )
    items += ('"a\\"]"', "1979-05-27 07:32:00", "07:32:00", "[]", "[1, [2,3,]]", "{b = [4,5]}", '"é"')
    for _ in range(scaled(200)):
        chosen = chance.choices(items, k=chance.randrange(8))
        between = [chance.choice((",", " , ", ",\n  ", " # a comment, with ]\n,", ",# x\n")) for _ in chosen]
        inside = "".join(map("".join, zip(chosen, between, strict=True)))
        document = parse_document(f"a = [{inside} # y\n]\n", "board.toml")
        places = [document.positions["a", index] for index in range(len(chosen))]
        written = [document.source.text[place.value_start : place.value_end] for place in places]
        assert written == chosen
        assert document.positions["a",].value_end == len(document.source.text) - 1
