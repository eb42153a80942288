"""The settings of the site.

Build it with ``sphinx-build -W --keep-going -b html docs docs/_build/html`` (extra ``[docs]``).
"""

import re
import sys
from pathlib import Path

import knnccv

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
from gallery_style import GROUPS

project = "knnccv"
author = "The knnccv developers"
project_copyright = f"%Y, {author}"
version = release = knnccv.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "source_links",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "gallery", "**.ipynb"]
html_theme = "furo"
html_title = f"knnccv {release}"
html_static_path = ["_static"]
html_css_files = ["knnccv.css"]
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "sidebar_hide_name": True,
}
templates_path = ["_templates"]
html_math_renderer = "mathml"

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# In docstrings `name` refers to a name of the library; other names are shown as code.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# A page for each function and class that a list under reference/ names.
autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_",
    "subsection_order": [f"gallery/{group}" for group in GROUPS],
    "within_subsection_order": "gallery_style.Order",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 420),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 60,
}


def find_short_name(app, env, node, contnode):
    """Resolve `complete_cv` as `knnccv.complete_cv`, also in the docstrings of the modules."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or target.startswith("knnccv."):
        return None
    domain = env.domains.python_domain
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"knnccv.{target}", node, contnode)


def keep_literals_whole(_app, _what, _name, _obj, _options, lines):
    """Protect full stops within literals, since lists of functions cut a description at the first one."""
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is not None:
        lines[first] = re.sub("``[^`]*``", lambda literal: literal[0].replace(" .. ", " … "), lines[first])


def make_accessible(_app, _page, _template, context, _doctree):
    """Give captions of the contents a level, and let keyboards scroll what is wider than the window."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    wide = '<pre(?=>)|<div class="(?:table-wrapper|math)[^>]*(?=>)'
    context["body"] = re.sub(wide, r'\g<0> tabindex="0"', context.get("body", ""))


def setup(app):
    """Resolve short names in docstrings, and make pages accessible."""
    app.connect("html-page-context", make_accessible, priority=900)
    app.connect("missing-reference", find_short_name)
    app.connect("autodoc-process-docstring", keep_literals_whole)
