"""Texts that are not TOML, as people write them."""

# ruff: noqa: E501, RUF001
from __future__ import annotations

from mistakes import CPU, HEAD, NPU, WHEN, Line, Mistake, mistaken_lines

DSP = "[options.AcmeDspBackend]\n"

SAFE_VALUES: tuple[Line, ...] = (
    ("comma at the end", "core = 2⟦,⟧", "remove ',': core = 2", "core = 2"),
    ("semicolon at the end", "core = 2⟦;⟧", "remove ';': core = 2", "core = 2"),
    ("two signs", "core =⟦=⟧ 2", "write one =: core = 2", "core = 2"),
    ("arrow", "core =⟦>⟧ 2", "write one =: core = 2", "core = 2"),
    ("line of comment of C", "⟦// ⟧the third core", "write # before a comment", "# the third core"),
    ("line of comment of INI", "⟦; ⟧the third core", "write # before a comment", "# the third core"),
    ("shell", "⟦export core = 2⟧", "put = between key and value", None),
    ("blank that does not break", "core⟦\u00a0⟧= 2", "write a plain character: core = 2", "core = 2"),
    ("quotes of a word processor", "power_mode = ⟦“⟧low”", "write plain quotes", 'power_mode = "low"'),
    ("single ones", "power_mode = ⟦‘⟧low’", "write plain quotes", "power_mode = 'low'"),
    ("quotes around a key", '⟦“⟧power_mode” = "low"', "write plain quotes", '"power_mode" = "low"'),
    ("colon in a table", "core = { expr⟦: ⟧'1 + 1' }", "write = between", "core = { expr = '1 + 1' }"),
)

GUESSED_VALUES: tuple[Line, ...] = (
    ("comment of C", "core = 2 ⟦// the third⟧", "write a comment after #", None),
    ("comment of SQL", "core = 2 ⟦-- the third⟧", "write a comment after #", None),
    ("comment of INI", "core = 2 ⟦; the third⟧", "write a comment after #", None),
    ("unquoted word", "power_mode = ⟦low⟧", 'write text in quotes: power_mode = "low"', 'power_mode = "low"'),
    ("unquoted word before a comment", "power_mode = ⟦low⟧ # slow", "in quotes", 'power_mode = "low" # slow'),
    ("leading zeros", "core = ⟦002⟧", "write decimal digits", None),
    ("prefix in upper case", "core = ⟦0X2⟧", "write decimal digits", None),
    ("backquotes", "power_mode = ⟦`low`⟧", "write text in quotes", None),
    ("prefix of Python", "power_mode = ⟦r'low'⟧", "write text in quotes", None),
    ("missing quote", 'power_mode = ⟦"low⟧', "close it as it is opened", None),
    ("missing single quote", "power_mode = ⟦'low⟧", "close it as it is opened", None),
    ("missing first quote", 'power_mode = ⟦low"⟧', "write text in quotes", None),
    ("two kinds of quotes", "power_mode = ⟦\"low'⟧", "close it as it is opened", None),
    ("colon", "core⟦: ⟧2", "write = between key and value: core = 2", "core = 2"),
    ("colon and an unquoted word", "power_mode⟦: ⟧low", 'power_mode = "low"', 'power_mode = "low"'),
    ("colon and equals", "core ⟦:= ⟧2", "write = between key and value: core = 2", "core = 2"),
    ("plus and equals", "core ⟦+= ⟧2", "write = between key and value: core = 2", "core = 2"),
    ("no sign", "⟦core 2⟧", "put = between key and value", None),
    ("blank in a key", '⟦power mode = "low"⟧', "_ instead of blanks", None),
    ("two keys in a line", 'core = 2⟦, power_mode = "low"⟧', "line of its own", None),
    ("two keys without a comma", "core = 2 ⟦power_mode = 'low'⟧", "its own", None),
    ("expression", "core = ⟦1 + 1⟧", "write an expression in a table", 'core = { expr = "1 + 1" }'),
    ("fact", "core = ⟦min(cpu.available_cores, 3)⟧", "in a table", 'core = { expr = "min(cpu.available_cores, 3)" }'),
    ("choice", "core = ⟦cpu.available_cores > 4 ? 3 : 1⟧", "an expression in a table",
     'core = { expr = "cpu.available_cores > 4 ? 3 : 1" }'),
)  # fmt: skip

