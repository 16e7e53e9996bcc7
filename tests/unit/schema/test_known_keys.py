"""An option of texts by key refuses keys and texts that the engine behind it would ignore."""

from __future__ import annotations

import pytest
from option_texts import coerce_value
from pydantic import ValidationError

from etconfig.errors import OptionError
from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, KnownKey, option
from etconfig.schema.jsonschema import json_schema
from etconfig.schema.options_reference import markdown_reference
from etconfig.schema.problem import OptionProblem
from etconfig.schema.signature import schema_signature
from etconfig.schema.validate import assemble_options, build_options, check_value

KNOWN = {
    "session.allow_spinning": KnownKey(doc="Wait in a loop.", kind="boolean"),
    "session.block_base": KnownKey(doc="Block size.", kind="integer", minimum=0, maximum=64),
    "session.format": KnownKey(doc="Format.", choices=("ORT", "ONNX")),
    "session.path": KnownKey(doc="A file."),
}


class Entries(BackendOptions):
    extra: dict[str, str] = option({}, applies="load", doc="Entries of a session.", known_keys=KNOWN)


INFO = Entries.option_infos()["extra"]


def problem(raw: object) -> OptionProblem:
    found = check_value(Entries, INFO, raw)
    assert isinstance(found, OptionProblem)
    return found


class TestKeys:
    def test_known_keys_with_fitting_texts_are_taken(self):
        raw = {
            "session.allow_spinning": "0",
            "session.block_base": "4",
            "session.format": "ORT",
            "session.path": "/x y",
        }
        assert coerce_value(INFO, raw) == raw

    def test_an_unknown_key_is_refused_with_the_one_that_was_meant(self):
        found = problem({"session.alow_spinning": "0"})
        assert found.message == (
            "Entries.extra.'session.alow_spinning': expected a known key, given 'session.alow_spinning'"
        )
        assert found.help == "did you mean 'session.allow_spinning'?"
        assert found.path == ("session.alow_spinning",)
        assert found.is_key

    def test_an_unknown_key_like_no_other(self):
        assert problem({"zzz": "0"}).help == (
            "look its name up among the known keys and the options: an engine ignores keys that it "
            "does not know"
        )

    def test_keys_are_texts(self):
        with pytest.raises(OptionError, match="expected keys that are strings, given 1"):
            coerce_value(INFO, {1: "0"})


class TestTexts:
    @pytest.mark.parametrize(
        ("key", "raw", "message", "help"),
        [
            ("session.allow_spinning", "no", "expected one of '0', '1', given 'no' (a string)", 'write "0"'),
            (
                "session.allow_spinning",
                True,
                "expected one of '0', '1', given true (a boolean)",
                'write "1"',
            ),
            (
                "session.block_base",
                4,
                "expected an integer >= 0 and <= 64 as a string, given 4 (an integer)",
                'write "4"',
            ),
            (
                "session.block_base",
                "65",
                "expected an integer >= 0 and <= 64 as a string, given '65' (a string)",
                "write an integer >= 0 and <= 64 as a string",
            ),
            ("session.format", "ort", "expected one of 'ORT', 'ONNX', given 'ort' (a string)", 'write "ORT"'),
            (
                "session.format",
                "ONX",
                "expected one of 'ORT', 'ONNX', given 'ONX' (a string)",
                "did you mean 'ONNX'?",
            ),
            ("session.path", 5, "expected a string, given 5 (an integer)", 'write "5"'),
        ],
    )
    def test_a_text_that_the_engine_does_not_understand(self, key, raw, message, help):
        found = problem({key: raw})
        assert found.message == f"Entries.extra.'{key}': {message}"
        assert found.help == help
        assert not found.is_key

    def test_calling_the_class_checks_the_same(self):
        with pytest.raises(ValidationError, match="expected a known key"):
            Entries(extra={"session.alow_spinning": "0"})
        with pytest.raises(ValidationError, match="expected one of '0', '1'"):
            Entries(extra={"session.allow_spinning": "yes!"})
        assert Entries(extra={"session.path": "x"}) == assemble_options(
            Entries, {"extra": {"session.path": "x"}}
        )

    def test_a_subclass_keeps_its_parents_keys(self):
        class More(Entries):
            more: int = option(1, applies="load", doc="More.")

        assert build_options(More, {"extra": {"session.path": "x"}}).options is not None
        assert assemble_options(More, {}) is not None
        with pytest.raises(ValidationError, match="expected a known key"):
            More(extra={"a": "0"})


