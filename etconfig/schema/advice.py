"""`Advice`: the value that a vendor recommends for an option, as an expression over facts."""

from __future__ import annotations

from dataclasses import field

from etconfig.base.records import record


@record(frozen=True)
class Advice:
    """The value that a vendor recommends for one option: an expression over facts, and when it applies.

    Expression and condition are written in the language of profiles. Both are checked when the backend's
    plugin is loaded, and never run any code of the plugin, so a device can evaluate them, too.

    Example:
        >>> from etconfig.plugin.v1 import Advice
        >>> Advice(
        ...     "num_threads",
        ...     expr="max(1, min(cpu.available_cores, cpu.performance_cores))",
        ...     reason="Efficiency cores slow the others down.",
        ... ).option
        'num_threads'

    Attributes:
        option: The option's name.
        expr: The value, as an expression over facts.
        when: The condition under which the value is recommended; None for all devices. Where it is
            unknown, or where the value is unknown, the entry does not apply.
        reason: Why, in a sentence for users.

    Raises:
        TypeError: a field is not a text.
        ValueError: a text is empty.
    """

    option: str
    expr: str = field(kw_only=True)
    when: str | None = field(default=None, kw_only=True)
    reason: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        texts = {"option": self.option, "expr": self.expr, "when": self.when, "reason": self.reason}
        for name, text in texts.items():
            if name == "when" and text is None:
                continue
            if not isinstance(text, str):
                raise TypeError(f"{name} of an Advice must be a text, not {text!r:.60}")
            if name != "reason" and not text.strip():
                raise ValueError(f"{name} of an Advice is empty")
