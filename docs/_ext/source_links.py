"""Links from pages to source: `knnccv/_core/driver/_rows.py::score_rows` leads to a page of that file.

A page names a file by its path in the repository, and a function, class or method after two colons. The
source is that of the installed packages, so the pages need no address of a repository and no network.
"""

import ast
import re
from pathlib import Path

REFERENCE = re.compile(r"((?:knnccv|registry/knnccv_variants)(?:/\w+)*/\w+\.py)(?:::([\w.]+))?")
"""A path, and the name of what it defines."""
FOLDER = "_source"


def references(text):
    """All references of a text as pairs (path, name or None), each once and in order."""
    literals = re.findall(r"`([^`\n]+)`", text)
    found = [match.groups() for match in map(REFERENCE.fullmatch, literals) if match]
    return list(dict.fromkeys(found))


def source_of(path):
    """The file that a path of the repository names, in the packages that are installed."""
    import knnccv
    import knnccv_variants

    within = path.removeprefix("registry/")
    package = knnccv if within.startswith("knnccv/") else knnccv_variants
    return Path(package.__file__).parents[1] / within


def line_of(path, name=None):
    """The line on which a file defines a name, 1 without a name.

    Raises
    ------
    LookupError
        If there is no such file, or nothing of that name in it.
    """
    file = source_of(path)
    if not file.is_file():
        msg = f"{path} does not exist"
        raise LookupError(msg)
    node = ast.parse(file.read_text(encoding="utf-8"))
    if name is None:
        return 1
    for part in name.split("."):
        node = next((child for child in node.body if part in _defined(child)), None)
        if node is None:
            msg = f"{path} defines no {name}"
            raise LookupError(msg)
    return node.lineno


def _defined(node):
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def link_literals(app, doctree, docname):
    """Make each reference of a page a link."""
    from docutils import nodes
    from sphinx.util import logging

    for literal in list(doctree.findall(nodes.literal)):
        found = REFERENCE.fullmatch(literal.astext())
        if not found or isinstance(literal.parent, nodes.reference):
            continue
        path, name = found.groups()
        try:
            line = line_of(path, name)
        except LookupError as error:
            logging.getLogger(__name__).warning("%s", error, location=literal)
            continue
        target = app.builder.get_relative_uri(docname, f"{FOLDER}/{path.removesuffix('.py')}")
        link = nodes.reference("", "", internal=True, refuri=f"{target}#line-{line}")
        literal.replace_self(link)
        link += literal


def pages(app):
    """Give a page to each file that some page refers to."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    if app.builder.format != "html":
        return
    named = {path for page in app.env.found_docs for path, _ in references(_text(app, page))}
    for path in sorted(named):
        file = source_of(path)
        if file.is_file():
            look = HtmlFormatter(cssclass="highlight", lineanchors="line", wrapcode=True)
            body = highlight(file.read_text(encoding="utf-8"), PythonLexer(), look)
            context = {"title": path, "body": f"<h1><code>{path}</code></h1>\n{body}"}
            yield f"{FOLDER}/{path.removesuffix('.py')}", context, "page.html"


def _text(app, page):
    """The source of a page of the site."""
    path = Path(app.env.doc2path(page))
    return path.read_text(encoding="utf-8") if path.suffix == ".md" else ""


def setup(app):
    """Link the references of every page."""
    app.connect("doctree-resolved", link_literals)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
