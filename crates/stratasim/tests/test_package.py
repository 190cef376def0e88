"""What the examples do not show: errors, Ctrl-C, threads, memory, and that numbers are the command line's."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import conftest
import numpy as np
import pytest
import stratasim
from stratasim.tensors import as_bytes


def strata(*words):
    return subprocess.run([sys.executable, "-m", "stratasim", *words], capture_output=True, text=True, check=False)


def test_a_run_gives_what_the_command_line_gives():
    ours = dict(stratasim.run("saxpy", size="tiny", gpu="titan-v", with_="bpc").json)
    told = strata("run", "saxpy", "--size", "tiny", "--gpu", "titan-v", "--with", "bpc", "--json")
    theirs = json.loads(told.stdout)
    assert ours.pop("host") != theirs.pop("host")
    assert ours == theirs


def test_the_command_of_the_wheel_is_the_same_program():
    told = subprocess.run(["strata", "workloads"], capture_output=True, text=True, check=True, env=with_scripts())
    assert told.stdout == stratasim.command("workloads")


def with_scripts():
    return {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}


@pytest.mark.parametrize(
    "words, call",
    [
        (["run", "saxpi"], lambda: stratasim.run("saxpi")),
        (["run", "saxpy", "--set", "l2.size=1MB"], lambda: stratasim.run("saxpy", set={"l2.size": "1MB"})),
        (["run", "saxpy", "--gpu", "titan-w"], lambda: stratasim.run("saxpy", gpu="titan-w")),
        (["run", "saxpy", "--threads", "0"], lambda: stratasim.run("saxpy", threads=0)),
        (["compress", "none.npy"], lambda: stratasim.compress("none.npy")),
        (["offload", "none.ptx"], lambda: stratasim.offload("none.ptx")),
        (["sweep", "none.toml"], lambda: stratasim.sweep("none.toml")),
    ],
)
def test_errors_are_exceptions_with_the_text_of_the_command_line(words, call):
    told = strata(*words)
    assert told.returncode == 2
    with pytest.raises(stratasim.StrataError) as raised:
        call()
    text = str(raised.value)
    # Usage is told with the name that the command was called by, and no terminal is as wide as another.
    assert text.split() == told.stderr.removeprefix("error: ").split()


def test_the_lock_is_free_while_a_program_runs():
    counted = 0
    done = threading.Event()

    def simulate():
        stratasim.run("ep", size="tiny", gpu="p100-buddy")
        done.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.wait(0.001):
        counted += 1
    thread.join()
    assert counted > 20


CTRL_C = """
import stratasim, sys, time
print("ready", flush=True)
try:
    {statement}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "stratasim.run('hotspot', size='small', gpu='titan-v')",
        "stratasim.sweep(dict(programs='hotspot', sizes='small', gpu='titan-v', seeds=list(range(1, 100))), store='store')",
    ],
)
def test_ctrl_c_ends_a_run_and_leaves_nothing(folder, statement):
    code = CTRL_C.format(statement=statement)
    # Whoever runs the tests in the background of a script ignores Ctrl-C, and that is handed down.
    heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, preexec_fn=heeds)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "stopped\n"
    assert time.monotonic() - began < 10
    results = [path for path in folder.rglob("*.json") if path.name in ("result.json", "point.json")]
    assert results == []


def test_tables_are_views_of_what_was_read():
    result = stratasim.run("saxpy", size="tiny", gpu="titan-v")
    table = stratasim.Table.read(result.parquet)
    assert table.rows > 10
    number = next(values for values in table.values() if values.dtype == np.float64)
    assert not number.flags.writeable and not number.flags.owndata
    launches = result.launches()
    assert launches["cycles"].sum() == result.cycles and launches.units["cycles"] == "cycles"
    assert launches.where(kernel=launches["kernel"][0]).rows >= 1
    assert "<table>" in launches._repr_html_() and "<table>" in result._repr_html_()
    with pytest.raises(KeyError, match="did you mean"):
        table["valu"]
    with pytest.raises(KeyError, match="gpu.l2.read_hits"):
        result.stats["gpu.l2.read_hit"]


