"""Explaining mistakes takes time, so that only the first of very many in one file are explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutations import DATA

from etconfig import Installation, load_program
from etconfig.app.validating.validation import validate_file
from etconfig.expression.expression import MAX_EXPLAINED
from etconfig.mistakes.expression import diagnosis
from etconfig.profile import bounds, table
from etconfig.profile.profile import MAX_BASES
from etconfig.resolver.compiling import matching
from etconfig.resolver.deciding import program_check


def test_of_very_many_wrong_conditions_the_first_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are reported, each once, although a file with mistakes is read twice."""
    explained: list[str] = []
    respell = diagnosis.respell

    def counting(text):
        explained.append(text)
        return respell(text)

    monkeypatch.setattr(diagnosis, "respell", counting)
    count = MAX_EXPLAINED + 100
    path = tmp_path / "board.toml"
    whens = "".join(f"[[when]]\nif = 'cpu.available_cores = {number}'\n" for number in range(count))
    path.write_text(f'[profile]\nname = "acme/board"\n{whens}')
    found = validate_file(path, Installation(tmp_path))
    assert len(found) == count
    assert len(explained) == MAX_EXPLAINED
    assert [each.fix is not None for each in found] == [number < MAX_EXPLAINED for number in range(count)]
    assert len({each.spans for each in found}) == count


def test_a_list_of_very_many_bases_is_refused_and_none_is_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    for count, code in ((MAX_BASES, "unknown-profile"), (MAX_BASES + 1, "extends-too-deep")):
        bases = ", ".join(f'"b{number}"' for number in range(count))
        path.write_text(f'[profile]\nname = "acme/board"\nextends = [{bases}]\n')
        found = validate_file(path, Installation(tmp_path))
        assert {each.code for each in found} == {code}
    assert f"at most {MAX_BASES} are allowed" in found[0].message


WRONG = {
    "unknown keys": "key{0} = 1\n",
    "unknown options": "options.ReferenceCpuBackend.option{0} = 1\n",
    "unknown backends": "options.Unknown{0}.threads = 1\n",
    "unknown facts": 'facts."cpu.x{0}" = 1\n',
    "wrong names": 'options."a{0}:b".threads = 1\n',
    "wrong values": 'methods.m{0}.options.ReferenceCpuBackend.num_threads = "x"\n',
    "wrong conditions": "[[when]]\nif = 'cpu.available_cores and {0}'\n",
    "wrong expressions": "methods.m{0}.options.ReferenceCpuBackend.num_threads.expr = 'os.nam + {0}'\n",
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("is_project", [False, True])
def test_of_very_many_problems_the_first_are_looked_for_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_project: bool
) -> None:
    for module in (bounds, table, matching):
        monkeypatch.setattr(module, "MAX_PROBLEMS", 20)
    path = tmp_path / ("etconfig.toml" if is_project else "board.toml")
    entries = "".join(WRONG[kind].format(number) for number in range(1000))
    path.write_text(entries if is_project else f'profile.name = "acme/board"\n{entries}')
    found = validate_file(path, Installation(tmp_path))
    assert 20 < len(found) < 50
    said = {each.message for each in found if each.code == "document-too-large"}
    assert said == {"there are more than 20 problems; the rest was not checked"}


@pytest.mark.parametrize(
    "entry",
    [
        "methods.m{0}.options.ReferenceCpuBackend.num_threads = 1\n",
        "methods.'*m{0}'.options.ReferenceCpuBackend.num_threads = 1\n",
        "instances.m{0}.method = 'other'\n",
    ],
)
def test_of_very_many_names_that_a_program_lacks_the_first_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    for module in (bounds, program_check):
        monkeypatch.setattr(module, "MAX_PROBLEMS", 20)
    path = tmp_path / "board.toml"
    path.write_text('profile.name = "acme/board"\n' + "".join(map(entry.format, range(1000))))
    with load_program(DATA / "digits" / "digits.pte") as program:
        found = validate_file(path, Installation(tmp_path), program)
    assert [each.code for each in found if each.code != "unknown-method"] == ["document-too-large"]
    assert len(found) == 21
