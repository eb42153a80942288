"""The size of the library: lines of code, without docstrings, comments and blank lines."""

import ast
from importlib.util import find_spec
from pathlib import Path


def code_lines(text):
    """Count the lines of code; strings that stand alone are documentation."""
    prose = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            prose |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in prose for number, line in lines)


class Lines:
    params = ("knnccv", "knnccv_variants")
    param_names = ("package",)
    unit = "lines"

    def track_code_lines(self, package):
        folder = Path(find_spec(package).origin).parent
        return sum(code_lines(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
