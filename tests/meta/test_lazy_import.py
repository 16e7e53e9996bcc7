"""`import etconfig` loads no third party package, and neither does `etconfig --version`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_data import write_distribution
from write_declarations import PLUGINS, entry_points_of

import etconfig

ROOT = Path(__file__).parents[2]
SETS_NO_OPTIONS = ROOT / "profiles" / "raspberry-pi" / "pi-5.toml"
PROGRAM = ROOT / "tests" / "data" / "digits" / "digits.pte"
SETS_OPTIONS = ROOT / "examples" / "two_cameras" / "profiles" / "demo" / "two-cameras.toml"
THIRD_PARTY = {
    *("annotated_types", "click", "duckdb", "flatbuffers", "ml_dtypes", "numpy", "platformdirs", "pluggy"),
    *("pydantic", "rich", "tomli"),
}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has imported after running `code`, with their packages."""
    script = f"import sys\n{code}\nprint('\\n', ' '.join(sys.modules), file=sys.stderr)"
    environ = {**os.environ}  # without what readline, which pytest imports, adds behind Python's back
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environ,
        cwd=Path(
            sys.executable
        ).anchor,  # the pyproject.toml of this repository names etconfig, so it is parsed
    )
    return set(done.stderr.splitlines()[-1].split())


def modules_of(*arguments: str | Path) -> set[str]:
    """The modules that a command loads when its output goes into a pipe."""
    return modules_after(f"from etconfig.cli.startup.main import main; main({[*map(str, arguments)]})")


@pytest.mark.parametrize(
    "code",
    [
        "import etconfig",
        "import etconfig.errors",
        "import etconfig.app.installation.installation, etconfig.cli.shared.listings",
    ],
)
def test_no_third_party_package_is_loaded(code: str) -> None:
    assert not modules_after(code) & THIRD_PARTY


