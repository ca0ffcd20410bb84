"""Reads the pages that crossdock report makes."""

import html.parser


class Reader(html.parser.HTMLParser):
    """Cells of tables, figures by class, headings, ids, what the page refers to, and what heads each figure."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.figures, self.headings, self.ids, self.links = {}, [], [], [], []
        self.titles, self.findings, self.captions = [], [], []
        self.lines = {"h3": self.titles, "p": self.findings, "figcaption": self.captions}
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
        if tag in ("td", "th", "h2", "h3", "figcaption") or attributes.get("class") == "finding":
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
        elif tag in self.lines and self.texts is not None:
            self.lines[tag] += self.texts
            self.texts = None
