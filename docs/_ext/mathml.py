"""Formulas as MathML, which browsers draw without a script and without a network."""

from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError


def converted(node, as_block):
    """The formula of a node; the build ends at one that cannot be converted."""
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        where = f"{node.source}:{node.line}" if node.line else node.source
        msg = f"{where}: the formula {node.astext()!r} cannot be converted: {error}"
        raise ExtensionError(msg) from error


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(converted(node, as_block=False))


def visit_block(translator, node):
    """Write a formula of its own."""
    translator.body.append(f'<div class="math">{converted(node, as_block=True)}</div>\n')


def depart(_translator, _node):
    """Write nothing: the formula is written, and the text of the node is its source."""


def skipping(visit):
    """A visitor that leaves out the children of a node."""
    from docutils import nodes

    def visit_and_skip(translator, node):
        visit(translator, node)
        raise nodes.SkipNode

    return visit_and_skip


def setup(app):
    """Offer the renderer "mathml"."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(skipping(visit_inline), depart),
        block_renderers=(skipping(visit_block), depart),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