def test_pandas_reads_the_same():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    result = stratasim.run("saxpy", size="tiny", gpu="titan-v")
    theirs, ours = pandas.read_parquet(result.parquet), stratasim.Table.read(result.parquet).pandas()
    assert list(theirs.columns) == list(ours.columns) and len(theirs) == len(ours)
    for name in theirs.columns:
        assert [x for x in theirs[name] if x == x and x is not None] == [x for x in ours[name] if x == x and x is not None]


def test_a_sweep_reuses_its_points_and_lists_failures(folder):
    plan = {"programs": ["saxpy"], "sizes": ["tiny"], "gpu": "titan-v", "grid": {"sm.count": [2, 4]}}
    first = stratasim.sweep(plan, store="store")
    again = stratasim.sweep(plan, store="store")
    assert (first.points, first.reused, again.reused, again.failed) == (2, 0, 2, [])
    assert np.array_equal(first["cycles"], again["cycles"])
    assert again.shared == {"points": 0, "factor": 1.0}
    assert not list(folder.glob(".plan-*"))


def test_arrays_are_compressed_where_they_lie():
    array = np.arange(1 << 20, dtype=np.int32)
    assert np.shares_memory(array, as_bytes(array))
    np.save("array.npy", array)
    from_file = stratasim.compress("array.npy", codec=["bpc", "bdi"])["files"][0]
    from_memory = stratasim.compress(array, codec=["bpc", "bdi"])["files"][0]
    assert from_memory["ratio"] == from_file["ratio"] and from_memory["bytes"] == from_file["bytes"]
    # Every other element is not contiguous: it is copied.
    assert stratasim.compress(array[::2])["files"][0]["bytes"] == array.nbytes // 2
    with pytest.raises(TypeError, match="objects"):
        stratasim.compress(np.array([object()]))
    with pytest.raises(stratasim.StrataError, match="there is no codec `zip`"):
        stratasim.compress(array, codec="zip")


class Tensor:
    """As much of a PyTorch tensor as is asked for."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    cpu = contiguous = detach

    def reshape(self, extent):
        return Tensor(self.array.reshape(extent))

    def view(self, kind):
        return Tensor(self.array.view(kind))

    def numpy(self):
        return self.array


def test_tensors_of_pytorch_are_read_where_they_lie(monkeypatch):
    torch = type(sys)("torch")
    torch.Tensor, torch.uint8 = Tensor, np.uint8
    monkeypatch.setitem(sys.modules, "torch", torch)
    array = np.arange(4096, dtype=np.float32).reshape(64, 64)
    assert np.shares_memory(array, as_bytes(Tensor(array)))
    ours, theirs = stratasim.compress(array), stratasim.compress({"array": Tensor(array)})
    assert ours["files"] == theirs["files"]


def test_launches_check_their_arguments():
    device = stratasim.Device()
    module = device.load(conftest.SAXPY)
    x = np.ones(8, np.float32)
    refused = [
        (("saxpy", 1, 8, 8, 2.0, x), "takes 4 arguments, 3 were given"),
        (("sax", 1, 8), "no kernel `sax` in the module; it has saxpy"),
        (("saxpy", 1, 8, 2.5, 2.0, x, x), "argument 0 of kernel `saxpy` must be a whole number or an array, not 2.5"),
        (("saxpy", 1, 8, 1 << 40, 2.0, x, x), "has 4 bytes, which 1099511627776 does not fit"),
        (("saxpy", 1, 8, 8, 2.0, x[::2], x), "argument 2 is not contiguous"),
        (("saxpy", 1, 8, 8, np.float64(2.0), x, x), "argument 1 of kernel `saxpy` has 8 bytes, the kernel declares 4"),
        (("saxpy", 1, 4096, 8, 2.0, x, x), "block"),
        (("saxpy", 1, 8, 8, 2.0, 0, 0), "0x0"),
    ]
    for arguments, text in refused:
        with pytest.raises((stratasim.StrataError, TypeError, ValueError)) as raised:
            module.launch(*arguments)
        assert text in str(raised.value), (arguments, str(raised.value))
    with pytest.raises(stratasim.StrataError, match="error"):
        device.load(".version 7.0\nnonsense")
    # Nothing of that broke the device, and an array that cannot be written stays as it is.
    y = np.zeros(8, np.float32)
    x.flags.writeable = False
    module.launch("saxpy", (1,), (8, 1, 1), np.uint32(8), 3, x, y)
    assert y.tolist() == [3.0] * 8


def test_an_exception_of_a_class_ends_the_run_and_is_raised():
    @stratasim.prefetcher("broken")
    class Broken:
        def accessed(self, access):
            raise ZeroDivisionError("of the class")

    with pytest.raises(ZeroDivisionError, match="of the class") as raised:
        stratasim.run("saxpy", size="tiny", gpu="titan-v", with_="broken")
    assert "accessed" in [entry.name for entry in raised.traceback]
    plan = {"programs": "saxpy", "sizes": "tiny", "gpu": "titan-v", "with": ["none", "broken"]}
    swept = stratasim.sweep(plan, store="store")
    assert [one["message"] for one in swept.failed] == ["`broken`: of the class"]


def test_results_are_kept_by_the_source_of_a_class(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    plan = {"programs": "saxpy", "sizes": "tiny", "gpu": "titan-v", "with": "mine"}
    keys = []
    for module, distance in (("one", 1), ("two", 2), ("one_again", 1)):
        (folder / f"{module}.py").write_text(PREFETCHER.replace("DISTANCE", str(distance)))
        importlib.import_module(module)
        keys.append(stratasim.sweep(plan, store="store")["key"][0])
    assert keys[0] != keys[1] and keys[0] == keys[2]


PREFETCHER = """
import stratasim

