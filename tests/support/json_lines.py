"""Random files of lines of JSON, right and wrong in many ways."""

from __future__ import annotations

import json
from random import Random

FACTS: dict[str, tuple[object, ...]] = {
    "cpu.available_cores": (1, 4, 0, -3, 2**63 - 1, -(2**63), -0),
    "cpu.quota_cores": (0.5, 2, 1e300, -0.0, 5e-324, 9007199254740993, 2**64 - 1, 1.1),
    "cpu.arch": ("arm64", "x86_64", "aarch64", "2024-01-01T00:00:00Z", "2024-01-01", "1", "true", "", "null"),
    "cpu.features": ([], ["asimd"], ["i8mm", "fp"], ["a", None], [None], ["2024-01-01"]),
    "os.name": (
        "linux",
        "android",
        "héllo",
        "日本",
        "😀",
        "a\tb",
        "a\\b",
        'a"b',
        "}",
        "{",
        "},\n{",
        "\x7f",
        "﻿x",
    ),
    "device.model": ("phone 1", "é", "\u2028", "NaN"),
    "memory.total": (1 << 33, 7),
    "power.battery_level": (0.25, 1, 0, 87),
}
"""Facts with values of their types."""

UNITS = {"memory.total": "bytes", "power.battery_level": "fraction"}

RAW = [
    *(
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-0.0",
        "1",
        "4.0",
        "1e2",
        "1E+2",
        "1.",
        ".5",
        "+1",
        "01",
        "0x10",
        "1_0",
    ),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615"),
    *(
        "18446744073709551616",
        "123456789012345678901234567890",
        "1e400",
        "-1e400",
        "1e-400",
        "1e308",
        "1.7e308",
    ),
    *("NaN", "-NaN", "Infinity", "-Infinity", "Inf", "nan", "inf", "4.9406564584124654e-324", "0.1e1", "-"),
    *("0.3000000000000000166533453693773481063544750213623046875", "1" * 400, "0." + "3" * 900),
    *(
        '"x"',
        '"1"',
        '"NaN"',
        '""',
        '"2024-01-01"',
        '"2024-01-01T00:00:00Z"',
        '"\\u0000"',
        '"a\\u0000b"',
        '"\\u00e9"',
    ),
    *(
        '"\\ud83d\\ude00"',
        '"\\ud83d"',
        '"\\ude00"',
        '"\\ud83dx"',
        '"\\x41"',
        '"\\/"',
        '"\\"',
        '"a\tb"',
        '"a\x00b"',
    ),
    *(
        '"tru',
        "tru",
        "nul",
        "'a'",
        "[]",
        "[1]",
        '["a"]',
        '["a", 1]',
        '["a", null]',
        "[null]",
        "[[]]",
        '[["a"]]',
    ),
    *(
        '["a",]',
        "[,]",
        "{}",
        "[{}]",
        '{"value": 1}',
        '{"value": "a"}',
        '{"value": 1, "value": 2}',
        '{"value": null}',
    ),
    *('{"value": 1, "unit": "bytes"}', '{"value": 1, "unit": "MiB"}', '{"value": 1, "unit": null}'),
    *(
        '{"value": 1, "unit": 3}',
        '{"unknown": "no"}',
        '{"value": {"value": 1}}',
        '{"value": [1]}',
        '{"a": 1, "a": 2}',
    ),
    *(
        '{"valu": 1}',
        '{"value": 1, "units": "GB"}',
        '{"value": "linux", "unknown": "no"}',
        '{"value": 1, "unknown": null}',
        '{"value": null, "unknown": "no"}',
        '{"unknown": null}',
        '{"origin": "x"}',
    ),
    *(
        '{"value": 1, "origin": "x", "origin": "y"}',
        "[" * 60 + "]" * 60,
        '{"a":' * 60 + "1" + "}" * 60,
        "1 2",
        "1, 2",
    ),
    '"' + "x" * 3000 + '"',
]
"""Values as they stand in a file, valid or not."""

