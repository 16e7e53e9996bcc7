from etconfig.plugin.v1 import BackendOptions


class Options(BackendOptions):
    core: int = 1
