"""The machinery of the conformance kit: checks, outcomes, reports and the runner."""
