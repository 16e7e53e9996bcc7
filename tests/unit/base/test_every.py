"""`every`, with which many tests go through long lists of cases."""

from __future__ import annotations

import inspect

import pytest
from every import every


class TestEvery:
    """All cases run, and each that fails is named."""

    def test_all_cases_run_with_the_fixtures(self, tmp_path) -> None:
        seen = []

        @every(("a", "b"), [(1, 2), (3, 4)])
        def test(directory, a: int, b: int) -> None:
            seen.append((directory, a, b))

        test(directory=tmp_path)
        assert seen == [(tmp_path, 1, 2), (tmp_path, 3, 4)]
        assert list(inspect.signature(test).parameters) == ["directory"]

    def test_each_failure_is_named_and_the_others_run(self) -> None:
        seen = []

        @every("number", range(6), ids=lambda number: f"case {number}")
        def test(number: int) -> None:
            seen.append(number)
            if number == 4:
                pytest.fail("four")
            assert number != 1, "one"

        with pytest.raises(pytest.fail.Exception) as caught:
            test()
        assert seen == [0, 1, 2, 3, 4, 5]
        text = str(caught.value)
        assert text.startswith("2 of 6 cases failed\n--- case 1\n")
        assert "AssertionError: one" in text
        assert "--- case 4" in text

    def test_a_list_without_cases_fails(self) -> None:
        test = every("number", [])(lambda number: None)
        with pytest.raises(AssertionError, match="there are no cases"):
            test()

    def test_a_class_has_each_of_its_tests_wrapped(self) -> None:
        @every("number", [1, 2], ids=["first", "second"])
        class TestNumbers:
            def test_is_one(self, number: int) -> None:
                assert number == 1

            def helper(self) -> str:
                return "unchanged"

        with pytest.raises(pytest.fail.Exception, match="1 of 2 cases failed\n--- second"):
            TestNumbers().test_is_one()
        assert TestNumbers().helper() == "unchanged"
