"""Stand-ins between the executor and a backend: other init arguments, injected faults, damaged payloads."""
