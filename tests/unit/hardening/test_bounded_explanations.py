"""Explaining mistakes takes time, so that only the first of very many in one file are explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from etconfig import Installation
from etconfig.app.validating.validation import validate_file
from etconfig.expression.expression import MAX_EXPLAINED
from etconfig.mistakes.expression import diagnosis
from etconfig.profile.profile import MAX_BASES


def test_of_very_many_wrong_conditions_the_first_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are reported, each once, although a file with mistakes is read twice."""
    explained: list[str] = []
    respell = diagnosis.respell

    def counting(text, is_fact):
        explained.append(text)
        return respell(text, is_fact)

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
