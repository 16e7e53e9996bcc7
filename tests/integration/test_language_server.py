"""`etconfig lsp`, as an editor uses it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_client import Editor, editing

HEAD = '[profile]\nname = "acme/board"\n'
NPU = "[options.ReferenceNpuBackend]\n"
CPU = "[options.ReferenceCpuBackend]\n"
EMBEDDED = f"{HEAD}# etconfig: %s because I know\nmatch = 'os.name == \"embedded\"'\n"
WRONG = f"{HEAD}{NPU}core = 7\npower_mode = 'hihg'\n"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("workplace")
    (directory / "acme").mkdir()
    (directory / "etconfig.toml").write_text(
        'profile_path = ["."]\n[options.ReferenceNpuBackend]\ncore = 2\n'
    )
    (directory / "acme/base.toml").write_text(f'[profile]\nname = "acme/base"\n{NPU}core = 1\n')
    return directory


@pytest.fixture(scope="module")
def server(workplace: Path) -> Iterator[Editor]:
    with editing(workplace, device="pi-5") as found:
        yield found


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    """The one server of these tests, with no document open."""
    yield server
    for name in list(server.versions):
        server.close(name)
    server.other.clear()


def messages(found: list[dict[str, Any]]) -> list[str]:
    return [each["message"].partition("\n")[0] for each in found]


def labels(editor: Editor, name: str, mark: str) -> list[str]:
    found = editor.ask("textDocument/completion", editor.place(name, mark))
    return [each["label"] for each in found["items"]]


class TestDiagnostics:
    """Problems are those of `validate`, for the text in the editor."""

    def test_they_are_those_of_the_unsaved_text(self, editor: Editor) -> None:
        editor.open("acme/board.toml", WRONG)
        found = editor.diagnostics("acme/board.toml")
        assert [(each["code"], each["range"]["start"]["line"]) for each in found] == [
            ("invalid-value", 3),
            ("invalid-value", 4),
        ]
        editor.replace("acme/board.toml", f"{HEAD}{NPU}core = 1\n")
        assert editor.diagnostics("acme/board.toml") == []

    def test_columns_count_utf_16_units(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f'methods."日😀".options.ReferenceNpuBackend.coer = 1\n{HEAD}')
        (found,) = editor.diagnostics("acme/board.toml")
        assert found["range"] == {"start": {"line": 0, "character": 42}, "end": {"line": 0, "character": 46}}

    def test_other_files_are_named(self, editor: Editor) -> None:
        editor.open("acme/base.toml", f'[profile]\nname = "acme/base"\n{NPU}core = 8\n')
        editor.open("acme/board.toml", f'{HEAD}extends = ["acme/base"]\n')
        (found,) = editor.diagnostics("acme/board.toml")
        assert "base.toml:4:8: " in found["message"]
        (related,) = found["relatedInformation"]
        assert related["location"]["uri"] == editor.uri("acme/base.toml")
        assert related["location"]["range"]["start"] == {"line": 3, "character": 7}

    def test_an_open_base_counts_unsaved(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f'{HEAD}extends = ["acme/base"]\n')
        assert editor.diagnostics("acme/board.toml") == []
        editor.open("acme/base.toml", "[profile\n")
        assert editor.diagnostics("acme/base.toml")[0]["code"] == "invalid-toml"
        (found,) = editor.diagnostics("acme/board.toml", times=1)
        assert found["code"] == "invalid-toml"

    @pytest.mark.parametrize("base", ["acme/new", "new.toml"])
    def test_unsaved_documents_see_each_other(self, editor: Editor, base: str) -> None:
        editor.open("acme/board.toml", f'{HEAD}extends = ["{base}"]\n{NPU}core = 1\n')
        (found,) = editor.diagnostics("acme/board.toml")
        assert found["code"] == "unknown-profile"
        editor.open("acme/new.toml", f'[profile]\nname = "acme/new"\n{NPU}core = 8\n')
        editor.diagnostics("acme/new.toml")
        (found,) = editor.diagnostics("acme/board.toml", times=1)
        assert "new.toml:4:8: " in found["message"]
        (place,) = editor.ask("textDocument/definition", editor.place("acme/board.toml", f'["{base[:3]}'))
        assert place["uri"] == editor.uri("acme/new.toml")
        editor.close("acme/new.toml")
        (found,) = editor.diagnostics("acme/board.toml", times=1)
        assert found["code"] == "unknown-profile"

    def test_a_changed_file_counts_when_it_is_saved(self, editor: Editor, workplace: Path) -> None:
        (workplace / "acme/other.toml").write_text("[profile\n")
        editor.open("acme/board.toml", f'{HEAD}extends = ["acme/other"]\n')
        assert [each["code"] for each in editor.diagnostics("acme/board.toml")] == ["invalid-toml"]
        (workplace / "acme/other.toml").write_text('[profile]\nname = "acme/other"\n')
        change = {"uri": editor.uri("acme/other.toml"), "type": 2}
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [change]})
        assert editor.diagnostics("acme/board.toml") == []

    def test_comments_allow_findings(self, editor: Editor) -> None:
        comment = "# etconfig: allow backend-not-installed because the vendor has it\n"
        text = f"{HEAD}{NPU}core = 1\n{comment}[options.None]\n"
        editor.open("acme/board.toml", text)
        (found,) = editor.diagnostics("acme/board.toml")
        assert found["code"] == "unused-allowance"

    def test_slow_checks_come_second(self, editor: Editor) -> None:
        either = "[[when]]\nif = 'cpu.logical_cores > %d'\n[when.options.ReferenceCpuBackend]\n"
        text = "".join(either % n + f"num_threads = {{ expr = 'cpu.logical_cores - {n}' }}\n" for n in (1, 2))
        editor.open("acme/board.toml", HEAD + text)
        quick = editor.diagnostics("acme/board.toml", times=1)
        assert len(editor.diagnostics("acme/board.toml", times=1)) >= len(quick)

    @pytest.mark.parametrize("text", ["", "[", "[prof", "# a board\n[[whe"])
    def test_a_profile_may_begin_empty(self, editor: Editor, text: str) -> None:
        editor.open("acme/new.toml", text)
        assert "when" in labels(editor, "acme/new.toml", text)

    @pytest.mark.parametrize(
        "text", ['[profile.release]\nname = "x"\n[dependencies]\n', "[profile\n", "[profile]\n"]
    )
    def test_other_toml_files_are_left_alone(self, editor: Editor, text: str) -> None:
        editor.open("Cargo.toml", text)
        editor.open("acme/board.toml", HEAD)
        assert editor.diagnostics("acme/board.toml") == []
        about = [each["params"] for each in editor.other if each["params"]["uri"].endswith("Cargo.toml")]
        assert not [each for each in about if each["diagnostics"] or each.get("version")]

    def test_a_closed_document_has_none(self, editor: Editor) -> None:
        editor.open("acme/board.toml", WRONG)
        assert editor.diagnostics("acme/board.toml")
        editor.close("acme/board.toml")
        editor.versions["acme/board.toml"] = None  # type: ignore[assignment]
        assert editor.diagnostics("acme/board.toml", times=1) == []
        del editor.versions["acme/board.toml"]

    def test_the_project_file_counts_unsaved(self, editor: Editor) -> None:
        editor.open("etconfig.toml", "profile = 'generic/nay'\n")
        assert messages(editor.diagnostics("etconfig.toml")) == ["there is no profile 'generic/nay'"]

    def test_a_problem_of_toml_has_its_place(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = \n")
        found = editor.diagnostics("acme/board.toml")
        assert found[0]["code"] == "invalid-toml"
        assert found[0]["range"]["start"]["line"] == 2


COMPLETIONS = {
    "keys of a profile": (f"{HEAD}ma|", ["extends", "match"]),
    "tables": (f"{HEAD}[op|", ["options", "methods", "when"]),
    "backends": (f"{HEAD}[options.|", ["ReferenceCpuBackend", "ReferenceNpuBackend"]),
    "options": (f"{HEAD}{NPU}co|", ["core", "power_mode"]),
    "words of a choice": (f"{HEAD}{NPU}power_mode = |", ["low", "balanced", "high"]),
    "words in quotes": (f'{HEAD}{NPU}power_mode = "l|', ["low", "balanced", "high"]),
    "profiles": (f'{HEAD}extends = ["gen|', ["generic/any", "acme/base"]),
    "facts": (f"{HEAD}match = 'cpu.av|", ["cpu.available_cores", "os.name", "size"]),
    "facts in basic strings": (f'{HEAD}match = "cpu.av|', ["cpu.available_cores"]),
    "facts in values": (f"{HEAD}{NPU}core = {{ expr = 'min(cpu.|", ["cpu.available_cores"]),
    "functions": (f"{HEAD}match = 'os.name.st|", ["startsWith", "contains"]),
    "words of a fact": (f"{HEAD}match = 'os.name == \"|", ["linux", "android"]),
    "words of a fact in a list": (f'{HEAD}match = \'os.name in ["linux", "|', ["linux", "android"]),
    "items of facts": (f"{HEAD}match = '\"as|", ["asimddp"]),
    "keys of expressions": (f"{HEAD}{NPU}core = {{ |", ["expr", "unset"]),
    "overlays": (f"{HEAD}[[when]]\n|", ["if", "options"]),
    "instances": (f"{HEAD}[instances.left]\nmethod = 'a'\n[[when]]\n[when.instances.|", ["left"]),
    "a document that does not parse": (f"x = [\n{HEAD}{NPU}a = 'b\npow|", ["power_mode"]),
    "facts set by hand": (f'{HEAD}[facts]\n"cpu.a|', ["cpu.available_cores"]),
    "the name that the path gives": ('[profile]\nname = "|"', ["acme/board"]),
    "methods in quotes": (f'{HEAD}[methods.a]\n[methods."|', ["a"]),
    "words of a fact without quotes": (f"{HEAD}match = 'os.name == |'", ["linux", "android"]),
    "facts behind a comparison with a fact": (
        f"{HEAD}match = 'os.name == device.model && cpu.av|",
        ["os.name"],
    ),
    "operators": (f"{HEAD}match = 'os.name |'", ["==", "in", "&&"]),
    "operators behind a comparison": (f"{HEAD}match = 'os.name == \"linux\" |'", ["&&", "||"]),
    "shares": (f"{HEAD}{NPU}core = {{ expr = 's|", ["share", "size"]),
    "codes of comments": ("# etconfig: allow unused-allowance, |\n" + HEAD, ["unusual-value"]),
}

IN_PROJECTS = {
    "options": ("assert = 'ReferenceNpuBackend.|'", ["ReferenceNpuBackend.core", "cpu.arch"]),
    "words of an option": ("assert = 'ReferenceNpuBackend.power_mode == \"|", ["low", "high"]),
    "methods": ('methods = ["|"]\n[methods.embed]', ["embed"]),
    "devices": ('devices = ["pi|"]', ["raspberry-pi/pi-5", "acme/"]),
    "programs": ('programs = ["acme/|"]', ["acme/base.toml"]),
    "directories": ("profile_path = [|]", ["acme/"]),
    "files": ('expect = "|', ["etconfig.toml"]),
    "tables of a list": ("[|", ["test", "options"]),
}

NOTHING = {
    "behind a text": f'{HEAD}extends = ["generic/any"|]',
    "behind a text and a blank": f'{HEAD}extends = ["generic/any" |]',
    "behind an array": f'{HEAD}extends = ["generic/any"]|',
    "behind a choice": f'{HEAD}{NPU}power_mode = "low"|',
    "behind a number": f"{HEAD}{NPU}core = 1 |",
    "behind a text of an expression": f"{HEAD}match = 'os.name == \"linux\"|'",
    "behind a number of an expression": f"{HEAD}match = 'cpu.logical_cores > 2|'",
    "before an operand": f"{HEAD}match = '|  cpu.arch == \"arm\"'",
    "before a text": f'{HEAD}{NPU}power_mode = |"low"',
    "behind a key and a blank": f"{HEAD}{NPU}power_mode |",
    "behind a key in quotes": f'{HEAD}[facts]\n"cpu.arch"|',
    "behind a header": f"{HEAD}[options]|",
    "in a comment": f"{HEAD}# |",
}


class TestCompletion:
    """Names and words that fit a place, also where the document does not parse."""

    @pytest.mark.parametrize(("text", "expected"), COMPLETIONS.values(), ids=COMPLETIONS)
    def test_words(self, editor: Editor, text: str, expected: list[str]) -> None:
        editor.open("acme/board.toml", text.replace("|", ""))
        assert set(expected) <= set(labels(editor, "acme/board.toml", text.partition("|")[0]))

    @pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
    def test_nothing_behind_something_complete(self, editor: Editor, text: str) -> None:
        editor.open("acme/board.toml", text.replace("|", ""))
        assert labels(editor, "acme/board.toml", text.partition("|")[0]) == []

    @pytest.mark.parametrize(("text", "expected"), IN_PROJECTS.values(), ids=IN_PROJECTS)
    def test_words_of_a_project_file(self, editor: Editor, text: str, expected: list[str]) -> None:
        text = f"[[test]]\nname = 'a'\n{text}" if text.startswith(("assert", "methods")) else text
        editor.open("etconfig.toml", text.replace("|", ""))
        assert set(expected) <= set(labels(editor, "etconfig.toml", text.partition("|")[0]))

    def test_only_what_a_place_allows(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = 's")
        assert "share" not in labels(editor, "acme/board.toml", "'s")
        editor.open("etconfig.toml", "[")
        assert not {"devices", "programs", "models"} & set(labels(editor, "etconfig.toml", "["))
        editor.open("acme/other.toml", f"{HEAD}match = 'os.name == ")
        assert "cpu.arch" not in labels(editor, "acme/other.toml", "os.name == ")

    def test_a_whole_word_is_replaced(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}{NPU}power_mode = 'balanced'\n")
        found = editor.ask("textDocument/completion", editor.place("acme/board.toml", "'bal"))
        edit = found["items"][0]["textEdit"]["range"]
        assert (edit["start"]["character"], edit["end"]["character"]) == (14, 22)

    def test_details_are_short(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = ''")
        found = editor.ask("textDocument/completion", editor.place("acme/board.toml", "match = '"))
        assert max(len(each.get("detail", "")) for each in found["items"]) < 70

    def test_a_name_in_quotes_replaces_the_whole_text(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f'{HEAD}extends = ["😀", "acme/b"]\n')
        found = editor.ask("textDocument/completion", editor.place("acme/board.toml", '😀", "acme/b'))
        (item,) = [each for each in found["items"] if each["label"] == "acme/base"]
        assert item["textEdit"] == {
            "newText": "acme/base",
            "range": {"start": {"line": 2, "character": 18}, "end": {"line": 2, "character": 24}},
        }

    def test_facts_have_their_value_on_the_device(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = 'cpu.arch")
        found = editor.ask("textDocument/completion", editor.place("acme/board.toml", "cpu.arch"))
        (item,) = [each for each in found["items"] if each["label"] == "cpu.arch"]
        assert item["detail"] == "arm64"

    def test_a_project_file_has_its_own_keys(self, editor: Editor) -> None:
        editor.open("etconfig.toml", "pro")
        assert {"profile", "programs", "profile_path"} <= set(labels(editor, "etconfig.toml", "pro"))

    def test_other_files_get_nothing(self, editor: Editor) -> None:
        editor.open("Cargo.toml", "[profile.release]\n")
        assert editor.ask("textDocument/completion", editor.place("Cargo.toml", "]\n")) is None


class TestHover:
    """The meaning of a word, and its value on the device."""

    @pytest.mark.parametrize(
        ("text", "mark", "shown"),
        [
            (
                f"{HEAD}{NPU}core = 1\n",
                "cor",
                ["The core of the simulated device", "core = 2", "from project"],
            ),
            (f"{HEAD}{NPU}core = 1\n", "core =", ["beat 1 from profile"]),
            (f"{HEAD}match = 'cpu.logical_cores > 2'\n", "cpu.logi", ["`4`", "On pi-5"]),
            (f"{HEAD}match = 'cpu.logical_cores > 2'\n", "matc", ["The condition", "On pi-5: `true`"]),
            (f"{HEAD}match = 'size(cpu.model) > 2'\n", "siz", ["size takes a string or a list"]),
            (f'{HEAD}extends = ["generic/any"]\n', "generic/a", ["`generic/any`"]),
            (
                f'{HEAD}match = \'os.name == "macos" && cpu.arch == "arm64"\'\n',
                "matc",
                ['`false`: os.name == "macos" does not hold: os.name is "linux"'],
            ),
            (f"{HEAD}match = 'cpu.available_cores > 2'\n", "matc", ["unknown: cpu.available_cores > 2"]),
            (
                f"{HEAD}{CPU}num_threads = {{ expr = 'cpu.available_cores - 1' }}\n",
                "num_thr",
                ["On pi-5: 'cpu.available_cores - 1' has no value: cpu.available_cores is not known"],
            ),
            (f"{HEAD}{NPU}core = 1\n", "[opti", ["Options by backend"]),
        ],
    )
    def test_it_shows(self, editor: Editor, text: str, mark: str, shown: list[str]) -> None:
        editor.open("acme/board.toml", text)
        found = editor.ask("textDocument/hover", editor.place("acme/board.toml", mark))["contents"]["value"]
        assert [each for each in shown if each not in found] == [], found

    @pytest.mark.parametrize(
        ("line", "mark", "shown"),
        [
            ('devices = ["raspberry-pi/pi-5"]', "raspberry-pi", "Raspberry Pi 5"),
            (
                "[[test]]\nassert = 'ReferenceNpuBackend.core > 1'",
                "ReferenceNpuBackend.core",
                "The core of the simulated",
            ),
        ],
    )
    def test_in_a_project_file(self, editor: Editor, line: str, mark: str, shown: str) -> None:
        editor.open("etconfig.toml", f"{line}\n")
        found = editor.ask("textDocument/hover", editor.place("etconfig.toml", mark))
        assert shown in found["contents"]["value"]

    def test_a_document_that_does_not_parse_has_its_documentation(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}{NPU}core = [\n")
        found = editor.ask("textDocument/hover", editor.place("acme/board.toml", "cor"))
        assert "The core of the simulated device" in found["contents"]["value"]


class TestDefinition:
    """A base, and the line that wins."""

    def test_of_a_base(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f'{HEAD}extends = ["acme/base"]\n')
        (found,) = editor.ask("textDocument/definition", editor.place("acme/board.toml", '"acme/ba'))
        assert (found["uri"], found["range"]["start"]["line"]) == (editor.uri("acme/base.toml"), 1)

    def test_of_the_line_that_wins(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}{NPU}core = 1\n")
        (found,) = editor.ask("textDocument/definition", editor.place("acme/board.toml", "core"))
        assert (found["uri"], found["range"]["start"]["line"]) == (editor.uri("etconfig.toml"), 2)


class TestActions:
    """Fixes, safe ones apart from guesses."""

    TEXT = f"{HEAD}[options.ReferenceCpuBackend]\nscratch_size = 4096\n{NPU}power_mode = 'hihg'\n"

    def actions(self, editor: Editor, **context: Any) -> list[dict[str, Any]]:
        editor.open("acme/board.toml", self.TEXT)
        wanted = {"diagnostics": [], **context}
        return list(
            editor.ask("textDocument/codeAction", editor.everywhere("acme/board.toml", context=wanted))
        )

    def test_each_problem_has_its_fix(self, editor: Editor) -> None:
        found = {each["title"]: each for each in self.actions(editor)}
        assert any(title.endswith("(a guess)") for title in found)
        guess = found["Replace 'hihg' by 'high' (a guess)"]
        assert guess["isPreferred"] is False
        (change,) = guess["edit"]["documentChanges"]
        assert change["textDocument"]["version"] == 1
        (edit,) = change["edits"]
        assert (edit["range"]["start"]["line"], edit["range"]["end"]["line"]) == (5, 5)

    @pytest.mark.parametrize(
        ("name", "text", "title", "after"),
        [
            (
                "acme/board.toml",
                f"{HEAD}match = 'os.name == \"embedded\"'\n",
                "Allow unusual-value here, with a reason",
                f"{HEAD}# etconfig: allow unusual-value because ...\nmatch = 'os.name == \"embedded\"'\n",
            ),
            (
                "acme/board.toml",
                '[profile]\nname = "acme/bord"\n',
                'Replace "acme/bord" by "acme/board" (a guess)',
                HEAD,
            ),
            (
                "acme/board.toml",
                EMBEDDED % "allow unusal-value",
                "Replace unusal-value by unusual-value (a guess)",
                EMBEDDED % "allow unusual-value",
            ),
            (
                "acme/board.toml",
                EMBEDDED % "alow unusual-value",
                "Replace alow by allow (a guess)",
                EMBEDDED % "allow unusual-value",
            ),
            (
                "etconfig.toml",
                "[rules]\nunusal-value = 'off'\n",
                "Replace unusal-value by unusual-value (a guess)",
                "[rules]\nunusual-value = 'off'\n",
            ),
            (
                "etconfig.toml",
                '[rules]\nunusual-value = "warn"\n',
                'Replace "warn" by "warning" (a guess)',
                '[rules]\nunusual-value = "warning"\n',
            ),
        ],
    )
    def test_an_action_solves_its_problem(
        self, editor: Editor, name: str, text: str, title: str, after: str
    ) -> None:
        editor.open(name, text)
        problems = editor.diagnostics(name)
        found = editor.ask("textDocument/codeAction", editor.everywhere(name, context={"diagnostics": []}))
        (action,) = [each for each in found if each["title"] == title]
        assert action["diagnostics"][0]["code"] in [each["code"] for each in problems]
        (edit,) = action["edit"]["documentChanges"][0]["edits"]
        editor.change(name, {"range": edit["range"], "text": edit["newText"]})
        assert editor.diagnostics(name) == []
        editor.replace(name, after)
        assert editor.diagnostics(name) == []

    def test_a_text_of_several_lines_gets_no_comment(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = '''\nos.name == \"embedded\"'''\n")
        found = editor.ask(
            "textDocument/codeAction", editor.everywhere("acme/board.toml", context={"diagnostics": []})
        )
        for each in found:
            assert each["edit"]["documentChanges"][0]["edits"][0]["range"]["start"]["line"] != 3

    def test_titles_have_whole_words(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}{CPU}deterministic = True\n")
        found = editor.ask(
            "textDocument/codeAction", editor.everywhere("acme/board.toml", context={"diagnostics": []})
        )
        assert "Replace deterministic = True by deterministic = true" in [each["title"] for each in found]

    def test_all_safe_ones_at_once(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = 'os.name = \"linux\" and True'\n")
        context = {"diagnostics": [], "only": ["source.fixAll"]}
        found = editor.ask("textDocument/codeAction", editor.everywhere("acme/board.toml", context=context))
        (action,) = found
        assert action["kind"] == "source.fixAll.etconfig"


class TestHints:
    """The value that counts, where another one is written."""

    def test_expressions_and_beaten_values(self, editor: Editor) -> None:
        text = f"{HEAD}{NPU}core = 1\n{CPU}num_threads = {{ expr = 'cpu.logical_cores' }}\n"
        editor.open("acme/board.toml", text)
        found = editor.ask("textDocument/inlayHint", editor.everywhere("acme/board.toml"))
        assert [(each["position"]["line"], each["label"]) for each in found] == [
            (3, "→ 2 (etconfig.toml:3)"),
            (5, "= 4"),
        ]

    def test_a_profile_of_other_devices_has_none(self, editor: Editor) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = 'os.name == \"macos\"'\n{NPU}core = 1\n")
        assert editor.ask("textDocument/inlayHint", editor.everywhere("acme/board.toml")) == []

    def test_the_device_is_a_setting(self, editor: Editor) -> None:
        text = f"{HEAD}{CPU}num_threads = {{ expr = 'cpu.logical_cores' }}\n"
        editor.open("acme/board.toml", text)
        settings = {"etconfig": {"device": "pixel-8"}}
        editor.tell("workspace/didChangeConfiguration", {"settings": settings})
        hover = editor.ask("textDocument/hover", editor.place("acme/board.toml", "'cpu.logical"))
        editor.tell("workspace/didChangeConfiguration", {"settings": {"etconfig": {"device": "pi-5"}}})
        assert "On pixel-8" in hover["contents"]["value"]

    @pytest.mark.parametrize(
        ("settings", "message", "device"),
        [
            ({"device": "pi-55"}, "etconfig.device: no known device is called 'pi-55'", "this device"),
            ({"device": 5}, "etconfig.device: ", "this device"),
            ({"facts": "nay.json"}, "etconfig.facts: cannot read nay.json", "this device"),
            ({"facts": "etconfig.toml"}, "etconfig.facts: ", "this device"),
            ({"facts": ["a"]}, "etconfig.facts: ", "this device"),
            ({"facts": "nay.json", "device": "pixel-8"}, "etconfig.device counts", "pixel-8"),
        ],
    )
    def test_a_wrong_setting_is_reported(
        self, editor: Editor, settings: dict[str, Any], message: str, device: str
    ) -> None:
        editor.open("acme/board.toml", f"{HEAD}match = 'cpu.arch'\n")
        editor.tell("workspace/didChangeConfiguration", {"settings": {"etconfig": settings}})
        found = editor._wait(lambda message: message.get("method") == "window/showMessage")
        hover = editor.ask("textDocument/hover", editor.place("acme/board.toml", "'cpu.arch"))
        editor.tell("workspace/didChangeConfiguration", {"settings": {"etconfig": {"device": "pi-5"}}})
        assert message in found["params"]["message"]
        assert f"On {device}" in hover["contents"]["value"]

    def test_a_sheet_is_a_setting(self, editor: Editor, workplace: Path) -> None:
        sheet = {"etconfig_fact_sheet": 1, "facts": {"cpu.arch": {"value": "riscv64"}}}
        (workplace / "mine.json").write_text(json.dumps(sheet))
        editor.open("acme/board.toml", f"{HEAD}match = 'cpu.arch'\n")
        editor.tell("workspace/didChangeConfiguration", {"settings": {"etconfig": {"facts": "mine.json"}}})
        hover = editor.ask("textDocument/hover", editor.place("acme/board.toml", "'cpu.arch"))
        editor.tell("workspace/didChangeConfiguration", {"settings": {"etconfig": {"device": "pi-5"}}})
        assert "On mine: `riscv64`" in hover["contents"]["value"], editor.other


def test_a_missing_library_is_named(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {"pygls", *(each for each in sys.modules if each.startswith("pygls."))}:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "etconfig.lsp.server", raising=False)
    done = cli("lsp")
    assert done.status == 2
    assert "the language server needs pygls" in done.stderr
    assert "etconfig[lsp]" in done.stderr
