"""What a figure of matplotlib is about, as data: its axes with their lines, points, bars, slices and boxes."""

import functools
import re


def chart_of(figure):
    charts = [axes_chart(axes) for axes in figure.get_axes()]
    if len(charts) == 1:
        return charts[0]
    return {"type": "superchart", "title": title_of(figure), "elements": charts}


def title_of(figure):
    title = getattr(figure, "_suptitle", None)
    return None if title is None else title.get_text()


def axes_chart(axes):
    from matplotlib.patches import PathPatch, Wedge

    if any(isinstance(patch, Wedge) for patch in axes.patches):
        return {"type": "pie", "title": axes.get_title() or None, "elements": slices(axes, Wedge)}
    boxes = box_elements(axes, PathPatch)
    if boxes:
        return {"type": "box_and_whisker", **axes_labels(axes), "elements": boxes}
    if axes.containers and bars(axes):
        return {"type": "bar", **axes_labels(axes, all(lies_down(group) for group in axes.containers)), "elements": bars(axes)}
    if axes.get_lines():
        return {"type": "line", **axes_labels(axes), **scales(axes), "elements": lines(axes)}
    if axes.collections:
        return {"type": "scatter", **axes_labels(axes), **scales(axes), "elements": points(axes)}
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def axes_labels(axes, lies=False):
    """Of bars that lie down, x is the axis of the names all the same."""
    x_label, y_label = (axes.get_ylabel(), axes.get_xlabel()) if lies else (axes.get_xlabel(), axes.get_ylabel())
    return {
        "title": axes.get_title() or None,
        "x_label": x_label or None,
        "y_label": y_label or None,
        "x_unit": unit_in(x_label),
        "y_unit": unit_in(y_label),
    }


def unit_in(label):
    """`Time (s)` and `Time [s]` are in s."""
    found = re.search(r"\s\((.*?)\)|\[(.*?)\]", label)
    return None if found is None else found[1] or found[2] or None


def scales(axes):
    return {**scale("x", axes.get_xaxis()), **scale("y", axes.get_yaxis())}


def scale(letter, axis):
    labels = [label.get_text() for label in axis.get_ticklabels()]
    ticks, kind = [number(tick) for tick in axis.get_ticklocs()], kind_of(axis)
    if kind == "datetime":
        from matplotlib.dates import num2date

        ticks = [num2date(tick).isoformat() for tick in ticks]
    return {f"{letter}_ticks": ticks, f"{letter}_tick_labels": labels, f"{letter}_scale": kind}


def kind_of(axis):
    """Moments and names are no numbers, and matplotlib keeps them as such."""
    # Its own name for it has changed.
    converter = axis.get_converter() if hasattr(axis, "get_converter") else getattr(axis, "converter", None)
    name = type(converter).__name__
    if "Date" in name:
        return "datetime"
    return "categorical" if name == "StrCategoryConverter" else axis.get_scale()


def number(value):
    """Plain, as numbers of other libraries are not what JSON knows; with a point, as charts measure."""
    plain = value.item() if hasattr(value, "item") else value
    return float(plain) if isinstance(plain, int) else plain


def moment(value):
    plain = number(value)
    return plain.isoformat() if hasattr(plain, "isoformat") else plain


def pairs(xs, ys):
    return [[moment(x), moment(y)] for x, y in zip(xs, ys)]


def lines(axes):
    return [
        {"label": named(line, "_child", "Line"), "points": pairs(line.get_xdata(), line.get_ydata())}
        for line in axes.get_lines()
        if len(line.get_xdata()) > 0
    ]


def named(artist, own, kind):
    """`_child2` is matplotlib's own name for what has none."""
    label = str(artist.get_label())
    return f"{kind} {label[len(own) :]}" if label.startswith(own) else label


def points(axes):
    return [
        {"label": str(group.get_label()), "points": [[number(x), number(y)] for x, y in group.get_offsets()]}
        for group in axes.collections
    ]


def lies_down(group):
    return getattr(group, "orientation", None) == "horizontal"


