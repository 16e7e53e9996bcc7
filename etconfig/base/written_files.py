"""The door for files that etconfig writes: whole or not at all, and never over a file of somebody else."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from etconfig.base.parameters import AnyPath, as_path
from etconfig.base.records import record

_PREFIX = ".etconfig-"
"""The start of the names of temporary files: no name of a target makes them too long."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
"""Opens a file that must not exist yet: no link at its place is followed."""
_STREAMS = ("/dev/", "/proc/")
"""The directories whose links nobody plants, such as /dev/stdout."""


class RefusedFileError(FileExistsError):
    """A file that is not replaced; it is unchanged.

    Attributes:
        path: The file.
        reason: The reason.
        may_force: True if `force` replaces it.
    """

    def __init__(self, path: Path, reason: str, *, may_force: bool) -> None:
        super().__init__(errno.EEXIST, reason, str(path))
        self.path, self.reason, self.may_force = path, reason, may_force

    def __str__(self) -> str:
        return f"cannot write {self.path}: {self.reason}"

    def __reduce__(self) -> tuple[Callable[..., RefusedFileError], tuple[Path, str, bool]]:
        """Return the parts of a pickle."""
        return _refused, (self.path, self.reason, self.may_force)


def _refused(path: Path, reason: str, may_force: bool) -> RefusedFileError:
    return RefusedFileError(path, reason, may_force=may_force)


@record(frozen=True)
class FileKind:
    """A kind of file that etconfig writes.

    Attributes:
        noun: The kind with its article, such as `a device bundle`.
        is_made: Returns True if etconfig wrote this file, by its content. An OSError or ValueError means no.
    """

    noun: str
    is_made: Callable[[Path], bool]

    def has(self, path: Path) -> bool:
        """Return True if the file is of this kind."""
        try:
            return self.is_made(path)
        except (OSError, ValueError, RecursionError):
            return False


