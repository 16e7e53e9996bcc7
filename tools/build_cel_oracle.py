"""Write tests/data/cel_oracle.json: the values that Google's CEL gives to expressions of etconfig.

    make test-peers
    .venv-peers/bin/python tools/build_cel_oracle.py

`tests/peers/test_peers_cel.py` makes 10,000 other cases and does not store them.

Each case is an expression, the known facts, and the value, which is left out if CEL reports an error. For
CEL an unknown fact is a variable without a value, so unknown results are errors, too. The cases do not use
`has`, `min` and `max`, which CEL has in another form, or indexed facts such as `gpu.0.name`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cel_expr_python import cel

OUTPUT = Path(__file__).parents[1] / "tests/data/cel_oracle.json"
CASE_COUNT = 400
TYPES = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "float": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "list": cel.Type.List(cel.Type.STRING),
}
INTS = (0, 1, -1, 2, 7, -7, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, 1.0, -2.5, 0.1, 7.0, 1e308)
STRINGS = ("", "a", "ab", "b", "é", "\n")
LITERALS = {
    "bool": ("true", "false"),
    "int": (*map(str, INTS), "0x1F", "017"),
    "float": (*map(repr, FLOATS), ".5", "2.5E-1"),
    "string": ("''", '"a"', "'ab'", r'"\x41\101\u00e9\U0001F600"', r"'\a\b\f\n\r\t\v\\\?\"\'\`'"),
    "list": ("[]", '["a", "b"]', "['']"),
}
FORMS = {
    "bool": (
        "({bool} && {bool})",
        "({bool} || {bool})",
        "({bool} && {bool} && {bool} || {bool})",
        "!{bool}",
        "({bool} == {bool})",
        "({int} == {int})",
        "({int} != {float})",
        "({int} < {float})",
        "({float} <= {int})",
        "({int} > {int})",
        "({string} >= {string})",
        "({list} == {list})",
        "({string} in {list})",
        "({int} in [{int}, {int}])",
        "{string}.startsWith({string})",
        "{string}.endsWith({string})",
        "{string}.contains({string})",
        "({bool} ? {bool} : {bool})",
    ),
    "int": (
        "({int} + {int})",
        "({int} - {int})",
        "({int} * {int})",
        "({int} / {int})",
        "({int} % {int})",
        "({int} + {int} * {int} - {int})",
        "-({int})",
        "size({string})",
        "({list}).size()",
        "({bool} ? {int} : {int})",
    ),
    "float": ("({float} + {float})", "({float} - {float})", "({float} * {float})", "({float} / {float})"),
    "string": ("({string} + {string})", "({bool} ? {string} : {string})"),
    "list": ("[{string}, {string}]",),
}


class Case(dict[str, str]):
    """Fills a template: each lookup gives another random expression of that type."""

    def __init__(self, chance: random.Random, depth: int) -> None:
        super().__init__()
        self.chance = chance
        self.depth = depth

    def __missing__(self, type_name: str) -> str:
        if self.depth == 0 or self.chance.random() < 0.2:
            fact = f"x.{type_name}{self.chance.randrange(3)}"
            return self.chance.choice((fact, self.chance.choice(LITERALS[type_name])))
        form = self.chance.choice(FORMS[type_name])
        return form.format_map(Case(self.chance, self.depth - 1))


def some_facts(chance: random.Random) -> dict[str, Any]:
    values = {
        "bool": lambda: chance.random() < 0.5,
        "int": lambda: chance.choice(INTS),
        "float": lambda: chance.choice(FLOATS),
        "string": lambda: chance.choice(STRINGS),
        "list": lambda: chance.sample(STRINGS, chance.randrange(3)),
    }
    names = [(f"x.{type_name}{number}", value) for type_name, value in values.items() for number in range(3)]
    return {name: value() for name, value in names if chance.random() < 0.7}


def evaluate(expression: str, facts: Mapping[str, object]) -> dict[str, object]:
    """Return `{"value": ...}`, or nothing if CEL reports an error."""
    variables = {f"x_{name}{number}": type_ for name, type_ in TYPES.items() for number in range(3)}
    # without the type check, which refuses to compare int with double, although the evaluation can
    compiled = cel.NewEnv(variables=variables).compile(expression.replace("x.", "x_"), disable_check=True)
    try:
        result = compiled.eval(data={name.replace(".", "_"): value for name, value in facts.items()})
    except RuntimeError:
        return {}
    if result.type() in (cel.Type.ERROR, cel.Type.UNKNOWN):
        return {}
    value = result.value()
    return {"value": [item.value() for item in value] if isinstance(value, list) else value}


def cases(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Return random cases as in the file: an expression, the known facts in it, and CEL's value if any."""
    chance = random.Random(seed)
    for number in range(count):
        type_name = chance.choice(("bool", "bool", "bool", "int", "float", "string", "list"))
        expression, facts = Case(chance, 1 + number % 3)[type_name], some_facts(chance)
        mentioned = {name: value for name, value in facts.items() if name in expression}
        yield {"expression": expression, "facts": mentioned, **evaluate(expression, facts)}


def main() -> None:
    lines = ",\n".join(map(json.dumps, cases(CASE_COUNT, seed=1)))
    OUTPUT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
