"""Writes the generated parts of the documentation, or checks that they are current.

    python tools/generate_docs.py [--check]

A part is between `<!-- generated: NAME -->` and `<!-- end -->` in a page. Its contents are made from the
code: docstrings, registries, schemas, the command line's help. The pages of diagnostic codes and the
pictures of tools/draw_overview.py are written and checked as a whole.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent
from typing import Any

import bundled_options
import click
import tomli
import two_devices
from diagnostic_pages import diagnostic_pages
from draw_overview import pictures
from install_docs import how_to_install_here, with_current_sources
from kit_docs import KIT_PARTS
from kit_docs import table as markdown_table
from public_api import KINDS, PUBLIC_MODULES, kind_of

from etconfig.app.validating.document_schema import models_schema, profile_schema, project_schema
from etconfig.app.validating.file_checks import CHECKS
from etconfig.cli.shared.usage import DISPLAY_OPTIONS
from etconfig.cli.startup.command_group import etconfig
from etconfig.cli.startup.command_list import COMMAND_SUMMARIES
from etconfig.diagnostics import CODES
from etconfig.facts.builtin import BUILTIN_FACTS
from etconfig.facts.registry import FactInfo, FactType
from etconfig.kernels import builtin_tables
from etconfig.plugin.api_version import CURRENT
from etconfig.plugin.v1 import BackendRequest, BackendSpec
from etconfig.profile.quirks import DIRECTORY, quirks_of
from etconfig.schema.declaration import OptionInfo
from etconfig.schema.options_reference import markdown_reference

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "etconfig"
FRONT_PAGE = ROOT / "README.md"
SITE_PAGE = ROOT / "docs" / "README.md"
"""The same text, for the site."""
SCHEMAS = ROOT / "docs" / "schemas"
CATALOG = {
    "profile": (
        "etconfig profile",
        "Options of ExecuTorch backends for a device",
        ["**/etconfig/profiles/**/*.toml"],
    ),
    "project": ("etconfig project", "Options of ExecuTorch backends in a project", ["etconfig.toml"]),
    "models": ("etconfig models", "Variants of models for devices", ["etconfig.models.toml"]),
}
"""The titles, descriptions and patterns of files in SchemaStore's catalog."""
PAGES = [
    FRONT_PAGE,
    *sorted(set((ROOT / "docs").glob("*.md")) - {SITE_PAGE}),
    ROOT / "docs/diagnostics/README.md",
    *sorted((ROOT / "plugins").glob("*/README.md")),
]

