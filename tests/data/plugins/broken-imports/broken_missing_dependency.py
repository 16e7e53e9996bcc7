import a_vendor_sdk_that_is_not_installed  # noqa: F401
