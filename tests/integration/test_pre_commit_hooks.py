"""The pre-commit hooks: their lines of `.pre-commit-hooks.yaml`, run as pre-commit runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from command_line import ROOT, Outcome

CPU = "ReferenceCpuBackend"
FILES = {
    "etconfig.toml": 'profile = "app/phone"\nprofile_path = ["profiles"]\n',
    "profiles/app/base.toml": f'[profile]\nname = "app/base"\n[options.{CPU}]\nnum_threads = 2\n',
    "profiles/app/phone.toml": '[profile]\nname = "app/phone"\nextends = ["app/base"]\n',
    "device/etconfig.toml": 'profile = "board"\nprofile_path = ["profiles"]\n',
    "device/profiles/board.toml": '[profile]\nname = "board"\n',
}


def hooks() -> Mapping[str, Mapping[str, str]]:
    """Return the keys of each hook, by its id."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    parts = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    found = [dict(re.findall(r"^ *(\w+): (.*)$", part, re.MULTILINE)) for part in parts]
    return {keys["id"]: keys for keys in found}


HOOKS = hooks()


@pytest.fixture
def repository(place: Path) -> Path:
    """A directory of two projects, one below the other, each with profiles."""
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


def run_hook(shell: Callable[..., Outcome], name: str) -> Outcome:
    """Run a hook as pre-commit does: its entry, followed by all files that its pattern finds."""
    hook = HOOKS[name]
    paths = (path.as_posix() for path in sorted(Path().rglob("*.toml")))
    given = [path for path in paths if re.search(hook["files"], path)]
    return shell(f"{hook['entry']} {' '.join(given)}")


def test_there_are_two_and_both_install_etconfig() -> None:
    assert list(HOOKS) == ["etconfig-validate", "etconfig-fix"]
    for hook in HOOKS.values():
        assert hook["language"] == "python"
        assert hook["require_serial"] == "true"  # one process checks all files, so it reports each base once


@pytest.mark.parametrize("name", HOOKS)
def test_all_project_files_and_profiles_are_checked_in_one_run(
    shell: Callable[..., Outcome], repository: Path, name: str
) -> None:
    (repository / "other.toml").write_text("not toml")
    done = run_hook(shell, name)
    assert (done.status, done.stdout) == (0, "")
    assert done.stderr == f"{len(FILES)} files checked: 0 errors, 0 warnings\n"


@pytest.mark.parametrize("name", HOOKS)
def test_a_mistake_fails(shell: Callable[..., Outcome], repository: Path, name: str) -> None:
    path = repository / "profiles/app/base.toml"
    path.write_text(path.read_text().replace("num_threads", "num_thread"))
    done = run_hook(shell, name)
    assert done.status == 1
    assert done.stdout.startswith(f"error[unknown-option]: {CPU} has no option 'num_thread'\n")
    assert done.stdout.count("error[") == 1


def test_only_the_second_one_repairs(shell: Callable[..., Outcome], repository: Path) -> None:
    path = repository / "profiles/app/base.toml"
    text = path.read_text()
    path.write_text(text.replace("num_threads = 2", "num_threads = 2.0"))
    assert run_hook(shell, "etconfig-validate").status == 1
    assert run_hook(shell, "etconfig-fix").status == 0  # pre-commit fails, since a file has changed
    assert path.read_text() == text


class TestSiblings:
    """Profiles that extend each other by name are found wherever `validate` runs."""

    @pytest.mark.parametrize("given", ["profiles", "profiles/app", "profiles/app/phone.toml"])
    @pytest.mark.parametrize("directory", [".", "device", "device/profiles"])
    def test_from_any_directory(
        self,
        cli: Callable[..., Outcome],
        repository: Path,
        monkeypatch: pytest.MonkeyPatch,
        given: str,
        directory: str,
    ) -> None:
        (repository / "etconfig.toml").unlink()
        monkeypatch.chdir(repository / directory)
        up = "/".join([".."] * len(Path(directory).parts))
        for path in (Path(up, given), repository / given):
            done = cli("validate", path)
            assert (done.status, done.stdout) == (0, "")
