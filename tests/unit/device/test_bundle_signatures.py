"""Releases of bundles: revisions, times, and signatures that cover every byte."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from bundle_tables import FINGERPRINT, small_tables

from etconfig.device.device_bundle import DeviceBundle, load_bundle
from etconfig.errors import EtconfigError, MissingPackageError, SavedResultError

pytest.importorskip("cryptography", reason="the extra [sign] is not installed")
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
EC = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
UTC = timezone.utc


def pem(key: Any, password: bytes | None = None) -> bytes:
    how = NoEncryption() if password is None else BestAvailableEncryption(password)
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))


def public_pem(key: Any) -> bytes:
    return bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def written(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return written(tmp_path / "key.pem", pem(KEY))


@pytest.fixture
def public(tmp_path: Path) -> Path:
    return written(tmp_path / "public.pem", public_pem(KEY), 0o644)


def bundle() -> DeviceBundle:
    return DeviceBundle(small_tables())


class TestReleases:
    """A release has a revision and a last second; it decides as before, and so keeps its id."""

    def test_it_is_read_as_it_was_written(self) -> None:
        until = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
        released = bundle().released(revision=7, not_after=until)
        read = DeviceBundle.from_bytes(released.to_bytes())
        assert (read.revision, read.not_after) == (7, datetime(2030, 1, 1, 10, tzinfo=UTC))
        assert (read.id, read.fingerprint) == (FINGERPRINT[:16], FINGERPRINT)
        plain = DeviceBundle.from_bytes(bundle().to_bytes())
        assert (plain.revision, plain.not_after, plain.sources, plain.is_signed) == (None, None, None, False)
        assert read.released().to_bytes() == plain.to_bytes()

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"revision": 0}, ValueError, "from 1 to 9007199254740991, given 0"),
            ({"revision": 1 << 53}, ValueError, "given 9007199254740992"),
            ({"revision": -1}, ValueError, "given -1"),
            ({"revision": True}, ValueError, "given True"),
            ({"revision": "7"}, TypeError, "revision: expected a number"),
            ({"revision": 1.5}, TypeError, "revision: expected a number"),
            ({"not_after": datetime(2030, 1, 1)}, ValueError, "expected a time with a time zone"),
            ({"not_after": datetime(1970, 1, 1, tzinfo=UTC)}, ValueError, "expected a time after 1970"),
            ({"not_after": "2030-01-01"}, TypeError, "not_after: expected a datetime"),
        ],
    )
    def test_anything_else_is_refused(
        self, settings: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            bundle().released(**settings)

    def test_the_last_time_is_one_that_every_reader_knows(self) -> None:
        until = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
        released = bundle().released(not_after=until)
        assert DeviceBundle.from_bytes(released.to_bytes()).not_after == until


class TestSignatures:
    """The file is the bundle, ETCBSIG1, and 64 bytes over everything before them."""

    def test_the_signature_is_that_of_the_documentation(self, key: Path, public: Path) -> None:
        plain = bundle().released(revision=7)
        signed = plain.signed(key)
        data = signed.to_bytes()
        assert data[:-72] == plain.to_bytes()
        assert data[-72:-64] == b"ETCBSIG1"
        KEY.public_key().verify(data[-64:], data[:-64])  # raises otherwise
        assert signed.is_signed
        signed.check_signature(public)
        assert bundle().released(revision=7).signed(key).to_bytes() == data  # equal input, equal bytes
        assert signed.signed(key).to_bytes() == data  # in place of the one before

    def test_the_bytes_of_a_file_stay_as_they_are(self, key: Path, public: Path, tmp_path: Path) -> None:
        signed = bundle().signed(key)
        signed.save(tmp_path / "app.etbundle")
        read = load_bundle(tmp_path / "app.etbundle")
        assert read.to_bytes() == signed.to_bytes()
        read.check_signature(public)
        assert not read.released(revision=2).is_signed

    def test_no_changed_byte_is_accepted(self, public: Path) -> None:
        data = bundle().signed(KEY.sign).to_bytes()
        for at in range(len(data)):
            changed = bytearray(data)
            changed[at] ^= 1 << at % 8
            try:
                read = DeviceBundle.from_bytes(bytes(changed))
            except SavedResultError:
                continue
            with pytest.raises(SavedResultError, match=r"signature of the bundle is wrong|is not signed"):
                read.check_signature(public)

    def test_the_signature_of_another_bundle_is_refused(self, public: Path) -> None:
        one, two = (bundle().released(revision=number).signed(KEY.sign).to_bytes() for number in (1, 2))
        with pytest.raises(SavedResultError, match="signature of the bundle is wrong"):
            DeviceBundle.from_bytes(one[:-64] + two[-64:]).check_signature(public)
        with pytest.raises(SavedResultError, match="the bundle is not signed"):
            bundle().check_signature(public)

    def test_a_reference_into_the_signature_is_refused(self) -> None:
        """The bundle ends where its signature begins, so that nothing is read which was not signed."""
        data = bundle().to_bytes()
        with pytest.raises(SavedResultError, match="it ends too early"):
            DeviceBundle.from_bytes(data[:-72] + b"ETCBSIG1" + data[-64:])

    def test_a_function_may_sign(self, public: Path) -> None:
        bundle().signed(lambda message: KEY.sign(message)).check_signature(public)
        with pytest.raises(ValueError, match="expected 64 bytes from it, given 3"):
            bundle().signed(lambda _message: b"abc")

    def test_a_bundle_that_is_too_large_with_it_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        size = len(bundle().to_bytes())
        monkeypatch.setattr("etconfig.device.device_bundle.MAX_BYTES", size + 71)
        with pytest.raises(SavedResultError, match="with its signature, the bundle is larger than"):
            bundle().signed(KEY.sign)
        monkeypatch.setattr("etconfig.device.device_bundle.MAX_BYTES", size + 72)
        assert bundle().signed(KEY.sign).is_signed

    @pytest.mark.posix
    def test_openssl_signs_and_verifies_the_same(self, key: Path, public: Path, tmp_path: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("no openssl on the PATH")
        message = bundle().to_bytes() + b"ETCBSIG1"
        (tmp_path / "message").write_bytes(message)
        base = ["openssl", "pkeyutl", "-rawin", "-in", "message", "-inkey"]
        done = subprocess.run(
            [*base, key, "-sign", "-out", "signature"], cwd=tmp_path, capture_output=True, check=False
        )
        if b"rawin" in done.stderr or not (tmp_path / "signature").is_file():
            pytest.skip("this openssl does not sign with Ed25519")
        signature = (tmp_path / "signature").read_bytes()
        DeviceBundle.from_bytes(message + signature).check_signature(public)
        (tmp_path / "signature").write_bytes(bundle().signed(key).to_bytes()[-64:])
        verify = [*base, public, "-pubin", "-verify", "-sigfile", "signature"]
        subprocess.run(verify, cwd=tmp_path, capture_output=True, check=True)

    def test_what_somebody_else_signed_is_refused(self, public: Path) -> None:
        other = Ed25519PrivateKey.generate()
        data = bundle().signed(other.sign).to_bytes()
        with pytest.raises(InvalidSignature):
            KEY.public_key().verify(data[-64:], data[:-64])
        with pytest.raises(SavedResultError, match="this key did not make it"):
            DeviceBundle.from_bytes(data).check_signature(public)


class TestKeys:
    """A key that is not one is refused with a name, the expectation and a help."""

    @pytest.mark.parametrize(
        "content",
        [
            pem(RSA),
            pem(EC),
            pem(KEY, b"secret"),
            public_pem(KEY),
            b"",
            b"\0" * 70_000,
            pem(KEY)[:60],
            pem(KEY).replace(b"MC4", b"MC5"),
        ],
    )
    def test_a_private_key(self, content: bytes, tmp_path: Path) -> None:
        path = written(tmp_path / "key.pem", content)
        expected = f"{path}: expected a private Ed25519 key in PEM, without passphrase"
        with pytest.raises(SavedResultError, match=re.escape(expected)) as error:
            bundle().signed(path)
        (problem,) = error.value.diagnostics
        assert (problem.code, problem.spans[0].file) == ("invalid-signature", str(path))
        assert problem.help is not None
        assert "openssl genpkey" in problem.help

    @pytest.mark.parametrize(
        "content",
        [
            pem(KEY),
            b"",
            b"x" * 100,
            public_pem(EC),
            public_pem(KEY)[:50],
        ],
    )
    def test_a_public_key(self, content: bytes, tmp_path: Path) -> None:
        path = written(tmp_path / "public.pem", content)
        with pytest.raises(SavedResultError, match="expected a public Ed25519 key in PEM") as error:
            bundle().signed(KEY.sign).check_signature(path)
        assert "openssl pkey" in str(error.value.diagnostics[0].help)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        for call in (bundle().signed, bundle().check_signature):
            with pytest.raises(SavedResultError, match="cannot read ") as error:
                call(tmp_path / "nowhere")
            assert error.value.diagnostics[0].code == "unreadable-file"
            with pytest.raises(TypeError, match="key: "):
                call(3)  # type: ignore[arg-type]

    @pytest.mark.posix
    @pytest.mark.parametrize(
        ("mode", "is_refused"), [(0o600, False), (0o640, False), (0o604, True), (0o602, True)]
    )
    def test_a_private_key_that_every_user_can_read_or_write(
        self, mode: int, is_refused: bool, tmp_path: Path
    ) -> None:
        path = written(tmp_path / "key.pem", pem(KEY), mode)
        if not is_refused:
            assert bundle().signed(path).is_signed
            return
        with pytest.raises(SavedResultError, match="every user can read or write this private key"):
            bundle().signed(path)

    @pytest.mark.posix
    def test_a_key_may_come_through_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe", 0o666)
        (tmp_path / "pipe").chmod(0o666)
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(pem(KEY),))
        writer.start()
        assert bundle().signed(tmp_path / "pipe").is_signed
        writer.join()

    def test_without_the_extra_the_error_says_how_to_install_it(
        self, key: Path, public: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        signed = bundle().signed(key)
        monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
        for call in (lambda: bundle().signed(key), lambda: signed.check_signature(public)):
            with pytest.raises(MissingPackageError, match="needs the package cryptography") as error:
                call()
            assert "etconfig[sign]" in str(error.value.help)
        assert bundle().signed(KEY.sign).is_signed  # a function needs no package
        assert issubclass(MissingPackageError, EtconfigError)
