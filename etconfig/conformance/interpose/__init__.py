"""Stand-ins placed between the executor and a backend: replaced inits, injected faults, damaged payloads."""
