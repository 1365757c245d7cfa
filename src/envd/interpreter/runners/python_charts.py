"""What a figure of matplotlib is about, as data: its axes with their lines, points, bars, slices and boxes."""


def chart_of(figure):
    charts = [axes_chart(axes) for axes in figure.get_axes()]
    if len(charts) == 1:
        return charts[0]
    return {"type": "superchart", "title": title_of(figure), "elements": charts}


def title_of(figure):
    title = getattr(figure, "_suptitle", None)
    return None if title is None else title.get_text()


def axes_chart(axes):
    from matplotlib.patches import Wedge

    if any(isinstance(patch, Wedge) for patch in axes.patches):
        return {"type": "pie", "title": axes.get_title() or None, "elements": slices(axes, Wedge)}
    boxes = box_elements(axes)
    if boxes:
        return {"type": "box_and_whisker", **axes_labels(axes), "elements": boxes}
    if axes.containers and bars(axes):
        return {"type": "bar", **axes_labels(axes), "elements": bars(axes)}
    if axes.get_lines():
        return {"type": "line", **axes_labels(axes), **scales(axes), "elements": lines(axes)}
    if axes.collections:
        return {"type": "scatter", **axes_labels(axes), **scales(axes), "elements": points(axes)}
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def axes_labels(axes):
    x_label, x_unit = label_and_unit(axes.get_xlabel())
    y_label, y_unit = label_and_unit(axes.get_ylabel())
    return {"title": axes.get_title() or None, "x_label": x_label, "y_label": y_label, "x_unit": x_unit, "y_unit": y_unit}


def label_and_unit(text):
    """`Time (s)` is the label Time in s."""
    if not text:
        return None, None
    if text.endswith(")") and "(" in text:
        label, _, unit = text[:-1].rpartition("(")
        return label.strip() or text, unit or None
    return text, None


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
    """Plain, as numbers of other libraries are not what JSON knows."""
    return value.item() if hasattr(value, "item") else value


def moment(value):
    plain = number(value)
    return plain.isoformat() if hasattr(plain, "isoformat") else plain


def pairs(xs, ys):
    return [[moment(x), moment(y)] for x, y in zip(xs, ys)]


def lines(axes):
    return [
        {"label": str(line.get_label()), "points": pairs(line.get_xdata(), line.get_ydata())}
        for line in axes.get_lines()
        if len(line.get_xdata()) > 0
    ]


def points(axes):
    return [
        {"label": str(group.get_label()), "points": [[number(x), number(y)] for x, y in group.get_offsets()]}
        for group in axes.collections
    ]


def bars(axes):
    across, up = tick_names(axes.get_xaxis()), tick_names(axes.get_yaxis())
    found = []
    for group in axes.containers:
        lies = getattr(group, "orientation", None) == "horizontal"
        for patch in group.patches if hasattr(group, "patches") else []:
            if not hasattr(patch, "get_height"):
                continue
            middle = number(patch.get_y() + patch.get_height() / 2 if lies else patch.get_x() + patch.get_width() / 2)
            names = up if lies else across
            label = names.get(middle) or names.get(round(middle, 6)) or str(middle)
            value = number(patch.get_width() if lies else patch.get_height())
            found.append({"label": label, "value": value, "group": str(group.get_label())})
    return found


def tick_names(axis):
    return {number(tick): label.get_text() for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels())}


def slices(axes, wedge):
    parts = [patch for patch in axes.patches if isinstance(patch, wedge)]
    return [
        {"label": str(part.get_label()), "angle": abs(part.theta2 - part.theta1), "radius": number(part.r)} for part in parts
    ]


def box_elements(axes):
    """`boxplot` draws lines only: per box one of five points, two whiskers, and a median inside."""
    closed = [line for line in axes.get_lines() if len(line.get_xdata()) == 5 and line.get_xdata()[0] == line.get_xdata()[-1]]
    others = [line for line in axes.get_lines() if line not in closed]
    if not closed or len(others) < 3 * len(closed):
        return []
    names = tick_names(axes.get_xaxis())
    return [box(own, others, names) for own in closed]


def box(closed, others, names):
    xs, ys = [number(x) for x in closed.get_xdata()], [number(y) for y in closed.get_ydata()]
    middle, low, high = (min(xs) + max(xs)) / 2, min(ys), max(ys)
    mine = [line for line in others if len(line.get_xdata()) == 2 and abs(sum(line.get_xdata()) / 2 - middle) < 1e-9]
    heights = [[number(y) for y in line.get_ydata()] for line in mine]
    medians = [own[0] for own in heights if own[0] == own[1] and low <= own[0] <= high]
    ends = [y for own in heights for y in own]
    median = medians[-1] if medians else (low + high) / 2
    flat = [number(y) for line in others if len(line.get_xdata()) != 2 for x, y in zip(line.get_xdata(), line.get_ydata()) if x == middle]
    outside = [y for y in flat if y < min(ends) or y > max(ends)]
    label = names.get(middle) or str(middle)
    return {
        "label": label,
        "min": min(ends),
        "first_quartile": low,
        "median": median,
        "third_quartile": high,
        "max": max(ends),
        "outliers": outside,
    }
