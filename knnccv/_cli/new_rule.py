"""``knnccv new-rule``: a small project with a rule to change, a plugin from the first line on."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
from pathlib import Path

from .. import kernel
from .._base.refusals import refuse
from ..kernel.registry import variant_names

TEMPLATE = Path(__file__).with_name("rule_template")
"""The project of the rule "kth", the worked example of ``registry/README.md``."""
MARKED = "kth"
"""The name that another one replaces in files and their names; as the name of the class, in camel case."""


def run(args: argparse.Namespace) -> int:
    """Write the project, and print its files and the next command."""
    name = args.name
    folder = Path(f"knnccv-{name.replace('_', '-')}")
    check_name(name)
    refuse(
        folder.exists() or folder.is_symlink(),
        f"give another NAME, or remove the folder: {str(folder)!r} exists",
    )
    folder.mkdir()
    print(f"{folder}/")
    for path in sorted(TEMPLATE.iterdir()):
        if path.is_file():
            written = folder / path.name.replace(MARKED, name)
            written.write_text(renamed(path.read_text(encoding="utf-8"), name), encoding="utf-8")
            print(f"  {written.name}")
    print(f'\nnext: pip install -e "{folder}[test]" && pytest {folder}')
    return 0


def check_name(name: str) -> None:
    """Raise Refusal unless a distribution, a module, a class and a variant can have this name."""
    refuse(
        not re.fullmatch(r"[a-z](_?[a-z0-9])*", name),
        "give NAME in lower-case letters, digits and single underscores, beginning with a letter, such as "
        f"'second_nearest', got {name!r}",
    )
    is_word = keyword.iskeyword(camel(name)) or hasattr(kernel, camel(name))
    refuse(is_word, f"give another NAME: {name!r} is a word of Python or of knnccv.kernel")
    is_taken = name in variant_names() or importlib.util.find_spec(f"knnccv_{name}") is not None
    refuse(is_taken, f"give another NAME: {name!r} is an installed rule or module")


def camel(name: str) -> str:
    """The name of the rule's class."""
    return "".join(part.capitalize() for part in name.split("_"))


def renamed(text: str, name: str) -> str:
    """A text of the template for the rule of another name."""
    words = {f"knnccv-{MARKED}": f"knnccv-{name.replace('_', '-')}", MARKED: name}
    words[MARKED.capitalize()] = camel(name)
    return re.sub("|".join(words), lambda found: words[found[0]], text)
