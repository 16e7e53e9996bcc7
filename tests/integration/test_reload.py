"""`LiveArguments.refresh` takes new facts; `reload` reads changed files."""

from __future__ import annotations

from pathlib import Path

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
