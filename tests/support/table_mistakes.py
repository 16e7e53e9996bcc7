"""Tables and keys in places where nothing reads them, as people write them."""

# ruff: noqa: E501
from __future__ import annotations

from mistakes import HEAD, NPU, WHEN, Mistake

CORE = "core = 2\n"
IF = "if = 'power.source == \"battery\"'\n"
BACKEND = "ReferenceNpuBackend"


def _key(name: str, marked: str, help: str, fixed: str | None = None, file: str = "board.toml") -> Mistake:
    return Mistake(name=name, marked=marked, code="unknown-key", help=help, fixed=fixed, file=file)


def _type(
    name: str,
    marked: str,
    help: str,
    fixed: str | None = None,
    file: str = "board.toml",
    *,
    is_safe: bool = False,
) -> Mistake:
    return Mistake(
        name=name, marked=marked, code="wrong-type", help=help, fixed=fixed, file=file, is_safe=is_safe
    )


TOO_DEEP = (
    _key("overlay under a method",
         f"{HEAD}[[methods.forward.⟦when⟧]]\n{IF}[methods.forward.when.options.{BACKEND}]\n{CORE}",
         "write if under [[when]], and the options below [when.methods.forward]"),
    _key("overlay under a method as one table",
         f"{HEAD}[methods.forward.⟦when⟧]\n{IF}[methods.forward.when.options.{BACKEND}]\n{CORE}",
         "write if under [[when]], and the options below [when.methods.forward]"),
    _key("overlay under an instance",
         f"{HEAD}[instances.camera0]\nmethod = 'forward'\n[[instances.camera0.⟦when⟧]]\n{IF}[instances.camera0.when.options.{BACKEND}]\n{CORE}",
         "write if under [[when]], and the options below [when.instances.camera0]"),
    _key("overlay under a backend",
         f"{HEAD}{NPU}core = 1\n[[options.{BACKEND}.⟦when⟧]]\n{IF}core = 2\n", "write if under [[when]]"),
    _key("overlay under the profile",
         f"{HEAD}[[profile.⟦when⟧]]\n{IF}[profile.when.options.{BACKEND}]\n{CORE}",
         "write [[when]]", f"{HEAD}{WHEN}[when.options.{BACKEND}]\n{CORE}"),
    _key("two overlays under the profile",
         f"{HEAD}[[profile.⟦when⟧]]\n{IF}[profile.when.options.{BACKEND}]\n{CORE}[[profile.when]]\nif = 'cpu.available_cores > 4'\n",
         "write [[when]]", f"{HEAD}{WHEN}[when.options.{BACKEND}]\n{CORE}[[when]]\nif = 'cpu.available_cores > 4'\n"),
    _key("options under the profile", f"{HEAD}[profile.⟦options⟧.{BACKEND}]\n{CORE}",
         "write [options]", f"{HEAD}{NPU}{CORE}"),
    _key("methods under the profile", f"{HEAD}[profile.⟦methods⟧.forward.options.{BACKEND}]\n{CORE}",
         "write [methods]", f"{HEAD}[methods.forward.options.{BACKEND}]\n{CORE}"),
    _key("instances under the profile", f"{HEAD}[profile.⟦instances⟧.camera0]\nmethod = 'forward'\n",
         "write [instances]", f"{HEAD}[instances.camera0]\nmethod = 'forward'\n"),
    _key("facts under the profile", f'{HEAD}[profile.⟦facts⟧]\n"cpu.performance_cores" = 4\n',
         "write [facts]", f'{HEAD}[facts]\n"cpu.performance_cores" = 4\n'),
    _key("backend under the profile", f"{HEAD}[profile.⟦{BACKEND}⟧]\n{CORE}",
         f"write [options.{BACKEND}]", f"{HEAD}{NPU}{CORE}"),
    _key("option under the profile", f"{HEAD}⟦core⟧ = 2\n", "options of a backend belong in [options.BACKEND]"),
    _key("overlay under an overlay", f"{HEAD}{WHEN}[[when.⟦when⟧]]\nif = 'true'\n", "joined by &&"),
    _key("facts under an overlay", f'{HEAD}{WHEN}[when.⟦facts⟧]\n"cpu.performance_cores" = 4\n', "for the whole document"),
    _key("plugins under the profile", f"{HEAD}[profile.⟦plugins⟧]\nallow = []\n", "belongs in the project file"),
)  # fmt: skip

