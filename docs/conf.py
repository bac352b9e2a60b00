"""Sphinx: how the pages of this folder become the site; `make docs` builds it.

The source that Sphinx reads is not this folder but `build/site-source`, where
`tools/site_pages.py` puts the pages of the whole repository together.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import api_reference  # noqa: E402 (found in tools)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# For the examples: Spark's workers are this Python.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

project = "abers"
author = "The abers developers"
project_copyright = "The abers developers, MIT licence"
version = release = importlib.metadata.version("abers")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
nitpicky = True
nitpick_ignore_regex = [
    # Types of numpydoc sections that are no names of Python, or not ours to document.
    ("py:class", r".*"),
]
exclude_patterns = ["examples/**/*.ipynb", "examples/**/*.py"]
suppress_warnings = ["myst.header"]  # of tables that scripts write
pygments_style = "a11y-high-contrast-light"

# Pages are Markdown; links to headings are those that a code host makes.
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4

# The reference. A single backtick in a docstring is code, as in Markdown.
default_role = "literal"
autosummary_generate = False
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "abers"
html_static_path = [str(ROOT / "docs" / "_static")]
html_css_files = ["site.css"]
html_favicon = str(ROOT / "docs" / "_static" / "favicon.svg")
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False  # it would list one module
html_theme_options = {
    "logo": {
        "image_light": str(ROOT / "docs" / "_static" / "logo.svg"),
        "image_dark": str(ROOT / "docs" / "_static" / "logo-dark.svg"),
        "alt_text": "abers",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "start": [], "how-it-works": [], "changelog": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",  # all are run, whatever their name
    "within_subsection_order": "site_pages.ExampleOrder",
    "default_thumb_file": str(ROOT / "docs" / "_static" / "favicon.svg"),
    "abort_on_example_error": True,
    "image_scrapers": ("example_figures.scraper",),
    "reset_modules": ("example_figures.use_theme",),
    "backreferences_dir": "examples/used",
    "doc_module": ("abers",),
    "inspect_global_variables": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 60,  # a few seconds are not worth a line
    "write_computation_times": False,
    "show_signature": False,
}


# Signs that are words to us and markup to Sphinx: |z|, and a name like P_ or classes_.
SIGNS = re.compile(r"``.*?``|(?<![`\\*\w])\w+_(?![\w`*])|\|(?=\S)|(?<=\S)\|")


def hide_constructor(
    _app: Sphinx,
    what: str,
    _name: str,
    thing: object,
    _options: object,
    signature: str | None,
    _returned: object,
) -> tuple[str, str] | None:
    """Show no signature of classes that other functions make for users."""
    made_for_users = what == "class" and "Parameters\n" not in (thing.__doc__ or "")
    return ("", "") if signature and made_for_users else None


def escape_signs(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: Any
) -> None:
    """Let docstrings be written for readers of the source, not for Sphinx."""
    in_code = False
    for place, line in enumerate(lines):
        in_code = line.lstrip().startswith(">>>") or (in_code and bool(line.strip()))
        if not in_code:
            lines[place] = SIGNS.sub(_escaped, line)


def _escaped(sign: re.Match[str]) -> str:
    text = sign[0]
    return text if text.startswith("``") else f"{text[:-1]}\\{text[-1]}"


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Let every public name that a page shows as code lead to its description."""
    known = api_reference.links()
    for code in list(doctree.findall(nodes.literal)):
        target = known.get(code.astext().removesuffix("()"))
        if target is None or any(_is_taken(parent) for parent in _parents(code)):
            continue
        link = addnodes.pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=target,
            refdoc=app.env.docname,
            refwarn=True,
        )
        code.replace_self(link)
        link += code


def _parents(node: nodes.Node) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    while (node := node.parent) is not None:
        found.append(node)
    return found


def _is_taken(node: nodes.Node) -> bool:
    taken = (nodes.reference, nodes.title, addnodes.pending_xref, addnodes.desc_name)
    return isinstance(node, taken)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add what Sphinx has no setting for."""
    app.connect("autodoc-process-docstring", escape_signs, priority=900)  # the last
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
