"""Values of other languages, such as `True`, `None`, `4GB` and `not a`."""

from __future__ import annotations

import re
from fractions import Fraction

from etconfig.facts.registry import FactInfo, FactType
from etconfig.mistakes.expression.piece_walk import PieceWalk
from etconfig.mistakes.expression.pieces import group_end, operand_end

_NULLS = frozenset(("none", "null", "nil", "undefined"))
_NAME = re.compile(r"[A-Za-z_][\w.<>]*", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(B|[kKMGT]i?B)")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def size_in_bytes(text: str) -> str | None:
    """Return the number for a size such as `4GiB`, as an expression; None for another text."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, unit = match.groups()
    base, power = (1024 if "i" in unit else 1000), _POWERS.get(unit[0], 0)
    if "." in number:
        return str(int(Fraction(number) * base**power))
    return " * ".join([number, *[str(base)] * power])


class ForeignValues(PieceWalk):
    """The changes where a value is expected."""

    def operand(self) -> bool:
        """Change a foreign value, or the beginning of one; return False if there is none here."""
        piece, word = self.pieces[self.index], self.word(self.index)
        if piece.kind == "number":
            return self.number()
        if piece.kind == "curly":
            quoted = f'"{piece.text[1:-1]}"'
            self.found(self.index, quoted, f"write {quoted} with straight quotes", what="a string")
            self.write(self.index, quoted)
            return True
        if piece.kind == "operator":
            return self.marker()
        if self.at(self.index + 1) == "(" and word not in ("not", "if", "iif"):
            return False
        if word in ("true", "false") and piece.text != word:
            self.found(self.index, word, f"write {word}", what="value")
            self.write(self.index, word)
            return True
        if word == "not":
            return self.negation()
        if word in _NULLS:
            return self.null()
        if word in ("if", "iif", "when", "where"):
            return self.leading_if()
        return self.placeholder() if "<" in piece.text else self.with_index()

    def placeholder(self) -> bool:
        """Change `gpu.<n>.name` to `gpu.0.name`."""
        right = re.sub(r"<\w+>", "0", self.at(self.index))
        self.found(self.index, right, f"write {right}", what="fact", is_safe=False)
        return self.joined(self.index, right)

    def number(self) -> bool:
        """Change a number with a unit, a percent sign, or separators."""
        index, text = self.index, self.at(self.index)
        following = self.at(index + 1)
        if (text.replace("_", "").isdecimal() and "_" in text) or re.fullmatch(r"[0-9]+\.", text):
            right = text.replace("_", "") + ("0" if text.endswith(".") else "")
            self.found(index, right, f"write {right}", what="a number")
            self.write(index, right)
            return True
        for last, written in ((index, text), (index + 1, text + following)):
            product = size_in_bytes(written)
            if product is not None:
                return self.quantity(product, last)
        if following == "%" and not self.starts_value(index + 2) and _PLAIN_NUMBER.fullmatch(text):
            right = repr(round(float(int(text, 0) if text.isdecimal() else float(text)) / 100, 12))
            self.found(
                index + 1, right, f"write {right}: there is no percent sign", what="a number", is_safe=False
            )
            return self.joined(index + 1, right)
        if following == "," and self.open[-1:] in ([], ["("]) and not self.is_call():
            return self.with_commas()
        return False

    def quantity(self, product: str, last: int) -> bool:
        """Change a size with its unit to `product`."""
        if "*" in product and self.at(self.index - 1) in ("/", "%"):
            product = f"({product})"
        help = f"write {product}: numbers have no units, and sizes are in bytes"
        self.found(last, product, help, what="a number", is_safe=False)
        return self.joined(last, product)

    def with_commas(self) -> bool:
        """Change `0,2` and `4,000,000`."""
        last = self.index
        while (
            self.at(last + 1) == "," and self.at(last + 2).isdecimal() and self.pieces[last + 2].is_adjacent
        ):
            last += 2
        if last == self.index:
            return False
        parts = [self.at(index) for index in range(self.index, last + 1, 2)]
        is_grouped = all(len(part) == 3 for part in parts[1:]) and parts[0] != "0"
        if len(parts) > 2 and not is_grouped:
            return False
        right = "".join(parts) if is_grouped else ".".join(parts)
        self.found(last, right, f"write {right}", what="a number", is_safe=False)
        return self.joined(last, right)

    def marker(self) -> bool:
        """Change `${name}`, `{{name}}`, `$name` and a leading `=`."""
        first = self.index
        if self.at(first) == "=" and first == 0:
            end = self.pieces[1].start if len(self.pieces) > 1 else self.pieces[0].end
            help = "remove it: an expression starts with a value"
            self.note(self.pieces[0].start, end, "there is no operator '=' here", help, "")
            self.write(first, "")
            return True
        while self.at(self.index) in ("$", "{", "%"):
            self.index += 1
        name, self.index = self.index, first
        last = name
        while self.at(last + 1) in ("}", "%") and last - name < name - first:
            last += 1
        if name == first or not _NAME.fullmatch(self.at(name)) or (last == name and self.at(first) != "$"):
            return False
        right = self.at(name)
        self.found(last, right, f"write {right}", what="variable")
        return self.joined(last, right)

    def negation(self) -> bool:
        """Change `not a == b` to `!(a == b)`."""
        first, last = self.index, group_end(self.pieces, self.index + 1)
        if last <= first:
            return False
        is_simple = operand_end(self.pieces, first + 1) == last
        written = self.pieces[first]
        replacement = None
        if is_simple:
            replacement = "!"
            end = self.pieces[first + 1].start
            help = f"write ! for {written.text!r}"
            self.note(written.start, end, f"there is no operator {written.text!r}", help, replacement)
            self.write(first, "!")
        else:
            operand = self.text[self.pieces[first + 1].start : self.pieces[last].end]
            self.found(first, None, f"write !({operand})")
            self.write(first, "!")
            self.add_tail(first, "(")
            self.add_tail(last, ")")
        self.pieces[first + 1] = self.pieces[first + 1].attached()
        self.index = first + 1
        return True

    def null(self) -> bool:
        """Change `name == None` to `!has(name)`."""
        index = self.index - 1
        while index > 0 and not self.at(index):
            index -= 1
        operator, name = self.at(index), index - 1
        if operator not in ("==", "!=") or not _NAME.fullmatch(self.at(name)):
            return False
        right = f"{'!' if operator == '==' else ''}has({self.at(name)})"
        start, end = self.pieces[name].start, self.pieces[self.index].end
        if self.spellings and self.spellings[-1].start >= self.pieces[index].start:
            self.spellings.pop()  # the operator, which goes too
        message = f"there is no value {self.at(self.index)!r}"
        self.note(start, end, message, f"write {right}", right, is_safe=False)
        self.write(name, right)
        self.clear(name + 1, self.index)
        self.index, self.is_operand = self.index + 1, False
        return True

    def leading_if(self) -> bool:
        """Change `if c then a else b` and `if(c, a, b)`, and remove a lone `if` at the start."""
        first = self.index
        then, otherwise = self.find("then", first + 1), self.find("else", first + 1)
        if then and otherwise and then < otherwise:
            marks = ((then, "?"), (otherwise, ":"))
        elif self.at(first + 1) == "(" and len(commas := self.commas(first + 1)) == 2:
            marks = ((commas[0], "?"), (commas[1], ":"))
        elif first == 0 and self.at(1) and not otherwise:
            end = self.pieces[1].start
            self.note(
                self.pieces[0].start,
                end,
                f"a condition does not start with {self.at(0)!r}",
                "write the condition alone",
                "",
            )
            self.write(0, "")
            self.pieces[1] = self.pieces[1].attached()
            return True
        else:
            return False
        self.found(first, None, "write condition ? value : other value")
        self.write(first, "")
        for index, mark in marks:
            self.write(index, mark)
            self.pieces[index] = self.pieces[index]._replace(lead=" ")
        return True

    def with_index(self) -> bool:
        """Change `gpu[0].name` to `gpu.0.name`."""
        index = self.index
        if self.at(index + 1) != "[" or not self.at(index + 2).isdecimal() or self.at(index + 3) != "]":
            return False
        name = f"{self.at(index)}.{self.at(index + 2)}"
        last = index + 3
        if self.at(last + 1) == "." and _NAME.fullmatch(self.at(last + 2)):
            name, last = f"{name}.{self.at(last + 2)}", last + 2
        alone = self.find_fact(self.at(index))
        if alone is not None and self.find_fact(name) is None:
            return self.needless_index(alone, last)
        self.found(last, name, f"write {name}", what="fact")
        return self.joined(last, name)

    def needless_index(self, fact: FactInfo, last: int) -> bool:
        """Change `cpu.features[0] == "avx2"` to `"avx2" in cpu.features`: no fact has items with a number."""
        name = self.at(self.index)
        if fact.type is not FactType.STRING_LIST:
            self.found(last, name, f"write {name}: it is a single value", what="fact", is_safe=False)
            return self.joined(last, name)
        item, right = self.at(last + 2), None
        if self.at(last + 1) == "==" and self.pieces[last + 2].kind == "string":
            last, right = last + 2, f"{item} in {name}"
        help = f"write {right or f'TEXT in {name}'}: the items of a list have no numbers"
        self.found(last, right, help, what="fact" if right is None else "a condition", is_safe=False)
        return self.joined(last, right or name)
