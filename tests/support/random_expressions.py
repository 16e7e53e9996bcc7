"""Random well-typed expressions and fact sheets over a few facts with bounds."""

from __future__ import annotations

from random import Random

from etconfig.facts.registry import FactInfo, FactRegistry, FactType, Volatility


def _info(name: str, type_: FactType, **bounds: object) -> FactInfo:
    return FactInfo(name=name, type=type_, doc="A fact.", volatility=Volatility.LIVE, **bounds)  # type: ignore[arg-type]


REGISTRY = FactRegistry(
    (
        _info("a.cores", FactType.INT, minimum=1),
        _info("a.slow", FactType.INT, minimum=0, maximum=4),
        _info("a.offset", FactType.INT),
        _info("a.level", FactType.FLOAT, minimum=0, maximum=1),
        _info("a.heat", FactType.FLOAT),
        _info("a.source", FactType.STRING, choices=("mains", "battery")),
        _info("a.model", FactType.STRING),
        _info("a.is_hot", FactType.BOOL),
        _info("a.features", FactType.STRING_LIST),
    )
)
_WORDS = ("mains", "battery", "pixel", "pi", "pi 5", "")
_VALUES: dict[str, tuple[object, ...]] = {
    "a.cores": (1, 2, 3, 4, 8, 128, 2**62),
    "a.slow": (0, 1, 2, 4),
    "a.offset": (-3, 0, 1, 5, -(2**63), 2**63 - 1),
    "a.level": (0.0, 0.2, 0.5, 1.0),
    "a.heat": (-40.0, 0.0, 36.6, 95.5, 1e308),
    "a.source": ("mains", "battery"),
    "a.model": (*_WORDS, "1.2.0", "v1.10-rc1", "1.9"),
    "a.is_hot": (True, False),
    "a.features": ((), ("pi",), ("mains", "pixel"), ("battery", "pi", "pi 5")),
}


def random_facts(random: Random) -> dict[str, object]:
    """Values of some of the facts of `REGISTRY`, by name."""
    return {name: random.choice(values) for name, values in _VALUES.items() if random.random() < 0.85}


def random_condition(random: Random, depth: int = 3) -> str:
    """A condition over the facts of `REGISTRY`."""
    if depth == 0 or random.random() < 0.4:
        return _comparison(random, depth)
    left, right = random_condition(random, depth - 1), random_condition(random, depth - 1)
    shape = random.choice(("({} && {})", "({} || {})", "!({})", "({} ? {} : {})", "({} && {})"))
    return shape.format(left, right, random_condition(random, depth - 1))


def random_value(random: Random, depth: int = 3) -> str:
    """An expression of any type over the facts of `REGISTRY`."""
    kinds = (random_integer, _float, random_text, random_texts, random_condition)
    return random.choice(kinds)(random, depth)


def random_integer(random: Random, depth: int = 3) -> str:
    """An expression of an int over the facts of `REGISTRY`."""
    if depth == 0 or random.random() < 0.3:
        leaves = (
            "a.cores",
            "a.slow",
            "a.offset",
            "size(a.features)",
            "size(a.model)",
            "0",
            "1",
            "2",
            "-3",
            "7",
            "64",
        )
        return random.choice(leaves)
    left, right = random_integer(random, depth - 1), random_integer(random, depth - 1)
    shape = random.choice(
        (
            "({} + {})",
            "({} - {})",
            "({} * {})",
            "({} / {})",
            "({} % {})",
            "min({}, {})",
            "max({}, {})",
            "-({})",
            "CHOICE",
        )
    )
    if shape == "CHOICE":
        return f"({random_condition(random, depth - 1)} ? {left} : {right})"
    return shape.format(left, right)


def _float(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.3:
        return random.choice(("a.level", "a.heat", "0.0", "0.5", "-1.5", "1e308"))
    left, right = _float(random, depth - 1), _float(random, depth - 1)
    shape = random.choice(
        ("({} + {})", "({} - {})", "({} * {})", "({} / {})", "min({}, {})", "max({}, {})", "-({})", "CHOICE")
    )
    if shape == "CHOICE":
        return f"({random_condition(random, depth - 1)} ? {left} : {right})"
    return shape.format(left, right)


def random_text(random: Random, depth: int) -> str:
    """An expression of a string over the facts of `REGISTRY`."""
    if depth == 0 or random.random() < 0.5:
        return random.choice(("a.source", "a.model", *map(_quoted, _WORDS)))
    left, right = random_text(random, depth - 1), random_text(random, depth - 1)
    if random.random() < 0.4:
        return f"({left} + {right})"
    return f"({random_condition(random, depth - 1)} ? {left} : {right})"


def random_texts(random: Random, depth: int) -> str:
    """An expression of a list of strings over the facts of `REGISTRY`."""
    return random.choice(
        ("a.features", "[]", "['pi']", f"['mains', {random_text(random, depth)}]", "[a.source, 'pi 5']")
    )


def _quoted(word: str) -> str:
    return f"'{word}'"


def _comparison(random: Random, depth: int) -> str:
    depth = max(depth - 1, 0)
    sign = random.choice(("<", "<=", ">", ">=", "==", "!="))
    shape = random.randrange(9)
    if shape == 0:
        return f"has({random.choice(REGISTRY.names)})"
    if shape == 1:
        return random.choice(("a.is_hot", "!a.is_hot", f"a.is_hot == ({random_condition(random, depth)})"))
    if shape == 2:
        return f"({random_text(random, depth)} {sign} {random_text(random, depth)})"
    if shape == 3:
        return f"({random_text(random, depth)} in {random_texts(random, depth)})"
    if shape == 4:
        function = random.choice(("startsWith", "endsWith", "contains"))
        return f"({random_text(random, depth)}).{function}({random_text(random, depth)})"
    if shape == 5:
        left = _float(random, depth)
        if left == "a.level":
            left = f"bucket({random_text(random, 0)}, '{random.choice('xyz')}')"
        return f"({left} {sign} {_float(random, depth)})"
    if shape == 6:
        return f"({random_integer(random, 0)} in [{random_integer(random, depth)}, 2, 3])"
    if shape == 7:
        bound = random.choice(("'1.9'", "'1.2'", f"version('1.10' + {random_text(random, depth)})"))
        return f"(version({random_text(random, 0)} + '') {sign} {bound})"
    return f"({random_integer(random, depth)} {sign} {random_integer(random, depth)})"
