"""How values show themselves: by the `_repr_*_` methods that notebooks have made common, as texts by their kind (MIME type).

Also stands in for IPython.display where IPython is not installed, and is where matplotlib shows its figures.
"""

import base64
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import sys

methods = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}

DATA = "e2b/data"
CHART = "e2b/chart"
FIGURES = "agentbox_figures"


def publish(bundle, is_main=False):
    """Set by the runner."""


def display(*values, raw=False, **_options):
    for value in values:
        publish(value if raw and isinstance(value, dict) else bundle_of(value))


def show_main(value):
    publish(bundle_of(value), True)
    plots = sys.modules.get("matplotlib.pyplot")
    # Or it would be shown once more, as one that is still open.
    if plots is not None and isinstance(value, getattr(sys.modules.get("matplotlib.figure"), "Figure", ())):
        plots.close(value)


def bundle_of(value):
    bundle = {}
    # A class has the methods of its objects, and is none.
    if not isinstance(value, type):
        bundle.update(own_bundle(value))
        for method, kind in methods.items():
            shown = called(value, method)
            if shown is not None:
                bundle[kind] = encoded(kind, shown)
        bundle.update(known_bundle(value))
    bundle.setdefault("text/plain", plain(value))
    return bundle


def plain(value):
    if isinstance(value, (dict, list, tuple, set)) and len(value) > 4:
        import pprint

        return pprint.pformat(value, sort_dicts=False)
    return repr(value)


def called(value, name):
    """What the method says; some objects answer to any name, and some fail."""
    try:
        method = getattr(value, name, None)
        if not callable(method) or getattr(type(value), name, None) is None:
            return None
        shown = method()
    except Exception:
        return None
    return shown[0] if isinstance(shown, tuple) else shown


def own_bundle(value):
    shown = called(value, "_repr_mimebundle_")
    if not isinstance(shown, dict):
        return {}
    return {kind: encoded(kind, own) for kind, own in shown.items() if own is not None}


def encoded(kind, shown):
    if isinstance(shown, (bytes, bytearray)):
        return base64.b64encode(shown).decode()
    return jsonable(shown) if kind == "application/json" or isinstance(shown, (dict, list)) else str(shown)


def jsonable(value):
    """As JSON has it, which knows no NaN."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _name: None)


def known_bundle(value):
    """Tables of pandas, figures of matplotlib, images of Pillow: known by their modules, which are never loaded for this."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, getattr(pandas, "DataFrame", ())):
        return {DATA: table_of(value)}
    figures = sys.modules.get("matplotlib.figure")
    if figures is not None and isinstance(value, getattr(figures, "Figure", ())):
        return figure_bundle(value)
    return {}


def table_of(frame):
    return {str(name): [cell(own) for own in frame[name].tolist()] for name in frame.columns}


def cell(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def figure_bundle(figure):
    picture = io.BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    bundle = {"image/png": base64.b64encode(picture.getvalue()).decode()}
    try:
        bundle[CHART] = jsonable(own_module("python_charts").chart_of(figure))
    except Exception:
        # The picture is there; what it is about is told where it can be told.
        pass
    return bundle


def own_module(name):
    """A file beside this one, loaded when it is needed; our folder is not among those where the code's modules are looked for."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(__file__), f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def show_open_figures(*_arguments, **_options):
    """Each once: shown figures are closed, as notebooks do."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None or not hasattr(plots, "get_fignums"):
        return
    for number in plots.get_fignums():
        figure = plots.figure(number)
        if figure.get_axes():
            publish(bundle_of(figure))
    plots.close("all")


class Shown:
    """A value of one kind, given as text or bytes, or by the file or address where it is."""

    kind = "text/plain"

    def __init__(self, data=None, url=None, filename=None, **options):
        self.data = data
        self.url = url
        self.options = options
        if filename is not None:
            with open(filename, "rb") as file:
                self.data = file.read()

    def _repr_mimebundle_(self, *_arguments, **_options):
        return {self.kind: text_or_bytes(self.kind, self.data)}


def text_or_bytes(kind, data):
    is_binary = kind in ("image/png", "image/jpeg", "application/pdf")
    return data.decode() if isinstance(data, bytes) and not is_binary else data


def shown_as(name, kind):
    return type(name, (Shown,), {"kind": kind})


class Image(Shown):
    """By the first bytes, as the format is seldom said."""

    def __init__(self, data=None, url=None, filename=None, **options):
        if isinstance(data, str) and os.path.exists(data):
            data, filename = None, data
        super().__init__(data, url, filename, **options)

    def _repr_mimebundle_(self, *_arguments, **_options):
        if self.data is None:
            return {"text/html": f'<img src="{self.url}"/>'}
        is_jpeg = bytes(self.data[:2]) == b"\xff\xd8"
        return {"image/jpeg" if is_jpeg else "image/png": self.data}


def fill_display_module(module):
    module.display = display
    module.clear_output = lambda *_arguments, **_options: None
    module.DisplayObject = Shown
    module.Image = Image
    kinds = {
        "HTML": "text/html",
        "Markdown": "text/markdown",
        "SVG": "image/svg+xml",
        "Latex": "text/latex",
        "Math": "text/latex",
        "JSON": "application/json",
        "Javascript": "application/javascript",
        "Pretty": "text/plain",
    }
    for name, kind in kinds.items():
        setattr(module, name, shown_as(name, kind))


def fill_figures_module(module):
    from matplotlib.backends import backend_agg

    for name in ("FigureCanvas", "FigureManager"):
        setattr(module, name, getattr(backend_agg, name))
    own_module("python_charts").remember_angles(sys.modules["matplotlib.axes"].Axes)
    module.show = show_open_figures


class Stand:
    """Loads what we stand in for."""

    fillers = {"IPython": None, "IPython.display": fill_display_module, FIGURES: fill_figures_module}

    def create_module(self, _spec):
        return None

    def exec_module(self, module):
        filler = self.fillers[module.__name__]
        if filler is not None:
            filler(module)


def show_in_notebook(module):
    """IPython's own `display` would only print, because no notebook is running."""
    module.display = display


def show_saved_images(module):
    """Images of Pillow that are saved to a file, or shown, are results."""
    save = module.Image.save

    def save_and_show(self, fp, format=None, **options):
        save(self, fp, format, **options)
        # Figures are saved by this too; they are shown by themselves.
        by = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(fp, (str, os.PathLike)) and by.partition(".")[0] != "matplotlib":
            display(self)

    module.Image.save = save_and_show
    module.Image.show = lambda self, *_arguments, **_options: display(self)


class Changed(importlib.abc.Loader):
    """A module of another's, changed once it is loaded."""

    changes = {"IPython.display": show_in_notebook, "PIL.Image": show_saved_images}

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.changes[module.__name__](module)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, _target=None):
        if name not in Stand.fillers and name not in Changed.changes:
            return None
        real = None if name == FIGURES else importlib.machinery.PathFinder.find_spec(name, path)
        if real is None:
            stands_in = name in Stand.fillers
            return importlib.util.spec_from_loader(name, Stand(), is_package=name == "IPython") if stands_in else None
        if name not in Changed.changes:
            return None
        real.loader = Changed(real.loader)
        return real


sys.meta_path.insert(0, Finder())
os.environ.setdefault("MPLBACKEND", f"module://{FIGURES}")
