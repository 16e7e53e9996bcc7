"""Operators of other languages, such as `and`, `=>`, `not in` and `a if c else b`."""

from __future__ import annotations

from etconfig.mistakes.expression.piece_walk import CLOSING_BRACKETS, PieceWalk
from etconfig.mistakes.expression.pieces import matching_bracket, operand_end

_OPERATORS = {
    **dict.fromkeys(("and", "&", "andalso"), "&&"),
    **dict.fromkeys(("or", "|", "orelse"), "||"),
    **dict.fromkeys(("=", "===", "is", "eq", "equals", "≡"), "=="),
    **dict.fromkeys(("!==", "<>", "ne", "≠"), "!="),
    **dict.fromkeys(("=>", "≥", "ge", "gte"), ">="),
    **dict.fromkeys(("=<", "≤", "le", "lte"), "<="),
    "gt": ">",
    "lt": "<",
    "in": "in",
    "//": "/",
    "\u00d7": "*",
    "\u00f7": "/",
}
"""Operators by their spelling elsewhere, in lower case."""

_TEXT_FUNCTIONS = {
    "contains": "contains",
    "includes": "contains",
    "startswith": "startsWith",
    "starts_with": "startsWith",
    "endswith": "endsWith",
    "ends_with": "endsWith",
}


