"""Usage: the records of devices, compared with the decisions for them."""
