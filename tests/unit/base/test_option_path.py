from __future__ import annotations

import pytest

from etconfig.base.option_path import OptionPath, parse_assignment, parse_option_path


class TestOptionPath:
    """[METHOD[@INSTANCE]:]BACKEND.OPTION[=VALUE]"""

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("NpuBackend.core", OptionPath("NpuBackend", "core")),
            ("decode:NpuBackend.core", OptionPath("NpuBackend", "core", "decode")),
            ("forward@camera0:NpuBackend.core", OptionPath("NpuBackend", "core", "forward", "camera0")),
            ("prefill_*:NpuBackend.core", OptionPath("NpuBackend", "core", "prefill_*")),
            ("größe:NpuBackend.core", OptionPath("NpuBackend", "core", "größe")),
        ],
    )
    def test_text_and_path_correspond(self, text: str, path: OptionPath) -> None:
        assert parse_option_path(text) == path
        assert str(path) == text

    @pytest.mark.parametrize(
        "text", ["", "core", "NpuBackend.", ".core", "a b:X.y", "@left:X.y", "X.y.z", "a:b:X.y"]
    )
    def test_anything_else_is_refused_with_the_grammar(self, text: str) -> None:
        with pytest.raises(ValueError, match="is not an option path") as caught:
            parse_option_path(text)
        assert str(caught.value) == (
            f"{text!r} is not an option path; expected [METHOD[@INSTANCE]:]BACKEND.OPTION, "
            "for example forward@camera0:NpuBackend.core"
        )

    def test_the_value_follows_the_first_equals_sign(self) -> None:
        assert parse_assignment("X.y = a=b ") == (OptionPath("X", "y"), "a=b")

    def test_a_missing_value_is_refused(self) -> None:
        with pytest.raises(ValueError, match="has no value") as caught:
            parse_assignment("X.y")
        assert str(caught.value) == "'X.y' has no value; expected PATH=VALUE, for example X.y=1"