class TestDeclaration:
    @pytest.mark.parametrize("annotation", [dict[str, int], str, "dict[str, str] | None", tuple[str, ...]])
    def test_only_tables_of_texts_have_known_keys(self, annotation):
        fields = {
            "__annotations__": {"extra": annotation},
            "__module__": __name__,
            "extra": option({}, applies="load", doc="Entries.", known_keys=KNOWN),
        }
        with pytest.raises(TypeError, match=r"expected dict\[str, str\]|has a wrong default"):
            type("Wrong", (BackendOptions,), fields)

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [({}, "is empty"), ({"a": "b"}, "must map keys to KnownKey"), (["a"], "must map keys to KnownKey")],
    )
    def test_what_known_keys_are(self, wrong, error):
        with pytest.raises((TypeError, ValueError), match=error):
            option({}, applies="load", doc="Entries.", known_keys=wrong)

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"doc": " "}, "needs a doc"),
            ({"doc": "x", "kind": "float"}, "expected 'string', 'integer' or 'boolean'"),
            ({"doc": "x", "kind": "boolean", "choices": ("a",)}, "has no choices"),
            ({"doc": "x", "minimum": 1}, "has no bounds"),
            ({"doc": "x", "kind": "integer", "minimum": 1, "maximum": 0}, "minimum is 1, above maximum, 0"),
        ],
    )
    def test_what_a_known_key_is(self, fields, error):
        with pytest.raises(ValueError, match=error):
            KnownKey(**fields)


class TestReports:
    SPEC = BackendSpec(id="AcmeBackend", doc="An engine.", options=Entries, api=ApiRange(1, 1))

    def test_json_schema_lists_the_keys(self):
        schema = json_schema(self.SPEC)["properties"]["extra"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["session.allow_spinning"]["enum"] == ["0", "1"]
        assert schema["properties"]["session.block_base"]["pattern"] == "^-?[0-9]{1,19}$"

    def test_the_reference_lists_the_keys(self):
        text = markdown_reference(self.SPEC)
        assert "Keys of `extra`; others are refused:" in text
        assert "| `session.format` | one of 'ORT', 'ONNX' | Format. |" in text

    def test_another_set_of_keys_is_another_schema(self):
        class Fewer(BackendOptions):
            extra: dict[str, str] = option(
                {}, applies="load", doc="Entries.", known_keys={"session.path": KnownKey(doc="A file.")}
            )

        fewer = BackendSpec(id="AcmeBackend", doc="An engine.", options=Fewer, api=ApiRange(1, 1))
        assert schema_signature(fewer) != schema_signature(self.SPEC)


class WithOptions(BackendOptions):
    spinning: bool = option(True, applies="load", doc="Spinning.")
    extra: dict[str, str] = option(
        {},
        applies="load",
        doc="Entries.",
        known_keys=KNOWN,
        keys_of_options={"session.own_spinning": "spinning"},
    )


class TestKeysOfOptions:
    """A key that another option sets is refused with the name of that option."""

    @pytest.mark.parametrize("key", ["session.own_spinning", "session.own_spining"])
    def test_it_names_the_option(self, key):
        with pytest.raises(OptionError, match=r"expected a known key.*set the option 'spinning' instead"):
            coerce_value(WithOptions.option_infos()["extra"], {key: "0"})

    def test_other_keys_are_taken(self):
        raw = {"session.path": "x"}
        assert coerce_value(WithOptions.option_infos()["extra"], raw) == raw

    @pytest.mark.parametrize(
        ("known", "wrong", "error"),
        [
            (None, {"a": "b"}, "needs known_keys"),
            (KNOWN, {"a": 1}, "must map keys to names of options"),
            (KNOWN, ["a"], "must map keys to names of options"),
            (KNOWN, {"session.path": "spinning"}, "has the known key 'session.path'"),
        ],
    )
    def test_what_it_is(self, known, wrong, error):
        with pytest.raises((TypeError, ValueError), match=error):
            option({}, applies="load", doc="Entries.", known_keys=known, keys_of_options=wrong)
