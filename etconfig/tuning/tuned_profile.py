"""The profile that a search writes: the options that matter, for devices like this one, with evidence."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from etconfig.base.paired_ratio import PairedRatio
from etconfig.base.records import record
from etconfig.base.written_files import FileKind, head_of
from etconfig.profile.profile import Profile
from etconfig.resolver.explaining.toml_text import toml_key, toml_value
from etconfig.tuning.space import Combination

_MARK = "# Written by `etconfig tune`."
TUNED = FileKind("a tuned profile", lambda path: head_of(path).startswith(_MARK.encode()))
"""The kind of file."""
IDENTIFYING = ("cpu.model", "soc.model", "device.model")
"""The facts that name a device; the first that is known counts."""
CORES = "cpu.available_cores"
"""The fact that decides about threads."""


@record(frozen=True, kw_only=True)
class TunedProfile:
    """A profile with evidence.

    Attributes:
        name: Its name.
        extends: The profile in force: a name, or the path of a file.
        scope: The table above its options, such as `methods.detector.`; empty for all methods.
        options: The options, by `BACKEND.OPTION`.
        made: The day.
        model: The hash of the model.
        engine: The engine and its version.
        device: The facts that decide whether it suits a device.
        noise: The ratio of two equal configurations.
        objective: What was measured.
        backend: The backend whose engine runs the model; None for a program.
        shapes: The shapes of inputs that were made up for an engine's model.
        whole: The ratio of all options together.
        gains: The gain of each option.
        comment: What to know, in lines.
        match: The condition under which it is selected; by default the facts of `device`.
        when: The condition of its options, whose scope is in `when.` then.
        rollout: The rollout whose devices were compared, if it is from usage, without model and engine.
    """

    name: str
    extends: str | None
    scope: str
    options: Combination
    made: datetime.date
    model: str = ""
    engine: str = ""
    device: Mapping[str, object] = field(default_factory=dict)
    noise: float = 1.0
    objective: str
    backend: str | None = None
    shapes: Sequence[str] = ()
    whole: PairedRatio
    gains: Mapping[str, PairedRatio] = field(default_factory=dict)
    comment: Sequence[str] = ()
    match: str | None = None
    when: str | None = None
    rollout: str | None = None

    def text(self) -> str:
        """Return it as TOML."""
        facts = (f"{name} == {toml_value(value)}" for name, value in self.device.items())
        match = " && ".join(facts) if self.match is None else self.match
        extends = [] if self.extends is None else [f"extends = [{toml_value(self.extends)}]"]
        head = ["[profile]", f"name = {toml_value(self.name)}", *extends]
        head += [f"match = {_quoted(match)}"] if match else []
        lines = [_MARK, *(f"# {line}" for line in self.comment), "", *head]
        backends: dict[str, list[str]] = {}
        for path, value in self.options.items():
            backend, _, option = path.partition(".")
            backends.setdefault(backend, []).append(f"{option} = {toml_value(value)}")
        lines += [] if self.when is None else ["", "[[when]]", f"if = {_quoted(self.when)}"]
        for backend, settings in backends.items():
            lines += ["", f"[{self.scope}options.{toml_key(backend)}]", *settings]
        return "\n".join([*lines, "", *self._evidence(), ""])

    def _evidence(self) -> Iterable[str]:
        device = ", ".join(f"{toml_key(name)} = {toml_value(value)}" for name, value in self.device.items())
        yield "[evidence]"
        if self.rollout is not None:
            yield from ('source = "usage"', f"made = {self.made.isoformat()}")
            yield f"rollout = {_quoted(self.rollout)}"
            yield f"objective = {toml_value(self.objective)}"
            yield from _gain_lines(self.whole, "devices")
            for path in self.options:
                yield from ("", "[[evidence.options]]", f"option = {toml_value(path)}")
            return
        yield f"made = {self.made.isoformat()}"
        yield f"model = {toml_value(self.model)}"
        yield f"engine = {toml_value(self.engine)}"
        yield f"device = {{ {device} }}"
        yield f"noise = {self.noise:.4f}"
        yield f"objective = {toml_value(self.objective)}"
        if self.backend is not None:
            yield f"backend = {toml_value(self.backend)}"
        if self.shapes:
            yield f"shapes = {toml_value(list(self.shapes))}"
        yield from _gain_lines(self.whole)
        for path, gain in self.gains.items():
            yield from ("", "[[evidence.options]]", f"option = {toml_value(path)}")
            yield from _gain_lines(gain)


def device_facts(known: Mapping[str, object], *, has_threads: bool) -> dict[str, object]:
    """Return the facts that decide whether options suit a device.

    Args:
        known: The values of the known facts.
        has_threads: True if the number of cores matters.
    """
    names = [next((name for name in IDENTIFYING if name in known), "cpu.arch")]
    names += [CORES] if has_threads else []
    return {name: known[name] for name in names if name in known}


def extended(profile: str | None, resolved: str | None, output: Path) -> str | None:
    """Return what to write in `extends`: a name, or the path of a file as seen from the new one."""
    if profile is not None and profile.endswith(".toml"):
        return Path(os.path.relpath(profile, output.parent)).as_posix()
    return resolved


def base_of(profile: Profile, path: Path) -> str:
    """Return the profile that a tuned one extends, as a request names it."""
    if not profile.extends:
        return "generic/any"
    target = profile.extends[-1].target
    return str(path.parent / target) if target.endswith(".toml") else target


def profile_name(output: Path, directories: Iterable[Path]) -> str:
    """Return the name of a profile in a file, as its path gives it in a directory of profiles."""
    place = output.absolute().with_suffix("")
    above = (each.absolute() for each in directories)
    parts = next((place.relative_to(each).parts for each in above if each in place.parents), (place.name,))
    names = (re.sub(r"[^A-Za-z0-9_.-]+", "-", part).strip("-.") for part in parts)
    return "/".join(filter(None, names)) or "tuned"


def _gain_lines(gain: PairedRatio, count: str = "pairs") -> Iterable[str]:
    yield f"ratio = {gain.ratio:.4f}"
    yield f"interval = [{gain.low:.4f}, {gain.high:.4f}]"
    yield f"{count} = {gain.pairs}"


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text and text.isprintable() else toml_value(text)
