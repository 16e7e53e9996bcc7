"""Discovery: names, distributions and versions, without importing a plugin."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_data import PLUGIN_DATA, search_path, write_distribution

from etconfig.plugin import BACKENDS, GROUPS, EntryPoint, discover_plugins
from etconfig.plugin.entry_points import normalized_name, parse_entry_points


def sources(root: Path | list[str]) -> list[tuple[str, str]]:
    paths = root if isinstance(root, list) else [str(root)]
    return [(entry.name, entry.source) for entry in discover_plugins(paths).installed]


def causes(root: Path) -> list[str]:
    return [str(failure) for failure in discover_plugins([str(root)]).failures]


class TestListing:
    """Names, distributions and versions are listed without importing a plugin."""

    def test_every_group_of_a_distribution_is_listed(self):
        index = discover_plugins(search_path("acme-npu"))
        assert [(entry.group, entry.name) for entry in index.installed] == [
            ("etconfig.backends", "AcmeNpu"),
            ("etconfig.backends", "AcmeDsp"),
            ("etconfig.backends", "AcmeObject"),
            ("etconfig.backends", "AcmeOffline"),
            ("etconfig.facts", "acme"),
            ("etconfig.kernels", "acme"),
            ("etconfig.executors", "acme"),
            ("etconfig.profiles", "acme"),
        ]
        assert index.failures == ()

    def test_an_entry_names_its_source(self):
        entry = discover_plugins(search_path("acme-npu")).find(BACKENDS, "AcmeObject")
        assert entry == EntryPoint(
            group="etconfig.backends",
            name="AcmeObject",
            value="acme_npu:PLUGIN",
            distribution="acme-npu",
            version="2.1",
            location=str(PLUGIN_DATA / "acme-npu" / "acme_npu-2.1.dist-info"),
        )

    def test_listing_imports_neither_plugins_nor_third_parties(self):
        program = (
            "import sys; before = set(sys.modules)\n"
            "from etconfig.plugin import discover_plugins, profile_directories\n"
            f"sys.path[:0] = {search_path('acme-npu', 'broken-imports')!r}\n"
            "index = discover_plugins()\n"
            "assert len(index.installed) >= 17, index\n"
            "directories, failures = profile_directories(index)\n"
            "assert [entry.name for entry in directories if entry.name == 'acme'] == ['acme'], failures\n"
            "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))\n"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        imported = set(run.stdout.split())
        assert imported & {"acme_npu", "acme_profiles", "pluggy", "pydantic", "numpy"} == set()

    def test_it_finds_the_same_plugins_as_importlib(self):
        expected = {
            (entry.group, entry.name, entry.value)
            for group in GROUPS
            for entry in importlib.metadata.entry_points(group=group)
        }
        found = discover_plugins().installed
        assert {(entry.group, entry.name, entry.value) for entry in found} == expected
        assert ("etconfig.backends", "ReferenceCpuBackend", "etconfig_reference.plugin") in expected


class TestSearchPath:
    """The first directory wins for a distribution's name, as it does for imports."""

    def test_an_earlier_directory_shadows_a_later_one(self, tmp_path):
        write_distribution(tmp_path / "a", "acme_npu-1.0.dist-info")
        write_distribution(tmp_path / "b", "Acme.NPU-2.0.dist-info")
        assert sources([str(tmp_path / "a"), str(tmp_path / "b")]) == [("A", "acme_npu 1.0")]
        assert sources([str(tmp_path / "b"), str(tmp_path / "a")]) == [("A", "Acme.NPU 2.0")]

    def test_a_distribution_without_plugins_shadows_too(self, tmp_path):
        write_distribution(tmp_path / "a", "acme-2.0.dist-info", entry_points=None)
        write_distribution(tmp_path / "b", "acme-1.0.dist-info")
        assert sources([str(tmp_path / "a"), str(tmp_path / "b")]) == []

    def test_one_directory_under_two_spellings_is_not_a_duplicate(self, tmp_path):
        write_distribution(tmp_path / "site", "acme-1.0.dist-info")
        (tmp_path / "link").symlink_to("site")
        spellings = ["site", "link", "site/", "site/../site"]
        assert sources([str(tmp_path / s) for s in spellings] + [f"{tmp_path}/site/"]) == [("A", "acme 1.0")]

    def test_an_empty_entry_means_the_current_directory(self, tmp_path, monkeypatch):
        write_distribution(tmp_path, "acme-1.0.dist-info")
        monkeypatch.chdir(tmp_path)
        assert sources([""]) == [("A", "acme 1.0")]

    def test_archives_and_missing_directories_are_skipped(self, tmp_path):
        archive = tmp_path / "python311.zip"
        archive.write_bytes(b"PK")
        index = discover_plugins([str(archive), str(tmp_path / "missing")])
        assert (index.installed, index.failures) == ((), ())

    @pytest.mark.parametrize("name", ["acme-1.0-py3-none-any.whl", "plugins.zip", "acme.pyz"])
    def test_a_plugin_in_an_archive_is_reported(self, tmp_path, name):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("acme-1.0.dist-info/entry_points.txt", "[etconfig.backends]\nA = acme\n")
            archive.writestr("other-1.0.dist-info/entry_points.txt", "[console_scripts]\nb = c\n")
        index = discover_plugins([str(tmp_path / name)])
        assert [(each.distribution, each.version) for each in index.failures] == [("acme", "1.0")]
        assert index.failures[0].cause.endswith(f"{name}, where etconfig finds no plugins")
        write_distribution(tmp_path / "site", "acme-1.0.dist-info")
        assert discover_plugins([str(tmp_path / name), str(tmp_path / "site")]).failures == ()

    def test_other_encodings_of_entry_points_are_read_or_reported(self, tmp_path):
        write_distribution(tmp_path, "acme-1.0.dist-info")
        path = tmp_path / "acme-1.0.dist-info" / "entry_points.txt"
        text = path.read_text()
        path.write_text(text, encoding="utf-8-sig")
        assert sources(tmp_path) == [("A", "acme 1.0")]
        for encoding in ("utf-16", "utf-16-be"):
            path.write_bytes(b"\xfe\xff" * (encoding == "utf-16-be") + text.encode(encoding))
            index = discover_plugins([str(tmp_path)])
            assert [each.cause for each in index.failures] == [
                "its entry_points.txt is malformed: it is not UTF-8"
            ]

    def test_lines_before_the_first_group_are_reported(self, tmp_path):
        write_distribution(tmp_path, "acme-1.0.dist-info", "A = acme\n[etconfig.facts]\nb = c\n")
        index = discover_plugins([str(tmp_path)])
        assert [each.cause for each in index.failures] == [
            "its entry_points.txt is malformed: line 1: expected [GROUP] first, found 'A = acme'"
        ]

    def test_a_development_install_is_found_by_its_egg_info(self, tmp_path):
        write_distribution(tmp_path, "acme_npu.egg-info", headers="Name: acme-npu\nVersion: 3.0.dev1\n")
        assert sources(tmp_path) == [("A", "acme-npu 3.0.dev1")]


