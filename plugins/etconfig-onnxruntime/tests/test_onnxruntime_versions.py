"""Config entries that the installed version of ONNX Runtime would ignore."""

from __future__ import annotations

import pytest
from etconfig_onnxruntime.engine import version_numbers
from etconfig_onnxruntime.known_entries import KNOWN_SESSION_ENTRIES
from etconfig_onnxruntime.options import DYNAMIC_ENTRIES, OnnxRuntimeOptions
from etconfig_onnxruntime.plugin import SPEC
from etconfig_onnxruntime.session_entries import SESSION_ENTRIES
from etconfig_onnxruntime.settings import set_entries
from etconfig_onnxruntime.versions import INTRODUCED, check_versions, is_known, since, since_text

from etconfig.plugin.v1 import BackendUnavailableError

OPTIONS = {**SESSION_ENTRIES, **DYNAMIC_ENTRIES}


class TestVersions:
    """Each entry has the version that introduced it, if that is newer than the oldest supported one."""

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [("1.24.4", (1, 24, 4)), ("1.33.0.dev20261101", (1, 33, 0)), ("1.32.0+cu12", (1, 32)), ("dev", None)],
    )
    def test_the_numbers_of_a_version(self, text: str, numbers: tuple[int, ...] | None) -> None:
        assert version_numbers(text) == numbers

    def test_every_listed_key_is_an_option_or_a_known_entry(self) -> None:
        listed = {key for keys in INTRODUCED.values() for key in keys}
        assert listed <= {*OPTIONS.values(), *KNOWN_SESSION_ENTRIES}

    def test_the_docs_name_the_versions(self) -> None:
        docs = {key: OnnxRuntimeOptions.option_infos()[name].doc for name, key in OPTIONS.items()}
        docs |= {key: known.doc for key, known in KNOWN_SESSION_ENTRIES.items()}
        for key, doc in docs.items():
            version = since(key)
            assert ("Since ONNX Runtime" in doc) == (version is not None), key
            assert version is None or doc.endswith(since_text(version)), key

    @pytest.mark.parametrize(
        ("version", "expected"),
        [("1.25.1", False), ("1.26.0", True), ("1.32.0", True), ("1.26.dev1", True), ("dev", True)],
    )
    def test_an_entry_is_known_from_its_version_on(self, version: str, expected: bool) -> None:
        assert is_known(version, "session.intra_op.spin_duration_us") is expected
        assert is_known(version, "session.intra_op.allow_spinning")


class TestErrors:
    """An option that this version ignores is refused with both versions."""

    def test_all_are_named(self) -> None:
        options = OnnxRuntimeOptions(
            intra_op_spin_duration_us=500,
            workload_type="Efficient",
            config_entries={"session.prepack.enable_parallel": "1"},
        )
        with pytest.raises(BackendUnavailableError) as caught:
            check_versions("1.23.2", set_entries(options))
        assert str(caught.value) == (
            f"backend '{SPEC.id}' cannot run here: ONNX Runtime 1.23.2 is installed, which ignores "
            "intra_op_spin_duration_us (since 1.26), workload_type (since 1.24), "
            "config_entries['session.prepack.enable_parallel'] (since 1.31); "
            "install ONNX Runtime 1.31 or newer, or leave them out"
        )
        check_versions("1.31.0", set_entries(options))

    def test_a_value_that_is_the_default_is_not_set(self) -> None:
        check_versions("1.23.0", set_entries(OnnxRuntimeOptions(intra_op_spin_backoff_max=1)))


@pytest.mark.engines
class TestSessions:
    """Sessions of an older version."""

    @pytest.fixture(autouse=True)
    def _older(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ort = pytest.importorskip("onnxruntime")
        self.model = pytest.importorskip("onnx.helper")
        monkeypatch.setattr(ort, "__version__", "1.24.4")

    def data(self) -> bytes:
        helper = self.model
        value = [helper.make_tensor_value_info(name, 1, [4]) for name in "xy"]
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        data: bytes = made.SerializeToString()
        return data

    def test_they_are_not_built_with_what_they_ignore(self) -> None:
        for arguments in ((self.data(),), ()):
            with pytest.raises(
                BackendUnavailableError, match=r"1\.24\.4 is installed.* \(since 1\.26\).*1\.26 or newer"
            ):
                SPEC.build(OnnxRuntimeOptions(intra_op_spin_duration_us=500), *arguments)

    def test_what_they_do_not_read_is_unknown(self) -> None:
        session = SPEC.build(OnnxRuntimeOptions(intra_op_num_threads=1), self.data())
        found = SPEC.effective(session)
        assert found["intra_op_spin_backoff_max"].reason == (
            "ONNX Runtime 1.24.4 does not read it; 1.26 introduced it"
        )
        assert found["disable_prepacking"].value is False

    def test_a_loaded_session_is_not_changed_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import onnxruntime

        session = SPEC.build(OnnxRuntimeOptions(intra_op_num_threads=1), self.data())
        monkeypatch.setattr(onnxruntime, "__version__", "1.23.2")
        new = OnnxRuntimeOptions(workload_type="Efficient")
        with pytest.raises(BackendUnavailableError, match=r"workload_type \(since 1\.24\)"):
            SPEC.update(session, new, OnnxRuntimeOptions(), frozenset({"workload_type"}))
