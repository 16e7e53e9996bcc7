"""`KeptProfiles`: profiles are read once, and every change of their files counts from the next call on."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from profile_texts import REGISTRY

from etconfig.errors import ConfigError
from etconfig.profile import change_watch, inheritance, kept, stamp
from etconfig.profile.kept import KeptProfiles
from etconfig.profile.library import ProfileLibrary, ProfileSource
from etconfig.profile.selector import ProfileSelector

FACTS = {"os.name": "linux", "cpu.cores": 4}
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
needs_watch = pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked for changes")


def text(name: str, threads: int = 1, match: str = "true", **more: str) -> str:
    head = "".join(f"{key} = {value}\n" for key, value in more.items())
    options = f"[options.CpuBackend]\nnum_threads = {threads}\n"
    return f"[profile]\nname = '{name}'\nmatch = '{match}'\n{head}{options}"


def write(directory: Path, name: str, threads: int = 1, match: str = "true", **more: str) -> Path:
    path = directory / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(name, threads, match, **more))
    return path


def keep(*directories: Path, expected: tuple[Path, ...] = ()) -> KeptProfiles:
    def find() -> ProfileLibrary:
        existing = [each for each in (*directories, *expected) if each.is_dir()]
        return ProfileLibrary(tuple(ProfileSource(each.name, each) for each in existing), REGISTRY)

    return KeptProfiles(find, expected)


def shown(selector: ProfileSelector) -> object:
    """Everything that profiles say."""
    found = selector.select(FACTS)
    return [(each.name, dict(each.values)) for each in found.chain], [each.name for each in selector.profiles]


def now(profiles: KeptProfiles) -> object:
    try:
        return shown(profiles.current().selector)
    except ConfigError as error:
        return [str(each) for each in error.diagnostics]


def afresh(*directories: Path) -> object:
    return now(keep(*directories))


@pytest.fixture(params=["stamps", pytest.param("watch", marks=needs_watch)])
def settle(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[KeptProfiles], None]:
    """Call until the profiles are kept, with all stamps compared or with a watch."""
    monkeypatch.setattr(stamp, "SETTLED_AFTER_NS", 50_000_000)
    if request.param == "stamps":
        monkeypatch.setattr(change_watch, "watch_directories", lambda folders: None)

    def settled(profiles: KeptProfiles) -> None:
        wait = threading.Event().wait
        for _ in range(100):
            wait(0.02)
            profiles.current().selector  # noqa: B018  (reads all of them)
            before = profiles._current
            if profiles.current() is before and (request.param == "stamps" or profiles._watched is not None):
                return
        pytest.fail("they are never settled")

    return settled


Settle = Callable[[KeptProfiles], None]


class TestChanges:
    """Whatever happens to a file, the next call sees it."""

    def test_what_has_not_changed_is_not_read_again(
        self, tmp_path: Path, settle: Settle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        settle(profiles)
        before = profiles.current().selector.profiles[0]
        monkeypatch.setattr(inheritance, "load_document", None)
        for _ in range(5):
            assert profiles.current().selector.profiles[0] is before

    def test_an_added_one_and_a_removed_one(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        settle(profiles)
        write(tmp_path, "b", extends="['a']")
        assert now(profiles) == afresh(tmp_path)
        settle(profiles)
        (tmp_path / "b.toml").unlink()
        assert now(profiles) == afresh(tmp_path)

    def test_one_in_a_new_directory(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        settle(profiles)
        (tmp_path / "deep").mkdir()
        assert now(profiles) == afresh(tmp_path)
        write(tmp_path, "deep/b", extends="['a']")
        assert now(profiles) == afresh(tmp_path)

    def test_others_stay_the_same_objects(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path, "a")
        write(tmp_path, "b", extends="['a']")
        profiles = keep(tmp_path)
        settle(profiles)
        before = profiles.current().selector.profiles
        write(tmp_path, "b", 7, extends="['a']")
        after = profiles.current().selector.profiles
        assert after[0] is before[0]
        assert after[1] is not before[1]

    def test_text_of_the_same_size_with_the_same_time(self, tmp_path: Path, settle: Settle) -> None:
        path = write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        settle(profiles)
        status = path.stat()
        with path.open("r+") as file:
            file.write(text("a", 2))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert now(profiles) == afresh(tmp_path)

    def test_a_file_of_the_same_size_and_time_in_its_place(self, tmp_path: Path, settle: Settle) -> None:
        path = write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        settle(profiles)
        status = path.stat()
        new = tmp_path / "new"
        new.write_text(text("a", 2))
        os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
        new.replace(path)
        assert now(profiles) == afresh(tmp_path)

    def test_a_change_within_one_step_of_the_clock(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(change_watch, "watch_directories", lambda folders: None)
        exact = stamp.stamp_of

        def coarse(status: os.stat_result) -> stamp.FileStamp:
            found = exact(status)
            second = 10**9
            return replace(
                found,
                modified_ns=found.modified_ns // second * second,
                changed_ns=found.changed_ns // second * second,
            )

        for module in (stamp, sys.modules["etconfig.profile.document"]):
            monkeypatch.setattr(module, "stamp_of", coarse)
        path = write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        for threads in (2, 3, 4, 5):
            now(profiles)
            with path.open("r+") as file:
                file.write(text("a", threads))
            assert now(profiles) == afresh(tmp_path)

    def test_a_broken_one_is_an_error_until_it_is_right(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        settle(profiles)
        path = write(tmp_path, "b")
        path.write_text("broken")
        assert now(profiles) == afresh(tmp_path)
        assert "a key has no value" in str(now(profiles))
        write(tmp_path, "b", 2, extends="['a']")
        assert now(profiles) == afresh(tmp_path)

    def test_a_directory_that_appears(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path / "named", "a")
        profiles = keep(tmp_path / "named", expected=(tmp_path / "own",))
        settle(profiles)
        write(tmp_path / "own", "b", extends="['a']")
        assert now(profiles) == afresh(tmp_path / "named", tmp_path / "own")

    def test_a_directory_that_disappears(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path / "x", "a")
        write(tmp_path / "y", "b", match="false")
        profiles = keep(tmp_path / "x", tmp_path / "y")
        settle(profiles)
        shutil.rmtree(tmp_path / "y")
        assert now(profiles) == afresh(tmp_path / "x")

    @needs_links
    def test_another_directory_behind_the_same_link(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path / "v1", "a", 1)
        write(tmp_path / "v2", "a", 2)
        current = tmp_path / "current"
        current.symlink_to("v1")
        profiles = keep(current)
        settle(profiles)
        (tmp_path / "next").symlink_to("v2")
        (tmp_path / "next").replace(current)
        assert now(profiles) == afresh(current)
        assert now(profiles) != afresh(tmp_path / "v1")

    @needs_links
    def test_another_directory_above(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path / "v1" / "profiles", "a", 1)
        write(tmp_path / "v2" / "profiles", "a", 2)
        directory = tmp_path / "v" / "profiles"
        (tmp_path / "v1").rename(tmp_path / "v")
        profiles = keep(directory)
        settle(profiles)
        (tmp_path / "v").rename(tmp_path / "old")
        (tmp_path / "v2").rename(tmp_path / "v")
        assert now(profiles) == afresh(directory)

    @needs_links
    def test_the_target_of_a_link(self, tmp_path: Path, settle: Settle) -> None:
        target = write(tmp_path / "elsewhere", "a", 1)
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "a.toml").symlink_to(target)
        profiles = keep(tmp_path / "x")
        settle(profiles)
        target.write_text(text("a", 2))
        assert now(profiles) == afresh(tmp_path / "x")

    @needs_links
    def test_a_file_through_its_other_name(self, tmp_path: Path, settle: Settle) -> None:
        target = write(tmp_path / "elsewhere", "a", 1)
        (tmp_path / "x").mkdir()
        os.link(target, tmp_path / "x" / "a.toml")
        profiles = keep(tmp_path / "x")
        settle(profiles)
        with target.open("r+") as file:
            file.write(text("a", 2))
        assert now(profiles) == afresh(tmp_path / "x")

    @needs_links
    def test_files_whose_links_lead_through_another_link(self, tmp_path: Path, settle: Settle) -> None:
        for version in (1, 2):
            write(tmp_path / f"v{version}", "a", version)
        (tmp_path / "data").symlink_to("v1")
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "a.toml").symlink_to("../data/a.toml")
        profiles = keep(tmp_path / "x")
        settle(profiles)
        (tmp_path / "next").symlink_to("v2")
        (tmp_path / "next").replace(tmp_path / "data")
        assert now(profiles) == afresh(tmp_path / "x")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
    def test_one_that_becomes_readable(self, tmp_path: Path, settle: Settle) -> None:
        path = write(tmp_path, "a")
        path.chmod(0)
        profiles = keep(tmp_path)
        assert now(profiles) == afresh(tmp_path)
        path.chmod(0o600)
        assert now(profiles) == afresh(tmp_path)

    def test_profiles_outside_the_library(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path / "x", "a")
        other = write(tmp_path / "y", "b", 1)
        profiles = keep(tmp_path / "x")
        settle(profiles)

        def named() -> object:
            current = profiles.current()
            return dict(current.reader.chain(current.library.find(other))[-1].values)

        first = named()
        settle(profiles)
        assert named() == first
        status = other.stat()
        other.write_text(text("b", 2))
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert named() != first


class TestRandomChanges:
    """After any changes, kept profiles are those that a fresh reader finds."""

    @pytest.mark.parametrize("seed", range(6))
    def test_kept_profiles_are_those_on_disk(self, seed: int, tmp_path: Path, settle: Settle) -> None:
        random = Random(seed)
        roots = (tmp_path / "x", tmp_path / "y")
        for root in roots:
            root.mkdir()
        names = ("a", "b", "v/c", "v/d", "v/w/e")
        profiles = keep(*roots)
        for step in range(60):
            for _ in range(random.randint(0, 3)):
                self.change(random, random.choice(roots), random.choice(names))
            assert now(profiles) == afresh(*roots)
            if step % 15 == 14 and afresh(*roots) != [] and isinstance(now(profiles), tuple):
                settle(profiles)

    @staticmethod
    def change(random: Random, root: Path, name: str) -> None:
        path = root / f"{name}.toml"
        kind = random.randrange(7)
        threads = random.randint(1, 9)  # texts of one size
        match = random.choice(("true", "net.is_up"))
        more = {"extends": "['a']"} if name != "a" and random.random() < 0.4 else {}
        if kind <= 2 or not path.exists():
            write(root, name, threads, match, **more)
        elif kind == 3:
            path.unlink()
        elif kind == 4:
            status = path.stat()
            path.write_text(text(name, threads, match, **more))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        elif kind == 5:
            new = root / "new"
            new.write_text(text(name, threads, match, **more))
            new.replace(path)
        else:
            path.rename(root / f"moved{threads}.toml")
            (root / f"moved{threads}.toml").rename(path)


class TestSharing:
    """Threads and processes share kept profiles safely, and they take bounded memory."""

    def test_threads_see_every_change(self, tmp_path: Path, settle: Settle) -> None:
        write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        settle(profiles)
        written, problems = [1], []

        def threads_now() -> int:
            options = profiles.current().selector.select(FACTS).profile.values["options"]
            return int(options["CpuBackend"]["num_threads"])  # type: ignore[index]

        def look() -> None:
            while written[-1] < 9:
                least = written[-1]
                found = threads_now()
                if found < least:
                    problems.append((found, least))

        lookers = [threading.Thread(target=look) for _ in range(4)]
        for each in lookers:
            each.start()
        for number in range(2, 10):
            new = tmp_path / "new"
            new.write_text(text("a", number))
            new.replace(tmp_path / "a.toml")
            written.append(number)
        for each in lookers:
            each.join()
        assert problems == []
        assert threads_now() == 9

    @pytest.mark.posix
    @pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
    def test_a_forked_process_sees_changes_and_leaves_them_to_the_other(
        self, tmp_path: Path, settle: Settle
    ) -> None:
        write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        settle(profiles)
        write(tmp_path, "a", 2)
        child = os.fork()
        if child == 0:
            os._exit(0 if now(profiles) == afresh(tmp_path) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert now(profiles) == afresh(tmp_path)

    @pytest.mark.posix
    @pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
    def test_a_lock_that_was_held_at_the_fork_does_not_count(self, tmp_path: Path) -> None:
        write(tmp_path, "a", 1)
        profiles = keep(tmp_path)
        now(profiles)
        with profiles._lock:
            child = os.fork()
            if child == 0:
                os._exit(0 if now(profiles) == afresh(tmp_path) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def test_a_copy_begins_anew(self, tmp_path: Path) -> None:
        write(tmp_path, "a")
        copy = pickle.loads(pickle.dumps(KeptProfiles(ProfileLibrary, (tmp_path,))))
        assert copy._expected == (str(tmp_path),)

    def test_too_much_is_not_kept(
        self, tmp_path: Path, settle: Settle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        settle(profiles)
        monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 10)
        before = profiles.current().selector.profiles[0]
        assert profiles.current().selector.profiles[0] is not before

    def test_paths_outside_the_library_do_not_add_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept, "_MAX_OTHER_FILES", 3)
        write(tmp_path / "x", "a")
        profiles = keep(tmp_path / "x")
        for number in range(20):
            current = profiles.current()
            current.reader.chain(current.library.find(write(tmp_path / "y", f"b{number}")))
            assert len(current.reader.read) <= 5


@needs_watch
class TestWatch:
    """The watch takes one descriptor, gives it back, and is never relied on where it may be blind."""

    @pytest.fixture
    def watched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeptProfiles:
        monkeypatch.setattr(stamp, "SETTLED_AFTER_NS", 50_000_000)
        write(tmp_path / "x", "a")
        profiles = keep(tmp_path / "x")
        while profiles._watched is None:
            threading.Event().wait(0.02)
            now(profiles)
        return profiles

    def descriptors(self) -> int:
        return sum(
            each.is_symlink() and "inotify" in str(each.readlink())
            for each in Path("/proc/self/fd").iterdir()
        )

    def test_it_is_closed_with_its_profiles(self, watched: KeptProfiles, tmp_path: Path) -> None:
        gc.collect()  # those of other tests
        before = self.descriptors()
        write(tmp_path / "x", "b", match="false")
        now(watched)
        gc.collect()
        assert self.descriptors() == before - 1

    def test_a_descriptor_that_the_program_closed_is_not_read(
        self, watched: KeptProfiles, tmp_path: Path
    ) -> None:
        assert watched._watched is not None
        descriptor = watched._watched._watch._descriptor
        readable, writable = os.pipe()
        os.write(writable, b"not an event")
        os.dup2(readable, descriptor)
        write(tmp_path / "x", "a", 2)
        assert now(watched) == afresh(tmp_path / "x")
        assert os.read(descriptor, 100) == b"not an event"
        for each in (descriptor, readable, writable):
            os.close(each)

    def test_one_or_two_checks_make_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(change_watch, "watch_directories", None)
        write(tmp_path, "a")
        profiles = keep(tmp_path)
        for _ in range(3):
            now(profiles)

    def test_foreign_file_systems_are_not_watched(self) -> None:
        assert change_watch.watch_directories(["/proc/self"]) is None
        assert change_watch.watch_directories(["/does/not/exist"]) is None
