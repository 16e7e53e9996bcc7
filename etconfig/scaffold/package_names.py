"""`derive_names`: the names of a new package and of the things in it."""

from __future__ import annotations

import keyword
import re
import sys

from etconfig.base.records import record
from etconfig.errors import ScaffoldError
from etconfig.schema.declaration import MAX_KEY_LENGTH

_DISTRIBUTION = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*")
_BACKEND_ID = re.compile(r"[A-Z][A-Za-z0-9]*Backend")
_SUFFIX = "Backend"


@record(frozen=True, kw_only=True)
class PackageNames:
    """The names of one package, each of which follows from the first.

    Attributes:
        distribution: The name to install it by, such as `acme-npu`.
        package: The name to import it by, such as `acme_npu`.
        backend_id: The name of the backend in programs, such as `AcmeNpuBackend`; also the name of a class.
    """

    distribution: str
    package: str
    backend_id: str

    @property
    def class_prefix(self) -> str:
        """The beginning of the names of classes, such as `AcmeNpu`."""
        return self.backend_id.removesuffix(_SUFFIX)


def derive_names(name: str, backend_id: str | None = None) -> PackageNames:
    """Return all names of a package called `name`.

    Args:
        name: The name, such as `acme-npu`; upper-case letters are kept in the names of classes only.
        backend_id: The id of the backend, unless it shall follow from `name`.

    Raises:
        ScaffoldError: one of the names is not valid.
    """
    if not _DISTRIBUTION.fullmatch(name):
        raise ScaffoldError(
            problem=f"{name!r} is not a name for a package",
            help="use letters and digits, joined by single hyphens, such as acme-npu",
        )
    words = re.split("[-_.]", name)
    package = "_".join(words).lower()
    if keyword.iskeyword(package) or package in sys.stdlib_module_names:
        what = "a keyword of Python" if keyword.iskeyword(package) else "a module of Python itself"
        raise ScaffoldError(
            problem=f"a package called {name!r} is imported as {package}, which is {what}",
            help=f"choose another name, such as {name}-npu",
        )
    return PackageNames(
        distribution="-".join(words).lower(),
        package=package,
        backend_id=_backend_id(words) if backend_id is None else _checked_id(backend_id),
    )


def _backend_id(words: list[str]) -> str:
    joined = "".join(word[0].upper() + word[1:] for word in words)
    return _checked_id(joined if joined.endswith(_SUFFIX) else joined + _SUFFIX)


def _checked_id(backend_id: str) -> str:
    if not _BACKEND_ID.fullmatch(backend_id) or len(backend_id) > MAX_KEY_LENGTH:
        raise ScaffoldError(
            problem=f"{backend_id!r} cannot be the id of a new backend",
            help=f"give --id: a word such as AcmeNpuBackend, which names a class and ends in {_SUFFIX}, "
            f"of at most {MAX_KEY_LENGTH} letters and digits",
        )
    return backend_id
