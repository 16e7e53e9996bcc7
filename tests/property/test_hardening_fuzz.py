"""Profiles and project files, mutated at random: only `ConfigError` comes out."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from effort import scaled
from profile_documents import GOOD_PROFILES, GOOD_PROJECTS

from etconfig.errors import ConfigError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.profile.document import Document, parse_document
from etconfig.profile.profile import parse_profile
from etconfig.profile.project import parse_project

MUTATIONS = int(os.environ.get("ETCONFIG_FUZZ", scaled(20_000)))
"""How many texts are tried, half of them profiles. Before a release: two million."""
SEED = 20_260_131
PIECES = (
    *"[]{}='\"\\#.,\n\r\t\0 -+_:",
    *(
        '"""',
        "'''",
        "[[when]]\n",
        "true",
        "nan",
        "inf",
        "1e400",
        "-0",
        "0x",
        "9" * 65,
        "1979-05-27",
        "07:32:00",
    ),
    *("\u200b", "\u202e", "\ufeff", "é", "\U000e0041", "\\u0000", "\\ud800", "__class__", "expr", "unset"),
    *("9223372036854775808", "[" * 33, "a." * 65, "match = '((('\n", "extends = [1]\n", "{ expr = 1 }"),
)
PARSERS = {"profile": (parse_profile, GOOD_PROFILES), "project": (parse_project, GOOD_PROJECTS)}


def mutated(texts: Mapping[str, str], random_source: random.Random) -> str:
    """A text with one to four pieces removed, doubled, replaced, or taken from another text."""
    seeds = list(texts.values())
    text = random_source.choice(seeds)
    for _ in range(random_source.randint(1, 4)):
        start = random_source.randrange(len(text) + 1)
        end = min(len(text), start + random_source.choice([0, 1, 2, 8, 30]))
        donor = random_source.choice(seeds)
        place = random_source.randrange(len(donor) + 1)
        piece = random_source.choice(
            ["", text[start:end] * 2, random_source.choice(PIECES), donor[place : place + 30]]
        )
        text = text[:start] + piece + text[end:]
    return text


def outcome(parse: Callable[[Document, ExpressionParser], object], text: str) -> str:
    """The result of reading a text: "read", "refused", or an unexpected error."""
    try:
        parse(parse_document(text, "fuzz.toml"), ExpressionParser(BUILTIN_FACTS))
    except ConfigError as error:
        return "refused" if error.diagnostics else repr(error)
    except Exception as error:
        return repr(error)
    return "read"


@pytest.mark.parametrize("kind", PARSERS)
def test_a_mutated_document_is_read_or_refused(kind: str) -> None:
    parse, texts = PARSERS[kind]
    random_source = random.Random(SEED)
    outcomes = Counter[str]()
    for _ in range(MUTATIONS // 2):
        text = mutated(texts, random_source)
        found = outcome(parse, text)
        assert found in ("read", "refused"), text
        outcomes[found] += 1
    assert min(outcomes["read"], outcomes["refused"]) > MUTATIONS // 200, "all mutations do the same"