TOO_SHALLOW = (
    _key("backend at the top", f"{HEAD}[⟦{BACKEND}⟧]\n{CORE}", f"write [options.{BACKEND}]", f"{HEAD}{NPU}{CORE}"),
    _key("two tables of a backend at the top",
         f"{HEAD}[⟦{BACKEND}⟧]\n{CORE}[methods.forward.options.{BACKEND}]\ncore = 1\n", f"write [options.{BACKEND}]",
         f"{HEAD}{NPU}{CORE}[methods.forward.options.{BACKEND}]\ncore = 1\n"),
    _key("method at the top", f"{HEAD}[⟦forward⟧.options.{BACKEND}]\n{CORE}", "write [methods.forward]",
         f"{HEAD}[methods.forward.options.{BACKEND}]\n{CORE}"),
    _key("method at the top, without options", f"{HEAD}[⟦forward⟧.{BACKEND}]\n{CORE}", "options of a backend belong in [options.BACKEND]"),
    _key("instance at the top", f"{HEAD}[⟦camera0⟧]\nmethod = 'forward'\n", "write [instances.camera0]",
         f"{HEAD}[instances.camera0]\nmethod = 'forward'\n"),
    _key("method without options", f"{HEAD}[methods.forward.⟦{BACKEND}⟧]\n{CORE}",
         f"write [methods.forward.options.{BACKEND}]", f"{HEAD}[methods.forward.options.{BACKEND}]\n{CORE}"),
    _key("pattern without options", f'{HEAD}[methods."for*".⟦{BACKEND}⟧]\n{CORE}',
         f"write [methods.\"for*\".options.{BACKEND}]", f'{HEAD}[methods."for*".options.{BACKEND}]\n{CORE}'),
    _key("instance without options",
         f"{HEAD}[instances.camera0]\nmethod = 'forward'\n[instances.camera0.⟦{BACKEND}⟧]\n{CORE}",
         f"write [instances.camera0.options.{BACKEND}]",
         f"{HEAD}[instances.camera0]\nmethod = 'forward'\n[instances.camera0.options.{BACKEND}]\n{CORE}"),
    _key("overlay without options", f"{HEAD}{WHEN}[when.⟦{BACKEND}⟧]\n{CORE}", f"write [when.options.{BACKEND}]",
         f"{HEAD}{WHEN}[when.options.{BACKEND}]\n{CORE}"),
    _key("method in an overlay without methods", f"{HEAD}{WHEN}[when.⟦forward⟧.options.{BACKEND}]\n{CORE}",
         "write [when.methods.forward]", f"{HEAD}{WHEN}[when.methods.forward.options.{BACKEND}]\n{CORE}"),
    _key("method without a name", f"{HEAD}[methods.options.⟦{BACKEND}⟧]\n{CORE}", "write [methods.NAME.options.BACKEND]"),
    _key("option of a method", f"{HEAD}[methods.forward]\n⟦core⟧ = 2\n", "write [methods.forward.options.BACKEND]"),
    _key("option of an overlay", f"{HEAD}{WHEN}⟦core⟧ = 2\n", "belong in [when.options.BACKEND]"),
    _key("condition of a method", f"{HEAD}[methods.forward]\n⟦if⟧ = 'true'\n", "write if under [[when]]"),
    _key("method of a method", f"{HEAD}[methods.forward]\n⟦method⟧ = 'forward'\n", "write [methods.forward.options.BACKEND]"),
    _type("options without a backend", f"{HEAD}[options]\ncore = ⟦2⟧\n", "write [options.BACKEND] above"),
    _type("several of them", f"{HEAD}[options]\ncore = ⟦2⟧\npower_mode = 'low'\nprecision = 'fp16'\n", "write [options.BACKEND] above"),
    _type("options of a method without a backend", f"{HEAD}[methods.forward.options]\ncore = ⟦2⟧\n", "write [methods.forward.options.BACKEND]"),
    _type("options of an overlay without a backend", f"{HEAD}{WHEN}[when.options]\ncore = ⟦2⟧\n", "write [when.options.BACKEND]"),
    _type("nested fact", f"{HEAD}[facts]\n⟦cpu⟧.performance_cores = 4\n", 'quote its whole name: "cpu.performance_cores" = ...'),
)  # fmt: skip

