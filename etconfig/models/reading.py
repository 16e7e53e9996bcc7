"""Reading `[model.NAME]` from a project file, or from a file of its own."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path, PurePath

from etconfig.base.source_characters import find_unprintable
from etconfig.expression import ExpressionParser, ExpressionType
from etconfig.models.catalog import CatalogModel, ModelCatalog, ModelVariant
from etconfig.profile.document import Document
from etconfig.profile.names import NAME_RULES, PROJECT_FILES, is_name_of
from etconfig.profile.profile import Reference
from etconfig.profile.project import project_section, read_models_files
from etconfig.profile.settings import read_expression
from etconfig.profile.table import TomlTable, dotted, is_tables

_MODEL = "model"
_MODEL_KEYS = ("fallback", "variants", "backends", "file")
_VARIANT_KEYS = ("file", "backend", "when", "data", "fits", "memory", "bytes", "sha256", "source")
PROGRAM_ENDING = r"\.[bB]?[pP][tT][eE]$"
"""The pattern of the end of a program's name, which no engine takes."""
PROGRAM_NAME = rf"{PROGRAM_ENDING}|^([^/]*/)*[^./]*$"
"""The pattern of names that may be a program's: with that ending, or without any."""
SHA256 = "^[0-9a-f]{64}$"
"""The pattern of a hash."""
SOURCE = "^[A-Za-z][A-Za-z0-9+.-]*://[!-~]+$"
"""The pattern of a source, which is a URL."""
_TABLE_HELP = "write [{table}.NAME], with the name of the model"
_VARIANTS_HELP = (
    "write {header} with a file for each program of the model, or backends = [...] if an engine runs it "
    "without a program"
)
_BACKENDS_HELP = 'write backends = ["OnnxRuntimeBackend"], with the ids of one or more backends'
_FALLBACK_HELP = "write fallback = true, or leave it out"
_FILE_HELP = 'write file = "model.pte", relative to this file'
_BACKEND_HELP = 'write backend = "OnnxRuntimeBackend", the id of the backend whose engine runs the file'
_MEMORY_HELP = 'write memory = "512 MiB", or a number of bytes'
_BYTES_HELP = "write bytes = 1048576, the size of the file"
_SHA256_HELP = "write what sha256sum prints of the file"
_SOURCE_HELP = 'write source = "https://...", which is shown and never fetched'
_FITS_HELP = "write fits = true, or the share of the need that shall stay free: fits = 0.2"
_WHEN_HELP = "write when = '...' with a condition on facts, or leave it out"


def parse_models(document: Document, expressions: ExpressionParser) -> ModelCatalog:
    """Read the models of a project file, or of a file that has nothing else.

    Args:
        document: The document; a project file is recognized by its name.
        expressions: The parser of conditions.

    Raises:
        ProfileError: with every problem of the tables of models; of a file of their own, with all of it.
    """
    root = TomlTable(document, (), document.data, [])
    section = _section(root)
    tables = section.table(_MODEL, "write [model.NAME]") if section is not None else None
    models = {} if tables is None else _read_models(tables, expressions)
    if root.problems:
        raise root.error()
    return ModelCatalog(models)


def parse_models_files(document: Document) -> tuple[Reference, ...]:
    """Read only `models` of a project file: the files with further models.

    Raises:
        ProfileError: it is not a list of paths.
    """
    root = TomlTable(document, (), document.data, [])
    section = project_section(root)
    files = () if section is None else read_models_files(section)
    if root.problems:
        raise root.error()
    return files


def is_models_document(document: Document) -> bool:
    """Return True for a file of models: it has `[model.NAME]`, and no profile."""
    return isinstance(document.data.get(_MODEL), dict) and "profile" not in document.data


def _section(root: TomlTable) -> TomlTable | None:
    if PurePath(root.document.name).name in PROJECT_FILES:
        return project_section(root)
    root.check_keys((_MODEL,), "models")
    return root


