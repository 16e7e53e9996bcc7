"""`LiveArguments.refresh` takes new facts; `reload` reads changed files."""

from __future__ import annotations

from pathlib import Path

import pytest

import etconfig

PROFILE = '[profile]\nname = "acme/b"\nmatch = "true"\n[options.ReferenceCpuBackend]\nnum_threads = 2\n'


def _threads(value: object) -> object:
    return getattr(value, "num_threads")  # noqa: B009


def test_files_count_after_reload_and_not_after_refresh(place: Path) -> None:
    directory = place / "p/acme"
    directory.mkdir(parents=True)
    profile, project = directory / "b.toml", place / "etconfig.toml"
    wrong = []
    for start, kept in (("auto", False), ("acme/b", False), ("auto", True)):
        profile.write_text(PROFILE)
        project.write_text('profile_path = ["p"]\n')
        program = etconfig.load_program("model.pte")
        facts = etconfig.load_fact_sheet("device.json")
        live = etconfig.LiveArguments(program, facts=facts, profile=start, hold_profile=kept)
        with program.load_method("forward", live.arguments("forward")) as method:
            live.attach(method)
            for step, expected in (
                (lambda: profile.write_text(PROFILE.replace("= 2", "= 7")), 7),
                (
                    lambda: project.write_text(
                        'profile_path = ["p"]\n[options.ReferenceCpuBackend]\nnum_threads = 3\n'
                    ),
                    3,
                ),
                (lambda: project.write_text('profile_path = ["p"]\n'), 7),
                (lambda: profile.write_text(PROFILE), 2),
            ):
                before = _threads(method.options("ReferenceCpuBackend"))
                step()
                live.refresh(facts)
                if _threads(method.options("ReferenceCpuBackend")) != before:
                    wrong.append((start, kept, expected, "refresh"))
                live.reload()
                if _threads(method.options("ReferenceCpuBackend")) != expected:
                    wrong.append((start, kept, expected, "reload"))
    assert not wrong


def test_a_refreshed_installation_reads_the_project_file_again(place: Path) -> None:
    installation = etconfig.Installation(place)
    assert installation.project is None
    (place / "etconfig.toml").write_text('profile = "generic/any"\n')
    assert installation.project is None
    again = installation.refreshed()
    assert again.project is not None
    assert again.plugins is installation.plugins


def test_a_project_file_that_was_wrong_is_read_again_by_a_refreshed_installation(place: Path) -> None:
    project, wrong = place / "etconfig.toml", []
    for broken in ("[plugins", "[plugins]\ndeny = 3\n", "profile = 3\n", 'profile_path = "x"\n'):
        project.write_text(broken)
        installation = etconfig.Installation(place)
        with pytest.raises(etconfig.ConfigError):
            etconfig.resolve(installation=installation)
        project.write_text('profile = "generic/any"\n')
        if etconfig.resolve(installation=installation.refreshed()).profile != "generic/any":
            wrong.append(broken)
    assert not wrong


def test_a_reload_that_fails_changes_nothing(place: Path) -> None:
    profile = place / "b.toml"
    profile.write_text(PROFILE)
    program = etconfig.load_program("model.pte")
    facts = etconfig.load_fact_sheet("device.json")
    live = etconfig.LiveArguments(program, facts=facts, profile="b.toml")
    with program.load_method("forward", live.arguments("forward")) as method:
        live.attach(method)
        for broken in ("[profile", PROFILE.replace("= 2", "= -1"), PROFILE.replace("num_threads", "threads")):
            profile.write_text(broken)
            with pytest.raises(etconfig.ConfigError):
                live.reload()
            assert not live.refresh(facts)
            assert _threads(live.resolution.arguments("forward")["ReferenceCpuBackend"]) == 2
        profile.write_text(PROFILE.replace("= 2", "= 5"))
        report = live.reload()
        assert [(str(each.path), each.new) for each in report.applied] == [
            ("forward:ReferenceCpuBackend.num_threads", 5)
        ]
        assert not live.reload()


def test_models_of_the_project_file_and_of_a_file_are_read_again(place: Path) -> None:
    model = '[model.{}]\nbackends = ["ReferenceCpuBackend"]\n'
    files = (place / "etconfig.toml", place / "models.toml")
    wrong = []
    for file, models in zip(files, (None, "models.toml"), strict=True):
        file.write_text(model.format("first"))
        live = etconfig.LiveArguments(models=models, installation=etconfig.Installation(place))
        file.write_text(model.format("second"))
        live.refresh()
        seen = [{method for method, _ in live.resolution.instances}]
        live.reload()
        seen.append({method for method, _ in live.resolution.instances})
        if seen != [{"first"}, {"second"}]:
            wrong.append((file.name, seen))
        file.unlink()
    assert not wrong