WITHOUT_FIX: tuple[Line, ...] = (
    ("no value", "core =⟦⟧", "write a value after the =", None),
    ("no value but a comment", "core = ⟦⟧# the third", "write a value after the =", None),
    ("nothing", "core = ⟦None⟧", "remove the line", None),
    ("null", "core = ⟦null⟧", "{ unset = true }", None),
    ("value without a key", "⟦=⟧ 2", "write a key before the =", None),
    ("option path", "forward⟦:⟧ReferenceNpuBackend.core = 2", "[methods.METHOD.options.BACKEND]", None),
    ("list of YAML", "⟦- ⟧core", "write [profile] and name", None),
    ("table of YAML", "⟦ReferenceNpuBackend:⟧", "a header in brackets, as in [ReferenceNpuBackend]", None),
    ("word", "⟦core⟧", "write KEY = VALUE", None),
    ("merge conflict", "⟦<<<<<<<⟧ HEAD", "resolve it", None),
    ("control character", 'power_mode = "lo⟦\x01⟧w"', "remove it, or write \\u0001", None),
    ("two strings", 'power_mode = "low" ⟦"high"⟧', "several values as an array", None),
    ("header without a name", "⟦[⟧]", "write the name of a table in it", None),
)

SAFE_HEADERS: tuple[Line, ...] = (
    ("no closing bracket", "⟦[options.ReferenceNpuBackend⟧", "close it", "[options.ReferenceNpuBackend]"),
    ("one closing bracket", "⟦[[when]⟧\nif = 'true'", "close it: [[when]]", "[[when]]\nif = 'true'"),
    ("pattern without quotes", "[⟦methods.for*⟧]", 'parts with other characters', '[methods."for*"]'),
    ("colon behind", "[options.ReferenceNpuBackend]⟦:⟧", "remove ':'", "[options.ReferenceNpuBackend]"),
    ("quotes of a web page", "[options.⟦“⟧ReferenceNpuBackend”]", "plain quotes", '[options."ReferenceNpuBackend"]'),
)  # fmt: skip

GUESSED_HEADERS: tuple[Line, ...] = (
    ("blank", "⟦[options ReferenceNpuBackend]⟧", "by points", None),
    ("slash", "⟦[options/ReferenceNpuBackend]⟧", "by points", None),
    ("colon inside", "⟦[options:ReferenceNpuBackend]⟧", "by points", None),
    ("two points", "[⟦options..ReferenceNpuBackend⟧]", "the extra point", None),
    ("brace", "[options.ReferenceNpuBackend] ⟦{⟧", "line of its own", None),
    ("key behind", "[options.ReferenceNpuBackend] ⟦core = 2⟧", "line of its own", None),
    ("missing quote", "[options.⟦\"ReferenceNpuBackend]⟧", "close it", None),
    ("no brackets", "⟦options⟧", "a header in brackets, as in [options]", None),
)  # fmt: skip

SAFE_PATHS: tuple[Line, ...] = (
    ("blank before a text with one", "library =⟦\u00a0⟧'a\u00a0b'", "plain character", "library = 'a\u00a0b'"),
    ("backslashes", r'library = ⟦"C:\models\dsp.so"⟧', "single quotes", r"library = 'C:\models\dsp.so'"),
    ("backslash at the end", r'library = ⟦"C:\dsp\"⟧', "single quotes", r"library = 'C:\dsp\'"),
    ("some of them twice", r'library = ⟦"C:\\models\dsp.so"⟧', "single quotes", r"library = 'C:\models\dsp.so'"),
    ("beside a quote", r'''library = "C:⟦\i⟧t's"''', "write each backslash twice", None),
    ("wrong hex digits", r'library = ⟦"C:\users\dsp.so"⟧', "single quotes", r"library = 'C:\users\dsp.so'"),
)  # fmt: skip

GUESSED_PATHS: tuple[Line, ...] = (
    ("path on a server", r'library = "\\dsp⟦\m⟧odels"', "single quotes", None),
    ("escapes that are meant", r'library = "a\tb⟦\d⟧"', "single quotes", None),
    ("unquoted path", "library = ⟦/usr/lib/dsp.so⟧", "in quotes", 'library = "/usr/lib/dsp.so"'),
    ("unquoted path of Windows", r"library = ⟦C:\dsp.so⟧", "in quotes", r"library = 'C:\dsp.so'"),
    ("raw string of Python", r'library = ⟦r"C:\dsp.so"⟧', "write text in quotes", None),
    ("variable", "library = ⟦$DSP_LIBRARY⟧", "in quotes", 'library = "$DSP_LIBRARY"'),
    ("quote inside", "library = 'it'⟦s'⟧", "several values as an array", None),
)

SAFE_BOOLS: tuple[Line, ...] = (
    ("True", "weight_cache_enabled = ⟦True⟧", "in lower case", "weight_cache_enabled = true"),
    ("FALSE", "weight_cache_enabled = ⟦FALSE⟧", "in lower case", "weight_cache_enabled = false"),
)
GUESSED_BOOLS: tuple[Line, ...] = (
    ("yes", "weight_cache_enabled = ⟦yes⟧", "write true or false", "weight_cache_enabled = true"),
    ("off", "weight_cache_enabled = ⟦off⟧", "write true or false", "weight_cache_enabled = false"),
)

