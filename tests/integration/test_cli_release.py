"""`etconfig pack --revision --not-after --sign`, and `etconfig inspect --public-key`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import etconfig

pytest.importorskip("cryptography", reason="the extra [sign] is not installed")
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PROFILE = """[profile]
name = "acme/board"
match = 'cpu.available_cores > 2'
[options.ReferenceCpuBackend]
num_threads = 2
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with keys and a profile, in which commands run."""
    monkeypatch.chdir(tmp_path)
    private = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    Path("key.pem").write_bytes(private)
    Path("key.pem").chmod(0o600)
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    Path("public.pem").write_bytes(public)
    Path("board.toml").write_text(PROFILE)
    return tmp_path


def pack(cli: Callable[..., Any], *words: str) -> Any:
    return cli("pack", "--profile", "board.toml", "-o", "app.etbundle", *words)


class TestPack:
    """Options of a release."""

    def test_a_release_has_what_was_given(self, place: Path, cli: Callable[..., Any]) -> None:
        outcome = pack(cli, "--revision", "7", "--not-after", "2099-12-31", "--sign", "key.pem")
        assert outcome.status == 0, outcome.stderr
        first = Path("app.etbundle").read_bytes()
        described = json.loads(cli("inspect", "app.etbundle", "--json").stdout)
        assert described["revision"] == 7
        assert described["not_after"] == "2099-12-31T23:59:59+00:00"
        assert described["is_signed"] is True
        assert described["least_reader"] == 2
        assert described["id"] == described["fingerprint"][:16]
        assert re.fullmatch("[0-9a-f]{64}", described["sources"])
        assert pack(cli, "--revision", "7", "--not-after", "2099-12-31", "--sign", "key.pem").status == 0
        assert Path("app.etbundle").read_bytes() == first  # equal input, equal bytes

    def test_without_options_nothing_is_released(self, place: Path, cli: Callable[..., Any]) -> None:
        assert pack(cli).status == 0
        described = json.loads(cli("inspect", "app.etbundle", "--json").stdout)
        assert [described[name] for name in ("revision", "not_after", "is_signed")] == [None, None, False]
        assert ", without revision; not signed" in cli("inspect", "app.etbundle").stdout

    def test_the_sources_are_the_documents_and_the_id_is_what_they_decide(
        self, place: Path, cli: Callable[..., Any]
    ) -> None:
        found = []
        for text in (PROFILE, PROFILE + "# a comment", PROFILE.replace(" > ", ">")):
            Path("board.toml").write_text(text)
            pack(cli)
            bundle = etconfig.load_bundle("app.etbundle")
            found.append((bundle.id, bundle.sources))
        ids, sources = zip(*found, strict=True)
        assert sources[0] == sources[1] != sources[2]
        assert ids[0] == ids[1] != ids[2]

    def test_configurations_are_released_too(self, place: Path, cli: Callable[..., Any]) -> None:
        assert pack(cli, "--here", "--revision", "3", "--sign", "key.pem").status == 0
        bundle = etconfig.load_bundle("app.etbundle")
        assert (bundle.revision, bundle.is_signed, bundle.sources) == (3, True, None)

    @pytest.mark.parametrize(
        ("date", "until"),
        [
            ("2099-12-31T18:00:00Z", "2099-12-31T18:00:00+00:00"),
            ("2099-12-31T18:00:00+02:00", "2099-12-31T16:00:00+00:00"),
            ("2096-02-29", "2096-02-29T23:59:59+00:00"),
        ],
    )
    def test_times_have_a_zone_and_days_are_of_utc(
        self, date: str, until: str, place: Path, cli: Callable[..., Any]
    ) -> None:
        assert pack(cli, "--not-after", date).status == 0
        assert json.loads(cli("inspect", "app.etbundle", "--json").stdout)["not_after"] == until

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (("--not-after", "2020-01-01"), "--not-after is past: every device would refuse the bundle"),
            (("--not-after", "2099-02-29"), "invalid value for '--not-after'"),
            (("--not-after", "2099-12-31T18:00:00"), "invalid value for '--not-after'"),
            (("--not-after", "tomorrow"), "expected 2027-12-31 or 2027-12-31T18:00:00Z, given 'tomorrow'"),
            (("--revision", "0"), "0 is not in the range"),
            (("--revision", "9007199254740992"), "is not in the range"),
            (("--revision", "1.5"), "invalid value for '--revision'"),
            (("--sign", "public.pem"), "public.pem: expected a private Ed25519 key in PEM"),
            (("--sign", "nowhere.pem"), "cannot read nowhere.pem"),
        ],
    )
    def test_a_wrong_release_is_refused_before_anything_is_packed(
        self, words: tuple[str, str], problem: str, place: Path, cli: Callable[..., Any]
    ) -> None:
        outcome = pack(cli, *words)
        assert outcome.status == 2
        assert problem in outcome.stderr
        assert not Path("app.etbundle").exists()

    def test_code_is_not_released(self, place: Path, cli: Callable[..., Any]) -> None:
        for words in (("--revision", "1"), ("--not-after", "2099-12-31"), ("--sign", "key.pem")):
            outcome = cli("pack", "--here", "--emit", "cpp", *words)
            assert outcome.status == 2
            assert f"only bundles are released: leave out {words[0]}" in outcome.stderr


class TestInspect:
    """`--public-key` accepts a bundle that the key signed, and refuses every other one."""

    def test_the_right_key(self, place: Path, cli: Callable[..., Any]) -> None:
        pack(cli, "--revision", "7", "--sign", "key.pem")
        assert "; signed, not verified (give --public-key)" in cli("inspect", "app.etbundle").stdout
        outcome = cli("inspect", "app.etbundle", "--public-key", "public.pem")
        assert outcome.status == 0
        assert "revision 7; signed with the key of public.pem\n" in outcome.stdout

    def test_a_wrong_bundle(self, place: Path, cli: Callable[..., Any]) -> None:
        pack(cli)
        outcome = cli("inspect", "app.etbundle", "--public-key", "public.pem")
        assert outcome.status == 2
        assert outcome.stdout == ""
        assert "error[invalid-signature]: the bundle is not signed\n --> app.etbundle:1:1" in outcome.stderr
        pack(cli, "--sign", "key.pem")
        data = bytearray(Path("app.etbundle").read_bytes())
        data[-1] ^= 1
        Path("app.etbundle").write_bytes(data)
        outcome = cli("inspect", "app.etbundle", "--public-key", "public.pem", "--json")
        assert outcome.status == 2
        assert "the signature of the bundle is wrong" in outcome.stderr

    def test_a_program_has_no_signature(self, place: Path, cli: Callable[..., Any]) -> None:
        Path("model.pte").write_bytes(b"")
        outcome = cli("inspect", "model.pte", "--public-key", "public.pem")
        assert outcome.status == 2
        assert "model.pte is not an .etbundle: leave out --public-key" in outcome.stderr


def test_a_decision_names_its_bundle(place: Path, cli: Callable[..., Any]) -> None:
    pack(cli, "--revision", "7")
    bundle = etconfig.load_bundle("app.etbundle")
    outcome = cli("resolve", "--bundle", "app.etbundle", "--fact", "cpu.available_cores=4")
    assert outcome.stdout.splitlines()[:2] == ["profile acme/board", f"bundle {bundle.id}, revision 7"]
    outcome = cli("resolve", "--bundle", "app.etbundle", "--fact", "cpu.available_cores=4", "--json")
    decided = json.loads(outcome.stdout)
    assert (decided["bundle"], decided["revision"]) == (bundle.id, 7)
