from __future__ import annotations

import pytest

from etconfig.diagnostics import (
    did_you_mean,
    did_you_mean_backend,
    is_certain,
    nearest,
    nearest_backend,
    nearest_word,
    shown_names_near,
)
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


@pytest.mark.parametrize(
    ("word", "guess"),
    [
        ("num_thread", "num_threads"),
        ("NUM-THREADS", "num_threads"),
        ("htreads", "threads"),
        ("detectr", "detector"),
        ("Xnnpack", "XnnpackBackend"),
        ("XnnpackBackedn", "XnnpackBackend"),
        ("cor", "core"),
        ("enable_mem_patern", "enable_mem_pattern"),
        ("raspberry-pi/pi5", "raspberry-pi/pi-5"),
    ],
)
def test_a_typo_is_certain(word: str, guess: str) -> None:
    assert is_certain(word, guess, [guess])


@pytest.mark.parametrize(
    ("word", "guess"),
    [
        ("gpu", "cpu"),
        ("decoder", "encoder"),
        ("disable_arena", "enable_arena"),
        ("min_size", "max_size"),
        ("intra_op_threads", "inter_op_threads"),
        ("maximum", "minimum"),
        ("symmetric", "asymmetric"),
        ("int4", "int8"),
        ("bf16", "f16"),
        ("pi-4", "pi-5"),
        ("linux-arm", "linux-arm64"),
    ],
)
def test_another_word_is_not_certainly_a_typo(word: str, guess: str) -> None:
    assert not is_certain(word, guess, [guess])
    assert not is_certain(guess, word, [word])


def test_of_two_words_as_near_none_is_certain() -> None:
    assert is_certain("layer_x", "layer_xy", ["layer_xy"])
    assert not is_certain("layer_x", "layer_xy", ["layer_xy", "layer_xz"])


def test_of_many_names_the_nearest_are_shown() -> None:
    few = ["b", "a"]
    assert shown_names_near("x", few) == "b, a"
    many = [*(f"name{chr(97 + each)}" for each in range(20)), "intra_op_num_threads"]
    assert shown_names_near("threds", many).startswith("21 options, such as intra_op_num_threads, ")
    assert shown_names_near("threds", many).count(",") == 6


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("gpu", ["cpu", "cuda"], None),
        ("of", ["on", "off"], None),
        ("of", ["off"], None),
        ("CPU", ["cpu", "cuda"], "cpu"),
        ("hihg", ["high", "low"], "high"),
        ("maximize", ["minimize"], None),
        ("fp46", ["fp32", "fp64"], "fp64"),
        ("cpuu", ["cpu", "gpu"], "cpu"),
    ],
)
def test_a_value_is_guessed_only_if_that_is_certain(word: str, known: list[str], meant: str | None) -> None:
    assert nearest_word(word, known) == meant
