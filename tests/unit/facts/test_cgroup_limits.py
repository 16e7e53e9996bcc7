from __future__ import annotations

import pytest

from etconfig.facts.detecting.cgroup import Limit, cpu_quota, cpuset, memory_limits

MOUNT_V2 = "30 24 0:26 {root} {point} rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
MOUNT_V1 = "31 24 0:27 {root} {point} rw - cgroup cgroup rw,{controller}\n"


def v2(path: str, files: dict[str, str], root: str = "/", point: str = "/sys/fs/cgroup") -> dict[str, str]:
    return {
        "/proc/self/cgroup": f"0::{path}\n",
        "/proc/self/mountinfo": "1 1 0:1 / / rw - ext4 /dev/sda rw\n"
        + MOUNT_V2.format(root=root, point=point),
        **{f"{point}{name}": text for name, text in files.items()},
    }


def v1(controller: str, path: str, files: dict[str, str], root: str = "/") -> dict[str, str]:
    point = f"/sys/fs/cgroup/{controller}"
    return {
        "/proc/self/cgroup": f"3:{controller}:{path}\n0::/elsewhere\n",
        "/proc/self/mountinfo": MOUNT_V2.format(root="/", point="/sys/fs/cgroup/unified")
        + MOUNT_V1.format(root=root, point=point, controller=controller),
        **{f"{point}{name}": text for name, text in files.items()},
    }


