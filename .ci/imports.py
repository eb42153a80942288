"""Where the installed package is, seen from outside the clone, and that importing it loads little."""

import sys
from pathlib import Path

import knnccv

origin = Path(knnccv.__file__).resolve()
assert origin.is_relative_to(Path(sys.prefix).resolve()), f"knnccv comes from {origin}"
from knnccv import complete_cv  # noqa: E402, F401

heavy = {"sklearn", "pandas", "pyarrow", "openpyxl", "pooch", "matplotlib", "tqdm", "distributed"}
heavy |= {"jinja2", "markdown_it", "tabulate", "altair", "playwright"}
heavy &= set(sys.modules)
assert not heavy, f"importing knnccv loads {', '.join(sorted(heavy))}"
print(f"knnccv {knnccv.__version__} from {origin}, variants {', '.join(knnccv.variant_names())}")