def head_of(path: Path, count: int = 4096) -> bytes:
    """Return the first bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(count)


class FilesOfRun:
    """The files that one run reads and writes.

    An existing file is replaced if it is of the kind that the run writes there, or empty. Others are refused,
    and so are files with several names (hard links), of which one would get lost, and links that lead out of
    their directory. What the run reads or has written is never replaced.

    Args:
        force: Replace other files, too, also through a link.
        streams: Where output to paths such as /dev/stdout goes instead.
    """

    def __init__(self, *, force: bool = False, streams: Mapping[str, Path] | None = None) -> None:
        self.force = force
        self._streams = streams or {}
        self._read: set[tuple[int, int]] = set()
        self._claimed: set[str] = set()
        self._written: set[str] = set()

    def reads(self, paths: Iterable[Path]) -> None:
        """Note files that the run reads."""
        for path in paths:
            with suppress(OSError, ValueError):
                found = path.stat()
                self._read.add((found.st_dev, found.st_ino))

    def check(self, path: Path, kind: FileKind, *, is_named: bool = True) -> Path:
        """Return the path to write to, which is that at the end of a link.

        Args:
            path: The file.
            kind: The kind of file that is written.
            is_named: True if the user named the path. A link at a path that etconfig names may have been
                planted, and is refused; so are pipes and devices.

        Raises:
            RefusedFileError: the file is not replaced.
            OSError: it cannot be written.
        """
        self.check_is_not_read(path)
        target = self._at_the_end(path, is_named=is_named)
        try:
            found = target.stat()
        except FileNotFoundError:
            return target
        if not is_named and not stat.S_ISREG(found.st_mode):
            raise RefusedFileError(path, "it is not a regular file; remove it", may_force=False)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            return target
        if os.path.realpath(target) in self._written:
            raise RefusedFileError(path, "the command has written it; give another file", may_force=False)
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if not self.force and found.st_size and not kind.has(target):
            raise RefusedFileError(path, f"it is there, and not {kind.noun}", may_force=True)
        if not self.force and found.st_nlink > 1:
            names = f"it has {found.st_nlink} names (hard links), and the others would keep the old contents"
            raise RefusedFileError(path, names, may_force=True)
        return target

    def check_is_not_read(self, path: Path) -> None:
        """Check that the run does not read a file.

        Raises:
            RefusedFileError: it does.
        """
        try:
            found = path.stat()
        except OSError:
            return
        if (found.st_dev, found.st_ino) in self._read:
            raise RefusedFileError(path, "the command reads it; give another file", may_force=False)

    def _at_the_end(self, path: Path, *, is_named: bool) -> Path:
        """Return the path at the end of a link.

        Raises:
            RefusedFileError: a link must not be followed.
        """
        path = self._streams.get(os.path.abspath(path), path)  # noqa: PTH100  (not the end of a link)
        if not path.is_symlink():
            return path
        if not is_named:
            raise RefusedFileError(path, "it is a symbolic link; remove it", may_force=False)
        if os.path.abspath(path).startswith(_STREAMS):  # noqa: PTH100  (the links of /dev/stdout end at no path)
            return path
        target, directory = Path(os.path.realpath(path)), Path(os.path.realpath(path.parent))
        if not self.force and directory not in target.parents:
            raise RefusedFileError(path, f"it is a link out of its directory, to {target}", may_force=True)
        return target

    def claim(self, path: Path, kind: FileKind) -> None:
        """Check, before long work begins, that the run can write a file, and that it does so once.

        Raises:
            RefusedFileError: the file is not replaced, or is another output, too.
            OSError: it cannot be written.
        """
        target = self.check(path, kind)
        if _is_stream(target):
            os.close(os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)))
            return
        name = os.path.realpath(target)
        if name in self._claimed:
            raise RefusedFileError(path, "another output goes there, too; give another file", may_force=False)
        self._claimed.add(name)
        beside = _name_beside(target)
        with errors_of(path, beside):
            os.close(os.open(beside, _NEW, 0o666))
            beside.unlink()

    def write(self, path: Path, content: bytes, kind: FileKind, *, is_named: bool = True) -> None:
        """Write a whole file or nothing, with the arguments of `check`; write to devices and pipes directly.

        Raises:
            RefusedFileError: the file is not replaced.
            OSError: it cannot be written; an existing file is unchanged.
        """
        target = self.check(path, kind, is_named=is_named)
        if _is_stream(target):
            with errors_of(path, target):
                target.write_bytes(content)
        else:
            replace_file(target, content)
            self.wrote(target)

    def check_edit(self, path: Path) -> Path:
        """Return the path to write an edited file to, which is that at the end of a link.

        Raises:
            RefusedFileError: it has several names, or is a link out of its directory.
            OSError: it cannot be written.
        """
        target, directory = Path(os.path.realpath(path)), Path(os.path.realpath(path.parent))
        if directory not in target.parents:
            reason = f"it is a link out of its directory; give {target} itself"
            raise RefusedFileError(path, reason, may_force=False)
        count = target.stat().st_nlink
        if count > 1:
            reason = (
                f"it has {count} names (hard links), and the others would keep the old contents; fix a copy"
            )
            raise RefusedFileError(path, reason, may_force=False)
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return target

    def edit(self, path: Path, content: bytes) -> None:
        """Write the new contents of a file that the run has read, whole or not at all.

        Raises:
            RefusedFileError, OSError: as for `check_edit`; the file is unchanged.
        """
        replace_file(self.check_edit(path), content)

    def wrote(self, path: Path) -> None:
        """Note a file that the run has written."""
        self._written.add(os.path.realpath(path))


def write_own_file(
    path: AnyPath, content: bytes, noun: str, is_made: Callable[[Path], bool], *, force: bool = False
) -> None:
    """Write a file at a path that its writer chose, such as one in a cache, whole or not at all.

    A link is not followed, and another file there is not replaced. Whatever fails, the old file or the new
    one is there, and it keeps its mode.

    Args:
        path: The file.
        content: Its new content.
        noun: The kind of file with its article, such as `a checksum`.
        is_made: Returns True if an existing file is of this kind, by its content.
        force: Replace other files, too, but no links.

    Raises:
        FileExistsError: something else is there; it is unchanged.
        OSError: the file cannot be written.
    """
    own = as_path("path", path)
    FilesOfRun(force=force).write(own, content, FileKind(noun, is_made), is_named=False)


def _is_stream(path: Path) -> bool:
    """Return True for a device, a pipe or a stream of the process, which are not replaced."""
    is_link = path.is_symlink() and os.path.abspath(path).startswith(_STREAMS)  # noqa: PTH100
    return is_link or (path.exists() and not path.is_file())


def replace_file(path: Path, content: bytes) -> None:
    """Write a new file next to `path`, and rename it to `path`.

    If the process is killed or the power fails, `path` is the whole old file or the whole new one. A new file
    has the mode of the file that it replaces, and its owner where that is allowed. A link is replaced.

    Raises:
        OSError: it cannot be written; an existing file is unchanged.
    """
    beside = _name_beside(path)
    with errors_of(path, beside):
        descriptor = os.open(beside, _NEW, 0o666)
        try:
            _write_new(descriptor, beside, content, path)
            beside.replace(path)
            _sync_directory(path.parent)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


def _write_new(descriptor: int, beside: Path, content: bytes, path: Path) -> None:
    """Write a new file, which will replace another one, to the disk."""
    with os.fdopen(descriptor, "wb") as file:
        _keep_rights(beside, path)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def replace_files(contents: Mapping[Path, bytes], removed: Iterable[Path] = ()) -> None:
    """Write files into one directory, as `replace_file` does; all are written before the first is replaced.

    Args:
        contents: The contents by file; all files are in one directory.
        removed: Files that are removed at the end.

    Raises:
        OSError: a file cannot be written; it names the file. If not all could be written, none is changed.
    """
    removed = [path for path in removed if path not in contents]
    if contents:
        with directory_beside(next(iter(contents)), 0o700) as directory:
            for path, content in contents.items():
                beside = directory / path.name
                with errors_of(path, beside):
                    _write_new(os.open(beside, _NEW, 0o666), beside, content, path)
            for path in contents:
                with errors_of(path, directory / path.name):
                    (directory / path.name).replace(path)
    for path in removed:
        path.unlink(missing_ok=True)
    for parent in {path.parent for path in (*contents, *removed)}:
        _sync_directory(parent)


@contextmanager
def whole_files(targets: Sequence[Path], *, rights: int | None = None) -> Iterator[list[Path]]:
    """Give paths beside files for others to write; they replace the files together at the end.

    All are written, and are on the disk, before the first is replaced. They are removed after an error. No
    other process has the same paths, also on another machine, and nobody else can read them before the end.

    Args:
        targets: The files.
        rights: The most rights of the files, as a mode; by default the rights of the files that they replace.

    Raises:
        OSError: a directory is in the place of a file, or a file cannot be replaced; it names the file.
    """
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    with ExitStack() as stack:
        paths = [stack.enter_context(directory_beside(each, 0o700)) / each.name for each in targets]
        yield paths
        for path, target in zip(paths, targets, strict=True):
            with errors_of(target, path):
                _finish(path, target, rights)
        for path, target in zip(paths, targets, strict=True):
            with errors_of(target, path):
                path.replace(target)
        for directory in {target.parent for target in targets}:
            _sync_directory(directory)


@contextmanager
def whole_file(target: Path, *, rights: int | None = None) -> Iterator[Path]:
    """Do the same for one file; errors of writing it name `target`."""
    with whole_files([target], rights=rights) as (beside,), errors_of(target, beside):
        yield beside


@contextmanager
def errors_of(target: Path, beside: Path) -> Iterator[None]:
    """Let the errors of writing a file beside `target` name `target`.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        if error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror or str(error), str(target)) from error
        raise


