"""Groups of devices and what each of them gets."""
