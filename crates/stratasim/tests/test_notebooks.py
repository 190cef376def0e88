"""Every notebook, from top to bottom. Cells run as an interpreter runs them; what a cell ends with is shown."""

import ast
import importlib.util
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))


def test_there_is_a_first_hour_and_one_for_each_paper():
    assert [path.stem for path in NOTEBOOKS] == ["buddy", "cmd", "first-hour", "tom", "uvm"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__"}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert cell.get("outputs", []) == [], "notebooks are kept without what they print"
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            shown = run(source, names, f"{path.name} {cell['id']}")
            assert shown is None or (getattr(shown, "_repr_html_", shown.__repr__))()


def run(source, names, place):
    """The value that a cell ends with, if it does."""
    tree = ast.parse(source, place)
    if ".plot(" in source and importlib.util.find_spec("matplotlib") is None:
        return None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names) if last else None
