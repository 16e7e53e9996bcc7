"""Models in several variants: catalogs read from TOML, the variant for a device, and checks of both.

A catalog names programs, but this package opens none: the caller provides what each one needs.
"""
