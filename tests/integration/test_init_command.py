"""`etconfig init`: the files that it writes pass their own checks."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome

Cli = Callable[..., Outcome]

DIGITS = Path(__file__).parents[1] / "data" / "digits" / "digits.pte"
FILES = ("etconfig.toml", "profiles/{}/default.toml", ".github/workflows/etconfig.yml")


@pytest.fixture
def empty(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    path = place / "project"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def written(directory: Path) -> list[Path]:
    return [directory / each.format("project") for each in FILES]


@pytest.mark.parametrize(
    "name", ["digits.pte", 'a "b" \\ c.pte', "models/digits.pte", "a\n\x7f\u202e\U000e0001.pte"]
)
def test_the_files_of_a_program_pass(empty: Path, cli: Cli, name: str) -> None:
    path = empty / name
    path.parent.mkdir(exist_ok=True)
    shutil.copy(DIGITS, path)
    done = cli("init")
    assert done.status == 0
    files = written(empty)
    assert [each for each in files if not each.is_file()] == []
    assert "# num_threads = " in files[1].read_text()
    assert "no more threads than cores" in files[0].read_text()
    assert cli("validate", "--strict").status == 0
    assert cli("validate", "profiles", "--strict").status == 0
    assert cli("test", "--fail-on", "warning").status == 0
    # every option that it lists is right as it stands
    text = files[1].read_text().replace("\n# ", "\n").partition("[[when]]")[0]
    files[1].write_text("\n".join(line.partition("  # ")[0] for line in text.split("\n")))
    assert cli("validate", "profiles", "--strict").status == 0


def test_profiles_of_etconfig_that_set_something_stay_in_force(empty: Path, cli: Cli) -> None:
    shutil.copy(DIGITS, empty)
    both = ("digits.pte", "--device", "pi-5", "--device", "pixel-8", "--all", "--json")
    before = cli("matrix", *both).json["devices"]
    assert cli("init").status == 0
    after = cli("matrix", *both).json["devices"]
    profiles = ["project/default", "project/google-tensor-g3"]
    assert [each["profile"] for each in after] == profiles

    assert [each["options"] for each in after] == [each["options"] for each in before]
    default = empty / "profiles/project/default.toml"
    cores = "[options.ReferenceCpuBackend]\nnum_threads = { expr = 'cpu.performance_cores' }"
    default.write_text(default.read_text().replace("[options.ReferenceCpuBackend]", cores))
    (phone,) = cli("matrix", "--device", "pixel-8", "--all", "--json").json["devices"]
    assert (
        phone["options"]["forward:ReferenceCpuBackend.num_threads"] == 5
    )  # a fact of the profile of etconfig


def test_the_job_is_for_the_root_of_the_repository(empty: Path, cli: Cli, place: Path) -> None:
    (place / ".git").mkdir()
    shutil.copy(DIGITS, empty)
    done = cli("init")
    assert "../.github/workflows/etconfig-project.yml written" in done.stdout
    job = (place / ".github/workflows/etconfig-project.yml").read_text()
    assert job.count('working-directory: "project"') == 2
    assert not (empty / ".github").exists()


def test_a_tuned_profile_wins_on_its_device(empty: Path, cli: Cli) -> None:
    shutil.copy(DIGITS, empty)
    assert cli("init").status == 0
    (empty / "profiles" / "project" / "tuned.toml").write_text(
        '[profile]\nname = "project/tuned"\nextends = ["project/default"]\n'
        "match = 'cpu.model == \"here\" && cpu.available_cores == 2'\n"
    )
    on_it = ("--fact", "cpu.model=here", "--fact", "cpu.available_cores=2")
    assert cli("resolve", *on_it).stdout.startswith("profile project/tuned\n")
    assert cli("resolve", "--device", "pi-5").stdout.startswith("profile project/default\n")
    assert cli("validate", "--strict").status == 0


def test_sheets_are_the_devices(empty: Path, cli: Cli) -> None:
    shutil.copy(DIGITS, empty)
    (empty / "sheets").mkdir()
    sheet = Path(__file__).parents[1] / "data" / "sheets" / "raspberry-pi-5.json"
    shutil.copy(sheet, empty / "sheets" / "a.json")
    (empty / "sheets" / "other.json").write_text("{}")
    assert cli("init").status == 0
    assert 'devices = ["sheets/a.json"]' in (empty / "etconfig.toml").read_text()
    assert cli("test").status == 0
    assert cli("matrix", "--all").status == 0


def test_nothing_is_written_where_one_of_the_files_is(empty: Path, cli: Cli) -> None:
    shutil.copy(DIGITS, empty)
    (empty / "etconfig.toml").write_text("")
    done = cli("init")
    assert (done.status, done.stderr) == (
        2,
        "error: nothing is written, since etconfig.toml would be replaced\n",
    )
    assert {path.name for path in empty.iterdir()} == {"digits.pte", "etconfig.toml"}


@pytest.mark.parametrize("name", ["profiles", ".github"])
def test_nothing_is_written_where_a_directory_cannot_be(empty: Path, cli: Cli, name: str) -> None:
    shutil.copy(DIGITS, empty)
    (empty / name).write_text("")
    done = cli("init")
    assert (done.status, done.stdout, "Not a directory" in done.stderr) == (2, "", True)
    assert [path for path in empty.rglob("*") if path.is_file()] == [empty / "digits.pte", empty / name][::-1]


@pytest.mark.posix
@pytest.mark.parametrize("name", ["profiles", ".github"])
def test_nothing_is_written_through_a_link(empty: Path, cli: Cli, place: Path, name: str) -> None:
    shutil.copy(DIGITS, empty)
    (place / "elsewhere").mkdir()
    (empty / name).symlink_to(place / "elsewhere")
    done = cli("init")
    assert done.stderr == f"error: nothing is written, since {name} would lead elsewhere\n"
    assert [*(place / "elsewhere").iterdir()] == []


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes only UTF-8")
def test_a_name_that_is_not_utf_8_is_refused(empty: Path, cli: Cli) -> None:
    shutil.copy(DIGITS, empty / "\udcff.pte")
    done = cli("init")
    assert (done.status, "\\udcff.pte, which is not UTF-8; rename it" in done.stderr) == (2, True)
    assert len([*empty.iterdir()]) == 1


def test_without_a_program_it_says_what_it_needs(empty: Path, cli: Cli) -> None:
    assert "there is no program (.pte) or model here" in cli("init").stderr


def test_a_backend_that_is_not_installed_is_named(empty: Path, cli: Cli) -> None:
    from delegating_programs import delegating_program

    (empty / "model.pte").write_bytes(delegating_program("NobodyBackend"))
    done = cli("init")
    assert (done.status, "NobodyBackend is not installed" in done.stderr) == (0, True)