class TestIdentity:
    """Name and version come from the headers; the directory's name is the fallback."""

    @pytest.mark.parametrize(
        ("directory", "headers", "source"),
        [
            (
                "acme_npu-2.1.dist-info",
                "Metadata-Version: 2.1\nName: acme-npu\nVersion: 2.1.post1\n",
                "acme-npu 2.1.post1",
            ),
            ("acme_npu-2.1.dist-info", None, "acme_npu 2.1"),
            ("acme_npu-2.1.dist-info", b"\xff\xfe\x00", "acme_npu 2.1"),
            ("acme_npu-2.1.dist-info", "Name:\nVersion: \n", "acme_npu 2.1"),
            ("acme_npu-2.1.dist-info", "Summary: A.\n\nName: wrong\n", "acme_npu 2.1"),
            ("acme_npu-2.1-py3.11.egg-info", None, "acme_npu 2.1"),
            ("acme_npu.egg-info", None, "acme_npu (unknown version)"),
            (".dist-info", None, " (unknown version)"),
        ],
    )
    def test_a_distribution_is_named(self, tmp_path, directory, headers, source):
        write_distribution(tmp_path, directory, headers=headers)
        assert sources(tmp_path) == [("A", source)]

    def test_unreadable_headers_are_skipped(self, tmp_path):
        metadata = write_distribution(tmp_path, "acme_npu-2.1.dist-info")
        (metadata / "METADATA").mkdir()
        assert sources(tmp_path) == [("A", "acme_npu 2.1")]

    @pytest.mark.parametrize("name", ["Acme.NPU", "acme-npu", "ACME__npu", "acme-_.npu"])
    def test_names_are_normalized_as_in_packaging(self, name):
        assert normalized_name(name) == "acme-npu"


