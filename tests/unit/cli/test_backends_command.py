"""`etconfig backends BACKEND`: the values of options that nothing sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from npu import SPEC

from etconfig.cli.commands.backends import default_text
from etconfig.resolver.deciding.unconfigured import values_without_configuration


def shown(option: str, facts: Mapping[str, object], advice: Mapping[str, object]) -> str:
    spec = replace(SPEC, recommend=lambda _: advice)
    return default_text(
        spec.options.option_infos()[option], values_without_configuration(spec, facts)[option]
    )


@pytest.mark.parametrize(
    ("option", "facts", "advice", "text"),
    [
        ("scale", {}, {}, "1.0"),
        ("scale", {}, {"scale": 2.0}, "2.0 (recommended here, else 1.0)"),
        ("core", {}, {}, "required"),
        ("core", {}, {"core": 2}, "2 (recommended here)"),
        ("threads", {}, {}, "required (cpu.available_cores is unknown here)"),
        ("threads", {"cpu.available_cores": 4}, {}, "4 (fact cpu.available_cores here)"),
        ("threads", {"cpu.available_cores": 4}, {"threads": 2}, "2 (recommended here)"),
        (
            "threads",
            {"cpu.available_cores": 0},
            {},
            "none here: NpuBackend.threads: expected an integer >= 1, given 0",
        ),
    ],
)
def test_the_default_on_a_device_is_shown_with_its_reason(
    option: str, facts: Mapping[str, object], advice: Mapping[str, object], text: str
) -> None:
    assert shown(option, facts, advice) == text