BRACKETS = (
    _type("one when", f"{HEAD}[⟦when⟧]\n{IF}[when.options.{BACKEND}]\n{CORE}", "write [[when]]",
          f"{HEAD}{WHEN}[when.options.{BACKEND}]\n{CORE}"),
    _type("when without its own header", f"{HEAD}[⟦when⟧.options.{BACKEND}]\n{CORE}", "write [[when]] above its keys"),
    _type("several options", f"{HEAD}{WHEN}[[when.options.⟦{BACKEND}⟧]]\n{CORE}", f"write [when.options.{BACKEND}]",
          f"{HEAD}{WHEN}[when.options.{BACKEND}]\n{CORE}"),
    _type("several options of a backend", f"{HEAD}[[options.⟦{BACKEND}⟧]]\n{CORE}", f"write [options.{BACKEND}]",
          f"{HEAD}{NPU}{CORE}"),
    _type("several profiles", '[[⟦profile⟧]]\nname = "acme/board"\n', "write [profile]", HEAD),
    _type("several methods", f"{HEAD}[[methods.⟦forward⟧]]\n", "write [methods.forward]", f"{HEAD}[methods.forward]\n"),
    _type("several instances", f"{HEAD}[[instances.⟦camera0⟧]]\nmethod = 'forward'\n", "write [instances.camera0]",
          f"{HEAD}[instances.camera0]\nmethod = 'forward'\n"),
    _type("several facts", f'{HEAD}[[⟦facts⟧]]\n"cpu.performance_cores" = 4\n', "write [facts]",
          f'{HEAD}[facts]\n"cpu.performance_cores" = 4\n'),
)  # fmt: skip

KEYS = (
    _key("singular options", f"{HEAD}[⟦option⟧.{BACKEND}]\n{CORE}", "did you mean 'options'?", f"{HEAD}{NPU}{CORE}"),
    _key("singular methods, twice",
         f"{HEAD}[⟦method⟧.forward.options.{BACKEND}]\n{CORE}[method.other.options.{BACKEND}]\n{CORE}",
         "did you mean 'methods'?",
         f"{HEAD}[methods.forward.options.{BACKEND}]\n{CORE}[methods.other.options.{BACKEND}]\n{CORE}"),
    _key("singular fact", f'{HEAD}[⟦fact⟧]\n"cpu.performance_cores" = 4\n', "did you mean 'facts'?",
         f'{HEAD}[facts]\n"cpu.performance_cores" = 4\n'),
    _key("plural when", f"{HEAD}[[⟦whens⟧]]\n{IF}", "did you mean 'when'?", f"{HEAD}{WHEN}"),
    _key("capital", '[⟦Profile⟧]\nname = "acme/board"\n', "did you mean 'profile'?", HEAD),
    _key("mistyped profile", '[⟦profil⟧]\nname = "acme/board"\n', "did you mean 'profile'?", HEAD),
    _key("mistyped name", '[profile]\n⟦nmae⟧ = "acme/board"\n', "did you mean 'name'?", HEAD),
    _key("another word for name", '[profile]\n⟦id⟧ = "acme/board"\n', "did you mean 'name'?", HEAD),
    _key("another word for extends", f"{HEAD}⟦inherits⟧ = ['generic/any']\n", "did you mean 'extends'?",
         f"{HEAD}extends = ['generic/any']\n"),
    _key("another word for match", f"{HEAD}⟦if⟧ = 'cpu.available_cores > 1'\n", "did you mean 'match'?",
         f"{HEAD}match = 'cpu.available_cores > 1'\n"),
    _key("when as a condition", f"{HEAD}⟦when⟧ = 'cpu.available_cores > 1'\n", "did you mean 'match'?",
         f"{HEAD}match = 'cpu.available_cores > 1'\n"),
    _key("another word for description", f"{HEAD}⟦comment⟧ = 'A board.'\n", "did you mean 'description'?",
         f"{HEAD}description = 'A board.'\n"),
    _key("condition", f"{HEAD}[[when]]\n⟦condition⟧ = 'power.source == \"battery\"'\n", "did you mean 'if'?", f"{HEAD}{WHEN}"),
    _key("match in an overlay", f"{HEAD}[[when]]\n⟦match⟧ = 'power.source == \"battery\"'\n", "did you mean 'if'?", f"{HEAD}{WHEN}"),
    _key("otherwise", f"{HEAD}{WHEN}[⟦else⟧]\n", "with the opposite condition"),
    _key("otherwise in an overlay", f"{HEAD}{WHEN}[when.⟦else⟧]\n", "with the opposite condition"),
    _key("mistyped methods in an overlay", f"{HEAD}{WHEN}[when.⟦metods⟧.forward.options.{BACKEND}]\n{CORE}", "did you mean 'methods'?",
         f"{HEAD}{WHEN}[when.methods.forward.options.{BACKEND}]\n{CORE}"),
    _key("expression and more", f"{HEAD}{NPU}core = {{ expr = '1', ⟦unset⟧ = true }}\n", "its keys are expr"),
    _type("one base", f"{HEAD}extends = ⟦'generic/any'⟧\n", "write extends = ['generic/any']", f"{HEAD}extends = ['generic/any']\n", is_safe=True),
)  # fmt: skip

