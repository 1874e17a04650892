"""How Sphinx makes the site; `make docs` runs it on the folder that stage.py has put together."""

import importlib.metadata
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # api_links.py, docstrings.py, gallery.py, mathml.py, ...

project = "lazynet"
author = "The lazynet developers"
copyright = author
release = version = importlib.metadata.version("lazynet-linear")
language = "en"
highlight_language = "text"  # a block that names no language is what a program prints

extensions = [
    "api_links",
    "course",
    "docstrings",
    "mathml",
    "myst_nb",
    "narrow_tables",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(HERE / "_templates")]
# The text and the examples of sphinx-gallery are read by the gallery alone.
exclude_patterns = ["**/*.py", "examples/*.ipynb"]
# Links within the site are followed, and a broken one is an error.  Addresses of other sites are
# not looked at: that would ask their servers.

# --- pages and notebooks ----------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the outputs are stored in the notebooks
nb_ipywidgets_js = {}  # these scripts would come from another server

# --- the API ----------------------------------------------------------------------------------
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what a parameter is
numpydoc_show_class_members = False  # the template lists the methods
numpydoc_xref_param_type = False
default_role = "code"
toc_object_entries_show_parents = "hide"

# --- the gallery ------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE / "examples")],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib\.",  # such as what set_ylabel returns
    "image_scrapers": ("gallery.figure_of_block",),
    "reset_modules": ("gallery.style_of_figures",),
    "min_reported_time": 1_000,
    "write_computation_times": False,
}

# --- the look ---------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "lazynet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "lazynet"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
WITHOUT_SIDEBAR = ("index", "start", "changelog", "examples/index", "paper_and_code")
html_sidebars = {page: [] for page in WITHOUT_SIDEBAR}
