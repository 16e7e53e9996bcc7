"""`resolve` on a device where an expression leaves its option's range: the facts that led there are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from command_line import ON_DEVICE, Outcome

OPTION = "[options.ReferenceNpuBackend]\ncore = "


def test_a_value_out_of_range_names_the_facts_and_their_values(cli: Callable[..., Outcome]) -> None:
    Path("etconfig.toml").write_text(OPTION + "{ expr = 'cpu.available_cores + size(os.name)' }\n")
    done = cli("resolve", "model.pte", *ON_DEVICE)
    assert done.status == 2
    assert "ReferenceNpuBackend.core: expected an integer >= 0 and <= 3, given 9" in done.stderr
    assert "= note: cpu.available_cores is 4\n" in done.stderr
    assert "= note: os.name is 'linux'\n" in done.stderr
    assert "= help: keep it in range with min and max" in done.stderr