class TestBrokenMetadata:
    """Broken metadata never raise: they become a listed failure."""

    def test_each_malformed_line_is_reported_and_the_rest_counts(self):
        index = discover_plugins(search_path("broken-metadata"))
        assert [(entry.name, entry.value) for entry in index.installed] == [("Good", "broken_metadata")]
        assert [failure.cause for failure in index.failures] == [
            "its entry_points.txt is malformed: line 1: expected [GROUP], found '[etconfig.backends'",
            "its entry_points.txt is malformed: line 4: expected NAME = VALUE, found 'NoValue ='",
            "its entry_points.txt is malformed: line 5: expected NAME = VALUE, found '= no_name'",
            "its entry_points.txt is malformed: line 6: expected NAME = VALUE, found 'nonsense'",
            "its entry_points.txt is malformed: line 8: Good is declared twice in etconfig.backends",
        ]
        failure = index.failures[0]
        assert (failure.distribution, failure.version) == ("broken-metadata", "1.0")
        assert (failure.group, failure.name) == (None, None)
        assert (
            failure.help
            == "reinstall broken-metadata: pip install --force-reinstall --no-deps broken-metadata"
        )

    def test_a_file_that_is_not_utf_8_is_reported(self, tmp_path):
        write_distribution(tmp_path, "acme-1.0.dist-info", entry_points=b"[etconfig.backends]\nA = \xff\n")
        assert causes(tmp_path) == [
            "acme 1.0: its entry_points.txt is malformed: it is not UTF-8; "
            "reinstall acme: pip install --force-reinstall --no-deps acme"
        ]

    def test_a_directory_in_place_of_the_file_is_reported(self, tmp_path):
        metadata = write_distribution(tmp_path, "acme-1.0.dist-info", entry_points=None)
        (metadata / "entry_points.txt").mkdir()
        assert causes(tmp_path) == [
            "acme 1.0: its entry_points.txt cannot be read: Is a directory; "
            "reinstall acme: pip install --force-reinstall --no-deps acme"
        ]

    def test_a_file_in_place_of_the_metadata_directory_is_skipped(self, tmp_path):
        (tmp_path / "acme-1.0.dist-info").write_text("")
        assert (sources(tmp_path), causes(tmp_path)) == ([], [])

    def test_two_versions_in_one_directory_are_reported_and_the_later_one_counts(self, tmp_path):
        first = write_distribution(tmp_path, "acme-1.0.dist-info")
        second = write_distribution(tmp_path, "acme-2.0.dist-info")
        assert sources(tmp_path) == [("A", "acme 2.0")]
        assert causes(tmp_path) == [
            f"acme 2.0: it is installed more than once: {first} and {second}; "
            "reinstall acme: pip install --force-reinstall --no-deps acme"
        ]

    @given(st.binary(max_size=200))
    def test_no_contents_make_it_raise(self, contents):
        text = b"[etconfig.backends]\n" + contents
        try:
            values, _ = parse_entry_points(text.decode())
        except UnicodeDecodeError:
            return
        assert all(group in GROUPS and name and value for (group, name), value in values.items())


class TestEntryPointsFile:
    """The format of entry_points.txt."""

    def test_comments_blank_lines_and_other_groups_are_skipped(self):
        text = "# a\n; b\n\n[other]\nnot read at all\n[ etconfig.facts ]\n a.b-c = m:o [extra] \n"
        assert parse_entry_points(text) == ({("etconfig.facts", "a.b-c"): "m:o [extra]"}, [])

    def test_a_repeated_equal_line_is_harmless(self):
        assert parse_entry_points("[etconfig.facts]\na = m\na = m\n")[1] == []

    def test_lines_before_any_group_are_reported(self):
        assert parse_entry_points("a = m\n") == ({}, ["line 1: expected [GROUP] first, found 'a = m'"])
