"""The terms of the kit: levels, settings, outcomes and results."""
