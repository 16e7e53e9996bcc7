"""Explanations of mistakes, by the room that they help; imported only when something is wrong."""
