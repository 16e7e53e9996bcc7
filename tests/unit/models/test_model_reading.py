from __future__ import annotations

from pathlib import Path

import pytest

from etconfig.diagnostics import Diagnostic
from etconfig.errors import ModelError, ProfileError
from etconfig.expression import ExpressionParser
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.models.catalog import ModelCatalog, join_catalogs
from etconfig.models.reading import parse_models, parse_models_files
from etconfig.profile.document import parse_document

DETECTOR = """\
[model.detector]
fallback = true

[[model.detector.variants]]
file = "qnn/detector.pte"
when = 'soc.model == "SM8650"'
data = ["weights.ptd"]

[[model.detector.variants]]
file = "detector.xnnpack.pte"
"""


def parse(text: str, name: str = "models.toml") -> ModelCatalog:
    document = parse_document(text, name, path=Path("there") / name)
    return parse_models(document, ExpressionParser(BUILTIN_FACTS))


def problems_of(text: str, name: str = "models.toml") -> list[Diagnostic]:
    with pytest.raises(ProfileError) as caught:
        parse(text, name)
    return list(caught.value.diagnostics)


def problem_of(text: str, name: str = "models.toml") -> tuple[str, str, str, str | None]:
    """The code, the place, the message and the help of the only problem."""
    (problem,) = problems_of(text, name)
    span = problem.spans[0]
    return problem.code, f"{span.line}:{span.column}", problem.message, problem.help


class TestModels:
    """`[model.NAME]` has a list of variants, in the order in which they are tried."""

    def test_variants_keep_their_order_conditions_and_files(self) -> None:
        (model,) = parse(DETECTOR)
        assert (model.name, model.fallback) == ("detector", True)
        first, second = model.variants
        assert (first.number, str(first), str(first.when)) == (
            1,
            "qnn/detector.pte",
            'soc.model == "SM8650"',
        )
        assert (second.number, str(second), second.when) == (2, "detector.xnnpack.pte", None)
        assert (first.span.line, model.span.line) == (5, 1)

    def test_paths_are_relative_to_the_document(self) -> None:
        first, second = parse(DETECTOR).find("detector").variants
        assert first.path == Path("there/qnn/detector.pte")
        assert (first.data_paths, second.data_paths) == ((Path("there/weights.ptd"),), ())
        assert (second.data, parse_data("[]")) == (None, ())

    def test_a_model_has_no_fallback_unless_it_says_so(self) -> None:
        assert not parse('[[model.a.variants]]\nfile = "a.pte"\n').find("a").fallback

    def test_a_project_file_may_have_other_tables(self) -> None:
        text = f"profile = 'auto'\n[options.XnnpackBackend]\nnum_threads = 1\n{DETECTOR}"
        assert len(parse(text, "etconfig.toml")) == 1
        text = DETECTOR.replace("[model", "[tool.etconfig.model").replace("[[model", "[[tool.etconfig.model")
        assert len(parse(text, "pyproject.toml")) == 1

    def test_a_document_without_models_has_an_empty_catalog(self) -> None:
        assert len(parse("", "etconfig.toml")) == len(parse("", "pyproject.toml")) == 0

    def test_a_project_file_names_files_of_models(self) -> None:
        document = parse_document('models = ["a.toml", "b.toml"]', "etconfig.toml")
        assert [each.target for each in parse_models_files(document)] == ["a.toml", "b.toml"]
        assert parse_models_files(parse_document("", "pyproject.toml")) == ()


def parse_data(value: str) -> object:
    text = f'[[model.a.variants]]\nfile = "a.pte"\ndata = {value}\n'
    return parse(text).find("a").variants[0].data


