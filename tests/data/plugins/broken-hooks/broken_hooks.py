"""One object for each way in which a hook can be broken."""

from etconfig.plugin.v1 import ApiRange, BackendOptions, BackendSpec, hookimpl


class Options(BackendOptions):
    pass


class NoHook:
    pass


class Unmarked:
    def etconfig_backend(self, request):
        pass


class UnknownHook:
    @hookimpl
    def etconfig_backends(self, request):
        pass


class AnotherHook:
    @hookimpl
    def etconfig_backend(self, request):
        return BackendSpec(id=request.name, doc="A fixture.", options=Options, api=ApiRange(1, 1))

    @hookimpl
    def etconfig_fact(self, request):
        pass


class Coroutine:
    @hookimpl
    async def etconfig_backend(self, request):
        pass


class Generator:
    @hookimpl
    def etconfig_backend(self, request):
        yield


class WrongName:
    @hookimpl
    def etconfig_backend(self, spec):
        pass


class KeywordOnly:
    @hookimpl
    def etconfig_backend(self, *, request):
        pass


class Defaulted:
    @hookimpl
    def etconfig_backend(self, request=None):
        pass


class ExtraArgument:
    @hookimpl
    def etconfig_backend(self, request, *, extra):
        pass


class Raising:
    @hookimpl
    def etconfig_backend(self, request):
        raise KeyError(request.name)


class HostileAttribute:
    @property
    def etconfig_backend(self):
        raise OSError("driver is gone\nand more lines")


no_hook = NoHook()
unmarked = Unmarked()
unknown_hook = UnknownHook()
another_hook = AnotherHook()
coroutine = Coroutine()
generator = Generator()
wrong_name = WrongName()
keyword_only = KeywordOnly()
defaulted = Defaulted()
extra_argument = ExtraArgument()
raising = Raising()
hostile_attribute = HostileAttribute()
