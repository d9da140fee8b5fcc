"""Sphinx: the pages of this folder, and the reference from the docstrings of the installed package."""

import remotecl

project = "remotecl"
author = "The remotecl authors"
project_copyright = "The remotecl authors, MIT licence"
version = release = remotecl.__version__

# The commands' own parsers and help are their reference.
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinxarg.ext",
    "sphinxcontrib.programoutput",
]
myst_heading_anchors = 3

# Our docstrings write `name` for what Python calls so; other texts in back quotes stay as they are.
default_role = "py:obj"
# What `remotecl.__all__` names is the reference, in that order, also what comes from modules of the package.
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "__version__"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"

html_theme = "furo"
html_title = f"remotecl {release}"
html_copy_source = False

# The fields of dataclasses are described in the class, once.
napoleon_use_ivar = True