def _read_models(tables: TomlTable, expressions: ExpressionParser) -> dict[str, CatalogModel]:
    arrays = [name for name, value in tables.data.items() if is_tables(value)]
    for name in arrays:
        _report_array(name, tables)
    data = {name: value for name, value in tables.data.items() if name not in arrays}
    others = TomlTable(tables.document, tables.path, data, tables.problems)
    return {name: _read_model(name, others, table, expressions) for name, table in others.tables(_TABLE_HELP)}


def _report_array(name: str, tables: TomlTable) -> None:
    """Report `[[model.NAME]]`, where the variants of the model were meant."""
    from etconfig.mistakes.profile.header_fixes import header_fix, header_text

    names = (*(part for part in tables.path if isinstance(part, str)), name)
    meant = (*names, "variants")
    fix = header_fix(tables.document, names, meant, is_array=True)
    message = f"{dotted(names)!r} must be a table, but is an array of tables"
    tables.report(
        "wrong-type", message, tables.key_span(name), f"write {header_text(meant, is_array=True)}", fix
    )


def _read_model(
    name: str, tables: TomlTable, table: TomlTable, expressions: ExpressionParser
) -> CatalogModel:
    if not is_name_of("instance", name):
        table.report(
            "invalid-name", f"{name!r} cannot be a model's name", tables.key_span(name), NAME_RULES["model"]
        )
    unseen = find_unprintable(name)
    if unseen is not None:
        message = f"the name {name!a} contains the invisible character {unseen}"
        table.report("invisible-character", message, tables.key_span(name), "retype it")
    meant = table.check_keys(_MODEL_KEYS, "model")
    given = _read_backends(table) if "backends" in table.data else ()
    variants: tuple[ModelVariant, ...] = ()
    if "file" in table.data and "backends" not in table.data:
        message = f"{table.header} has 'file' without 'backends'"
        help = "write file in [[variants]] for a program, or add backends = [...] if an engine runs it"
        table.report("unknown-key", message, table.key_span("file"), help)
    elif "file" in table.data:
        file = _read_file(table, 'write file = "model.onnx", relative to this file')
        if given:
            _check_ending(table, file.target, is_of_engine=True)
        path = _beside(table.document, file.target)
        variants = tuple(
            ModelVariant(number=number, file=file, path=path, backend=each)
            for number, each in enumerate(given, 1)
        )
    is_program = not {"variants", "backends"} & {*meant} and "backends" not in table.data
    if is_program and table.data.get("variants", []) == []:
        _report_no_variants(name, tables, table)
    if table.data.get("variants"):
        tables_of_variants = enumerate(table.array_of_tables("variants"), 1)
        variants = tuple(_read_variant(number, each, expressions) for number, each in tables_of_variants)
    backends = {each.target: each for each in given}
    for variant in variants:
        if variant.backend is not None:
            backends.setdefault(variant.backend.target, variant.backend)
    return CatalogModel(
        name=name,
        fallback=table.boolean("fallback", _FALLBACK_HELP),
        variants=variants,
        find_span=partial(tables.key_span, name),
        backends=tuple(backends.values()),
    )


def _read_backends(table: TomlTable) -> tuple[Reference, ...]:
    """Read the backends of a model that an engine runs."""
    for key in ("variants", "fallback"):
        if key in table.data:
            message = f"{table.header} has no key {key!r} beside 'backends'"
            help = "write a backend in each of the [[variants]] that an engine runs, in place of backends"
            table.report("unknown-key", message, table.key_span(key), help)
    names = table.strings("backends")
    if not names and table.data["backends"] == []:
        span = table.value_span("backends")
        table.report("wrong-type", "'backends' must name a backend, but is empty", span, _BACKENDS_HELP)
    for index, each in enumerate(names):
        span = table.value_span("backends", index)
        if not is_name_of("backend", each):
            table.report("invalid-name", f"{each!r} cannot be a backend", span, NAME_RULES["backend"])
        elif each in names[:index]:
            table.report("wrong-type", f"'backends' names {each!r} twice", span, "name each backend once")
    return tuple(
        Reference(each, partial(table.value_span, "backends", index)) for index, each in enumerate(names)
    )


