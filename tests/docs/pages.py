"""What pages of the documentation hold: links, anchors, code, command lines and tables of routes."""

import re

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LAUNCHED = re.compile(r"(?:mpirun|srun|tools/emulated-cluster) .*?(?=crossdock )")
EXAMPLE = re.compile(r"(?P<variables>(?:\w+=\S+ )*)mpirun -n (?P<ranks>\d+) build/install/examples/(?P<program>\w+)\Z")


def pages(project):
    names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SUPPORT.md", "SECURITY.md",
             "CODE_OF_CONDUCT.md"]
    return [project / name for name in names] + sorted(
        path for folder in ("docs/**", "satellites/*", "satellites/*/docs") for path in project.glob(f"{folder}/*.md"))


def fenced(text):
    """The language and the text of each fenced block."""
    return [(language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
            for indent, language, code in FENCE.findall(text)]


def paragraphs(text):
    """What blank lines part, fenced blocks left out."""
    return re.split(r"\n\s*\n", FENCE.sub("", text))


def prose(text):
    """The text without code."""
    kept = "\n\n".join(part for part in paragraphs(text) if not part.lstrip("\n").startswith("    "))
    return re.sub(r"`[^`]*`", "``", kept)


def num_words(text):
    """Of the sentences, without code and tables."""
    sentences = re.sub(r"^\|.*$", "", prose(text), flags=re.MULTILINE)
    return len(re.findall(r"\S*[\w`]\S*", sentences))


def anchors(text):
    """What links to headings name, as GitHub makes it of their words."""
    found = []
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


def faults_of_links(page):
    """The links of a page that lead nowhere."""
    for link in LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page.name}: there is no {path}"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{page.name}: {target.name} has no heading for #{anchor}"


def tables(text):
    """The lines of each table."""
    return [found.splitlines() for found in re.findall(r"(?:^\|.*\n)+", FENCE.sub("", text) + "\n", re.MULTILINE)]


def section(text, heading):
    """From a heading of the second level to the next one."""
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def broken_rows(text):
    """Lines that end a table, and with it begin a paragraph, because a row was wrapped."""
    return re.findall(r"^\|.*\n([^|\n].*)$", FENCE.sub("", text), re.MULTILINE)


def code_lines(text):
    """The lines of fenced and indented code, continued ones joined, and code within sentences."""
    blocks = [code for language, code in fenced(text) if language in ("", "sh")]
    blocks += [part for part in paragraphs(text) if part.lstrip("\n").startswith("    ")]
    for block in blocks:
        yield from re.sub(r"\\\n\s*", "", block).splitlines()
    for part in paragraphs(text):
        yield from (" ".join(span.split()) for span in re.findall(r"`([^`]*)`", part))


def commands(text):
    """The words of each command line, without what explains it or takes its output."""
    for line in code_lines(text):
        line = re.split(r" {2,}| # | > ", line.strip())[0]
        words = re.sub(r"\[.*?\]", "", line).split()
        if words:
            yield words


def crossdock_commands(text):
    """The words after `crossdock`, and whether a launcher comes before."""
    for words in commands(text):
        line = " ".join(words)
        launcher = LAUNCHED.match(line)
        line = line[launcher.end():] if launcher else line
        if re.match(r"crossdock [a-z]+( |$)", line):
            yield line.split()[1:], launcher is not None


def verbs(words):
    """The words that name the verb; the benchmark's kind is one of them."""
    return words[:2] if words[0] == "bench" else words[:1]


def options(words):
    """The options that a command line names; those after `--` are another program's."""
    own = words[:words.index("--")] if "--" in words else words
    return [match[0] for word in own if (match := re.match(r"--?[a-z][a-z-]*", word))]


def unknown_options(words, text):
    """Those options of a command line that a text, the program's help or source, does not know."""
    return [option for option in options(words) if not re.search(rf"(?<![\w-]){option}(?![\w-])", text)]


def route_names(text):
    """The routes in the first column of the first table that has a column "route", without parameters."""
    table = re.search(r"^\| route \|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = (row.split("|")[1] for row in table[1].splitlines()[1:])
    return list(dict.fromkeys(re.search(r"`(\w+)", cell)[1] for cell in cells))


def programs(text):
    """Whole programs, each with the example's path that the page names last before it."""
    for block in FENCE.finditer(text):
        if re.search(r"\bmain\(", block[3]):
            yield re.findall(r"\((?:\.\./)*(examples/\w+\.\w+)\)", text[:block.start()])[-2:], block[3]


def runs(text):
    """Each command that starts an example, with the lines that the page shows as its output."""
    blocks = re.split(r"\n\s*\n", FENCE.sub("", text))
    for command, output in zip(blocks, blocks[1:]):
        if (run := EXAMPLE.match(command.strip())) and output.startswith("    "):
            variables = dict(word.split("=", 1) for word in run["variables"].split())
            yield variables, run["ranks"], run["program"], [line.strip() for line in output.strip().splitlines()]