WHOLE = [
    *(
        b"",
        b" ",
        b"\t",
        b"\r",
        b"\x0b",
        b"\x0c",
        b"\x00",
        b"\xc2\xa0",
        b"\xef\xbb\xbf",
        b"null",
        b"1",
        b'"x"',
        b"[]",
    ),
    *(
        b"{}",
        b"{ }",
        b" {}",
        b"{} ",
        b"{}{}",
        b"{} {}",
        b"{},{}",
        b"{} null",
        b"null {}",
        b"{}null",
        b"{",
        b"}",
    ),
    *(
        b"{}}",
        b"{}]",
        b"[{}]",
        b"{},",
        b"//x",
        b"/*x*/{}",
        b"{}//x",
        b"broken",
        b'{"a"',
        b'{"cpu.arch": "a',
    ),
    *(b'{"device_id": "a"} null {"device_id": "b"}', b'{"device_id": "a"}{"device_id": "b"}'),
    *(b'{"device_id": "a"}\x00', b'\x00{"device_id": "a"}', b'{"device_id": "a"}\r{"device_id": "b"}'),
    *(
        b'{"device_id":\n"a"}',
        b'{"device_id": "a",\n"cpu.arch": "x"}',
        b'{"device_id": "a"\n}',
        b'{"a": {}\n}\n{}',
    ),
    *(b'{"device_id": "\xff"}', b'{"device_id": "\xc3"}', b'{"device_id": "\xed\xa0\x80"}', b'{"\xff": 1}'),
    *(
        b'{"device_id": "a", "cpu.arch": "x",}',
        b"{'device_id': 'a'}",
        b'{device_id: "a"}',
        b'{"device_id" "a"}',
    ),
    *(
        b'{"device_id": "\xef\xbb\xbfa"}',
        b'\xef\xbb\xbf{"device_id": "a"}',
        b'{"facts": null}',
        b'{"facts": 3}',
    ),
    *(
        b'{"facts": {}}',
        b'{"facts": {}, "facts": {"cpu.arch": "x"}}',
        b'{"facts": [{}]}',
        b'{"facts": {"facts": {"cpu.arch": "x"}}}',
        b'{"etconfig_fact_sheet": 99, "cpu.arch": "x"}',
        b'{"": 1}',
        b'{"__": 1}',
    ),
    *(b"{\xc2\xa0}", b"{\x0c}", b'{\r"device_id": "a"}', b'{"device_id": "a"}\x1a'),
]
"""Whole lines, most of them wrong."""

KEYS = [
    "device_id",
    "device.id",
    "device__id",
    "cpu.corez",
    "serial",
    "note",
    "etconfig_fact_sheet",
    "facts",
    "unit",
    "Cpu.Arch",
    "",
]


