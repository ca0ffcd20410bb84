"""Doxygen's pages as pages of the site: their contents, with a heading for each member that the search finds."""

import html
import re

# What a reader looks for; lists of files, folders and members are the site's own.
KEPT = re.compile(r"(class|struct|union|concept|namespace)\w+|\w+_8hp?p?")
TITLE = re.compile(r'<div class="title">(.*?)(?:<div class="ingroups">|</div>)', re.DOTALL)
CONTENTS = re.compile(r'<div class="contents">\n(.*)</div><!-- contents -->', re.DOTALL)
MEMBER = re.compile(r'<a id="(\w+)" name="\w+"></a>\n<h2 class="memtitle"><span class="permalink">.*?</span>(.*?)</h2>', re.DOTALL)
LINK = re.compile(r'<a (?:class="\w+" )?href="([\w-]+)\.html(?:#[\w-]*)?"[^>]*>(.*?)</a>', re.DOTALL)
OVERLOAD = re.compile(r'<span class="overload">(.*?)</span>')
OPENED, CLOSED = '<div class="doxygen">\n', "</div>\n"


def is_kept(name):
    return KEPT.fullmatch(name) is not None and not name.endswith(("-members", "_source"))


def text_of(fragment):
    return html.unescape(re.sub(r"<[^>]*>", "", fragment)).replace("\xa0", " ").strip()


def to_page(page, names):
    """Markdown with Doxygen's HTML inside; links to pages that are not among the names become text."""
    title = text_of(TITLE.search(page)[1]).removesuffix(" Reference").removesuffix(" File")
    contents = CONTENTS.search(page)[1]
    contents = LINK.sub(lambda link: link[0] if link[1] in names else link[2], contents)
    contents = re.sub(r"<div class=\"dynheader.*?(?=<div class=\"textblock\"|<table class=\"memberdecls\"|<a name=\"details\")",
                      "", contents, flags=re.DOTALL)
    # A class's inherited members unfold by a script that the site does not have: they are shown.
    contents = re.sub(r'<td colspan="2" onclick="javascript[^>]*><img [^>]*/>', '<td colspan="2">', contents)
    parts = MEMBER.split(contents)
    lines = [f"# {title}\n\n{OPENED}{parts[0]}{CLOSED}"]
    for anchor, name, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        number = OVERLOAD.search(name)
        heading = text_of(OVERLOAD.sub("", name)) + (f" {text_of(number[1])}" if number else "")
        lines.append(f"\n### `{heading}` {{: #{anchor} }}\n\n{OPENED}{body}{CLOSED}")
    return "".join(lines)


def add_pages(made, folder):
    """Writes those that are kept of a folder of Doxygen's pages to a folder of Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.stem for path in made.glob("*.html") if is_kept(path.stem)}
    for name in sorted(names):
        page = to_page((made / f"{name}.html").read_text(encoding="utf-8"), names)
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    return names
