"""The identifier at byte 4 of a FlatBuffers file, as far as rooms apart need to recognize a program by it."""

from __future__ import annotations


def has_program_identifier(content: bytes) -> bool:
    """True if a file that begins so is an ExecuTorch program, of any version of its schema: `ET12`.

    Readers of profiles and fact sheets ask, too: people give a program where one of these is expected.
    """
    identifier = content[4:8]
    return identifier.startswith(b"ET") and len(identifier) == 4 and identifier[2:].isdigit()