class LineWriter:
    """Writes the lines of one file: most of them in one style, some with something wrong."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.hazard = random.choice([0, 0.01, 0.05, 0.3])
        self.is_sheet = random.random() < 0.4
        self.has_entries = random.random() < 0.8
        self.dots = random.choice([".", ".", "__"])
        self.ids = random.choice(["text", "text", "text", "int", "mixed"])
        self.id_key = random.choice(["device_id", "device_id", "device.id", "serial", "device__id"])
        self.further = random.choice(
            [{}, {}, {"note": ["a", "b"]}, {"note": [1, 2.5, None], "region": [{"a": 1}, {}]}]
        )
        self.facts = random.sample([*FACTS], random.randint(1, 5))
        self.all_keys = random.random() < 0.5
        self.space = random.choice([(",", ":"), (", ", ": ")])

    def file(self, lines: int) -> bytes:
        """Write a file."""
        random = self.random
        end = random.choice([b"\n", b"\n", b"\n", b"\r\n"])
        found = []
        for number in range(lines):
            if random.random() < self.hazard:
                found.append(random.choice([self.odd_line, self.whole])(number))
            else:
                found.append(self.line(number))
            found.append(
                end if random.random() > self.hazard / 4 else random.choice([b"\n", b"\r\n", b"\n\n", b" \n"])
            )
        if found and random.random() < 0.3:
            found.pop()
        mark = b"\xef\xbb\xbf" if random.random() < 0.03 else b""
        return mark + b"".join(found)

    def whole(self, number: int) -> bytes:
        """Write a line from the list of odd ones."""
        return self.random.choice(WHOLE)

    def items(self, number: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The keys and values of a line: those at its top, and those of facts."""
        random = self.random
        name: object = f"device-{number}"
        if self.ids == "int" or (self.ids == "mixed" and random.random() < 0.3):
            name = random.choice([*[number] * 8, -number, 10**25])
        top = [(self.id_key, self.text(name))]
        facts = []
        for fact in self.facts:
            if random.random() < 0.3:
                if self.all_keys:
                    facts.append((fact.replace(".", self.dots), "null"))
                continue
            value: object = random.choice(FACTS[fact] if random.random() < self.hazard else FACTS[fact][:2])
            if self.is_sheet and self.has_entries:
                value = {"value": value, **({"unit": UNITS[fact]} if fact in UNITS else {}), "origin": "x"}
            facts.append((fact.replace(".", self.dots), self.text(value)))
        further = [(key, self.text(random.choice(values))) for key, values in self.further.items()]
        (top if random.random() < 0.5 else facts).extend(further)
        return top, facts

    def text(self, value: object) -> str:
        """Write a value."""
        return json.dumps(value, ensure_ascii=self.random.random() < self.hazard, separators=self.space)

    def joined(self, top: list[tuple[str, str]], facts: list[tuple[str, str]]) -> bytes:
        """Write an object."""
        comma, colon = self.space

        def written(items: list[tuple[str, str]]) -> str:
            return "{" + comma.join(f"{json.dumps(key)}{colon}{value}" for key, value in items) + "}"

        if not self.is_sheet:
            return written([*top, *facts]).encode("utf-8", "surrogatepass")
        return written([("etconfig_fact_sheet", "1"), *top, ("facts", written(facts))]).encode(
            "utf-8", "surrogatepass"
        )

    def line(self, number: int) -> bytes:
        """Write a right line."""
        return self.joined(*self.items(number))

    def odd_line(self, number: int) -> bytes:
        """Write a line with something odd in it."""
        random = self.random
        top, facts = self.items(number)
        place = random.choice([top, facts])
        kind = random.randrange(7)
        if kind == 0 and place:  # another value
            index = random.randrange(len(place))
            place[index] = (place[index][0], random.choice(RAW))
        elif kind == 1 and place:  # a key that is repeated
            key, value = random.choice(place)
            place.insert(
                random.randint(0, len(place)), (key, random.choice([value, "null", random.choice(RAW)]))
            )
        elif kind == 2:  # another key
            key = random.choice([*KEYS, *FACTS, *(name.replace(".", "__") for name in FACTS)])
            place.append((key, random.choice([random.choice(RAW), '"x"', "1"])))
        elif kind == 3:
            random.shuffle(place)
            self.is_sheet = not self.is_sheet
            line = self.joined(top, facts)
            self.is_sheet = not self.is_sheet
            return line
        elif kind == 4:  # a byte more, less or another one
            line = bytearray(self.joined(top, facts))
            at = random.randrange(len(line))
            line[at : at + random.randint(0, 1)] = random.choice(
                [b"", bytes([random.randrange(256)]), b"\\", b'"', b"}"]
            )
            return bytes(line)
        elif kind == 5:  # another version
            version = random.choice(["0", "99", "1.0", "1e0", '"1"', "null", "true", "[1]", "-1", "2e99"])
            return self.joined(top, facts).replace(b"1", version.encode(), 1)
        else:  # an escaped key
            index = random.randrange(len(top))
            key, value = top[index]
            return self.joined(top, facts).replace(key[:1].encode(), b"\\u%04x" % ord(key[:1] or "x"), 1)
        return self.joined(top, facts)