HEADS = (
    Mistake(name="no profile", marked=f"⟦[⟧options.{BACKEND}]\n{CORE}", code="missing-key", help="starts with [profile]"),
    Mistake(name="empty file", marked="⟦⟧", code="missing-key", help="starts with [profile]"),
    Mistake(name="name without profile", marked='⟦name⟧ = "acme/board"\n', code="missing-key",
            help="starts with [profile]"),
    Mistake(name="whole head without profile", marked=f'⟦name⟧ = "acme/board"\nextends = ["generic/any"]\n{NPU}{CORE}',
            code="missing-key", help="starts with [profile]"),
    Mistake(name="no name", marked="[⟦profile⟧]\ndescription = 'A board.'\n", code="missing-key", help='write name = "vendor/device"'),
    _key("name before the profile", '⟦name⟧ = "acme/board"\n' + HEAD, "write name under [profile]"),
)  # fmt: skip

PROJECT = (
    _key("singular plugins", "[⟦plugin⟧]\nallow = []\n", "did you mean 'plugins'?", "[plugins]\nallow = []\n", "etconfig.toml"),
    _key("extends", "⟦extends⟧ = 'generic/any'\n", "did you mean 'profile'?", "profile = 'generic/any'\n", "etconfig.toml"),
    _key("mistyped profile of a project", "⟦profil⟧ = 'generic/any'\n", "did you mean 'profile'?", "profile = 'generic/any'\n", "etconfig.toml"),
    _key("match", "⟦match⟧ = 'true'\n", "belongs in a profile", None, "etconfig.toml"),
    _key("section of pyproject.toml", f"[⟦tool⟧.etconfig.options.{BACKEND}]\n{CORE}", "leave out tool.etconfig", None, "etconfig.toml"),
    _key("section of its own", f"[⟦etconfig⟧.options.{BACKEND}]\n{CORE}", "leave out etconfig", None, "etconfig.toml"),
    _key("prefer at the top", f"[⟦prefer⟧]\n{BACKEND} = 'etconfig-reference'\n", "write it under [plugins]", None, "etconfig.toml"),
    _key("allow at the top", "⟦allow⟧ = ['etconfig-reference']\n", "write it under [plugins]", None, "etconfig.toml"),
    _key("distribution under plugins", f"[plugins]\n⟦{BACKEND}⟧ = 'etconfig-reference'\n", "its keys are prefer", None, "etconfig.toml"),
    _type("one plugin", "[plugins]\nallow = ⟦'etconfig-reference'⟧\n", "write allow", "[plugins]\nallow = ['etconfig-reference']\n", "etconfig.toml", is_safe=True),
    _type("head of a profile", '[⟦profile⟧]\nname = "generic/any"\n', "a project file selects a profile: profile =", None, "etconfig.toml"),
    _key("backend of a project", f"[⟦{BACKEND}⟧]\n{CORE}", f"write [options.{BACKEND}]", f"{NPU}{CORE}", "etconfig.toml"),
    _key("mistyped key of plugins", "[plugins]\n⟦allowed⟧ = []\n", "did you mean 'allow'?", "[plugins]\nallow = []\n", "etconfig.toml"),
)  # fmt: skip

TABLE_MISTAKES: tuple[Mistake, ...] = (*TOO_DEEP, *TOO_SHALLOW, *BRACKETS, *KEYS, *HEADS, *PROJECT)