class ForeignOperators(PieceWalk):
    """The changes where an operator is expected."""

    def operator(self) -> bool:
        """Change a foreign operator; return False if there is none here."""
        index, text, word = self.index, self.at(self.index), self.word(self.index)
        following = self.word(index + 1)
        if word == "is" and following == "not":
            return self.replaced(index + 1, "!=")
        if (word == "not" or text == "!") and following == "in":
            return self.not_in()
        if word == "between":
            return self.between()
        if word in _TEXT_FUNCTIONS and following and self.pieces[index - 1].kind == "name":
            return self.infix_function(_TEXT_FUNCTIONS[word])
        if word == "if":
            return self.trailing_if()
        if text == ":" and not self.questions[-1] and self.pieces[index - 1].kind == "name":
            self.found(index, " ==" if self.pieces[index].is_adjacent else "==", "write ==", is_safe=False)
            self.pieces[index] = self.pieces[index].written("==")._replace(lead=" ")
            return True
        if text == ";":
            return self.semicolon()
        if text == "#" or (text == "//" and self.pieces[index - 1].kind == "string"):
            return self.comment()
        if text in (")", "]", "}"):
            return self.closing_bracket(text)
        right = _OPERATORS.get(word)
        if right is not None and right != text:
            return self.replaced(index, right, is_safe=word != "//")
        if text == "in" and self.at(index + 1) in ("(", "{"):
            return self.set_of_values()
        return False

    def replaced(self, last: int, right: str, *, is_safe: bool = True) -> bool:
        start, end = self.pieces[self.index].start, self.pieces[last].end
        written = self.text[start:end]
        help = f"write {right} for {written!r}"
        if written == "//":
            help = "write /: ints divide toward zero"
        self.found(last, right, help, is_safe=is_safe)
        self.write(self.index, right)
        self.clear(self.index + 1, last)
        self.index = last if right == "in" else last + 1
        self.is_operand = right != "in"
        return True

    def not_in(self) -> bool:
        """Change `a not in b` to `!(a in b)`."""
        index = self.index
        first = index - 1
        if not self.pieces[first].is_value:
            return False
        last = operand_end(self.pieces, index + 2)
        left, right = self.at(first), self.text[self.pieces[index + 2].start : self.pieces[last].end]
        self.found(index + 1, None, f"write !({left} in {right})")
        self.write(index, "in")
        self.write(index + 1, "")
        self.pieces[first] = self.pieces[first]._replace(head="!(" + self.pieces[first].head)
        self.add_tail(last, ")")
        return True

    def between(self) -> bool:
        """Change `a between b and c` to `a >= b && a <= c`."""
        index = self.index
        name, joint = self.at(index - 1), self.find("and", index + 1)
        if not joint or self.pieces[index - 1].kind != "name":
            return False
        self.found(index, None, f"write {name} >= ... && {name} <= ...")
        self.write(index, ">=")
        self.write(joint, f"&& {name} <=")
        self.index, self.is_operand = index + 1, True
        return True

    def infix_function(self, function: str) -> bool:
        """Change `a contains b` to `a.contains(b)`."""
        index = self.index
        last = operand_end(self.pieces, index + 1)
        argument = self.text[self.pieces[index + 1].start : self.pieces[last].end]
        if function == "contains" and self.is_list(self.at(index - 1)):
            items = self.pieces[index - 1]
            self.found(index, None, f"write {argument} in {items.text}")
            inside = [self.pieces[index + 1].attached(), *self.pieces[index + 2 : last + 1]]
            inside[0] = inside[0]._replace(lead=items.lead)
            operator = self.pieces[index].written("in")
            self.pieces[index - 1 : last + 1] = [*inside, operator, items._replace(lead=" ")]
            self.index, self.is_operand = index - 1, True
            return True
        self.found(index, None, f"write {self.at(index - 1)}.{function}({argument})")
        self.add_tail(index - 1, f".{function}(")
        self.write(index, "")
        self.pieces[index + 1] = self.pieces[index + 1].attached()
        self.add_tail(last, ")")
        self.index, self.is_operand = index + 1, True
        return True

    def trailing_if(self) -> bool:
        """Change `a if c else b` to `c ? a : b`."""
        first, index = self.group_starts[-1], self.index
        otherwise = self.find("else", index + 1)
        if not otherwise or first >= index:
            return False
        self.found(index, None, "write condition ? value : other value")
        value, condition = self.pieces[first:index], self.pieces[index + 1 : otherwise]
        question, colon = self.pieces[otherwise].written("?"), self.pieces[index].written(":")
        lead = value[0].lead
        condition[0] = condition[0]._replace(lead=lead)
        value[0] = value[0]._replace(lead=" ")
        self.pieces[first : otherwise + 1] = [*condition, question, *value, colon]
        self.index, self.is_operand = first, True
        return True

    def semicolon(self) -> bool:
        """Change `;` to the mark that belongs there, or remove it at the end."""
        if self.index + 1 == len(self.pieces):
            self.found(self.index, "", "remove it", is_safe=False)
            self.write(self.index, "")
            return True
        mark = ":" if self.questions[-1] else "," if self.open[-1:] in (["("], ["["]) else None
        if mark is None:
            return False
        self.found(self.index, mark, f"write {mark}", is_safe=False)
        self.write(self.index, mark)
        return True

    def comment(self) -> bool:
        """Remove a comment."""
        start, last = self.pieces[self.index - 1].end, len(self.pieces) - 1
        message, help = "an expression contains no comment", "write it after the TOML string"
        self.note(start, self.pieces[last].end, message, help, "", is_safe=False)
        self.clear(self.index, last)
        self.index = len(self.pieces)
        return True

    def closing_bracket(self, text: str) -> bool:
        """Remove a bracket that closes nothing, or exchange the one that closes another kind."""
        if not self.open:
            self.note(
                self.pieces[self.index].start,
                self.pieces[self.index].end,
                f"{text!r} closes nothing",
                "remove it, or open a bracket before",
                "",
                is_safe=False,
            )
            self.write(self.index, "")
            return True
        right = CLOSING_BRACKETS[self.open[-1]]
        if right == text:
            return False
        message = f"{text!r} cannot close {self.open[-1]!r}"
        piece = self.pieces[self.index]
        self.note(piece.start, piece.end, message, f"write {right}", right, is_safe=False)
        self.write(self.index, right)
        return True

    def set_of_values(self) -> bool:
        """Change `in (a, b)` to `in [a, b]`."""
        first = self.index + 1
        last = matching_bracket(self.pieces, first)
        is_list = self.at(first) == "{" or self.commas(first) or self.pieces[first + 1].kind == "string"
        if last is None or not is_list:
            return False
        inside = self.text[self.pieces[first].end : self.pieces[last].start]
        start, end = self.pieces[first].start, self.pieces[last].end
        right = f"[{inside}]"
        self.note(start, end, "the values after 'in' are not a list", f"write {right}", None)
        self.write(first, "[")
        self.write(last, "]")
        return True