_PART = re.compile(r"(<!-- generated: (?P<name>[\w ./$#-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Rewrite every outdated page, or with `--check` only list them; return the exit status."""
    is_check = "--check" in arguments
    stale = []
    for path, current in current_files():
        if not path.exists() or path.read_text(encoding="utf-8") != current:
            stale.append(path.relative_to(ROOT))
            if not is_check:
                path.write_text(current, encoding="utf-8")
    for name in stale:
        print(f"{name} is out of date; run `make docs`" if is_check else f"{name} written")
    return 1 if stale and is_check else 0


def current_files() -> Iterator[tuple[Path, str]]:
    """Yield every page and picture with the text that it should have."""
    for page in PAGES:
        current = with_current_sources(with_current_parts(page.read_text(encoding="utf-8")))
        yield page, current
        if page == FRONT_PAGE:
            yield SITE_PAGE, site_page(current)
    yield from diagnostic_pages()
    yield from pictures().items()
    yield from published_schemas()


def with_current_parts(text: str) -> str:
    """Return the text of a page with every generated part updated."""
    return _PART.sub(lambda match: f"{match[1]}\n{generate(match['name'])}\n{match[3]}", text)


def generate(name: str) -> str:
    """Return one part; a name may have an argument after a space."""
    kind, _, argument = name.partition(" ")
    make = PARTS[kind]
    return make(argument).strip("\n") + "\n"


def site_page(text: str) -> str:
    """Return the first page of the site: the text of README.md with its links, and a button that searches."""

    def relinked(link: re.Match[str]) -> str:
        path = link["path"]
        return f"]({path.removeprefix('docs/') if path.startswith('docs/') else f'../{path}'}"

    without_marks = re.sub(r"<!-- .*? -->\n+", "", text)
    linked = re.sub(r"\]\((?!https?:|#)(?P<path>[^)#\s]+)", relinked, without_marks)
    first, title, rest = linked.partition("# etconfig\n")
    assert title
    paragraph, _, others = rest.lstrip().partition("\n\n")
    note = "<!-- Written by tools/generate_docs.py from README.md -->"
    return f"{first}{note}\n\n{title}\n{paragraph}\n\n<!-- site: search -->\n\n{others}"


def published_schemas() -> Iterator[tuple[Path, str]]:
    """Yield the schemas of documents without options of plugins, and their entries for SchemaStore."""
    schemas = {
        "profile": profile_schema((), BUILTIN_FACTS),
        "project": project_schema((), BUILTIN_FACTS),
        "models": models_schema(),
    }
    entries = []
    for kind, schema in schemas.items():
        url = f"https://www.schemastore.org/etconfig-{kind}.json"
        head = {"$schema": schema.pop("$schema"), "id": url}
        yield SCHEMAS / f"etconfig-{kind}.json", json.dumps(head | schema, indent=2) + "\n"
        title, description, patterns = CATALOG[kind]
        entries.append({"name": title, "description": description, "fileMatch": patterns, "url": url})
    yield SCHEMAS / "catalog.json", json.dumps({"schemas": entries}, indent=2) + "\n"


# --- the parts -----------------------------------------------------------------------------


def rooms(_: str) -> str:
    """Return every room of the package, lowest first, with the first sentence of its docstring."""
    rows = [f"| `{room}` | {first_line(room)} |" for room in layering()["ROOMS"]]
    return "\n".join(["| room | what it is |", "|---|---|", *rows])


def imports(_: str) -> str:
    """Return the imports that each room may use."""
    allowed, bottom = layering()["ROOMS"], layering()["BOTTOM"]
    width = max(map(len, allowed))
    lines = [f"{', '.join(room for room in allowed if room in bottom)}: below all others", ""]
    for room, others in allowed.items():
        if room not in bottom:
            if room == "mistakes":
                lines.append(f"{room:<{width}} -> each part what the room may import that it helps")
                continue
            named = [other for other in allowed if other in others - bottom]
            lines.append(f"{room:<{width}} -> {', '.join(named) or '(nothing else)'}")
    return block("text", "\n".join(lines))


def third_parties(_: str) -> str:
    """Return every third-party package with the rooms that may use it."""
    packages = layering()["THIRD_PARTY"]
    rows = [
        f"| {package} | {', '.join(f'`{room}`' for room in sorted(packages[package]))} |"
        for package in packages
    ]
    return "\n".join(["| package | used in |", "|---|---|", *rows])


@cache
def layering() -> Mapping[str, Any]:
    """Return the names in the test of the layers."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    return runpy.run_path(str(ROOT / "tests" / "meta" / "test_layering.py"))


def public_api(_: str) -> str:
    """Return every public module and its public names, by kind."""
    parts = []
    for module in PUBLIC_MODULES:
        by_kind: dict[str, list[str]] = defaultdict(list)
        for name, value in module.values.items():
            by_kind[kind_of(value)].append(f"`{name}`")
        lines = [f"- {kind}: {', '.join(by_kind[kind])}" for kind in KINDS if kind in by_kind]
        parts.append("\n".join([f"### {module.name}", "", module.purpose, "", *lines]))
    return "\n\n".join(parts)


def first_line(room: str) -> str:
    """Return the first line of the docstring of a module or package."""
    path = PACKAGE / f"{room}.py"
    path = path if path.exists() else PACKAGE / room / "__init__.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


GUIDES = {
    "lsp": "tools.md",
    "bench": "measure.md",
    "conformance": "conformance.md",
    "devices": "facts.md#known-devices",
    "facts": "facts.md",
    "fleet": "fleet.md",
    "lock": "ci.md",
    "matrix": "matrix.md",
    "models": "models.md",
    "new-backend": "first-backend.md",
    "pack": "on-device.md",
    "profiles": "profiles.md",
    "tune": "tune.md",
    "validate": "ci.md",
    "watch": "python.md",
}
"""The guide that shows a command with its output."""


def commands(_: str) -> str:
    """Return a section for every command and subcommand."""
    return "\n\n".join(section for name in COMMAND_SUMMARIES for section in command_sections(name))


def command_sections(name: str) -> Iterator[str]:
    """Yield the section of a command, with its guide, and those of its subcommands."""
    guide = f"\n\nGuide: [{title(GUIDES[name])}]({GUIDES[name]})" if name in GUIDES else ""
    yield f"{'#' * (2 + name.count(' '))} etconfig {name}\n\n{command(name)}{guide}"
    found = etconfig.get_command(click.Context(etconfig), name)
    if isinstance(found, click.Group):
        for each in found.commands:
            yield f"### etconfig {name} {each}\n\n{command(f'{name} {each}')}"


def title(page: str) -> str:
    """Return the title of a page in docs/."""
    name, _, _ = page.partition("#")
    return (ROOT / "docs" / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def command(name: str) -> str:
    """Return a command's usage, help, options and subcommands, from its declaration."""
    context = click.Context(etconfig, info_name="etconfig", **etconfig.context_settings)
    found: click.Command = etconfig
    for part in name.split():
        assert isinstance(found, click.Group)
        child = found.get_command(context, part)
        assert child is not None, name
        found, context = child, click.Context(child, info_name=part, parent=context)
    usage = f"{context.command_path} {' '.join(found.collect_usage_pieces(context))}"
    params = [
        param for param in found.get_params(context) if param.name not in DISPLAY_OPTIONS
    ]  # of every command
    options = [record for param in params if (record := param.get_help_record(context))]
    parts = [block("text", usage), *map(paragraph, cleandoc(found.help or "").split("\n\n"))]
    parts += table("option", [row for row in options if "--help" not in row[0]])
    if isinstance(found, click.Group):
        parts += table(
            "subcommand", [(name, each.get_short_help_str(200)) for name, each in found.commands.items()]
        )
    return "\n\n".join(parts)


def paragraph(text: str) -> str:
    """Return a paragraph of a command's help; click marks those that must not be wrapped."""
    mark, _, lines = text.partition("\b\n")
    return text if mark else block("text", dedent(lines))


def block(language: str, text: str) -> str:
    """Return a fenced block."""
    return f"```{language}\n{text}\n```"


def table(head: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return a table of names and meanings, if there are any."""
    # on GitHub, an unescaped pipe ends a cell, even in code
    cells = ((name.replace("|", "\\|"), meaning.replace("|", "\\|")) for name, meaning in rows)
    lines = [f"| `{name}` | {meaning} |" for name, meaning in cells]
    return ["\n".join([f"| {head} | meaning |", "|---|---|", *lines])] if lines else []


def source(place: str) -> str:
    """Return lines of a file of the repository: the whole file, or one class, function or constant.

    Args:
        place: A path from the root; for a part of a module, followed by a space and its dotted name.
    """
    path, _, symbol = place.partition(" ")
    text = (ROOT / path).read_text(encoding="utf-8")
    shown = definition(text, symbol, path) if symbol else text
    language = "toml" if path.endswith(".toml") else "python"
    return f"From [`{path}`](../{path}):\n\n{block(language, shown.rstrip())}"


def file(path: str) -> str:
    """Return a whole file of the repository, without the line that names it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return block("toml" if path.endswith(".toml") else "python", text.rstrip())


def definition(text: str, symbol: str, path: str) -> str:
    """Return the lines of a module that define `symbol`, such as `Class.method`, without indentation."""
    found: ast.AST = ast.parse(text)
    for name in symbol.split("."):
        matches = [each for each in ast.iter_child_nodes(found) if defines(each, name)]
        if not matches:
            raise SystemExit(f"{path} has no {symbol!r}; correct the line `<!-- generated: source ... -->`")
        found = matches[0]
    assert isinstance(found, ast.stmt)
    first = min([found.lineno, *(each.lineno for each in getattr(found, "decorator_list", []))])
    return dedent("\n".join(text.splitlines()[first - 1 : found.end_lineno]))


def defines(node: ast.AST, name: str) -> bool:
    """Check whether a statement binds `name`, as a class, a function or a variable."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return getattr(node, "name", None) == name


def arguments(place: str) -> str:
    """Return a table of the arguments or attributes of a public name, from its docstring.

    Args:
        place: The module and the name, such as `etconfig.plugin.v1 option`.
    """
    module, _, name = place.partition(" ")
    docstring = getattr(import_module(module), name).__doc__ or ""
    section = re.search(
        r"^(Args|Attributes):\n(.*?)(?=^\w|\Z)", cleandoc(docstring), re.MULTILINE | re.DOTALL
    )
    if section is None:
        raise SystemExit(
            f"{place} has no section of arguments; correct the line `<!-- generated: arguments -->`"
        )
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", section[2], re.MULTILINE | re.DOTALL)
    rows = ((each, re.sub(r"\s*\n\s*", " ", meaning.strip())) for each, meaning in found)
    head = "argument" if section[1] == "Args" else "field"
    return "\n".join(table(f"{head} of `{name}`", rows))


def diagnostics(_: str) -> str:
    """Return every diagnostic code with its summary and its page."""
    rows = [f"| [{code}]({code}.md) | {info.summary} |" for code, info in CODES.items()]
    return "\n".join(["| code | summary |", "|---|---|", *rows])


def facts(_: str) -> str:
    """Return the table of facts."""
    head = "| fact | type | unit | volatility | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(map(_row_of_fact, BUILTIN_FACTS.infos))


def _row_of_fact(info: FactInfo) -> str:
    meaning = info.doc
    if info.choices:
        words = "One of" if info.type is FactType.STRING else "Usual items are"
        meaning = f"{meaning} {words} {', '.join(f'`{choice}`' for choice in info.choices)}."
    cells = (f"`{info.name}`", info.type.value, info.unit or "", info.volatility.value, meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def plugin(directory: str) -> str:
    """Return the options of every backend that a plugin of this repository declares, installed or not."""
    return "\n".join(map(markdown_reference, _specs(directory)))


def variables(engines: str) -> str:
    """Return the environment variables that engines read, each with the option that it expresses."""
    specs = [spec for engine in engines.split() for spec in _specs(f"plugins/etconfig-{engine}")]
    rows = [
        (f"`{name}`", next((f"`{spec.id}.{x.name}`" for x in _infos(spec) if name in x.env), ""), doc)
        for spec in specs
        for name, doc in spec.environment.items()
    ]
    return markdown_table(("variable", "option", "effect"), rows)


def _infos(spec: BackendSpec) -> Iterable[OptionInfo]:
    return spec.options.option_infos().values()


def _specs(directory: str) -> list[BackendSpec]:
    project = tomli.loads((ROOT / directory / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sys.path.insert(0, str(ROOT / directory))
    return [
        import_module(module).etconfig_backend(BackendRequest(name=name, core_api=CURRENT))
        for name, module in project["entry-points"]["etconfig.backends"].items()
    ]


def two_device_table(_: str) -> str:
    """Return the options that one program gets on a phone and on a Raspberry Pi 5, with the reasons."""
    return two_devices.table()


def mistakes(_: str) -> str:
    """Return what etconfig says of three mistakes that ExecuTorch accepts."""
    return two_devices.mistakes()


def options_of_bundled_profiles(_: str) -> str:
    """Return the options that bundled profiles set, with their sources."""
    return bundled_options.table()


def expression_examples(name: str) -> str:
    """Return a table of expressions with their values or refusals, from the test data."""
    path = ROOT / "tests" / "data" / "expression_examples.toml"
    second = "refused, because" if name == "refused" else "value"
    rows = tomli.loads(path.read_text(encoding="utf-8"))[name]
    cells = ((f"`{text}`".replace("|", "\\|"), shown.replace("|", "\\|")) for text, shown in rows)
    is_code = name != "refused"
    lines = [
        f"| {text} | {f'`{shown}`' if is_code and shown != 'unknown' and ':' not in shown else shown} |"
        for text, shown in cells
    ]
    return "\n".join([f"| expression | {second} |", "|---|---|", *lines])


def quirks(_: str) -> str:
    """Return the known quirks of each backend, with their reports."""
    rows = [
        (f"`{path.stem}`", f"`{quirk.condition.source}`", quirk.seen, _report(quirk.report))
        for path in sorted(DIRECTORY.glob("*.toml"))
        for quirk in quirks_of(path.stem)
    ]
    return markdown_table(("backend", "devices", "seen", "report"), rows)


def _report(name: str) -> str:
    repository, number = name.split("#")
    return f"[{name}](https://github.com/{repository}/issues/{number})"


def action_inputs(_: str) -> str:
    """Return the inputs of the action for GitHub."""
    rows = re.findall(
        r"^  ([a-z-]+):\n    description: (.+)\n    default: (.+)$",
        (ROOT / "action.yml").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    lines = []
    for name, meaning, default in rows:
        bare = default.strip('"')
        lines.append(f"| `{name}` | {meaning} | {f'`{bare}`' if bare else 'none'} |")
    return "\n".join(["| input | meaning | default |", "|---|---|---|", *lines])


def c_functions(_: str) -> str:
    """Return the functions of the C interface, each group with the first sentence of its comment."""
    header = PACKAGE / "device" / "include" / "etconfig" / "etconfig_device.h"
    text = header.read_text(encoding="utf-8")
    rows = ["| functions of `etconfig_device.h` | meaning |", "|---|---|"]
    pattern = r"/\* (?P<comment>(?:(?!\*/).)*?)\*/\n(?P<group>(?:[\w *]*etconfig_device_\w+\([^;]*\);\n)+)"
    for found in re.finditer(pattern, text, re.DOTALL):
        names = re.findall(r"\betconfig_device_(\w+)\(", found["group"])
        meaning = re.split(r"(?<=[.;:]) ", re.sub(r"\s*\n\s*\*?\s*", " ", found["comment"].strip()))[0]
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {meaning.rstrip(';:.')} |")
    return "\n".join(rows)


def results(name: str) -> str:
    """Return recorded results of a benchmark, with their conditions."""
    return (ROOT / "benchmarks" / "results" / f"{name}.md").read_text(encoding="utf-8")


def device_index(_: str) -> str:
    """Return the bundled profiles of devices, with their descriptions."""
    return bundled_options.index()


def measured_profiles(_: str) -> str:
    """Return the options of the measured profiles, with their gains."""
    return bundled_options.measured()


def runtime_differences(_: str) -> str:
    """Return the differences of ExecuTorch's kernels from eager PyTorch, each with its operators."""
    path = ROOT / "tests" / "data" / "kernels" / "runtime_differences.json"
    rows = ["| ExecuTorch's kernels | operators |", "|---|---|"]
    for difference, cases in json.loads(path.read_text(encoding="utf-8")).items():
        names = dict.fromkeys(case.rpartition("-")[0] for case in cases)
        rows.append(f"| {difference} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(rows)


def operators(_: str) -> str:
    """Return the operators with a built-in kernel, with the evidence that they are right."""
    found = evidence()
    rows = [
        f"| `{name}` | [{path.stem}](../{path}) | {found.get(name, '| | |')} |"
        for family in builtin_tables()
        for path in [Path(*family.source.split(".")).with_suffix(".py")]
        for name in sorted(name for kernel in family.kernels for name in kernel.operators)
    ]
    head = ["| operator | family | dtypes | cases | variants | runtime agrees |", "|---|---|---|---|---|---|"]
    return "\n".join([f"{len(rows)} operators:", "", *head, *rows])


def evidence() -> dict[str, str]:
    """Return, by operator with recorded calls: dtypes, cases, variants, and where ExecuTorch agrees."""
    data = ROOT / "tests" / "data" / "kernels"
    recorded = json.loads((data / "cases.json").read_text(encoding="utf-8"))
    differing = Counter(
        case.rpartition("-")[0]
        for cases in json.loads((data / "runtime_differences.json").read_text(encoding="utf-8")).values()
        for case in cases
    )
    dtypes: dict[str, set[str]] = defaultdict(set)
    counts = Counter(each["operator"] for each in recorded["cases"])
    for each in recorded["cases"]:
        dtypes[each["operator"]] |= set(re.findall(r'"dtype": "(\w+)"', json.dumps(each)))
    return {
        name: " | ".join(
            map(
                str,
                (", ".join(sorted(dtypes[name])), count, recorded["variants"][name], count - differing[name]),
            )
        )
        for name, count in counts.items()
    }


def errors(_: str) -> str:
    """Return the tree of exceptions, from the module's docstring."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / "errors.py").read_text(encoding="utf-8"))) or ""
    lines = [line[4:] for line in docstring.splitlines() if line.startswith("    ")]
    return block("text", "\n".join(lines))


def validate_checks(_: str) -> str:
    """Return the checks of `validate` in their order, with their preconditions."""
    names = {check: f"no error of `{name}`" for name, check in CHECKS.items()}
    rows = (
        (name, each.find.__doc__, ", ".join((*each.needs, *(names[x] for x in (each.rests_on,) if x))))
        for name, each in CHECKS.items()
    )
    return markdown_table(("check", "what is true of a file that passes", "needs"), rows)


PARTS: Mapping[str, Callable[[str], str]] = {
    "action-inputs": action_inputs,
    "arguments": arguments,
    "bundled-options": options_of_bundled_profiles,
    "c-functions": c_functions,
    "commands": commands,
    "device-index": device_index,
    "diagnostics": diagnostics,
    "errors": errors,
    "expression-examples": expression_examples,
    "facts": facts,
    "file": file,
    "imports": imports,
    "measured-profiles": measured_profiles,
    "mistakes": mistakes,
    "operators": operators,
    "runtime-differences": runtime_differences,
    "plugin": plugin,
    "public-api": public_api,
    "quirks": quirks,
    "results": results,
    "rooms": rooms,
    "source": source,
    "third-parties": third_parties,
    "two-devices": two_device_table,
    "install": how_to_install_here,
    "validate-checks": validate_checks,
    "variables": variables,
    **KIT_PARTS,
}
"""The function of each part, by the first word of the part's name."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