@stratasim.prefetcher("mine")
class Mine:
    def accessed(self, access):
        return [access.line + DISTANCE]
"""


def test_a_class_that_does_what_one_of_rust_does_gives_its_cycles():
    @stratasim.replacement("python-srrip")
    class Srrip:
        """SRRIP, as the crate `strata-srrip` has it."""

        def attach(self, sets, ways):
            self.predicted = [[3] * ways for _ in range(sets)]

        def hit(self, set, way):
            self.predicted[set][way] = 0

        def filled(self, set, way):
            self.predicted[set][way] = 2

        def victim(self, set, ways):
            row = self.predicted[set]
            lacks = 3 - max(row[way] for way in ways)
            row[:] = [min(value + lacks, 3) for value in row]
            return next(way for way in ways if row[way] == 3)

        def invalidated(self, set, way):
            self.predicted[set][way] = 3

    options = dict(size="tiny", gpu="titan-v", set={"l2.ways": 4, "l2.sets": 1})
    rust = stratasim.run("bfs", with_="srrip", **{**options, "set": {**options["set"], "srrip.level": "l2"}})
    python = stratasim.run("bfs", with_="python-srrip", **options)
    plain = stratasim.run("bfs", **options)
    assert python.cycles == rust.cycles != plain.cycles


def test_names_of_mechanisms_are_checked():
    with pytest.raises(stratasim.StrataError, match="`bpc` is registered already"):
        stratasim.prefetcher("bpc")(type("P", (), {"accessed": lambda self, access: None}))
    with pytest.raises(TypeError, match="lacks victim"):
        stratasim.replacement("r")(type("R", (), dict.fromkeys(("attach", "hit", "filled"), print)))
    with pytest.raises(ValueError, match="level"):
        stratasim.prefetcher("p", level="l3")(type("P", (), {"accessed": print}))


def test_plots_are_drawn(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "agg")
    result = stratasim.run("saxpy", size="tiny", gpu="titan-v")
    assert result.plot("gpu.dram").get_title() == "saxpy"
    table = stratasim.Table({"x": np.array([2, 1]), "y": np.array([4.0, 3.0])}, {"y": "cycles"})
    axes = table.plot("x", "y")
    assert axes.get_ylabel() == "y (cycles)" and axes.lines[0].get_xdata().tolist() == [1, 2]
