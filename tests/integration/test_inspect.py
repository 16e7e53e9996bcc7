"""`etconfig inspect`: the contents of a program, and the obstacles to running it here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from command_line import DATA, DIGITS, Outcome, error

from etconfig.base.packages import how_to_install

XNNPACK = DATA / "programs" / "xnnpack.pte"


class TestObstacles:
    """Each obstacle is listed with its reason and what to do."""

    def test_a_backend_that_is_not_installed_is_an_obstacle(self, cli: Callable[..., Outcome]) -> None:
        (method,) = cli("inspect", XNNPACK, "--json").json["methods"]
        assert method["obstacles"] == [
            {
                "what": "backend XnnpackBackend",
                "why": "no installed plugin declares it "
                "(installed: ReferenceCpuBackend, ReferenceNpuBackend)",
                "help": f"install the package that declares it: {how_to_install('etconfig-upstream')}",
            }
        ]
        printed = cli("inspect", XNNPACK).stdout
        heading = "  cannot run here with the built-in executor:\n"
        assert f"{heading}    backend XnnpackBackend: no installed plugin declares it" in printed

    def test_an_operator_without_a_kernel_is_an_obstacle(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        program = (DATA / "programs" / "add.pte").read_bytes()
        (place / "odd.pte").write_bytes(program.replace(b"aten::add", b"aten::odd"))
        done = cli("inspect", "odd.pte")
        assert done.stdout.endswith(
            "  cannot run here with the built-in executor:\n"
            "    operator aten::odd.out: no installed package has a kernel for it "
            "(install one that provides it in the entry-point group 'etconfig.kernels')\n"
        )

    def test_data_that_were_not_given_are_an_obstacle(self, cli: Callable[..., Outcome]) -> None:
        printed = cli("inspect", DATA / "exports" / "external_constants.pte").stdout
        assert (
            "    tensor first.bias: its data are in a data file that was not given "
            "(give the file: --data FILE.ptd)\n"
        ) in printed

    def test_a_program_that_can_run_has_no_obstacles(self, cli: Callable[..., Outcome]) -> None:
        assert "cannot run here" not in cli("inspect", "model.pte").stdout


class TestData:
    """Constants, named data, mutable buffers and compile specs."""

    def test_mutable_buffers_with_names_are_attributes(self, cli: Callable[..., Outcome]) -> None:
        program = DATA / "programs" / "mutable_buffers.pte"
        (method,) = cli("inspect", program, "--json").json["methods"]
        assert method["attributes"] == [
            {"name": "total", "tensor": "float32 [3]"},
            {"name": "steps", "tensor": "int64 [1]"},
        ]
        assert "\n  attributes: total: float32 [3]; steps: int64 [1]\n" in cli("inspect", program).stdout

    def test_constants_are_counted_by_type(self, cli: Callable[..., Outcome]) -> None:
        assert cli("inspect", DIGITS / "digits_portable.pte").stdout.splitlines()[1] == (
            "constant tensors: 10 float32, 6 in several methods"
        )

    def test_named_data_are_listed(self, cli: Callable[..., Outcome]) -> None:
        named = cli("inspect", XNNPACK, "--json").json["named_data"]
        assert [entry["size_bytes"] for entry in named] == [256, 32, 128, 16]
        assert "named data: 4 keys, 432 bytes\n" in cli("inspect", XNNPACK).stdout


class TestMemoryPlan:
    """--memory-plan draws the arenas, into a file or as text."""

    def test_it_is_written_as_a_picture(self, cli: Callable[..., Outcome], place: Path) -> None:
        assert cli("inspect", "model.pte", "--memory-plan", "memory.svg").status == 0
        root = ElementTree.parse(place / "memory.svg").getroot()
        titles = [each.text for each in root.iter() if each.get("class") == "title"]
        assert titles == [
            "embed, memory 1: 2.25 KiB, 100% in use at most, 60% on average",
            "forward, memory 1: 2.25 KiB, 100% in use at most, 48% on average",
        ]

    def test_it_is_printed_as_text(self, cli: Callable[..., Outcome]) -> None:
        lines = cli("inspect", "model.pte", "--memory-plan", "-").stdout.splitlines()
        assert "forward, memory 1: 2.25 KiB, 100% in use at most, 48% on average" in lines
        assert sum("|" in line for line in lines) == 24
        assert lines[-1] == "       full  ░▒▓█, from a part of the cell to all of it"

    def test_a_picture_of_another_kind_is_refused(self, cli: Callable[..., Outcome], place: Path) -> None:
        done = cli("inspect", "model.pte", "--memory-plan", "memory.png")
        message = "--memory-plan memory.png: expected a name that ends in .svg, or -"
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == error(message, "see `etconfig inspect --help`")
        assert not (place / "memory.png").exists()

    def test_text_and_json_do_not_go_together(self, cli: Callable[..., Outcome]) -> None:
        done = cli("inspect", "model.pte", "--memory-plan", "-", "--json")
        message = "--json has the memory plan as data: leave out --memory-plan -"
        assert (done.status, done.stderr) == (2, error(message, "see `etconfig inspect --help`"))

    def test_a_file_that_cannot_be_written_is_an_error(self, cli: Callable[..., Outcome]) -> None:
        done = cli("inspect", "model.pte", "--memory-plan", "missing/memory.svg")
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr == error(
            "cannot write missing/memory.svg: No such file or directory; create the directory 'missing' first"
        )


class TestHostilePrograms:
    """Absurd plans are shown, or refused with a sentence; never a traceback."""

    def test_bytes_that_nothing_refers_to_are_unclaimed(
        self, cli: Callable[..., Outcome], place: Path
    ) -> None:
        program = (DATA / "programs" / "linear.pte").read_bytes()
        (place / "polyglot.pte").write_bytes(program + b"PK\x03\x04")
        printed = cli("inspect", "polyglot.pte").stdout
        assert f"\nunclaimed: 4 bytes at byte {len(program)}, to which nothing refers\n" in printed

    def test_an_arena_of_2_to_the_63_bytes_is_drawn(self, cli: Callable[..., Outcome], place: Path) -> None:
        hostile = DATA / "hostile" / "pool_of_63_bits.pte"
        assert "memory 1: " in cli("inspect", hostile, "--memory-plan", place / "plan.svg").stdout
        ElementTree.fromstring((place / "plan.svg").read_text())

    def test_a_program_that_runs_out_of_memory_is_an_error_without_a_traceback(
        self, cli: Callable[..., Outcome]
    ) -> None:
        done = cli("run", DATA / "hostile" / "pool_of_63_bits.pte")
        assert done.status == 2
        assert "method 'forward' asks for more memory than there is" in done.stderr
        assert "Traceback" not in done.stderr
