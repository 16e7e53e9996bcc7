"""Configuring: the choice of a profile and the options of a program on one device or many."""
