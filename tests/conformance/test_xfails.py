"""The file of expected failures: every line must be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.conformance.runner.xfails import XfailsError, read_xfails

KNOWN = ("reinit", "destroy-once")


class TestXfails:
    """Each line is `CHECK # REASON`, and nothing else."""

    def test_lines_give_reasons(self, tmp_path: Path) -> None:
        path = tmp_path / "xfails.txt"
        path.write_text("# ours\n\nreinit # the firmware keeps state, fixed in 2.1 # really\n")
        assert read_xfails(path, KNOWN) == {"reinit": "the firmware keeps state, fixed in 2.1 # really"}

    def test_all_wrong_lines_are_reported_together(self, tmp_path: Path) -> None:
        path = tmp_path / "xfails.txt"
        path.write_text("reinit\ndestroy-onse # why\ndestroy-once # a\ndestroy-once # b\nxyz # why\n")
        with pytest.raises(XfailsError) as caught:
            read_xfails(path, KNOWN)
        assert str(caught.value).splitlines() == [
            f"{path}:1: reinit needs a reason: write reinit # why it fails",
            f"{path}:2: there is no check 'destroy-onse'; did you mean 'destroy-once'?",
            f"{path}:4: destroy-once is expected to fail twice; keep one line",
            f"{path}:5: there is no check 'xyz'; `etconfig conformance --list` shows all checks",
        ]

    def test_a_file_that_cannot_be_read_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(XfailsError, match=r"xfails\.txt: cannot be read: .*No such file"):
            read_xfails(tmp_path / "xfails.txt", KNOWN)
        (tmp_path / "xfails.txt").write_bytes(b"\xff")
        with pytest.raises(XfailsError, match=r"xfails\.txt: cannot be read: .utf-8. codec"):
            read_xfails(tmp_path / "xfails.txt", KNOWN)
