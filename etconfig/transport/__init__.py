"""Arguments on their way to other worlds: what each way can carry, and what it refuses."""

from etconfig.transport.carrier import ANDROID, EXECUTORCH, Carrier, WireValue
from etconfig.transport.wire import WireOption, wire_options

__all__ = ["ANDROID", "EXECUTORCH", "Carrier", "WireOption", "WireValue", "wire_options"]
