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
    ("line of comment of C", "⟦// the third core⟧", "write KEY = VALUE", None),
    ("line of comment of INI", "⟦; the third core⟧", "write KEY = VALUE", None),
    ("shell", "export ⟦core = 2⟧", "write KEY = VALUE", None),
    ("blank that does not break", "core⟦\xa0⟧= 2", "write the plain character", "core = 2"),
    ("quotes of a word processor", "power_mode = ⟦“⟧low”", "write the plain character", 'power_mode = "low"'),
    ("single ones", "power_mode = ⟦‘⟧low’", "write the plain character", "power_mode = 'low'"),
    ("quotes around a key", '⟦“⟧power_mode” = "low"', "write the plain character", '"power_mode" = "low"'),
    ("colon in a table", "core = { expr⟦: ⟧'1 + 1' }", "write = between", "core = { expr = '1 + 1' }"),
)

GUESSED_VALUES: tuple[Line, ...] = (
    ('comment of C', 'core = 2 ⟦// the third⟧', 'write one key a line', None),
    ('comment of SQL', 'core = 2 ⟦-- the third⟧', 'write one key a line', None),
    ('comment of INI', 'core = 2 ⟦; the third⟧', 'write one key a line', None),
    ("unquoted word", "power_mode = ⟦low⟧", 'write text in quotes: power_mode = "low"', 'power_mode = "low"'),
    ("unquoted word before a comment", "power_mode = ⟦low⟧ # slow", "in quotes", 'power_mode = "low" # slow'),
    ('leading zeros', 'core = 0⟦02⟧', 'write one key a line', None),
    ('prefix in upper case', 'core = 0⟦X2⟧', 'write one key a line', None),
    ("backquotes", "power_mode = ⟦`low`⟧", "write text in quotes", None),
    ("prefix of Python", "power_mode = ⟦r'low'⟧", "write text in quotes", None),
    ('missing quote', '⟦power_mode = "low⟧', 'close it as it is opened', None),
    ("missing single quote", "power_mode = ⟦'low⟧", "close it as it is opened", None),
    ("missing first quote", 'power_mode = ⟦low"⟧', "write text in quotes", None),
    ('two kinds of quotes', '⟦power_mode = "low\'⟧', 'close it as it is opened', None),
    ("colon", "core⟦: ⟧2", "write = between key and value: core = 2", "core = 2"),
    ("colon and an unquoted word", "power_mode⟦: ⟧low", 'power_mode = "low"', 'power_mode = "low"'),
    ("colon and equals", "core ⟦:= ⟧2", "write = between key and value: core = 2", "core = 2"),
    ("plus and equals", "core ⟦+= ⟧2", "write = between key and value: core = 2", "core = 2"),
    ('no sign', 'core ⟦2⟧', 'write KEY = VALUE', None),
    ('blank in a key', 'power ⟦mode = "low"⟧', 'write KEY = VALUE', None),
    ('two keys in a line', 'core = 2⟦, power_mode = "low"⟧', 'write one key a line', None),
    ('two keys without a comma', "core = 2 ⟦power_mode = 'low'⟧", 'write one key a line', None),
    ('expression', 'core = 1 ⟦+ 1⟧', 'write one key a line', None),
    ('fact', 'core = ⟦min(cpu.available_cores, 3)⟧', 'write text in quotes', None),
    ('choice', 'core = ⟦cpu.available_cores > 4 ? 3 : 1⟧', 'write text in quotes', None),
)  # fmt: skip

WITHOUT_FIX: tuple[Line, ...] = (
    ("no value", "core =⟦⟧", "write a value after the =", None),
    ("no value but a comment", "core = ⟦#⟧ the third", "write a value after the =", None),
    ("nothing", "core = ⟦None⟧", "remove the line", None),
    ("null", "core = ⟦null⟧", "{ unset = true }", None),
    ("value without a key", "⟦= 2⟧", "write KEY = VALUE", None),
    ("option path", "forward⟦:ReferenceNpuBackend.core = 2⟧", "write KEY = VALUE", None),
    ("list of YAML", "- ⟦core⟧", "write KEY = VALUE", None),
    ("table of YAML", "ReferenceNpuBackend⟦:⟧", "write KEY = VALUE", None),
    ("word", "⟦core⟧", "write KEY = VALUE", None),
    ("merge conflict", "⟦<<<<<<<⟧ HEAD", "resolve it", None),
    ("control character", 'power_mode = "lo⟦\x01w"⟧', "close it as it is opened", None),
    ("two strings", 'power_mode = "low" ⟦"high"⟧', "write one key a line", None),
    ("header without a name", "[⟦]⟧", "write [options.BACKEND] or [[when]]", None),
)

SAFE_HEADERS: tuple[Line, ...] = (
    ('no closing bracket', '⟦[options.ReferenceNpuBackend⟧', 'write [options.BACKEND] or [[when]]', None),
    ('one closing bracket', "[[when⟦]⟧\nif = 'true'", 'write [options.BACKEND] or [[when]]', None),
    ("pattern without quotes", "[⟦methods.for*⟧]", 'parts with other characters', '[methods."for*"]'),
    ("colon behind", "[options.ReferenceNpuBackend]⟦:⟧", "remove ':'", "[options.ReferenceNpuBackend]"),
    ('quotes of a web page', '[options.⟦“⟧ReferenceNpuBackend”]', 'write the plain character', '[options."ReferenceNpuBackend"]'),
)  # fmt: skip

