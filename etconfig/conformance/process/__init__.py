"""Child processes for the checks, and observation of this process: its state, resources and actions."""
