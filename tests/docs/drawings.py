"""What SVG drawings hold: text that crosses the frame, and what two drawings have in common."""

import math
import re
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
# Of DejaVu Sans, in thousandths of the size, from the space to the tilde: the widest font that readers are likely to
# have, which also matplotlib brings. Every machine measures by these numbers.
WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, """
    318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 337 838 838
    838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 684 989 685 611 685 390
    337 390 838 500 500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592
    525 636 337 636 838""".split())))
BOLD = 1.27  # the most that a letter grows by
ABOVE, BELOW = 0.76, 0.24  # of the size, from the line that letters stand on
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def width(words, size, is_bold=False):
    return sum(WIDTHS.get(letter, 1000) for letter in words) * size / 1000 * (BOLD if is_bold else 1)


def numbers(text):
    return [float(number) for number in NUMBER.findall(text or "")]


def product(outer, inner):
    """Of transformations (a, b, c, d, e, f), as SVG writes them: first the inner one."""
    a, b, c, d, e, f = outer
    p, q, r, s, t, u = inner
    return (a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f)


def transformation(text):
    result = (1, 0, 0, 1, 0, 0)
    for kind, arguments in re.findall(r"(\w+)\s*\(([^)]*)\)", text or ""):
        values = numbers(arguments)
        if kind == "translate":
            x, y = (*values, 0)[:2]
            steps = [(1, 0, 0, 1, x, y)]
        elif kind == "scale":
            steps = [(values[0], 0, 0, values[-1], 0, 0)]
        elif kind == "rotate":
            angle, x, y = math.radians(values[0]), *(values[1:] or (0, 0))
            turned = (math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle), 0, 0)
            steps = [(1, 0, 0, 1, x, y), turned, (1, 0, 0, 1, -x, -y)]
        elif kind == "matrix":
            steps = [tuple(values)]
        else:
            raise ValueError(f"transformation {kind}")
        for step in steps:
            result = product(result, step)
    return result


def declarations(text):
    return {name.strip(): value.strip() for name, _, value in (part.partition(":") for part in text.split(";")) if value}


def rules(root):
    """What the drawing's sheet of styles says of `text` and of each class."""
    found = {}
    for sheet in root.iter(f"{SVG}style"):
        general = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheet.text or "")
        for selectors, body in re.findall(r"([^{}]*)\{([^{}]*)\}", general):
            for selector in selectors.split(","):
                found.setdefault(selector.strip(), {}).update(declarations(body))
    return found


def style_of(element, sheet, inherited):
    style = inherited | (sheet.get("text", {}) if element.tag == f"{SVG}text" else {})
    for name in element.get("class", "").split():
        style |= sheet.get(f".{name}", {})
    return style | declarations(element.get("style", ""))


def texts(root):
    """The words of each text, and the corners of its box."""
    sheet = rules(root)

    def walk(element, outer, inherited, places):
        at = product(outer, transformation(element.get("transform")))
        style = style_of(element, sheet, inherited)
        xs, ys = (numbers(element.get(name)) or place for name, place in zip(("x", "y"), places))
        words = " ".join((element.text or "").split())
        if element.tag in (f"{SVG}text", f"{SVG}tspan") and words:
            yield words, box(words, at, style, xs, ys)
        for child in element:
            yield from walk(child, at, style, (xs, ys))

    yield from walk(root, (1, 0, 0, 1, 0, 0), {}, ([0], [0]))


def box(words, at, style, xs, ys):
    size = float(re.search(r"(\d+(?:\.\d+)?)px", style.get("font", style.get("font-size", "")))[1])
    is_bold = re.search(r"\b(bold|[6-9]00)\b", f'{style.get("font", "")} {style.get("font-weight", "")}') is not None
    # Where each letter has a place of its own, the last one counts.
    long = width(words, size, is_bold) if len(xs) == 1 else xs[-1] - xs[0] + width(words[-1], size, is_bold)
    left = xs[0] - long * {"middle": 0.5, "end": 1}.get(style.get("text-anchor"), 0)
    top, bottom = ys[0] - ABOVE * size, ys[0] + BELOW * size
    a, b, c, d, e, f = at
    return [(a * x + c * y + e, b * x + d * y + f) for x in (left, left + long) for y in (top, bottom)]


def texts_beyond_frame(drawing):
    """The words of a drawing that do not lie within its frame."""
    root = ElementTree.fromstring(drawing)
    left, top, across, down = numbers(root.get("viewBox"))
    return [words for words, corners in texts(root)
            if not all(left <= x <= left + across and top <= y <= top + down for x, y in corners)]


def difference(first, second, tolerance=0.1):
    """How a drawing differs from another one, or None. The last digit of a number may: processors round otherwise."""
    frames = [NUMBER.sub("#", drawing) for drawing in (first, second)]
    if frames[0] != frames[1]:
        at = next((at for at, (one, other) in enumerate(zip(*frames)) if one != other), min(map(len, frames)))
        return f"{frames[0][at:at + 60]!r} is {frames[1][at:at + 60]!r}"
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second))
    return next((f"{one} is {other}" for one, other in pairs if abs(float(one) - float(other)) > 1.001 * tolerance), None)
