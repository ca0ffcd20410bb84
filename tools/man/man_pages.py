"""Manual pages made of what the command line says of itself.

usage: man_pages.py CROSSDOCK FOLDER    writes crossdock.1 and a page for each verb into FOLDER
"""

import subprocess
import sys
from pathlib import Path

COLUMN = 30  # of the texts behind the names, in CLI11's help
EXAMPLE = "Example: "
EXIT_CODES = "Exit codes: "
# For groff 1.22, and for 1.23, which adjusts each paragraph anew.
NOT_ADJUSTED = ".ad l\n.nh\n.ds AD l\n.nr HY 0\n"
RENAMED = {"Positionals": "Arguments", "Subcommands": "Commands"}


def help_of(program, words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def parse(text):
    """The summary, the usage, the sections: title, then pairs of a name and its text; the example, what exit codes say,
    and the notes between them."""
    summary, usage, *lines = text.splitlines()
    sections = {}
    example, exit_codes, notes = "", "", ""
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            entries = sections[line[:-1]] = []
        elif line.startswith(EXIT_CODES):
            exit_codes = line.removeprefix(EXIT_CODES)
        elif line.startswith(EXAMPLE):
            example = line.removeprefix(EXAMPLE)
        elif line and not line.startswith(" "):
            notes += line
        elif line.startswith(" " * COLUMN):
            entries[-1][1] += line.strip()
        elif line.strip():
            is_short = line[COLUMN - 1:COLUMN] == " "
            entries.append([line[:COLUMN].strip(), line[COLUMN:]] if is_short else [line.strip(), ""])
    return summary, usage.removeprefix("Usage: "), sections, example, exit_codes, notes


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def breakable(text):
    """Lists of choices have no spaces to break lines at."""
    return escape(text).replace(",", ",\\:").replace("|", "|\\:").replace("_", "_\\:")


def tagged(name, text):
    names, _, kind = name.partition(" ")
    bold = ", ".join(f"\\fB{escape(one)}\\fR" for one in names.split(","))
    kind = f" {breakable(kind)}" if kind else ""
    return f".TP\n{bold}{kind}\n{breakable(text)}\n"


def sentence(text):
    return escape(text[0].upper() + text[1:].rstrip(".") + ".")


def commands(sections):
    return [name for name, _ in sections.get("Subcommands", [])]


def section_texts(sections, heading):
    return "".join(f"{heading} {RENAMED.get(title, title).upper() if heading == '.SH' else RENAMED.get(title, title)}\n"
                   + "".join(tagged(*entry) for entry in entries) for title, entries in sections.items())


def page(program, version, verb, others):
    """`verb` is empty for the page of crossdock itself."""
    words = [verb] if verb else []
    name = "-".join(["crossdock", *words])
    summary, usage, sections, example, exit_codes, _ = parse(help_of(program, words))
    short = summary.split(";")[0].split(": ")[0]
    text = (f".TH {name.upper()} 1 \"\" \"crossdock {version}\" \"User Commands\"\n{NOT_ADJUSTED}"
            f".SH NAME\n{escape(name)} \\- {escape(short[0].lower() + short[1:])}\n"
            f".SH SYNOPSIS\n{escape(usage)}\n.SH DESCRIPTION\n{sentence(summary)}\n"
            + section_texts(sections, ".SH"))
    if verb:
        for command in commands(sections):
            summary, usage, sections, of_command, _, notes = parse(help_of(program, [verb, command]))
            text += (f".SH CROSSDOCK {verb.upper()} {command.upper()}\n{escape(usage)}\n.PP\n{sentence(summary)}\n"
                     + section_texts(sections, ".SS") + f".SS Example\n{escape(of_command)}\n"
                     + (f".PP\n{sentence(notes)}\n" if notes else ""))
    if example:
        text += f".SH EXAMPLE\n{escape(example)}\n"
    pages = ", ".join(f"\\fB{escape(other)}\\fR(1)" for other in others if other != name)
    return text + f".SH EXIT STATUS\n{sentence(exit_codes)}\n.SH SEE ALSO\n{pages}\n"


def main(program, folder):
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    verbs = commands(parse(help_of(program, []))[2])
    names = ["crossdock", *(f"crossdock-{verb}" for verb in verbs)]
    Path(folder).mkdir(exist_ok=True)
    for verb in ["", *verbs]:
        text = page(program, version, verb, names)
        Path(folder, ("crossdock-" + verb).rstrip("-") + ".1").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
