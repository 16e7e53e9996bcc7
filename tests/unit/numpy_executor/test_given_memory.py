"""Memory of the caller: state is written there even if the method itself never reads it."""

from __future__ import annotations

import numpy as np
import pytest
from plans import KERNELS, PlanBuilder, floats

from etconfig.method.method import guarded_method
from etconfig.method.request import method_request
from etconfig.numpy_executor import NumpyProgram
from etconfig.program.metadata import MethodMeta
from etconfig.program.model import AllocationDetails, SerializedTensor


@pytest.mark.parametrize("optimize", [True, False])
def test_a_kernel_writes_state_that_only_another_method_reads(optimize: bool) -> None:
    builder = PlanBuilder()
    x, state, out = builder.tensor(4), builder.tensor(4), builder.tensor(4)
    constant = builder.constant(floats(1, 2, 3, 4))
    builder.inputs, builder.outputs = [x], [out]
    builder.add_(constant, constant, state)
    builder.add_(x, constant, out)
    tensor = builder.values[state]
    assert isinstance(tensor, SerializedTensor)
    builder.values[state] = tensor._replace(allocation_info=AllocationDetails(2, 0))
    program = builder.program()
    plan = program._plan = program._plan._replace(non_const_buffer_sizes=(0, builder.planned_bytes, 16))
    given = np.zeros(16, np.uint8)
    request = method_request(program, plan, {}, optimize=optimize, memory=[None, given])  # type: ignore[arg-type]
    method = guarded_method(MethodMeta(plan), request, NumpyProgram(program, KERNELS))  # type: ignore[arg-type]
    (result,) = method.execute([floats(1, 1, 1, 1)])
    assert result.tolist() == [2, 3, 4, 5]
    assert given.view(np.float32).tolist() == [2, 4, 6, 8]
