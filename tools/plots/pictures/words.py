"""Words that pictures and pages share; without matplotlib."""

PARTS_OF_TIME = ["waiting", "copying", "region", "node", "network"]


def route_label(route, dedup):
    return route + ("+dedup" if dedup else "")


def shortened(text, most=60):
    """Names and lists of regions have any length; headings have not."""
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def counted(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