FACTS: tuple[Line, ...] = (
    ("no first digit", '"power.battery_level" = ⟦.5⟧', "on both sides of a point", None),
    ("no last digit", '"power.battery_level" = ⟦1.⟧', "on both sides of a point", None),
    ("words in an array", '"cpu.features" = [⟦neon⟧, sve]', "in quotes", '"cpu.features" = ["neon", "sve"]'),
    ("no commas", "\"cpu.features\" = ['a' ⟦'⟧b']", "by commas", None),
    ("no bracket", "\"cpu.features\" = ['a', 'b'⟦⟧", "close it", None),
    ("tuple", "\"cpu.features\" = ⟦('a', 'b')⟧", "square brackets", None),
    ("set", "⟦\"cpu.features\" = {'a', 'b'}⟧", "put = between key and value", None),
    ("a line without comma", "\"cpu.features\" = [\n  ''\n  ⟦'⟧b'\n]", "commas", None),
    ("thousands", '"memory.total" = ⟦1,000,000⟧', "write decimal digits", None),
)  # fmt: skip

WHOLE: tuple[Mistake, ...] = (
    Mistake(
        name="JSON", marked='⟦{⟧"profile": {"name": "a/b"}}', code="invalid-toml", help="write [profile]"
    ),
    Mistake(name="YAML", marked="⟦---⟧\nprofile: a/b", code="invalid-toml", help="write [profile]"),
    Mistake(
        name="byte order mark",
        marked=f"⟦\ufeff⟧{HEAD}",
        code="invalid-toml",
        help="without one",
        fixed=HEAD,
        is_safe=True,
    ),
    Mistake(
        name="key twice",
        marked=f"{HEAD}{NPU}core = 1\n⟦core⟧ = 2\n",
        code="invalid-toml",
        help="remove one of the two",
    ),
    Mistake(
        name="table twice",
        marked=f"{HEAD}{NPU}core = 1\n{CPU}⟦{NPU[:-1]}⟧\npower_mode = 'low'\n",
        code="invalid-toml",
        help="put the keys of both tables into one",
    ),
    Mistake(
        name="one when among several",
        marked=f"{HEAD}{WHEN}⟦[when]⟧\nif = 'true'\n",
        code="invalid-toml",
        help="write [[when]] in both places",
        fixed=f"{HEAD}{WHEN}[[when]]\nif = 'true'\n",
    ),
    Mistake(
        name="several when after one",
        marked=f"{HEAD}{WHEN.replace('[[when]]', '[when]')}⟦[[when]]⟧\nif = 'true'\n",
        code="invalid-toml",
        help="write [[when]] in both places",
        fixed=f"{HEAD}{WHEN}[[when]]\nif = 'true'\n",
    ),
    Mistake(
        name="unquoted condition",
        marked=f"{HEAD}[[when]]\nif = ⟦power.source == 'battery'⟧\n",
        code="invalid-toml",
        help="write text in quotes",
        fixed=f"{HEAD}[[when]]\nif = \"power.source == 'battery'\"\n",
    ),
    Mistake(
        name="unquoted name",
        marked="[profile]\nname = ⟦acme/board⟧\n",
        code="invalid-toml",
        help='name = "acme/board"',
        fixed=HEAD,
    ),
    Mistake(
        name="unquoted profile of a project",
        marked="profile = ⟦generic/any⟧\n",
        code="invalid-toml",
        help='profile = "generic/any"',
        fixed='profile = "generic/any"\n',
        file="etconfig.toml",
    ),
    Mistake(
        name="INI project",
        marked="⟦; ⟧settings\nprofile = 'generic/any'\n",
        code="invalid-toml",
        help="write # before a comment",
        fixed="# settings\nprofile = 'generic/any'\n",
        is_safe=True,
        file="etconfig.toml",
    ),
)

SYNTAX_MISTAKES: tuple[Mistake, ...] = (
    *mistaken_lines("invalid-toml", HEAD + NPU, SAFE_VALUES, is_safe=True),
    *mistaken_lines("invalid-toml", HEAD + NPU, GUESSED_VALUES),
    *mistaken_lines("invalid-toml", HEAD + NPU, WITHOUT_FIX),
    *mistaken_lines("invalid-toml", HEAD, SAFE_HEADERS, is_safe=True),
    *mistaken_lines("invalid-toml", HEAD, GUESSED_HEADERS),
    *mistaken_lines("invalid-toml", HEAD + DSP, SAFE_PATHS, is_safe=True),
    *mistaken_lines("invalid-toml", HEAD + DSP, GUESSED_PATHS),
    *mistaken_lines("invalid-toml", HEAD + "[options.XnnpackBackend]\n", SAFE_BOOLS, is_safe=True),
    *mistaken_lines("invalid-toml", HEAD + "[options.XnnpackBackend]\n", GUESSED_BOOLS),
    *mistaken_lines("invalid-toml", HEAD + "[facts]\n", FACTS),
    *WHOLE,
)
