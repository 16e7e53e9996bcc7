"""The names of a new package."""

from __future__ import annotations

import pytest

from etconfig.errors import ScaffoldError
from etconfig.scaffold import PackageNames, derive_names


def refusal(name: str, backend_id: str | None = None) -> str:
    with pytest.raises(ScaffoldError) as caught:
        derive_names(name, backend_id)
    return str(caught.value)


class TestDerivedNames:
    """All names follow from one."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("acme-npu", ("acme-npu", "acme_npu", "AcmeNpuBackend", "AcmeNpu")),
            ("AcmeXNPU", ("acmexnpu", "acmexnpu", "AcmeXNPUBackend", "AcmeXNPU")),
            ("acme_npu.v2", ("acme-npu-v2", "acme_npu_v2", "AcmeNpuV2Backend", "AcmeNpuV2")),
            ("acme-backend", ("acme-backend", "acme_backend", "AcmeBackend", "Acme")),
            ("vendor-3d", ("vendor-3d", "vendor_3d", "Vendor3dBackend", "Vendor3d")),
        ],
    )
    def test_each_name_has_the_usual_spelling_of_its_place(
        self, name: str, expected: tuple[str, ...]
    ) -> None:
        names = derive_names(name)
        assert (names.distribution, names.package, names.backend_id, names.class_prefix) == expected

    def test_an_id_of_the_users_choice_names_the_classes(self) -> None:
        assert derive_names("acme-npu", "XnnAcmeBackend") == PackageNames(
            distribution="acme-npu", package="acme_npu", backend_id="XnnAcmeBackend"
        )


class TestRefusedNames:
    """Names that could not be installed, imported or found in a program are refused before writing."""

    @pytest.mark.parametrize(
        "name", ["", "-acme", "acme-", "acme--npu", "3d", "acme npu", "acmé", "../acme", "a/b"]
    )
    def test_a_name_that_no_distribution_can_have(self, name: str) -> None:
        assert refusal(name) == (
            f"{name!r} is not a name for a package; use letters and digits, joined by single hyphens, such "
            "as acme-npu"
        )

    def test_a_keyword(self) -> None:
        assert refusal("lambda") == (
            "a package called 'lambda' is imported as lambda, which is a keyword of Python; choose another "
            "name, such as lambda-npu"
        )

    def test_a_module_of_python(self) -> None:
        assert refusal("Json") == (
            "a package called 'Json' is imported as json, which is a module of Python itself; choose another "
            "name, such as Json-npu"
        )

    @pytest.mark.parametrize(
        "backend_id", ["", "Backend", "acmeBackend", "AcmeNpu", "Acme-Backend", "A" * 57 + "Backend"]
    )
    def test_an_id_that_names_no_class_or_is_too_long(self, backend_id: str) -> None:
        assert refusal("acme-npu", backend_id) == (
            f"{backend_id!r} cannot be the id of a new backend; give --id: a word such as AcmeNpuBackend, "
            "which names a class and ends in Backend, of at most 63 letters and digits"
        )

    def test_an_id_that_follows_from_a_long_name(self) -> None:
        assert refusal("a" * 57).startswith(f"'A{'a' * 56}Backend' cannot be the id")
