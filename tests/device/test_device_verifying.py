"""`device/verify.h`: C++ accepts the bundles that Python accepts, and stays inside of their bytes."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from bundle_tables import list_tables, named_tables, small_tables, text_tables
from device_mutants import accepted_in_cpp, accepted_in_python, check_same_verdicts, wrong_bundles
from device_programs import SANITIZED, device_program
from limit_bundles import limits

from etconfig.device.bundle.bundle_writer import write_tables
from etconfig.device.bundle.row_fields import NONE
from etconfig.device.bundle.step_counter import counted

verifier = device_program("verify_bundles.cpp", "-O1", *SANITIZED)
"""The program that opens bundles and uses those that it accepts, with sanitizers."""


class TestDamagedBundles:
    """A damaged bundle is refused by both readers, or accepted by both and used within its bytes."""

    def test_both_readers_accept_the_same_bundles(self, verifier: Path) -> None:
        check_same_verdicts([str(verifier)], 4_000)

    @pytest.mark.weekly
    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("seed", range(10))
    def test_both_readers_accept_the_same_of_50000_bundles(self, verifier: Path, seed: int) -> None:
        check_same_verdicts([str(verifier)], 5_000, 100 + seed)

    def test_both_readers_have_the_same_limits_of_work(self, verifier: Path) -> None:
        pairs = [(write_tables(limit.accepted), write_tables(limit.refused)) for limit in limits()]
        bundles = [data for pair in pairs for data in pair]
        assert accepted_in_cpp([str(verifier)], bundles) == [True, False] * len(pairs)

    def test_both_readers_refuse_the_same_wrong_numbers(self, verifier: Path) -> None:
        """Every index, and every field that must be there because another one is, wrong one at a time."""
        bundles = dict(pair for tables in (small_tables(), list_tables()) for pair in wrong_bundles(tables))
        wanted = list(map(accepted_in_python, bundles.values()))
        found = accepted_in_cpp([str(verifier)], list(bundles.values()))
        pairs = zip(bundles, wanted, found, strict=True)
        assert not [place for place, in_python, in_cpp in pairs if in_python is not in_cpp]
        assert wanted.count(False) > wanted.count(True) > 0

    def test_every_shortened_bundle_is_refused(self, verifier: Path) -> None:
        sound = write_tables(small_tables())
        shortened = [sound[:size] for size in range(len(sound))]
        assert list(map(accepted_in_python, shortened)) == accepted_in_cpp([str(verifier)], shortened)

    @pytest.mark.parametrize("mask", [0x01, 0xFF])
    def test_every_byte_may_be_flipped(self, verifier: Path, mask: int) -> None:
        sound = write_tables(small_tables())
        flipped = [sound[:at] + bytes((byte ^ mask,)) + sound[at + 1 :] for at, byte in enumerate(sound)]
        accepted = accepted_in_cpp([str(verifier)], flipped)
        assert accepted == list(map(accepted_in_python, flipped))
        assert 0 < sum(accepted) < len(flipped)


class TestMisuse:
    """Wrong requests of an application have a status, and read nothing outside of the bundle."""

    def test_problems_other_bundles_opening_again_and_long_texts(self, verifier: Path) -> None:
        second = named_tables()
        candidates = (
            second.candidates[0],
            second.candidates[1]._replace(condition=NONE),
            *second.candidates[2:],
        )
        missing = counted(replace(second, candidates=candidates))
        files = [write_tables(each) for each in (list_tables(), second, text_tables(), missing)]
        stream = b"".join(struct.pack("<I", len(data)) + data for data in files)
        done = subprocess.run([verifier, "check"], input=stream, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
