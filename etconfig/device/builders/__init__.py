"""Source code that passes a method's options to ExecuTorch, in languages that read no file."""

from etconfig.device.builders.build import LANGUAGES, emit

__all__ = ["LANGUAGES", "emit"]
