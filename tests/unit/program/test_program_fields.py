"""Fields and unions of a plan: required or optional, and of a known type."""

from __future__ import annotations

from types import SimpleNamespace as Pte

import pytest

from etconfig.errors import ProgramError
from etconfig.program import model as m
from etconfig.program.program import open_program


class TestUnions:
    """A value or an instruction is of a known type and refers to its contents."""

    @pytest.mark.parametrize(
        ("number", "code"), [(0, "missing-field"), (12, "unknown-value"), (255, "unknown-value")]
    )
    def test_unknown_types_of_values_are_refused(self, pte: Pte, number: int, code: str) -> None:
        evalue = pte.table("EValue", val_type=number, val=pte.table("Int", int_val=1))
        assert pte.refusal(pte.write(pte.plan(values=[evalue])))[0] == code

    @pytest.mark.parametrize(
        ("number", "code"), [(0, "missing-field"), (6, "unknown-value"), (255, "unknown-value")]
    )
    def test_unknown_types_of_instructions_are_refused(self, pte: Pte, number: int, code: str) -> None:
        step = pte.table(
            "Instruction", instr_args_type=number, instr_args=pte.table("FreeCall", value_index=0)
        )
        assert pte.refusal(pte.write_plan(instructions=[step]))[0] == code

    @pytest.mark.parametrize("number", range(2, 12))
    def test_a_value_without_contents_is_refused(self, pte: Pte, number: int) -> None:
        data = pte.write(pte.plan(values=[pte.table("EValue", val_type=number)]))
        assert pte.refusal(data) == ("missing-field", "values[0].val")

    def test_null_needs_no_contents(self, pte: Pte) -> None:
        data = pte.write(pte.plan(values=[pte.table("EValue", val_type=1)]))
        assert open_program(data).plan("forward").values == (None,)

    def test_absent_numbers_read_as_their_defaults(self, pte: Pte) -> None:
        values = [pte.value("Int"), pte.value("Bool"), pte.value("Double")]
        plan = open_program(pte.write(pte.plan(values=values))).plan("forward")
        assert repr(plan.values) == repr((m.Int(0), m.Bool(False), m.Double(0.0)))


class TestFields:
    """A field that the runtime needs is required; others may be absent."""

    @pytest.mark.parametrize(
        "field", ["name", "values", "inputs", "outputs", "chains", "delegates", "non_const_buffer_sizes"]
    )
    def test_of_a_plan(self, pte: Pte, field: str) -> None:
        assert pte.refusal(pte.write(pte.plan(**{field: None}))) == ("missing-field", field)

    def test_a_plan_has_at_least_one_chain(self, pte: Pte) -> None:
        assert pte.refusal(pte.write(pte.plan(chains=[]))) == ("missing-field", "chains")

    def test_the_root_has_plans(self, pte: Pte) -> None:
        with pytest.raises(ProgramError, match=r"^execution_plan at byte \d+: the field is required"):
            open_program(pte.write(execution_plan=None))

    @pytest.mark.parametrize("field", ["sizes", "dim_order"])
    def test_of_a_tensor(self, pte: Pte, field: str) -> None:
        assert pte.refusal(pte.write_tensor(**{field: None})) == ("missing-field", f"values[0].{field}")

    @pytest.mark.parametrize(
        ("kind", "field"),
        [("String", "string_val")]
        + [(k, "items") for k in ("IntList", "DoubleList", "BoolList", "TensorList", "OptionalTensorList")],
    )
    def test_of_other_values(self, pte: Pte, kind: str, field: str) -> None:
        assert pte.refusal(pte.write(pte.plan(values=[pte.value(kind)]))) == (
            "missing-field",
            f"values[0].{field}",
        )

    @pytest.mark.parametrize("field", ["id", "processed"])
    def test_of_a_delegate(self, pte: Pte, field: str) -> None:
        processed = pte.table("BackendDelegateDataReference", location=0, index=0)
        delegate = pte.table("BackendDelegate", **{"id": "B", "processed": processed, field: None})
        assert pte.refusal(pte.write_plan(delegates=[delegate])) == ("missing-field", f"delegates[0].{field}")

    @pytest.mark.parametrize("field", ["key", "value"])
    def test_of_a_compile_spec(self, pte: Pte, field: str) -> None:
        processed = pte.table("BackendDelegateDataReference", location=0, index=0)
        spec = pte.table("CompileSpec", **{"key": "k", "value": b"v", field: None})
        delegate = pte.table("BackendDelegate", id="B", processed=processed, compile_specs=[spec])
        data = pte.write_plan(delegates=[delegate])
        assert pte.refusal(data) == ("missing-field", f"delegates[0].compile_specs[0].{field}")

    def test_of_an_operator_and_a_chain(self, pte: Pte) -> None:
        assert pte.refusal(pte.write_plan(operators=[pte.table("Operator", overload="out")])) == (
            "missing-field",
            "operators[0].name",
        )
        assert pte.refusal(pte.write_plan(chains=[pte.table("Chain")])) == (
            "missing-field",
            "chains[0].instructions",
        )

    @pytest.mark.parametrize(("kind", "field"), [("KernelCall", "args"), ("DelegateCall", "args")])
    def test_of_a_call(self, pte: Pte, kind: str, field: str) -> None:
        data = pte.write_plan(instructions=[pte.instruction(kind)])
        assert pte.refusal(data) == ("missing-field", f"chains[0].instructions[0].{field}")

    def test_an_operator_may_lack_an_overload_and_a_delegate_specs(self, pte: Pte) -> None:
        plan = open_program(pte.write_plan(operators=[pte.table("Operator", name="aten::copy_")])).plan(
            "forward"
        )
        assert plan.operators[0].full_name == "aten::copy_"
        assert plan.delegates[0].compile_specs == ()

    def test_compile_specs_and_buffer_devices_are_read(self, pte: Pte) -> None:
        processed = pte.table("BackendDelegateDataReference", location=0, index=0)
        spec = pte.table("CompileSpec", key="device", value=b"CPU\0")
        delegate = pte.table("BackendDelegate", id="B", processed=processed, compile_specs=[spec])
        device = pte.table("NonConstBufferDevice", buffer_idx=1, device_type=1, device_index=3)
        data = pte.write_plan(delegates=[delegate], non_const_buffer_device=[device])
        plan = open_program(data).plan("forward")
        assert plan.delegates[0].compile_specs == (m.CompileSpec("device", b"CPU\0"),)
        assert plan.non_const_buffer_device == (m.NonConstBufferDevice(1, m.DeviceType.CUDA, 3),)

    def test_every_chain_is_read(self, pte: Pte) -> None:
        chains = [
            pte.table("Chain", instructions=[pte.instruction("FreeCall", value_index=0)]),
            pte.table("Chain", instructions=[]),
        ]
        plan = open_program(pte.write_plan(chains=chains)).plan("forward")
        assert plan.chains == (m.Chain((m.FreeCall(0),)), m.Chain(()))
