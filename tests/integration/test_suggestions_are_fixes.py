"""Every name that a diagnostic of a file suggests is a fix, and the fix solves the problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from mistakes import CPU, HEAD, NPU, WHEN, Mistake, stored_mistakes
from syntax_mistakes import SYNTAX_MISTAKES
from table_mistakes import TABLE_MISTAKES

from etconfig import Diagnostic, Installation
from etconfig.app.validating.fixing import apply_fixes
from etconfig.app.validating.validation import validate_file

SUGGESTION = re.compile(
    r"""did\ you\ mean\ (?!.*\ or\ )  # several names are a choice
    |^write\ (?!.*(?:,\ such\ as|[A-Z]{4}))  # a placeholder is not a suggestion
      (?:[^a-z\s]|(?:true|false)\b(?!\ or\b)|\w+(?:\.\w|\ =\ ))""",
    re.VERBOSE,
)
"""A help with the text to write, and not an instruction in general terms."""

WITHOUT_FIX = {
    r"has no key '(facts|else|when|options|ReferenceNpuBackend)'; write \[": "lines move to another table",
    "'when' must be an array of tables": "the keys without a condition are to get one",
    r"has no 'name'; write name =": "only the author knows the name",
    r"write method = \"\.\.\.\"": "only the author knows the method",
    "there is no operator 'is( not)?'; .* None'$": "there is no value for None",
    r"there is no operator 'and'; .* (?:and|between 2 and 4)'$": "more than the word is wrong",
    r"found 'xor'; write \(a\) != \(b\)": "the operands are conditions of any length",
}
"""Suggestions on purpose without a fix, by message, help and line, and the reason of each."""

PROJECT = 'profile_path = ["profiles"]\n'
NAMES = {
    "board.toml": {
        "backend": f"{HEAD}[options.ReferenceNpuBackendd]\ncore = 1\n",
        "backend without its ending": f"{HEAD}[options.ReferenceNpu]\ncore = 1\n",
        "quoted backend": f'{HEAD}[options."ReferenceNpu\\u0042ackendd"]\ncore = 1\n',
        "dotted backend": f"options.RefrenceNpuBackend.core = 1\n{HEAD}",
        "backend of an overlay": f"{HEAD}{WHEN}[when.options.RefrenceNpuBackend]\ncore = 1\n",
        "backend of a method": f"{HEAD}[methods.forward.options.RefrenceNpuBackend]\ncore = 1\n",
        "option": f"{HEAD}{NPU}cor = 1\n",
        "option in an inline table": f"{HEAD}[options]\nReferenceNpuBackend = {{ cor = 1 }}\n",
        "option of an overlay": f"{HEAD}{WHEN}[when.options.ReferenceNpuBackend]\ncor = 1\n",
        "option of an instance": (
            f'{HEAD}[instances.left]\nmethod = "forward"\n'
            "[instances.left.options.ReferenceNpuBackend]\ncor = 1\n"
        ),
        "instance": (
            f'{HEAD}[instances.camera]\nmethod = "forward"\n{WHEN}'
            "[when.instances.camra.options.ReferenceNpuBackend]\ncore = 1\n"
        ),
        "profile": '[profile]\nname = "acme/board"\nextends = ["generic/lnux"]\n',
        "profile without its first part": '[profile]\nname = "acme/board"\nextends = ["phone"]\n',
        "profile by a path": '[profile]\nname = "acme/board"\nextends = ["generic/any.toml"]\n',
        "profile as one text": '[profile]\nname = "acme/board"\nextends = "generic/lnux"\n',
        "fact in a condition": "[profile]\nname = 'acme/board'\nmatch = 'cpu.available_core > 2'\n",
        "fact in an escaped condition": '[profile]\nname = "acme/board"\nmatch = "os.nam == \\"linux\\""\n',
        "fact in an overlay": f"{HEAD}[[when]]\nif = 'cpu.available_core > 2'\n",
        "fact set by hand": f'{HEAD}[facts]\n"cpu.available_core" = 2\n',
        "value of a fact": f'{HEAD}[facts]\n"power.source" = "batery"\n',
        "value of a fact in a condition": (
            "[profile]\nname = 'acme/board'\nmatch = 'power.source == \"batery\"'\n"
        ),
        "enum word": f'{HEAD}{NPU}power_mode = "hihg"\n',
        "enum word in another case": f'{HEAD}{NPU}power_mode = "HIGH"\n',
        "key": '[profile]\nname = "acme/board"\nmach = "true"\n',
        "table": f"{HEAD}[optoins.ReferenceNpuBackend]\ncore = 1\n",
        "key of an overlay": f"{HEAD}[[when]]\niff = 'power.source == \"battery\"'\n",
        "key of an instance": f'{HEAD}[instances.left]\nmehtod = "forward"\n',
        "key of an expression": f'{HEAD}{CPU}num_threads = {{ exp = "cpu.available_cores" }}\n',
        "key of nothing": f"{HEAD}{CPU}num_threads = {{ unst = true }}\n",
        "function": f"{HEAD}{CPU}num_threads = {{ expr = 'mn(cpu.available_cores, 4)' }}\n",
        "unit": f'{HEAD}{CPU}scratch_bytes = "64 mib"\n',
        "another unit": f'{HEAD}{CPU}scratch_bytes = "64M"\n',
        "word for the default": f'{HEAD}{CPU}num_threads = "auto"\n',
        "empty value": f'{HEAD}{CPU}num_threads = ""\n',
    },
    "etconfig.toml": {
        "profile": f'{PROJECT}profile = "app/phon"\n',
        "profile without its first part": f'{PROJECT}profile = "phone"\n',
        "profile by a path": f'{PROJECT}profile = "profiles/app/phon.toml"\n',
        "executor": f'{PROJECT}executor = "nmpy"\n',
        "key": 'profle_path = ["profiles"]\n',
        "key of programs": f'{PROJECT}program = ["model.pte"]\n',
        "fact": f'{PROJECT}[facts]\n"power.sorce" = "battery"\n',
        "option": f"{PROJECT}[options.ReferenceNpuBackend]\ncor = 1\n",
        "backend": f"{PROJECT}[options.RefrenceNpuBackend]\ncore = 1\n",
        "table of plugins": f'{PROJECT}[plugin]\ndeny = ["acme"]\n',
        "key of plugins": f'{PROJECT}[plugins]\ndeney = ["acme"]\n',
    },
}
"""Names of each kind, mistyped, by the file that contains them."""

Check = Callable[[str, str], "tuple[Diagnostic, ...]"]


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[..., None], npu_installed: None
) -> Check:
    """Validate a text in a file, beside a profile `app/phone`, with backends of all types of options."""
    installed("acme-dsp")
    place = tmp_path / "place"
    (place / "profiles" / "app").mkdir(parents=True)
    (place / "profiles" / "app" / "phone.toml").write_text('[profile]\nname = "app/phone"\n')
    monkeypatch.chdir(place)

    def validate(file: str, text: str) -> tuple[Diagnostic, ...]:
        Path(file).write_text(text, "utf-8")
        found = validate_file(file, Installation(place, profile_directories=["profiles"]))
        Path(file).unlink()  # a project file would be heeded for the next one
        return found

    return validate


def unfixed(check: Check, file: str, text: str) -> list[str]:
    """Return the suggestions about a text that are not fixes, or whose fix does not solve the problem."""
    found = []
    for problem in check(file, text):
        shown = f"{problem.message}; {problem.help}; {problem.spans[0].text if problem.spans else None}"
        is_excepted = any(re.search(exception, shown) for exception in WITHOUT_FIX)
        if not SUGGESTION.search(problem.help or "") or (is_excepted and problem.fix is None):
            continue
        if problem.fix is None:
            found.append(f"no fix: {shown}")
            continue
        repaired, count = apply_fixes(text, [problem.fix])
        again = {(each.code, each.message) for each in check(file, repaired)}
        if count != 1 or (problem.code, problem.message) in again:
            found.append(f"still there: {shown} in {repaired}")
    return found


class TestSuggestions:
    """Over all stored mistakes, and a mistyped name of every kind."""

    @pytest.mark.parametrize("mistakes", [SYNTAX_MISTAKES, TABLE_MISTAKES], ids=["syntax", "tables"])
    def test_of_structural_mistakes(self, check: Check, mistakes: tuple[Mistake, ...]) -> None:
        assert [line for each in mistakes for line in unfixed(check, each.file, each.text)] == []

    @pytest.mark.parametrize("name", ["conditions", "values"])
    def test_of_conditions_and_values(self, check: Check, name: str) -> None:
        assert [line for each in stored_mistakes(name) for line in unfixed(check, each.file, each.text)] == []

    @pytest.mark.parametrize(
        ("file", "kind"), [(file, kind) for file, kinds in NAMES.items() for kind in kinds]
    )
    def test_of_names(self, check: Check, file: str, kind: str) -> None:
        text = NAMES[file][kind]
        assert any(SUGGESTION.search(problem.help or "") for problem in check(file, text))
        assert unfixed(check, file, text) == []
