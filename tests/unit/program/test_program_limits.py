"""Work and memory stay in proportion to the file, whatever it claims."""

from __future__ import annotations

import struct
import tracemalloc
from types import SimpleNamespace as Pte
from typing import Any

import pytest

from etconfig.errors import ProgramError, UnsupportedProgramError
from etconfig.program.cursor import Cursor
from etconfig.program.limits import Limits
from etconfig.program.program import Verification, open_program
from etconfig.program.program_tables import LIST


def refusal(data: bytes, **limits: int) -> str:
    with pytest.raises(UnsupportedProgramError) as caught:
        open_program(data, limits=Limits(**limits))
    assert caught.value.code == "limit-exceeded"
    return str(caught.value)


def fan_out(pte: Pte, width: int) -> bytes:
    """Return plans that share a chain vector that shares an instruction vector: width ** 3 instructions."""
    step = pte.instruction("FreeCall", value_index=0)
    chain = pte.table("Chain", instructions=pte.node("[t]", [step] * width))
    chains = pte.node("[t]", [chain] * width)
    values = pte.node("[t]", [pte.value("Int", int_val=1)])
    return pte.write(*[pte.plan(name=f"{i}", values=values, chains=chains) for i in range(width)])


def list_user(pte: Pte, items: Any, user: str, uses: int) -> bytes:
    """Return a plan that uses one list many times."""
    item = pte.value("Int", int_val=0) if items.value["val"].kind == "IntList" else pte.tensor()
    if user == "outputs":
        return pte.write_plan(values=[item, items], outputs=[1] * uses)
    index = {"KernelCall": "op_index", "DelegateCall": "delegate_index"}[user]
    calls = [pte.instruction(user, **{index: 0}, args=[1]) for _ in range(uses)]
    return pte.write_plan(values=[item, items], instructions=calls)


class TestWork:
    """A table that many references share is charged for each of them."""

    def test_a_fan_out_bomb_is_refused(self, pte: Pte) -> None:
        data = fan_out(pte, 200)
        tracemalloc.start()
        text = refusal(data)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert text.startswith("execution_plan[0].chains[")
        assert text.endswith(
            "the number of bytes to decode for each byte of the program exceeds the limit of 4 "
            "[limit-exceeded]; if you trust the file, raise Limits.max_work_per_byte"
        )
        assert peak_bytes < 40 * len(data) + 4_000_000

    def test_shared_tables_are_read_when_the_limit_is_raised(self, pte: Pte) -> None:
        program = open_program(fan_out(pte, 8), limits=Limits(max_work_per_byte=100))
        assert len(program.plan("7").chains[7].instructions) == 8

    def test_minimal_opens_a_bomb_and_refuses_its_plans(self, pte: Pte) -> None:
        program = open_program(fan_out(pte, 200), verification=Verification.Minimal)
        with pytest.raises(UnsupportedProgramError, match="max_work_per_byte"):
            program.plan("199")

    def test_compile_specs_that_share_their_bytes_are_refused(self, pte: Pte) -> None:
        value = pte.node("[B]", bytes(10_000))
        specs = [pte.table("CompileSpec", key="k", value=value) for _ in range(100)]
        processed = pte.table("BackendDelegateDataReference", location=0, index=0)
        delegate = pte.table("BackendDelegate", id="B", processed=processed, compile_specs=specs)
        payload = [pte.table("BackendDelegateInlineData", data=b"")]
        refusal(pte.write(pte.plan(delegates=[delegate]), backend_delegate_data=payload))

    @pytest.mark.parametrize("kind", ["TensorList", "OptionalTensorList", "BoolList"])
    @pytest.mark.parametrize("user", ["KernelCall", "DelegateCall", "outputs"])
    def test_a_long_list_is_charged_at_each_use(self, pte: Pte, kind: str, user: str) -> None:
        """Each user of a list visits all of it: 40 KB could ask for 10 million copies."""
        items = pte.value(kind, items=[0] * 5000)
        text = refusal(list_user(pte, items, user, 1000))
        assert text.startswith(f"execution_plan[0].{'outputs' if user == 'outputs' else 'instructions'} at ")
        assert "Limits.max_work_per_byte" in text

    @pytest.mark.parametrize(("length", "uses"), [(16, 1000), (5000, 2)])
    def test_short_lists_and_few_uses_are_accepted(self, pte: Pte, length: int, uses: int) -> None:
        items = pte.value("IntList", items=[0] * length)
        for user in ("KernelCall", "outputs"):
            open_program(list_user(pte, items, user, uses))

    def test_a_writer_that_shares_no_vtables_is_accepted(self, pte: Pte) -> None:
        data = pte.write(pte.plan(values=[pte.value("Int", int_val=i) for i in range(500)]))
        assert len(open_program(data).plan("forward").values) == 500

    def test_compiling_a_vtable_for_every_table_is_refused(self) -> None:
        count = 500
        vtables = struct.pack("<H", 4) * 2 * count  # an empty vtable starts at every other byte
        tables = [struct.pack("<i", len(vtables) + 4 * i - 2 * i) for i in range(count)]
        data = vtables + b"".join(tables)
        cursor = Cursor(memoryview(data), len(data), Limits())
        positions = range(len(vtables), len(data), 4)
        with pytest.raises(UnsupportedProgramError, match="max_work_per_byte"):
            [cursor.table(position, LIST) for position in positions]


class TestLimits:
    """Each limit is a field of Limits, and the error names it."""

    @pytest.mark.parametrize(
        ("name", "limit", "region"),
        [
            ("max_methods", 1, "execution_plan"),
            ("max_values", 2, "execution_plan[0].values"),
            ("max_instructions", 2, "execution_plan[0].chains[0].instructions"),
            ("max_string_bytes", 7, "execution_plan[1].name"),
        ],
    )
    def test_one_more_than_the_limit_is_refused(self, pte: Pte, name: str, limit: int, region: str) -> None:
        values = [pte.value("Int", int_val=i) for i in range(3)]
        steps = [pte.instruction("FreeCall", value_index=i) for i in range(3)]
        data = pte.write(pte.plan(values=values, instructions=steps), pte.plan(name="backward"))
        text = refusal(data, **{name: limit})
        assert text.startswith(f"{region} at byte ")
        assert text.endswith(
            f"exceeds the limit of {limit} [limit-exceeded]; if you trust the file, raise Limits.{name}"
        )
        assert len(open_program(data, limits=Limits(**{name: limit + 1})).method_names) == 2

    def test_a_name_of_100_000_characters_is_refused(self, pte: Pte) -> None:
        operator = pte.table("Operator", name="a" * 100_000, overload="")
        assert "Limits.max_string_bytes" in refusal(pte.write(pte.plan(operators=[operator])))

    def test_a_claim_of_4_gib_allocates_nothing(self, pte: Pte) -> None:
        data = pte.write(pte.plan(inputs=pte.raw(4)))
        at = data.index(b"forward")
        data = data.replace(struct.pack("<I", 7) + b"forward", struct.pack("<I", 2**32 - 1) + b"forward")
        assert at > 0
        tracemalloc.start()
        with pytest.raises(ProgramError, match="needs 4294967295 bytes"):
            open_program(data)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 1_000_000
