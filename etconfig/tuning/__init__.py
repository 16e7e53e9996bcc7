"""Tuning: the values worth trying, the search among them, confirmation, and profiles with evidence."""
