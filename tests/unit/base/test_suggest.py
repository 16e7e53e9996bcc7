from __future__ import annotations

import pytest

from etconfig.diagnostics import did_you_mean, did_you_mean_backend, nearest, nearest_backend
from etconfig.diagnostics.suggest import edit_distance

OPTIONS = ["num_threads", "workspace_sharing_mode", "core"]


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3), ("", "ab", 2)],
)
def test_edit_distance_counts_insertions_deletions_changes_and_swaps(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b, 5) == distance
    assert edit_distance(b, a, 5) == distance


def test_edit_distance_stops_at_its_limit() -> None:
    assert edit_distance("a" * 50, "b" * 50, 3) == 4


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("num_thread", "num_threads"),
        ("NUM_THREADS", "num_threads"),
        ("cor", "core"),
        ("workspace_sharing", "workspace_sharing_mode"),
        ("x", None),
        ("a" * 1000, None),
    ],
)
def test_nearest_finds_likely_typos_only(typo: str, meant: str | None) -> None:
    assert nearest(typo, OPTIONS) == meant


def test_nearest_prefers_the_alphabetically_first_of_equals() -> None:
    assert nearest("bat", ["cat", "bar"]) == "bar"


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("Xnnpack", "XnnpackBackend"),
        ("XNNPACK", "XnnpackBackend"),
        ("XnpackBackend", "XnnpackBackend"),
        ("xnnpackbackend", "XnnpackBackend"),
        ("scalin", "Scaling"),
        ("VulkanBackned", "VulkanBackend"),
        ("QnnBackend", None),
        ("Backend", None),
    ],
)
def test_of_a_backend_the_word_backend_does_not_count(typo: str, meant: str | None) -> None:
    assert nearest_backend(typo, ["XnnpackBackend", "VulkanBackend", "Scaling"]) == meant


def test_did_you_mean_is_a_question() -> None:
    assert did_you_mean("num_thread", OPTIONS) == "did you mean 'num_threads'?"
    assert did_you_mean("zzz", OPTIONS) is None
    assert did_you_mean_backend("xnnpack", ["XnnpackBackend"]) == "did you mean 'XnnpackBackend'?"


def test_a_name_is_never_suggested_for_itself() -> None:
    assert nearest("core", ["core"]) is None
    assert nearest("core", ["core", "cores"]) == "cores"
