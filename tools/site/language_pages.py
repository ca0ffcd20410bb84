"""References of the Python package and of the Fortran module, from their sources, and notebooks as pages."""

import ast
import inspect
import json
import re


def code(text, language="text"):
    return f"``````{language}\n{text.rstrip()}\n``````\n"


# Python


def is_public(node):
    return not node.name.startswith("_")


def signature(node):
    """`name(arguments)`, without self and without types, which the docstring has."""
    for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        argument.annotation = None
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    return f"{node.name}({arguments})"


def is_property(node):
    return any(ast.unparse(one) == "property" for one in node.decorator_list)


def written_out(node):
    """A property that `inner_property` makes, as a function with its docstring."""
    if not (isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "inner_property"):
        return node
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    made = ast.parse(f"@property\ndef {target.id}(self): pass").body[0]
    made.body = [ast.Expr(node.value.args[2])]
    return made


def entry(node, level, owner=""):
    """The heading and the docstring of a class or a function, and of a class's public members."""
    text = ast.get_docstring(node) or ""
    name = node.name
    members = []
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        name = next((signature(one).replace("__init__", name) for one in made if one.name == "__init__"), name)
        members = [one for one in made if is_public(one) and ast.get_docstring(one)]
    elif not is_property(node):
        name = signature(node)
    yield f"{'#' * level} `{owner}{name}`\n\n{code(text) if text else ''}"
    for member in members:
        yield from entry(member, level + 1, f"{node.name}.")


def inherit(node, defined):
    """Adds to a class the public members of the package's own classes that it builds on."""
    for base in map(ast.unparse, node.bases):
        if base in defined:
            inherit(defined[base], defined)
            own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            node.body += [one for one in defined[base].body
                          if isinstance(one, ast.FunctionDef) and is_public(one) and one.name not in own]


def exported(tree):
    """The names that a module says it exports, in their order."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [one.value for one in node.value.elts if isinstance(one, ast.Constant)]
    return []


def python_page(package):
    """What `crossdock`, `crossdock.planning` and `crossdock.errors` have."""
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(package.glob("*.py"))}
    defined = {node.name: node for stem, tree in trees.items() if stem not in ("planning", "errors")
               for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    parts = ["# Python reference\n", "From the docstrings, which `help` shows, too. "
             "[Python](../satellites/python/docs/python.md) has the guide.\n"]
    classes = [node for node in defined.values() if isinstance(node, ast.ClassDef)]
    for node in classes:
        node.body = [written_out(one) for one in node.body]
    for node in classes:
        inherit(node, defined)
    parts += [part for name in exported(trees["__init__"]) if name in defined for part in entry(defined[name], 2)]
    for module in ("planning", "errors"):
        parts.append(f"## `crossdock.{module}`\n\n{code(ast.get_docstring(trees[module]) or '')}")
        for node in trees[module].body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and is_public(node):
                parts += entry(node, 3)
    return "\n".join(parts)


# Fortran

PROCEDURE = re.compile(r" *(?:(?:pure|elemental|[\w() ]+?) )?(?:subroutine|function) (\w+)\(")
TYPE = re.compile(r" *type\b.*, public.* :: (\w+)")
BOUND = re.compile(r" *(procedure|generic)(, private)? :: (\w+) => (.+)")
ARGUMENT = re.compile(r"intent\(|^ *procedure\(|, optional\b")


def commented(lines, begin, end):
    """Each part of a module that begins as `begin` says: the match, the comment before it, its lines up to `end`."""
    comment, found = [], None
    for line in lines:
        if found:
            found[2].append(line)
            if end.match(line):
                yield found
                found = None
        elif line.lstrip().startswith("!>"):
            comment.append(re.sub(r"^ *!> ?", "", line))
        else:
            if (match := begin.match(line)) and not line.lstrip().startswith("end"):
                found = match, re.sub(r"^@param (\w+) +", r"- `\1`: ", "\n".join(comment), flags=re.MULTILINE), [line]
            comment = []


def fortran_page(module, parts):
    """The public types of the module's text, with their procedures; the parts are what it includes."""
    lines = "\n".join([module, *parts]).replace("&\n", "").splitlines()
    procedures = {match[1]: (comment, [body[0], *filter(ARGUMENT.search, body[1:])])
                  for match, comment, body in commented(lines, PROCEDURE, re.compile(r" *end (?:subroutine|function)"))}
    lead = "\n".join(re.sub(r"^!> ?", "", line) for line in module.splitlines() if line.startswith("!>"))
    pages = ["# Fortran reference\n", "From the comments of the module. "
             "[Fortran](../satellites/fortran/docs/fortran.md) has the guide.\n", lead + "\n"]
    for match, comment, body in commented(lines, TYPE, re.compile(r" *end type")):
        pages.append(f"## `{match[1]}`\n\n{comment}\n")
        bound = [one for one in map(BOUND.match, body) if one]
        if not bound:
            pages.append(code(inspect.cleandoc("\n".join(body)), "fortran"))
        target = {one[3]: one[4] for one in bound if one[1] == "procedure"}
        for one in bound:
            if one[2]:
                continue
            pages.append(f"### `{match[1]}%{one[3]}`\n")
            for name in one[4].split(","):
                comment, head = procedures.get(target.get(name.strip(), name.strip()), ("", []))
                if head:
                    pages.append(f"{comment}\n\n{code(inspect.cleandoc(chr(10).join(head)), 'fortran')}")
    return "\n".join(pages)


# Notebooks


def notebook_page(text, title):
    """The cells of a notebook: text as it is, code with what it printed, if that is kept."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(code(source, "python"))
        for output in cell.get("outputs", []):
            shown = output.get("text") or output.get("data", {}).get("text/plain")
            if shown:
                parts.append(code("".join(shown)))
    page = "\n".join(parts)
    return page if page.startswith("# ") else f"# {title}\n\n{page}"
