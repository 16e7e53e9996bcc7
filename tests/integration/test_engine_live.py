"""Objects that engines made: what is in force in them, and changes while the facts of the device change."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import model_validator
from tiny_engine import OTHER, SPEC, TinyOptions, TinySession

import etconfig
from etconfig.app.installation.installation import Installation
from etconfig.app.live.live_arguments import LiveChange, Refresh
from etconfig.base.provenance import Origin, OriginKind, Sourced
from etconfig.errors import EngineError, OptionError, PluginCallError
from etconfig.facts.sheet import FactSheet
from etconfig.plugin.v1 import EffectiveOption, option

PROFILE = """\
[profile]
name = "board"

[options.TinyEngine]
threads = { expr = "cpu.available_cores * 2" }
scale = { expr = "cpu.available_cores" }

[instances.left]
method = "detector"
"""


def device(cores: int) -> FactSheet:
    origin = Origin(OriginKind.SHEET, "test")
    return FactSheet.empty().with_overrides({"cpu.available_cores": Sourced(cores, origin)})


def installation_with(place: Path, **changed: Any) -> Installation:
    (place / "board.toml").write_text(PROFILE)
    (place / "model.tiny").write_text("a model")
    backends = {"TinyEngine": replace(SPEC, **changed), "OtherEngine": OTHER}
    return Installation(place).with_backends(backends)


def live_on(installation: Installation, cores: int = 1) -> etconfig.LiveArguments:
    return etconfig.LiveArguments(
        models={"detector": "TinyEngine"},
        profile="board.toml",
        facts=device(cores),
        installation=installation,
    )


@pytest.fixture
def live(place: Path) -> etconfig.LiveArguments:
    return live_on(installation_with(place))


def new_values(changes: tuple[LiveChange, ...]) -> Mapping[str, object]:
    return {str(change.path): change.new for change in changes}


class TestEffective:
    """`effective` shows what was requested beside what is in force."""

    def test_each_option_has_both_values_and_their_source(self, place: Path) -> None:
        models = {"detector": "TinyEngine"}
        overrides = {"TinyEngine.threads": 64, "TinyEngine.label": "a"}
        config = etconfig.resolve(
            models=models, overrides=overrides, installation=installation_with(place), facts=device(1)
        )
        view = config.effective("detector", config.build("detector", "model.tiny"))
        assert {name: (o.requested, o.effective.value, o.differs) for name, o in view.items()} == {
            "threads": (64, 4, True),
            "precision": ("f32", "f32", False),
            "scale": (1, 1, False),
            "label": ("a", None, None),
        }
        assert view.differing == ("threads",)
        assert view["label"].effective.reason == "the engine does not report it"
        assert view.to_jsonable()["threads"] == {
            "requested": 64,
            "value": 4,
            "source": "read back",
            "differs": True,
            "reason": "the engine reports it",
        }

    def test_without_defaults_has_what_is_set_or_differs(self, place: Path) -> None:
        config = etconfig.resolve(
            models={"detector": "TinyEngine"},
            overrides={"TinyEngine.scale": 2},
            installation=installation_with(place),
            facts=device(1),
        )
        session = config.build("detector", "model.tiny")
        session.precision = "bf16"
        view = config.effective("detector", session).without_defaults()
        assert tuple(view) == ("precision", "scale")
        assert view.defaults == {"precision"}
        assert str(view).splitlines()[1] == "  without 2 options that nothing sets"

    def test_a_long_table_is_shown_key_by_key(self, place: Path) -> None:
        class Tables(TinyOptions):
            """Options with texts for the engine."""

            entries: dict[str, str] = option({}, applies="load", doc="Texts.")
            levels: dict[str, int] = option({}, applies="load", doc="Numbers.")

        def effective(session: TinySession) -> Mapping[str, EffectiveOption]:
            return {"entries": EffectiveOption.read_back({"session.arena": "0"})}

        texts = {"session.arena": "1", "memory_pattern": "a text of forty characters, and some more"}
        config = etconfig.resolve(
            models={"detector": "TinyEngine"},
            overrides={"TinyEngine.entries": texts, "TinyEngine.levels": {"short": 1}},
            installation=installation_with(place, options=Tables, effective=effective),
            facts=device(1),
        )
        view = config.effective("detector", config.build("detector", "model.tiny")).without_defaults()
        lines = [line.strip() for line in str(view).splitlines()]
        table = [line.split("  ") for line in lines[lines.index("Long tables:") + 1 :]]
        assert [[cell.strip() for cell in row if cell] for row in table] == [
            ["KEY", "REQUESTED", "IN FORCE"],
            ["entries.'session.arena'", "'1'", "'0'"],
            ["entries.memory_pattern", "'a text of forty characters, and some more'", "(absent)"],
        ]

    def test_it_shows_itself(self, live: etconfig.LiveArguments) -> None:
        live.refresh(device(4))
        session = live.build("detector", "model.tiny", instance="left")
        view = live.resolution.effective("detector", session, instance="left")
        assert repr(view) == "<OptionsInForce detector@left:TinyEngine: 4 options; threads differs>"
        rows = [line.split() for line in str(view).splitlines()]
        assert rows[0] == ["Options", "in", "force", "in", "detector@left,", "TinyEngine"]
        assert rows[2] == ["OPTION", "REQUESTED", "IN", "FORCE", "SOURCE", "DIFFERS", "REASON"]
        assert rows[3][:6] == ["threads", "8", "4", "read", "back", "yes"]
        assert rows[6][2:5] == ["unknown", "unknown", "unknown"]
        assert view._repr_html_().count("<tr>") == 5

    def test_a_backend_that_reads_nothing_back_is_unknown(self, place: Path) -> None:
        installation = installation_with(place, effective=None)
        config = live_on(installation).resolution
        view = config.effective("detector", config.build("detector", "model.tiny"))
        assert {option.effective.reason for option in view.values()} == {"its plugin reads nothing back"}

    def test_an_engine_that_fails_is_named(self, live: etconfig.LiveArguments) -> None:
        expected = "^backend 'TinyEngine' failed in effective of model 'detector': AttributeError: "
        with pytest.raises(EngineError, match=expected):
            live.resolution.effective("detector", object())

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (None, "it returned NoneType, expected options in force by name"),
            ({"thread": EffectiveOption.read_back(1)}, "it returned 'thread', which is not an option"),
            ({"threads": 1}, "it returned 1 for 'threads', expected an EffectiveOption"),
        ],
    )
    def test_a_plugin_that_answers_wrongly_is_named(self, place: Path, answer: Any, message: str) -> None:
        installation = installation_with(place, effective=lambda built: answer)
        config = live_on(installation).resolution
        with pytest.raises(PluginCallError, match=f"effective of plugin 'TinyEngine' .* failed: {message}"):
            config.effective("detector", object())


class TestLive:
    """Execute-time options of a built object follow the facts, by the backend's `update`."""

    def test_build_attaches_the_object(self, live: etconfig.LiveArguments) -> None:
        session = live.build("detector", "model.tiny", verbose=True)
        assert (type(session), session.verbose, session.run([1.0])) == (TinySession, True, [1.0])
        report = live.refresh(device(3))
        assert new_values(report.applied) == {"detector:TinyEngine.scale": 3}
        assert new_values(report.needs_reload) == {"detector:TinyEngine.threads": 6}
        assert (session.run([1.0]), session.threads) == ([3.0], 2)
        assert repr(live).startswith("<LiveArguments: 1 attached object; ")

    def test_a_change_is_applied_once(self, live: etconfig.LiveArguments) -> None:
        session = live.build("detector", "model.tiny")
        live.refresh(device(3))
        report = live.refresh(device(3))
        assert (report.applied, session.scale) == ((), 3)
        assert new_values(report.needs_reload) == {"detector:TinyEngine.threads": 6}

    def test_an_object_built_elsewhere_is_attached_with_its_model(self, live: etconfig.LiveArguments) -> None:
        options = live.resolution.options_for("detector", instance="left")
        session = live.resolution.build("detector", "model.tiny", instance="left")
        live.refresh(device(2))
        live.attach(session, model="detector", instance="left", options=options)
        live.attach(session, model="detector", instance="left", options=options)
        report = live.refresh()
        assert new_values(report.applied) == {"detector@left:TinyEngine.scale": 2}
        assert session.scale == 2

    def test_a_refused_change_leaves_the_old_options(self, live: etconfig.LiveArguments) -> None:
        session = live.build("detector", "model.tiny")
        report = live.refresh(device(200))
        assert new_values(report.refused) == {"detector:TinyEngine.scale": 200}
        assert str(report.refused[0].error) == (
            "backend 'TinyEngine' failed in update of model 'detector': RuntimeError: the scale is over 100"
        )
        assert new_values(live.refresh(device(5)).applied) == {"detector:TinyEngine.scale": 5}
        assert session.scale == 5

    def test_options_that_contradict_each_other_are_refused(self, place: Path) -> None:
        class Even(TinyOptions):
            """Options whose scale is twice the number of threads at most."""

            @model_validator(mode="after")
            def check(self) -> Even:
                """Check the scale."""
                if self.scale > 2 * self.threads:
                    raise ValueError("scale is too large for these threads")
                return self

        live = live_on(installation_with(place, options=Even))
        session = live.build("detector", "model.tiny")
        report = live.refresh(device(5))
        (refused,) = report.refused
        assert isinstance(refused.error, OptionError)
        assert "scale is too large for these threads" in str(refused.error)
        assert session.scale == 1

    def test_options_of_the_process_move_together(self, place: Path) -> None:
        values: dict[int, int] = {}

        def update(session: Any, options: TinyOptions, *rest: Any) -> None:
            if not joint and set(values.values()) - {values[id(session)]}:
                raise RuntimeError("another session needs another scale")
            session.scale = values[id(session)] = options.scale

        @contextmanager
        def joint_update() -> Iterator[None]:
            before = dict(values)
            joint.append(True)
            try:
                yield
                if len({*values.values()}) > 1:
                    values.update(before)
                    raise RuntimeError("scales 3 and 4 at once")
            finally:
                joint.pop()

        class Shared(TinyOptions):
            """The scale is one for the whole process."""

            scale: int = option(1, applies="execute", scope="process", doc="The factor.")

        joint: list[bool] = []
        changed = {"options": Shared, "update": update, "joint_update": joint_update}
        live = live_on(installation_with(place, **changed))
        sessions = [live.build("detector", "model.tiny", instance=name) for name in (None, "left")]
        values.update({id(session): 1 for session in sessions})
        report = live.refresh(device(3))
        assert [str(c.path) for c in report.applied] == [
            "detector:TinyEngine.scale", "detector@left:TinyEngine.scale",
        ]  # fmt: skip
        assert [session.scale for session in sessions] == [3, 3]
        values[0] = 3  # a session of somebody else
        report = live.refresh(device(4))
        assert report.applied == ()
        assert [str(c.error) for c in report.refused] == [
            f"backend 'TinyEngine' failed in update of model '{label}': RuntimeError: scales 3 and 4 at once"
            for label in ("detector", "detector@left")
        ]
        assert [session.scale for session in sessions] == [3, 3]
        del values[0]
        assert len(live.refresh().applied) == 2

    def test_without_update_every_change_needs_a_new_object(self, place: Path) -> None:
        live = live_on(installation_with(place, update=None))
        session = live.build("detector", "model.tiny")
        report = live.refresh(device(3))
        assert report.applied == ()
        assert set(new_values(report.needs_reload)) == {
            "detector:TinyEngine.threads",
            "detector:TinyEngine.scale",
        }
        assert session.scale == 1

    def test_an_object_that_nobody_uses_is_dropped(self, live: etconfig.LiveArguments) -> None:
        session = live.build("detector", "model.tiny")
        del session
        gc.collect()
        assert live.refresh(device(3)) == Refresh()

    def test_settings_follow_until_they_are_detached(self, place: Path) -> None:
        changed: list[object] = []
        installation = installation_with(place, update=lambda *arguments: changed.append(arguments[-1]))
        live = live_on(installation)
        settings = live.build("detector")
        live.refresh(device(2))
        live.detach(settings)
        live.detach(settings)
        assert live.refresh(device(3)) == Refresh()
        assert changed == [{"scale"}]

    def test_a_mistyped_model_is_an_error(self, live: etconfig.LiveArguments) -> None:
        with pytest.raises(OptionError, match="did you mean 'detector'"):
            live.build("detectr", "model.tiny")
        with pytest.raises(OptionError, match="did you mean 'detector'"):
            live.attach(object(), model="detectr")

    def test_options_of_another_class_are_refused(self, live: etconfig.LiveArguments) -> None:
        with pytest.raises(
            TypeError, match=r"^options: expected the options .* built with, a TinyOptions, given dict$"
        ):
            live.attach(object(), model="detector", options={"scale": 1})  # type: ignore[arg-type]

    def test_an_object_of_another_engine_is_refused(self, live: etconfig.LiveArguments) -> None:
        with pytest.raises(TypeError) as caught:
            live.attach(object(), model="detector")
        assert str(caught.value) == (
            "method: expected the object that build of TinyEngine returned for model 'detector', given "
            "object, which TinyEngine cannot read: AttributeError: 'object' object has no attribute 'threads'"
        )
        assert repr(live).startswith("<LiveArguments: 0 attached Methods; ")

    def test_a_backend_that_reads_nothing_back_cannot_tell(self, place: Path) -> None:
        live = live_on(installation_with(place, effective=None))
        live.attach(object(), model="detector")
        assert repr(live).startswith("<LiveArguments: 1 attached object; ")

    def test_an_object_without_its_model_is_refused(self, live: etconfig.LiveArguments) -> None:
        expected = (
            r"^method: expected a loaded Method, .* or an engine's object with model=\.\.\., given object$"
        )
        with pytest.raises(TypeError, match=expected):
            live.attach(object())