class TestProblems:
    """Each mistake is reported once, at its place, with a way out."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[model.a]\n", ("missing-key", "1:8", "[model.a] has no 'variants'")),
            ("[model.a]\nvariants = []\n", ("missing-key", "1:8", "[model.a] has no 'variants'")),
            (
                "[[model.a.variants]]\nwhen = 'true'\n",
                ("missing-key", "1:11", "[[model.a.variants]] has no 'file'"),
            ),
            (
                '[[model.a.variants]]\nfile = ""\n',
                ("wrong-type", "2:8", "'file' must be a path, but is empty"),
            ),
            (
                "[[model.a.variants]]\nfile = 3\n",
                ("wrong-type", "2:8", "'model.a.variants.file' must be a string, but is an int"),
            ),
            (
                '[[model.a.variants]]\nfile = "a.pte"\ndata = "a.ptd"\n',
                ("wrong-type", "3:8", "'model.a.variants.data' must be an array of strings, but is a string"),
            ),
            (
                '[[model.a.variants]]\nfile = "a.pte"\nwhen = true\n',
                ("wrong-type", "3:8", "'model.a.variants.when' must be a string, but is a bool"),
            ),
            (
                '[model.a]\nfallback = "yes"\n[[model.a.variants]]\nfile = "a.pte"\n',
                ("wrong-type", "2:12", "'model.a.fallback' must be true or false, but is a string"),
            ),
            ("model = 3\n", ("wrong-type", "1:9", "'model' must be a table, but is an int")),
            ('[model]\nfile = "a.pte"\n', ("wrong-type", "2:8", "'model.file' must be a table")),
            (
                '[model."a b"]\n[[model."a b".variants]]\nfile = "a.pte"\n',
                ("invalid-name", "1:8", "'a b' cannot be a model's name"),
            ),
        ],
    )
    def test_a_wrong_table_is_reported_at_its_place(self, text: str, expected: tuple[str, str, str]) -> None:
        code, place, message, help = problem_of(text)
        assert (code, place) == expected[:2]
        assert message.startswith(expected[2])
        assert help

    @pytest.mark.parametrize(
        ("line", "help"),
        [
            ("if = 'true'", "did you mean 'when'?"),
            ("wehn = 'true'", "did you mean 'when'?"),
            ('weights = ["a.ptd"]', "did you mean 'data'?"),
            (
                "fallback = true",
                "its keys are file, backend, when, data, fits, memory, bytes, sha256, source",
            ),
            ("color = 1", "its keys are file, backend, when, data, fits, memory, bytes, sha256, source"),
        ],
    )
    def test_an_unknown_key_of_a_variant_gets_a_suggestion(self, line: str, help: str) -> None:
        found = problem_of(f'[[model.a.variants]]\nfile = "a.pte"\n{line}\n')
        assert (found[0], found[1], found[3]) == ("unknown-key", "3:1", help)

    def test_another_word_for_file_is_a_fix(self) -> None:
        (problem,) = problems_of('[[model.a.variants]]\npath = "a.pte"\n')
        assert (problem.code, problem.help) == ("unknown-key", "did you mean 'file'?")
        assert problem.fix is not None
        assert problem.fix.replacement == "file"

    def test_an_unknown_key_of_a_model_gets_a_suggestion(self) -> None:
        text = '[model.a]\nfallbak = true\n[[model.a.variants]]\nfile = "a.pte"\n'
        assert problem_of(text)[3] == "did you mean 'fallback'?"
        text = "[model.a]\nwhen = 'true'\n[[model.a.variants]]\nfile = \"a.pte\"\n"
        assert problem_of(text)[3] == "write when under [[model.a.variants]]"

    def test_an_array_of_models_becomes_their_variants(self) -> None:
        (problem,) = problems_of('[[model.a]]\nfile = "a.pte"\n')
        assert problem.help == "write [[model.a.variants]]"
        assert problem.fix is not None

    def test_a_name_that_must_be_quoted_is_quoted_in_the_help(self) -> None:
        found = [each for each in problems_of('[model."a b"]\n') if each.code == "missing-key"]
        assert [(each.message, each.help) for each in found] == [
            (
                "[model.\"a b\"] has no 'variants'",
                'write [[model."a b".variants]] with a file for each program of the model, '
                "or backends = [...] if an engine runs it without a program",
            )
        ]

    def test_models_in_place_of_model_is_a_fix(self) -> None:
        with pytest.raises(ProfileError) as caught:
            parse_models_files(parse_document('[[models.a.variants]]\nfile = "a.pte"\n', "etconfig.toml"))
        (problem,) = caught.value.diagnostics
        assert problem.help is not None
        assert problem.help.startswith("write [model.a]")
        assert problem.fix is not None

    def test_a_file_of_models_has_nothing_else(self) -> None:
        found = problem_of(f"{DETECTOR}\n[options.XnnpackBackend]\nnum_threads = 1\n")
        assert found[0] == "unknown-key"
        assert problem_of(f"{DETECTOR}\n[profile]\nname='a'\n")[3] == "its keys are model"

    def test_conditions_are_checked_where_they_are_written(self) -> None:
        text = '[[model.a.variants]]\nfile = "a.pte"\nwhen = \'os.nam == "linux"\'\n'
        code, place, _, help = problem_of(text)
        assert (code, place, help) == ("unknown-fact", "3:9", "did you mean 'os.name'?")
        code, place, _, _ = problem_of(
            "[[model.a.variants]]\nfile = \"a.pte\"\nwhen = 'cpu.available_cores'\n"
        )
        assert (code, place) == ("expression-type", "3:9")

    def test_all_problems_are_found_in_one_run(self) -> None:
        text = "[model.a]\nfallbak = true\n[[model.a.variants]]\nfile = 3\nwhen = 'os.nam'\n[model.b]\n"
        assert len(problems_of(text)) == 4


class TestCatalog:
    """A model is found by its name."""

    def test_an_unknown_name_gets_a_suggestion(self) -> None:
        with pytest.raises(ModelError, match="did you mean 'detector'"):
            parse(DETECTOR).find("detektor")

    def test_an_empty_catalog_says_where_models_are_declared(self) -> None:
        with pytest.raises(ModelError, match=r"declare \[model.NAME\] in the project file"):
            ModelCatalog({}).find("detector")

    def test_two_files_with_one_name_are_a_problem(self) -> None:
        with pytest.raises(ModelError) as caught:
            join_catalogs([parse(DETECTOR), parse(DETECTOR, "more.toml")])
        (problem,) = caught.value.diagnostics
        assert [span.file for span in problem.spans] == ["more.toml", "models.toml"]
