"""The examples in docstrings, and the page of the documentation, exactly as written."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import conftest
import numpy
import pytest
import stratasim

MODULES = [module.name for module in pkgutil.iter_modules(stratasim.__path__) if not module.name.startswith("_")]
PAGE = Path(__file__).parents[3] / "docs" / "python.md"


@pytest.mark.parametrize("name", ["stratasim", *(f"stratasim.{name}" for name in MODULES)])
def test_docstrings(name):
    module = importlib.import_module(name)
    names = {"stratasim": stratasim, "SAXPY": conftest.SAXPY, "LOOP": conftest.LOOP}
    failed, _ = doctest.testmod(module, extraglobs=names, optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS)
    assert failed == 0


def test_every_function_has_an_example_or_says_what_it_is_like():
    for name in stratasim.__all__:
        assert getattr(stratasim, name).__doc__, name


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_page_runs_from_top_to_bottom(folder, monkeypatch):
    """Plots are drawn where Matplotlib is there, and left out where it is not."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    has_matplotlib = importlib.util.find_spec("matplotlib") is not None
    names = {}
    ran = 0
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if has_matplotlib or ".plot(" not in line]
        exec(compile("\n".join(lines), str(PAGE), "exec"), names)
        ran += 1
    assert ran >= 5
    assert isinstance(numpy.asarray(names["y"]), numpy.ndarray)
