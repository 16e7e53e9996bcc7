from etconfig.plugin.v1 import a_name_of_the_future  # noqa: F401