def bars(axes):
    across, up = tick_names(axes.get_xaxis()), tick_names(axes.get_yaxis())
    found = []
    for group in axes.containers:
        lies = lies_down(group)
        for patch in group.patches if hasattr(group, "patches") else []:
            if not hasattr(patch, "get_height"):
                continue
            middle = number(patch.get_y() + patch.get_height() / 2 if lies else patch.get_x() + patch.get_width() / 2)
            names = up if lies else across
            label = names.get(middle) or names.get(round(middle, 6)) or str(middle)
            value = number(patch.get_width() if lies else patch.get_height())
            found.append({"label": label, "value": value, "group": named(group, "_container", "Group")})
    return found


def tick_names(axis):
    return {number(tick): label.get_text() for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels())}


ANGLE = "agentbox_angle"


def remember_angles(axes_class):
    """matplotlib computes slices in single precision, so we note what they are of."""
    draw = axes_class.pie

    @functools.wraps(draw)
    def pie(self, x, *arguments, **options):
        drawn = draw(self, x, *arguments, **options)
        # A text is the name of a column in `data`.
        values = [] if isinstance(x, str) else list(x)
        wedges = drawn.wedges if hasattr(drawn, "wedges") else drawn[0]
        total = sum(values) if options.get("normalize", True) else 1
        for wedge, value in zip(wedges, values):
            setattr(wedge, ANGLE, float(360 * value / total))
        return drawn

    axes_class.pie = pie


def slices(axes, wedge):
    parts = [patch for patch in axes.patches if isinstance(patch, wedge)]
    return [{"label": str(part.get_label()), "angle": angle_of(part), "radius": number(part.r)} for part in parts]


def angle_of(part):
    exact = getattr(part, ANGLE, None)
    return round(abs(float(part.theta2) - float(part.theta1)), 4) if exact is None else exact


def box_elements(axes, path_patch):
    """Per box an outline (a line, or a patch with `patch_artist`), two whiskers, two caps and a median, which are lines of two points."""
    drawn = [line for line in axes.get_lines() if is_closed(*ends_of(line))]
    outlines = [patch.get_path().vertices.T for patch in axes.patches if isinstance(patch, path_patch)] or [ends_of(line) for line in drawn]
    others = [ends_of(line) for line in axes.get_lines() if line not in drawn]
    if not outlines or len(others) < 3 * len(outlines):
        return []
    plain = [([float(x) for x in xs], [float(y) for y in ys]) for xs, ys in outlines]
    # Every outline begins with the edge at the first quartile.
    xs, ys = plain[0]
    lies = xs[0] == xs[1] and ys[0] != ys[1]
    names = tick_names(axes.get_yaxis() if lies else axes.get_xaxis())
    marks = [turned(line, lies) for line in others]
    return [box(turned(own, lies), marks, names) for own in plain]


def ends_of(line):
    return [number(x) for x in line.get_xdata()], [number(y) for y in line.get_ydata()]


def is_closed(xs, ys):
    return len(xs) >= 5 and xs[0] == xs[-1] and ys[0] == ys[-1]


def turned(line, lies):
    xs, ys = line
    return (ys, xs) if lies else (xs, ys)


NEAR = 1e-9


def quartiles(ys):
    """The outline begins at one and has the other half way round; notches may reach beyond both."""
    return min(ys[0], ys[len(ys) // 2]), max(ys[0], ys[len(ys) // 2])


def box(outline, marks, names):
    left, right = min(outline[0]), max(outline[0])
    low, high = quartiles(outline[1])
    middle = (left + right) / 2
    mine = [(xs, ys) for xs, ys in marks if xs and abs((min(xs) + max(xs)) / 2 - middle) < NEAR and left - NEAR <= min(xs)]
    across = [ys[0] for xs, ys in mine if len(xs) == 2 and xs[0] != xs[1] and ys[0] == ys[1]]
    medians = [y for y in across if low <= y <= high]
    ends = [y for xs, ys in mine if len(xs) == 2 for y in ys]
    # Where a cap lies on the box, as without spread, it is no median: the median is drawn last.
    median = medians[-1] if medians else (low + high) / 2
    lowest, highest = min([low, *ends]), max([high, *ends])
    label = names.get(middle) or names.get(round(middle, 6)) or str(middle)
    return {
        "label": label,
        "min": lowest,
        "first_quartile": low,
        "median": median,
        "third_quartile": high,
        "max": highest,
        "outliers": [y for xs, ys in mine if len(xs) != 2 for y in ys if y < lowest or y > highest],
    }