GUESSED_HEADERS: tuple[Line, ...] = (
    ('blank', '[options ⟦ReferenceNpuBackend]⟧', 'write [options.BACKEND] or [[when]]', None),
    ('slash', '[options⟦/ReferenceNpuBackend]⟧', 'write [options.BACKEND] or [[when]]', None),
    ('colon inside', '[options⟦:ReferenceNpuBackend]⟧', 'write [options.BACKEND] or [[when]]', None),
    ('two points', '[options.⟦.ReferenceNpuBackend]⟧', 'write [options.BACKEND] or [[when]]', None),
    ('brace', '[options.ReferenceNpuBackend] ⟦{⟧', 'write one key a line', None),
    ('key behind', '[options.ReferenceNpuBackend] ⟦core = 2⟧', 'write one key a line', None),
    ('missing quote', '⟦[options."ReferenceNpuBackend]⟧', 'close it', None),
    ('no brackets', '⟦options⟧', 'a header in brackets, as in [options]', None),
)  # fmt: skip

SAFE_PATHS: tuple[Line, ...] = (
    ("blank before a text with one", "library =⟦\u00a0⟧'a\u00a0b'", "plain character", "library = 'a\u00a0b'"),
    ("backslashes", r'library = ⟦"C:\models\dsp.so"⟧', "single quotes", r"library = 'C:\models\dsp.so'"),
    ("backslash at the end", r'library = ⟦"C:\dsp\"⟧', "single quotes", r"library = 'C:\dsp\'"),
    ("some of them twice", r'library = ⟦"C:\\models\dsp.so"⟧', "single quotes", r"library = 'C:\models\dsp.so'"),
    ('beside a quote', 'library = "C:⟦\\it\'s"⟧', 'write each backslash twice', None),
    ("wrong hex digits", r'library = ⟦"C:\users\dsp.so"⟧', "single quotes", r"library = 'C:\users\dsp.so'"),
)  # fmt: skip

GUESSED_PATHS: tuple[Line, ...] = (
    ("path on a server", 'library = "\\\\dsp⟦\\models"⟧', "single quotes", None),
    ("escapes that are meant", 'library = "a\\tb⟦\\d"⟧', "single quotes", None),
    ("unquoted path", "library = ⟦/usr/lib/dsp.so⟧", "in quotes", 'library = "/usr/lib/dsp.so"'),
    ("unquoted path of Windows", r"library = ⟦C:\dsp.so⟧", "in quotes", r"library = 'C:\dsp.so'"),
    ("raw string of Python", r'library = ⟦r"C:\dsp.so"⟧', "write text in quotes", None),
    ("variable", "library = ⟦$DSP_LIBRARY⟧", "in quotes", 'library = "$DSP_LIBRARY"'),
    ("quote inside", "library = 'it'⟦s'⟧", "write one key a line", None),
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
    ('no first digit', '"power.battery_level" = ⟦.5⟧', 'write text in quotes', None),
    ('no last digit', '"power.battery_level" = 1⟦.⟧', 'write one key a line', None),
    ("words in an array", '"cpu.features" = [⟦neon⟧, sve]', "in quotes", '"cpu.features" = ["neon", "sve"]'),
    ('no commas', '"cpu.features" = [\'a\' ⟦\'b\']⟧', 'by commas', None),
    ('no bracket', '⟦"cpu.features" = [\'a\', \'b\'⟧', 'close it', None),
    ('tuple', '"cpu.features" = ⟦(\'a\', \'b\')⟧', 'write text in quotes', None),
    ('set', '"cpu.features" = {\'a\'⟦, \'b\'}⟧', 'write KEY = VALUE', None),
    ('a line without comma', '"cpu.features" = [\n  \'\'\n  ⟦\'b\'⟧\n]', 'commas', None),
    ('thousands', '"memory.total" = 1⟦,000,000⟧', 'write one key a line', None),
)  # fmt: skip

WHOLE: tuple[Mistake, ...] = (
    Mistake(
        name="JSON", marked='⟦{"profile": {"name": "a/b"}}⟧', code="invalid-toml", help="docs/profiles.md"
    ),
    Mistake(name="YAML", marked="⟦---⟧\nprofile: a/b", code="invalid-toml", help="write KEY = VALUE"),
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
        help="or write [[NAME]] in both places",
    ),
    Mistake(
        name="several when after one",
        marked=f"{HEAD}{WHEN.replace('[[when]]', '[when]')}⟦[[when]]⟧\nif = 'true'\n",
        code="invalid-toml",
        help="or write [[NAME]] in both places",
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
        marked="⟦; settings⟧\nprofile = 'generic/any'\n",
        code="invalid-toml",
        help="a comment after #",
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
