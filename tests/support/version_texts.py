"""Versions as docs/expressions.md defines them, and random texts with and without them."""

from __future__ import annotations

from random import Random

SIGNS = ("<", "<=", ">", ">=", "==", "!=")
_TEXTS = (
    *(
        "",
        "v",
        "V",
        "1",
        "1.2",
        "1.2.0",
        "0",
        "0.0",
        "00.10",
        "v75",
        "V1.2",
        "1.2.3-rc1",
        "535.104.05",
        "1.",
        "1..2",
    ),
    *(
        "4.0 (Build 123)",
        "V@0530.0",
        " 1",
        "vv1",
        "1.2.x",
        "1\n2",
        "\n1",
        "1.٣",
        "٣.1",
        "1²",
        "6.6.31+rpt-rpi-2712",
    ),
    *(
        "123456789012345678",
        "1234567890123456789",
        "0001234567890123456789.1",
        "0" * 30,
        "1." + "0" * 30 + "7",
    ),
    *(
        "1.12345678901234567890",
        "12345678901234567890",
        "999999999999999999.999999999999999999",
        "10",
        "100",
        "9",
    ),
)


def random_version_text(random: Random) -> str:
    """A text that often begins with a version."""
    kind = random.randrange(4)
    if kind == 0:
        return random.choice(_TEXTS)
    if kind == 1:
        return "".join(random.choice("v.0012359.x٣ ") for _ in range(random.randrange(16)))
    numbers = [
        str(random.choice((0, 0, 1, 2, 9, 10, 11, 100, 10**17, 10**18))) for _ in range(random.randint(1, 4))
    ]
    zeros = [random.choice(("", "", "", "0", "00")) + number for number in numbers]
    return random.choice(("", "v")) + ".".join(zeros) + random.choice(("", "", ".0", "-rc1", ".", "..1"))


def model_version(text: str) -> list[int] | None:
    """The numbers of the version that begins a text, read character by character; None without one."""
    rest = list(text)
    if rest and rest[0] in "vV":
        rest.pop(0)
    numbers: list[int] = []
    while rest and "0" <= rest[0] <= "9":
        number = 0
        while rest and "0" <= rest[0] <= "9":
            number = 10 * number + "0123456789".index(rest.pop(0))
        if number >= 10**18:
            return None
        numbers.append(number)
        if rest and rest[0] == ".":
            rest.pop(0)
    return numbers or None


def model_comparison(left: str, sign: str, right: str) -> bool | None:
    """The value of `version(left) sign version(right)`; None if there is none."""
    a, b = model_version(left), model_version(right)
    if a is None or b is None:
        return None
    length = max(len(a), len(b))
    one, other = ((*each, *(0 for _ in range(length - len(each)))) for each in (a, b))
    order = (one > other) - (one < other)
    return {
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
        "==": order == 0,
        "!=": order != 0,
    }[sign]
