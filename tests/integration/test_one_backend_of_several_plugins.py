"""Several plugins declare one backend: an implementation wins over mere declarations of options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from command_line import Outcome
from plugin_data import forget_modules_below, write_distribution

from etconfig.app.installation.installation import Installation
from etconfig.errors import DuplicatePluginError

PLUGIN = """
from etconfig.plugin.v1 import (
    ApiRange, Backend, BackendOptions, BackendSpec, hookimpl, option,
)

class Options(BackendOptions):
    {name}: int = option(1, doc="A number.", applies="load")

class Works(Backend):
    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args):
        return None

@hookimpl
def etconfig_backend(request):
    return BackendSpec(id="Engine", doc="An engine.", options=Options, api=ApiRange(1, 1), {more})
"""

FACTORY, BUILD, NOTHING, BROKEN = "factory=Works", "build=lambda options: options", "", "factory=1/0"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Installation]]:
    """Install plugins that all declare `Engine`, by name, each with more fields of its spec."""

    def install(plugins: Mapping[str, str], project: str = "") -> Installation:
        for name, more in plugins.items():
            points, headers = (
                f"[etconfig.backends]\nEngine = {name}_plugin\n",
                f"Name: {name}\nVersion: 1.0\n",
            )
            write_distribution(tmp_path, f"{name}-1.0.dist-info", points, headers)
            (tmp_path / f"{name}_plugin.py").write_text(PLUGIN.format(name=f"of_{name}", more=more))
        (tmp_path / "etconfig.toml").write_text(project)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.chdir(tmp_path)
        return Installation(search_path=[str(tmp_path)], directory=tmp_path)

    yield install
    forget_modules_below(tmp_path)


def options_of(installation: Installation) -> list[str]:
    return [*installation.plugins.backend_spec("Engine").options.option_infos()]


class TestWinner:
    """One with an implementation wins; otherwise the error names all."""

    @pytest.mark.parametrize("implementation", [FACTORY, BUILD])
    @pytest.mark.parametrize("is_first", [True, False])
    def test_an_implementation_wins_over_a_schema(
        self, install: Callable[..., Installation], implementation: str, is_first: bool
    ) -> None:
        both = {"upstream": NOTHING, "vendor": implementation}
        installation = install(dict(sorted(both.items(), reverse=is_first)))
        assert options_of(installation) == ["of_vendor"]
        assert installation.plugins.backend_entry("Engine").source == "vendor 1.0"

    def test_its_backend_is_created(self, install: Callable[..., Installation]) -> None:
        installation = install({"upstream": NOTHING, "vendor": FACTORY})
        assert type(installation.plugins.create_backend("Engine")).__module__ == "vendor_plugin"

    @pytest.mark.parametrize(
        "plugins",
        [
            {"one": FACTORY, "two": FACTORY},
            {"one": FACTORY, "two": BUILD},
            {"one": NOTHING, "two": NOTHING},
            {"one": FACTORY, "two": BROKEN},
            {"one": FACTORY, "two": NOTHING, "three": FACTORY},
        ],
    )
    def test_none_wins(self, install: Callable[..., Installation], plugins: Mapping[str, str]) -> None:
        with pytest.raises(DuplicatePluginError, match="is claimed by"):
            install(plugins).plugins.backend_spec("Engine")

    def test_a_broken_one_is_listed(self, install: Callable[..., Installation]) -> None:
        installation = install({"one": FACTORY, "two": BROKEN})
        with pytest.raises(DuplicatePluginError):
            installation.plugins.backend_spec("Engine")
        assert [each.distribution for each in installation.plugins.failures] == ["two"]

    def test_the_project_file_has_the_last_word(self, install: Callable[..., Installation]) -> None:
        project = '[plugins]\nprefer = { Engine = "upstream" }\n'
        installation = install({"upstream": NOTHING, "vendor": FACTORY}, project)
        assert options_of(installation) == ["of_upstream"]
        assert "vendor_plugin" not in sys.modules

    def test_a_denied_one_does_not_count(self, install: Callable[..., Installation]) -> None:
        installation = install({"upstream": NOTHING, "vendor": FACTORY}, '[plugins]\ndeny = ["vendor"]\n')
        assert options_of(installation) == ["of_upstream"]


class TestListing:
    """`etconfig backends` shows which one is used."""

    def rows(self, cli: Callable[..., Outcome], *args: str) -> dict[str, str]:
        printed = cli("backends", "--json", *args).json
        return {row["distribution"]: row["used"] for row in printed if row["backend"] == "Engine"}

    def test_the_one_passed_over_has_a_reason(
        self, install: Callable[..., Installation], cli: Callable[..., Outcome]
    ) -> None:
        install({"upstream": NOTHING, "vendor": FACTORY})
        assert self.rows(cli) == {
            "upstream": "no: it only declares options, and vendor 1.0 has an implementation",
            "vendor": "yes",
        }
        table = cli("backends").stdout
        assert "USED" in table.splitlines()[0]
        shown = cli("backends", "Engine").stdout.splitlines()
        assert shown[:3] == [
            "Engine: An engine.",
            "It can run here.",
            "upstream 1.0 declares it, too, and is passed over.",
        ]
        assert cli("backends", "Engine", "--json").json["passed_over"] == ["upstream 1.0"]

    def test_a_preference_is_the_reason(
        self, install: Callable[..., Installation], cli: Callable[..., Outcome]
    ) -> None:
        install({"upstream": NOTHING, "vendor": FACTORY}, '[plugins]\nprefer = { Engine = "upstream" }\n')
        assert self.rows(cli) == {"upstream": "yes", "vendor": "no: the project file prefers upstream"}

    def test_a_conflict_has_the_fix(
        self, install: Callable[..., Installation], cli: Callable[..., Outcome]
    ) -> None:
        install({"one": FACTORY, "two": FACTORY})
        for reason in self.rows(cli).values():
            assert reason.startswith("no: 'Engine' in etconfig.backends is claimed by ")
            assert "uninstall one, or choose: [plugins] prefer" in reason

    def test_without_a_conflict_nothing_is_imported(
        self, install: Callable[..., Installation], cli: Callable[..., Outcome]
    ) -> None:
        install({"vendor": FACTORY})
        assert "used" not in cli("backends", "--json").json[0]
        assert "vendor_plugin" not in sys.modules
