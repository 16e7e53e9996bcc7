"""The files that a command writes: options for them, and `written_files` with the errors of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from etconfig.base.written_files import FileKind, FilesOfRun, RefusedFileError
from etconfig.cli.shared.standard_output import moved_paths

_KEY = "etconfig.files_of_run"

force_option = click.option(
    "--force", is_flag=True, help="Replace files that etconfig has not written, too, also through links."
)


class OutputPath(click.Path):
    """The type of a path that a command writes to.

    Args:
        is_directory: True if it is a directory for files, False if it is a file.
    """

    def __init__(self, *, is_directory: bool = False) -> None:
        super().__init__(file_okay=not is_directory, path_type=Path)
        self.is_directory = is_directory


def html_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--html`; the command gets the path as `page`; and `--force`."""
    page = click.option(
        "--html", "page", metavar="FILE", type=OutputPath(), help="Write the results as an HTML page, too."
    )
    return page(force_option(function))


def check_page(page: Path | None) -> None:
    """Check, before long work begins, that a page can be written, if one is requested."""
    from etconfig.report.page.page_writer import PAGE, check_can_write_pages

    if page is not None:
        check_can_write_pages()
        check_can_write(page, PAGE)


def write_file(path: Path, content: bytes, kind: FileKind, *, is_named: bool = True) -> None:
    """Write a whole file or nothing. Devices and pipes are written to directly.

    Args:
        path: The file; it is created or replaced.
        content: Its new content.
        kind: The kind of file; only files of this kind are replaced, unless `--force` is given.
        is_named: True if the user named the path. A link at one that the user did not name may have been
            planted, and is refused; so are pipes and devices.

    Raises:
        click.ClickException: it cannot be written; an existing file is unchanged.
    """
    with writing(path):
        files_of_command().write(path, content, kind, is_named=is_named)


def check_can_write(path: Path, kind: FileKind) -> None:
    """Check, before long work begins, that `write_file` can write to `path`; once for each output.

    Raises:
        click.ClickException: it cannot.
    """
    with writing(path):
        files_of_command().claim(path, kind)


def note_reads(paths: Iterable[Path]) -> None:
    """Note files that the command reads, besides the files of its options."""
    files_of_command().reads(paths)


def files_of_command() -> FilesOfRun:
    """Return the files of the running command, which reads the files of its options."""
    context = click.get_current_context(silent=True)
    if context is None:
        return FilesOfRun()
    root = context.find_root()
    if _KEY not in root.meta:
        files = FilesOfRun(force=bool(context.params.get("force")), streams=moved_paths())
        while context is not None:
            files.reads(_read_by(context))
            context = context.parent
        root.meta[_KEY] = files
    found: FilesOfRun = root.meta[_KEY]
    return found


@contextmanager
def writing(path: Path | None = None) -> Iterator[None]:
    """Turn errors of writing a file into errors of the command.

    Args:
        path: The file as the user knows it; by default the error's file.

    Raises:
        click.ClickException: it cannot be written.
    """
    try:
        yield
    except RefusedFileError as error:
        raise click.ClickException(refused_write(error, path)) from error
    except OSError as error:
        name = path or Path(error.filename or "")
        is_missing = isinstance(error, FileNotFoundError) and not name.parent.exists()
        advice = f"; create the directory {str(name.parent)!r} first" if is_missing else ""
        raise click.ClickException(f"cannot write {name}: {error.strerror}{advice}") from error


def refused_write(error: RefusedFileError, path: Path | None = None) -> str:
    """Return the message about a file that is not replaced, with what to do."""
    advice = ""
    if error.may_force:
        context = click.get_current_context(silent=True)
        has_force = context is not None and "force" in context.params
        advice = f"; give another file, or {'--force' if has_force else 'remove it'}"
    return f"cannot write {error.path if path is None else path}: {error.reason}{advice}"


def _read_by(context: click.Context) -> Iterator[Path]:
    """Yield the files that the values of a command's other parameters name."""
    outputs = {each.name for each in context.command.params if isinstance(each.type, OutputPath)}
    for name, value in context.params.items():
        if name not in outputs:
            yield from _files_in(value)


def _files_in(value: Any) -> Iterator[Path]:
    if isinstance(value, (str, Path)):
        try:
            path = Path(value)
            if path.is_file():
                yield path
        except (OSError, ValueError):
            return
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _files_in(each)