def _report_no_variants(name: str, tables: TomlTable, table: TomlTable) -> None:
    from etconfig.mistakes.profile.header_fixes import header_text

    names = tuple(part for part in table.path if isinstance(part, str))
    message = f"{header_text(names)} has no 'variants'"
    help = _VARIANTS_HELP.format(header=header_text((*names, "variants"), is_array=True))
    table.report("missing-key", message, tables.key_span(name), help)


def _read_variant(number: int, table: TomlTable, expressions: ExpressionParser) -> ModelVariant:
    if "file" not in table.check_keys(_VARIANT_KEYS, "variant"):
        table.require("file", _FILE_HELP)
    file = _read_file(table, _FILE_HELP)
    backend = _read_backend(table)
    if file.target and ("backend" not in table.data or backend is not None):
        _check_ending(table, file.target, is_of_engine=backend is not None)
    data = None
    if "data" in table.data:
        files = enumerate(table.strings("data"))
        data = tuple(Reference(path, partial(table.value_span, "data", index)) for index, path in files)
        if "backend" in table.data:
            message = f"{table.header} has 'data' beside 'backend': only programs have data files"
            table.report("unknown-key", message, table.key_span("data"), "remove data")
    fits_margin = table.margin("fits", _FITS_HELP)
    if "memory" in table.data and table.data.get("fits", False) is False:
        message = f"{table.header} has 'memory', which nothing reads without 'fits'"
        table.report("missing-key", message, table.key_span("memory"), "add fits = true")
    return ModelVariant(
        number=number,
        file=file,
        path=_beside(table.document, file.target),
        backend=backend,
        when=read_expression(table, "when", expressions, ExpressionType.BOOL, _WHEN_HELP),
        data=data,
        data_paths=tuple(_beside(table.document, each.target) for each in data or ()),
        fits_margin=fits_margin,
        memory_bytes=table.size("memory", _MEMORY_HELP),
        size_bytes=table.size("bytes", _BYTES_HELP),
        sha256=_matching(table, "sha256", SHA256, "64 hexadecimal digits in lower case", _SHA256_HELP),
        source=_matching(table, "source", SOURCE, "a URL", _SOURCE_HELP),
    )


def _read_backend(table: TomlTable) -> Reference | None:
    name = table.string("backend", _BACKEND_HELP)
    if name is not None and not is_name_of("backend", name):
        span = table.value_span("backend")
        table.report("invalid-name", f"{name!r} cannot be a backend", span, NAME_RULES["backend"])
    return None if name is None else Reference(name, partial(table.value_span, "backend"))


def _check_ending(table: TomlTable, file: str, *, is_of_engine: bool) -> None:
    """Report a program that an engine shall run, and a file of an engine that has no backend."""
    if is_of_engine and re.search(PROGRAM_ENDING, file):
        message = f"{file!r} is a program, not a file of an engine: its backends are read from it"
        key = "backends" if "backends" in table.data else "backend"
        table.report("unknown-key", message, table.key_span(key), f"remove {key}, or name an engine's file")
    elif not is_of_engine and not re.search(PROGRAM_NAME, file):
        message = f"{file!r} is not a program (.pte), and {table.header} has no 'backend'"
        table.report("missing-key", message, table.value_span("file"), _BACKEND_HELP)


def _matching(table: TomlTable, key: str, pattern: str, wanted: str, help: str) -> str | None:
    """Return the string at a key; None without one, or if it is wrong, which is reported."""
    text = table.string(key, help)
    if text is not None and not re.search(pattern, text):
        message = f"{key!r} must be {wanted}, but is {text!r:.80}"
        table.report("wrong-type", message, table.value_span(key), help)
        return None
    return text


def _read_file(table: TomlTable, help: str) -> Reference:
    target = table.string("file", help)
    if target == "":
        table.report("wrong-type", "'file' must be a path, but is empty", table.value_span("file"), help)
    return Reference(target or "", partial(table.value_span, "file"))


def _beside(document: Document, target: str) -> Path:
    """Return a path that is written relative to the directory of a document."""
    directory = "" if document.path is None else os.path.dirname(document.path)  # noqa: PTH120  (stays as given)
    return Path(directory, target)
