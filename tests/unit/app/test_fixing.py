from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from etconfig.app.validating import fixing
from etconfig.app.validating.fixing import FixedFile, apply_fixes, fix_files, fixable
from etconfig.diagnostics import Diagnostic, Edit, Fix, Span
from etconfig.profile.document import Document, parse_document

TEXT = '# \N{SNOWMAN} comment\r\n[a]\r\n"old"  =   1 # why\r\nkeep =[1,\r\n  2]'

OTHER_ROWS = ["", "# old \t#", "  ", "x.y = [ 'old', 1 ]", '"\N{SNOWMAN}" = """\nold"""']


def fix_of(
    text: str, line: int, wrong: str, right: str, *, is_safe: bool = True, file: str = "a.toml"
) -> Fix:
    row = text.replace("\r\n", "\n").split("\n")[line - 1]
    span = Span(file=file, line=line, column=row.index(wrong) + 1, length=len(wrong), text=row)
    return Fix(span=span, replacement=right, is_safe=is_safe)


class TestApplyFixes:
    """Only the places of the fixes change."""

    def test_comments_layout_and_line_ends_are_kept(self) -> None:
        after, count = apply_fixes(TEXT, [fix_of(TEXT, 3, '"old"', '"new"')])
        assert (after, count) == (TEXT.replace("old", "new"), 1)

    def test_all_fixes_of_one_line_are_made(self) -> None:
        text = "a = { x = 1, y = 2 }"
        fixes = [fix_of(text, 1, "x", "first"), fix_of(text, 1, "2", "2.0"), fix_of(text, 1, "a", "b")]
        assert apply_fixes(text, fixes) == ("b = { first = 1, y = 2.0 }", 3)

    def test_only_one_of_two_fixes_at_one_place_is_made(self) -> None:
        text = "a = 1"
        after, count = apply_fixes(text, [fix_of(text, 1, "a", "ab"), fix_of(text, 1, "a", "ac")])
        assert (after, count) == ("ac = 1", 1)

    def test_a_fix_that_would_break_the_document_is_left_out(self) -> None:
        text = "old = 1\nnew = 2\nother = 3\n"
        fixes = [fix_of(text, 1, "old", "new"), fix_of(text, 3, "other", "third")]
        assert apply_fixes(text, fixes) == ("old = 1\nnew = 2\nthird = 3\n", 1)

    @pytest.mark.parametrize("count", [50, 100])
    @pytest.mark.parametrize("is_set_twice", [False, True])
    def test_the_number_of_parses_does_not_grow_with_the_number_of_fixes(
        self, count: int, is_set_twice: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parsed: list[str] = []

        def counting(text: str, name: str) -> Document:
            parsed.append(text)
            return parse_document(text, name)

        monkeypatch.setattr(fixing, "parse_document", counting)
        twice = "new = 2\n" if is_set_twice else ""
        text = "".join(f"[t{index}]\n{twice}old = 1\nother = 3\n" for index in range(count))
        lines = range(1, text.count("\n") + 1)
        rows = text.split("\n")
        fixes = [fix_of(text, line, "old", "new") for line in lines if rows[line - 1] == "old = 1"]
        fixes += [fix_of(text, line, "other", "third") for line in lines if rows[line - 1] == "other = 3"]
        after, made = apply_fixes(text, fixes)
        assert made == (count if is_set_twice else 2 * count)
        assert after == text.replace("other", "third").replace("old", "old" if is_set_twice else "new")
        assert len(parsed) <= 4

    def test_fixes_that_break_the_document_in_another_way_are_left_out_one_by_one(self) -> None:
        text = "[wrong]\n[a.b]\n[a.c]\nold = 1\n"
        fixes = [fix_of(text, 1, "wrong", "a.b"), fix_of(text, 4, "old", "new")]
        assert apply_fixes(text, fixes) == ("[wrong]\n[a.b]\n[a.c]\nnew = 1\n", 1)

    def test_many_fixes_that_cannot_be_made_are_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fixing, "_MAX_PARSED", 0)
        text = "".join(f"x{index} = 1\n" for index in range(100))
        fixes = [fix_of(text, line + 1, f"x{line}", "=") for line in range(100)]
        assert apply_fixes(text, fixes) == (text, 0)

    def test_nothing_is_tried_after_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each try edits lines and joins the text, which takes long if there are 14,000."""
        edited: list[str] = []

        def counting(line: str, edits: Iterable[Edit]) -> str:
            edited.append(line)
            return edited_line(line, edits)

        edited_line = fixing._edited_line
        monkeypatch.setattr(fixing, "_edited_line", counting)
        monkeypatch.setattr(fixing, "_MAX_PARSED", 0)
        text = "".join(f"x{index} = 1\n" for index in range(100))
        fixes = [fix_of(text, line + 1, f"x{line}", f"={line}") for line in range(100)]
        assert apply_fixes(text, fixes) == (text, 0)
        assert len(edited) <= 300

    def test_a_fix_for_a_line_that_has_changed_is_left_out(self) -> None:
        for changed in ("x = 1", "old", "", " old = 1"):
            assert apply_fixes(changed, [fix_of("old = 1", 1, "old", "new")]) == (changed, 0)

    def test_a_fix_beyond_the_end_is_left_out(self) -> None:
        assert apply_fixes("a = 1", [fix_of("\n\na = 1", 3, "a", "b")]) == ("a = 1", 0)

    @given(
        st.lists(st.sampled_from(OTHER_ROWS), max_size=6, unique=True),
        st.sampled_from(["\n", "\r\n"]),
        st.booleans(),
    )
    def test_every_other_byte_and_every_other_value_stays(
        self, around: list[str], line_end: str, is_last: bool
    ) -> None:
        rows = [*around, "old =  1 # old"] if is_last else ["old =  1 # old", *around]
        line = "\n".join(rows[: len(rows) if is_last else 1]).count("\n") + 1
        text = line_end.join("\n".join(rows).split("\n"))
        after, count = apply_fixes(text, [fix_of(text, line, "old", "new")])
        before_lines, after_lines = text.split("\n"), after.split("\n")
        assert count == 1
        assert after_lines[line - 1] == before_lines[line - 1].replace("old", "new", 1)
        assert [*after_lines[: line - 1], *after_lines[line:]] == [
            *before_lines[: line - 1],
            *before_lines[line:],
        ]
        expected = tomli.loads(text)
        expected["new"] = expected.pop("old")
        assert tomli.loads(after) == expected


class TestFixFiles:
    """Named files change; the files that they extend do not."""

    def diagnostic(self, fix: Fix | None) -> Diagnostic:
        return Diagnostic(code="unknown-option", message="m", fix=fix)

    def test_only_named_files_are_fixable_and_each_fix_counts_once(self) -> None:
        mine = fix_of("a = 1", 1, "a", "b", file="mine.toml")
        base = fix_of("a = 1", 1, "a", "b", file="base.toml")
        found = [self.diagnostic(fix) for fix in (mine, base, None, mine)]
        assert fixable([Path("mine.toml")], found) == [mine]

    def test_an_unsafe_fix_is_made_only_on_request(self, tmp_path: Path) -> None:
        path = tmp_path / "a.toml"
        path.write_text("a = 1\nc = 1\n")
        found = [
            self.diagnostic(fix_of("a = 1\nc = 1", 1, "a", "b", is_safe=False, file=str(path))),
            self.diagnostic(fix_of("a = 1\nc = 1", 2, "c", "d", file=str(path))),
        ]
        (safe,) = fix_files([path], found)
        (unsafe,) = fix_files([path], found, with_unsafe=True)
        assert (safe.after, safe.count) == ("a = 1\nd = 1\n", 1)
        assert (unsafe.after, unsafe.count) == ("b = 1\nd = 1\n", 2)
        assert path.read_text() == safe.before == "a = 1\nc = 1\n"

    def test_files_without_fixes_are_left_out(self, tmp_path: Path) -> None:
        assert fix_files([tmp_path / "not-even-there.toml"], [self.diagnostic(None)]) == []

    def test_patch_understands_the_diff(self, tmp_path: Path) -> None:
        path = tmp_path / "a.toml"
        path.write_bytes(TEXT.replace("old", "a").encode())
        (file,) = fix_files([path], [self.diagnostic(fix_of("\n\n\n\n  2]", 5, "2", "3", file=str(path)))])
        assert file.diff().splitlines() == [
            f"--- {path}",
            f"+++ {path}",
            "@@ -2,4 +2,4 @@",
            " [a]",
            ' "a"  =   1 # why',
            " keep =[1,",
            "-  2]",
            "\\ No newline at end of file",
            "+  3]",
            "\\ No newline at end of file",
        ]


class TestDiff:
    """The diff of a repaired file is that of difflib, without its time for many lines that are alike."""

    @given(st.lists(st.booleans(), min_size=1, max_size=60))
    def test_it_is_that_of_difflib(self, changed: list[bool]) -> None:
        before = [f"{number} = 1\n" for number in range(len(changed))]
        after = [
            line.replace("1\n", "2\n") if is_changed else line
            for line, is_changed in zip(before, changed, strict=True)
        ]
        file = FixedFile(path=Path("a"), before="".join(before), after="".join(after), count=1)
        assert file.diff() == "".join(difflib.unified_diff(before, after, "a", "a"))
