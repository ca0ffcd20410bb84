"""Reads the pages that crossdock report makes."""

import html.parser


class Reader(html.parser.HTMLParser):
    """Cells of tables, figures by class, headings, ids, and what the page refers to."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.figures, self.headings, self.ids, self.links = {}, [], [], [], []
        self.texts = None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[name] for name in ("src", "href", "xlink:href") if name in attributes]
        if tag == "table":
            self.rows = self.tables.setdefault(attributes["class"], [])
        elif tag == "tr":
            self.rows.append([])
        elif tag == "figure":
            self.figures.append(attributes["class"])
        if tag in ("td", "th", "h2"):
            self.texts = []

    def handle_data(self, data):
        if self.texts is not None:
            self.texts.append(data)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.texts)
            self.texts = None
        elif tag == "h2":
            self.headings += self.texts
            self.texts = None