class TestQuota:
    """The CPU time per time that the groups allow, the smallest on the way up."""

    def test_the_smallest_of_all_levels_counts(self, make_system):
        system = make_system(
            v2(
                "/a/b",
                {
                    "/a/b/cpu.max": "300000 100000\n",
                    "/a/cpu.max": "50000 25000\n",
                    "/cpu.max": "max 100000\n",
                },
            )
        )
        assert cpu_quota(system) == Limit(2.0, "/sys/fs/cgroup/a/cpu.max")

    def test_a_sibling_group_does_not_count(self, make_system):
        assert cpu_quota(make_system(v2("/a", {"/b/cpu.max": "100000 100000\n"}))) is None

    @pytest.mark.parametrize("text", ["max 100000\n", "100000\n", "100000 0\n", "0 100000\n", "a b\n", "\n"])
    def test_a_text_that_is_not_a_quota_does_not_limit(self, make_system, text):
        assert cpu_quota(make_system(v2("/a", {"/a/cpu.max": text}))) is None

    def test_version_1_divides_quota_by_period(self, make_system):
        files = {
            "/a/cpu.cfs_quota_us": "150000\n",
            "/a/cpu.cfs_period_us": "100000\n",
            "/cpu.cfs_quota_us": "-1\n",
        }
        system = make_system(v1("cpu", "/a", files))
        assert cpu_quota(system) == Limit(1.5, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us")

    def test_a_controller_that_version_1_lacks_is_in_version_2(self, make_system):
        files = v1("memory", "/a", {}) | {"/sys/fs/cgroup/unified/elsewhere/cpu.max": "100000 50000\n"}
        assert cpu_quota(make_system(files)) == Limit(2.0, "/sys/fs/cgroup/unified/elsewhere/cpu.max")

    def test_without_control_groups_there_is_no_limit(self, make_system):
        system = make_system({})
        assert (cpu_quota(system), cpuset(system), *memory_limits(system)) == (None,) * 4


class TestPlaces:
    """A group is found where its hierarchy is mounted, as far as it is visible."""

    @pytest.mark.parametrize(
        ("root", "path", "files"),
        [
            ("/docker/x", "/docker/x", ["/cpu.max"]),
            ("/docker/x", "/docker/x/y", ["/y/cpu.max", "/cpu.max"]),
            ("/", "/", ["/cpu.max"]),
            ("/", "/../other", ["/cpu.max"]),
            ("/docker/x", "/docker/xy", ["/cpu.max"]),
            ("/docker/x", "/elsewhere", ["/cpu.max"]),
        ],
    )
    def test_a_mount_may_begin_within_the_hierarchy(self, make_system, root, path, files):
        for file in files:
            system = make_system(v2(path, dict.fromkeys(files, "max 1\n") | {file: "100 100\n"}, root=root))
            assert cpu_quota(system) == Limit(1.0, f"/sys/fs/cgroup{file}")

    def test_a_hierarchy_may_be_mounted_anywhere(self, make_system):
        system = make_system(v2("/a", {"/a/cpu.max": "100 100\n"}, point="/mnt/groups"))
        assert cpu_quota(system) == Limit(1.0, "/mnt/groups/a/cpu.max")

    def test_malformed_lines_are_skipped(self, make_system):
        files = v2("/a", {"/a/cpu.max": "100 100\n"})
        files["/proc/self/mountinfo"] = "x\n\n1 2 3 - cgroup2\n" + files["/proc/self/mountinfo"]
        files["/proc/self/cgroup"] = "nonsense\n" + files["/proc/self/cgroup"]
        assert cpu_quota(make_system(files)) == Limit(1.0, "/sys/fs/cgroup/a/cpu.max")


class TestCpuset:
    """The CPUs that the groups allow are those of the innermost group that says."""

    def test_the_innermost_that_says_counts(self, make_system):
        files = {"/a/cpuset.cpus.effective": "0-1\n", "/cpuset.cpus.effective": "0-7\n"}
        assert cpuset(make_system(v2("/a/b", files))) == ({0, 1}, "/sys/fs/cgroup/a/cpuset.cpus.effective")

    def test_version_1_prefers_the_effective_ones(self, make_system):
        files = {"/a/cpuset.effective_cpus": "2\n", "/a/cpuset.cpus": "0-7\n"}
        system = make_system(v1("cpuset", "/a", files))
        assert cpuset(system) == ({2}, "/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus")

    def test_an_empty_set_says_nothing(self, make_system):
        assert cpuset(make_system(v2("/a", {"/a/cpuset.cpus.effective": "\n"}))) is None


TWO_GROUPS = {
    "/a/b/memory.max": "1000\n",
    "/a/b/memory.current": "100\n",
    "/a/memory.max": "2000\n",
    "/a/memory.current": "1900\n",
    "/a/memory.stat": "anon 1600\ninactive_file 300\nactive_file 1\n",
}


class TestMemory:
    """The memory that the groups allow, and what of it is left."""

    def test_the_smallest_limit_and_the_smallest_rest_may_be_of_different_groups(self, make_system):
        system = make_system(v2("/a/b", TWO_GROUPS))
        assert memory_limits(system)[0] == Limit(1000, "/sys/fs/cgroup/a/b/memory.max")
        assert memory_limits(system)[1] == Limit(400, "/sys/fs/cgroup/a/memory.max")

    def test_the_rest_is_never_negative(self, make_system):
        files = {"/a/memory.max": "1000\n", "/a/memory.current": "1100\n"}
        assert memory_limits(make_system(v2("/a", files)))[1] == Limit(0, "/sys/fs/cgroup/a/memory.max")

    def test_more_cache_than_use_leaves_the_whole_limit(self, make_system):
        files = {
            "/a/memory.max": "1000\n",
            "/a/memory.current": "100\n",
            "/a/memory.stat": "inactive_file 200\n",
        }
        assert memory_limits(make_system(v2("/a", files)))[1] == Limit(1000, "/sys/fs/cgroup/a/memory.max")

    def test_version_1_has_names_of_its_own(self, make_system):
        files = {
            "/a/memory.limit_in_bytes": "1000\n",
            "/a/memory.usage_in_bytes": "700\n",
            "/a/memory.stat": "inactive_file 1\ntotal_inactive_file 200\n",
        }
        system = make_system(v1("memory", "/a", files))
        assert memory_limits(system)[0] == Limit(1000, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes")
        assert memory_limits(system)[1] == Limit(500, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes")

    @pytest.mark.parametrize("page_bytes", [4096, 16384, 65536])
    def test_the_unlimited_number_of_any_page_size_is_not_a_limit(self, make_system, page_bytes):
        unlimited = (2**63 - 1) // page_bytes * page_bytes
        system = make_system(v1("memory", "/a", {"/a/memory.limit_in_bytes": f"{unlimited}\n"}))
        assert memory_limits(system)[0] is None