@contextmanager
def directory_beside(target: Path, mode: int = 0o777) -> Iterator[Path]:
    """Make a directory beside `target` for its parts, which other machines may write; remove it at the end.

    Raises:
        OSError: it cannot be made.
    """
    import shutil

    beside = _name_beside(target)
    with errors_of(target, beside):
        beside.mkdir(mode)
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """Return True for what a run that was killed has left beside its files."""
    return path.name.startswith(_PREFIX) and path.suffix == ".tmp"


def rights_of_copy(sources: Iterable[Path], directory: Path) -> int:
    """Return the mode for a copy of files in a directory: nobody can read it who cannot read all of them.

    Raises:
        OSError: a file cannot be found.
    """
    rights, through = 0o666, {os.path.realpath(directory): 0o666}
    group = None if sys.platform == "win32" else os.getegid()

    def passed(path: str) -> int:
        """Return the rights of all who may pass a directory and its parents, below the copy's."""
        if path not in through:
            above = os.path.dirname(path)  # noqa: PTH120  (twice as fast, for many sheets)
            mode = os.stat(path).st_mode  # noqa: PTH116
            is_shared = above == path or os.path.realpath(directory).startswith(path.rstrip(os.sep) + os.sep)
            through[path] = 0o666 if is_shared else (mode & 0o111) * 6 & passed(above)
        return through[path]

    for source in sources:
        found = source.stat()
        rights &= found.st_mode & passed(os.path.realpath(source.parent))
        if found.st_gid != group:
            rights &= ~0o070
    return rights


def _name_beside(path: Path) -> Path:
    """Return a name that cannot be guessed, so that no link can be planted at it."""
    return path.with_name(f"{_PREFIX}{os.urandom(8).hex()}.tmp")


def _keep_rights(beside: Path, path: Path) -> None:
    """Give a new file the owner, the mode and the attributes of the file that it replaces, if any."""
    try:
        old, new = path.lstat(), beside.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(old.st_mode):
        return
    mode = stat.S_IMODE(old.st_mode)
    if sys.platform != "win32":
        if old.st_uid != new.st_uid:
            with suppress(OSError):
                os.chown(beside, old.st_uid, -1)
        if old.st_gid != new.st_gid:
            try:
                os.chown(beside, -1, old.st_gid)
            except OSError:
                mode &= ~0o070  # rights meant for one group do not suit another
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(path):  # such as access lists
                os.setxattr(beside, name, os.getxattr(path, name))
    beside.chmod(mode)  # last: changing the owner takes bits away


def _finish(path: Path, target: Path, rights: int | None) -> None:
    """Give a file that others wrote its rights, and bring it to the disk."""
    if rights is None:
        _keep_rights(path, target)
    else:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & rights)
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """Make a new name durable, on file systems that can."""
    if sys.platform == "win32":
        return  # directories cannot be opened there
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