class TestColdStart:
    """A command imports what it uses, since imports are most of its time."""

    @pytest.mark.parametrize("option", ["--version", "--help"])
    def test_fixed_texts_need_nothing(self, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COLUMNS", raising=False)  # with a width set, click lays out the help
        assert not modules_of(option) & {*THIRD_PARTY, "dataclasses", "typing", "pathlib"}

    def test_a_match_resolves_nothing_where_no_profile_was_tuned_for_the_device(self) -> None:
        loaded = modules_of("profiles", "match", "--device", "pi-5")
        assert "etconfig.profile.selector" in loaded
        assert not loaded & {"etconfig.resolver", "etconfig.program", "numpy"}

    def test_a_list_needs_nothing_that_explains_failures(self) -> None:
        assert not modules_of("backends") & {"etconfig.plugin.culprit", "json"}

    @pytest.mark.parametrize("words", [["backends"], ["profiles", "list"], ["profiles", "list", "--json"]])
    def test_lists_need_no_third_party_package(self, words: list[str]) -> None:
        unneeded = {"etconfig.errors", "etconfig.profile.document", "etconfig.expression"}
        loaded = modules_of(*words)
        assert not loaded & (THIRD_PARTY if sys.platform == "linux" else THIRD_PARTY - {"platformdirs"})
        assert not loaded & unneeded

    @pytest.mark.parametrize("words", [["resolve", "--json"], ["validate", SETS_OPTIONS]])
    def test_options_need_no_program_and_no_metadata(self, words: list[str | Path]) -> None:
        """No validator of pydantic is built, since that would import importlib.metadata."""
        loaded = modules_of(*words)
        assert "pydantic" in loaded
        unneeded = {"etconfig.app.programs.api", "etconfig.program", "numpy", "rich", "importlib.metadata"}
        assert not loaded & {*unneeded, "click.shell_completion"}

    def test_bundled_profiles_are_selected_without_a_parser_of_conditions(self) -> None:
        parsing = {"checker", "lexer", "literals", "parser", "signatures", "source", "syntax"}
        assert not modules_of("resolve", "--json") & {f"etconfig.expression.{m}" for m in parsing}

    @pytest.mark.parametrize("words", [["resolve", PROGRAM, "--json"], ["validate", SETS_OPTIONS]])
    def test_where_nothing_is_wrong_nothing_that_explains_mistakes_is_loaded(
        self, words: list[str | Path]
    ) -> None:
        loaded = modules_of(*words)
        assert "etconfig.resolver" in loaded
        assert not [name for name in loaded if name.startswith("etconfig.mistakes")]

    def test_a_small_program_is_read_without_what_reads_large_and_bundled_ones(self) -> None:
        unneeded = {f"etconfig.program.{m}" for m in ("bulk_instructions", "bulk_values", "bundled")}
        loaded = modules_of("resolve", PROGRAM, "--json")
        assert "etconfig.program" in loaded
        assert not loaded & {*unneeded, "numpy", "etconfig.numpy_executor", "etconfig.kernels"}

    def test_a_file_that_sets_no_options_is_checked_without_pydantic(self) -> None:
        loaded = modules_of("validate", SETS_NO_OPTIONS)
        assert not loaded & (THIRD_PARTY - {"click", "tomli"})


@pytest.fixture
def all_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install every plugin of this repository for the processes of a test: the metadata, and no engine."""
    packages = sorted(path for path in PLUGINS.iterdir() if (path / "pyproject.toml").exists())
    for package in packages:
        values = entry_points_of(package)
        lines = [f"[{group}]\n{name} = {value}\n" for (group, name), value in values.items()]
        name = package.name.replace("-", "_")
        write_distribution(tmp_path, f"{name}-1.0.dist-info", "".join(lines), f"Name: {package.name}\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [tmp_path, *packages])))


@pytest.mark.usefixtures("all_plugins")
class TestAllPlugins:
    """Commands that need nothing of a plugin import no part of any, however many are installed."""

    @pytest.mark.parametrize("words", [["backends"], ["profiles", "list"], ["validate", SETS_NO_OPTIONS]])
    def test_nothing_of_them_is_imported(self, words: list[str | Path]) -> None:
        loaded = modules_of(*words)
        assert not loaded & (THIRD_PARTY - {"click", "tomli"})
        assert not [name for name in loaded if name.startswith("etconfig_")]

    def test_resolving_imports_those_that_the_program_needs(self) -> None:
        loaded = modules_of("resolve", PROGRAM, "--json")
        packages = {name.partition(".")[0] for name in loaded}
        assert {name for name in packages if name.startswith("etconfig_")} == {"etconfig_reference"}


def test_a_plugin_of_facts_that_ends_the_process_reaches_nobody_who_needs_no_fact_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It declares nothing, so the facts of this device need it; those of a sheet do not."""
    groups = "[etconfig.facts]\nhostile = hostile\n"
    write_distribution(tmp_path, "hostile-1.0.dist-info", groups, "Name: hostile\n")
    (tmp_path / "hostile.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    commands: list[list[str | Path]] = [
        ["backends"],
        ["profiles", "list"],
        ["validate", SETS_NO_OPTIONS],
        ["validate", SETS_OPTIONS],
        ["resolve", PROGRAM, "--device", "apple/m1", "--json"],
    ]
    for words in commands:
        assert "hostile" not in modules_of(*words), words


@pytest.mark.parametrize("package", ["onnxruntime", "openvino", "tvm"])
def test_a_module_of_facts_needs_no_pydantic(package: str) -> None:
    path = str(PLUGINS / f"etconfig-{package}")
    loaded = modules_after(f"import sys; sys.path.insert(0, {path!r}); import etconfig_{package}.facts")
    assert not loaded & {"pydantic", "numpy", "importlib.metadata"}


def test_listing_backends_loads_neither_pydantic_nor_numpy() -> None:
    loaded = modules_after(
        "from pathlib import Path\nfrom etconfig.app.installation.installation import Installation\n"
        "assert Installation(Path('/')).backend_ids"
    )
    assert not loaded & (THIRD_PARTY - {"click"})


def test_the_writer_of_small_files_is_imported_when_one_is_written() -> None:
    """The flatbuffers package imports numpy, which takes longer than most commands."""
    importing = "import etconfig.device.device_bundle as bundle, etconfig.tracing.etdump"
    assert not modules_after(importing) & {"flatbuffers", "numpy"}
    packing = "import etconfig\netconfig.pack_bundle(profiles=['generic/any']).to_bytes()"
    written = modules_after(f"{importing}\n{packing}")
    assert "flatbuffers" in written


def test_resolving_loads_no_numpy() -> None:
    """A release engineer's machine may check configuration without it."""
    assert "numpy" not in modules_after("import etconfig.resolver, etconfig.app.installation.installation")


def test_every_public_name_is_there_and_lives_where_it_says() -> None:
    from importlib import import_module

    assert sorted(etconfig._HOME) == sorted(etconfig.__all__)
    for name, home in etconfig._HOME.items():
        assert getattr(etconfig, name) is getattr(import_module(f"etconfig.{home}"), name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'etconfig' has no attribute 'no_such'"):
        etconfig.no_such  # noqa: B018


def test_models_without_a_program_need_neither_pydantic_nor_the_reader_of_their_files() -> None:
    loaded = modules_after("import etconfig\netconfig.Models({'a': 'X'})\netconfig.LiveArguments")
    assert not loaded & {"pydantic", "numpy", "etconfig.models.reading"}
