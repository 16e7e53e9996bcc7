"""Real .pte files: a bounded reader that verifies everything before it is used.

with open_program("model.pte") as program:
    plan = program.plan("forward")
"""
