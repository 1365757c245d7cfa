"""What notebooks understand beyond Python: indented code, `!command`, `%magic` lines and `%%magic` cells, as IPython has them.

`plain` turns them into calls of `Magics.line`, `Magics.cell` and `Magics.command`. Loaded with the first code that is not plain Python.
"""

import builtins
import io
import os
import re
import resource
import subprocess
import sys
import time
import tokenize

LINE, CELL, COMMAND = "__agentbox_line__", "__agentbox_cell__", "__agentbox_command__"
SPECIAL = re.compile(r"^(?P<before>\s*(?:[A-Za-z_][\w.]*\s*=\s*)?)(?P<sign>[%!])(?P<rest>[^=%].*|$)")
CELL_HEAD = re.compile(r"^\s*%%(?P<name>\w+)[ \t]*(?P<rest>.*)$")
INSERTED = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)|(?<!\$)\{(?P<expression>[^{}]+)\}")


class UsageError(Exception):
    """Named as IPython's."""

    __module__ = "builtins"


def plain(code):
    """The code in plain Python. Lines keep their numbers."""
    lines = code.split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    head = CELL_HEAD.match(lines[start])
    if head is not None:
        body = "\n".join(lines[start + 1 :])
        return "\n" * start + f"{CELL}({head['name']!r}, {head['rest'].strip()!r}, {body!r})"
    for at, line in enumerate(lines):
        found = SPECIAL.match(line)
        if found is not None and not is_inside("\n".join(lines[:at])):
            lines[at] = plain_line(found)
    return "\n".join(lines)


def plain_line(found):
    before, rest = found["before"], found["rest"]
    if found["sign"] == "!":
        return f"{before}{COMMAND}({rest!r}, {'=' in before})"
    name, _, text = rest.partition(" ")
    return f"{before}{LINE}({name!r}, {text.strip()!r})"


def is_inside(code):
    """Whether a text in triple quotes or a bracket is open at the end of the code."""
    try:
        list(tokenize.generate_tokens(io.StringIO(code + "\n").readline))
    except tokenize.TokenError as error:
        return "EOF in multi-line" in str(error)
    except SyntaxError:
        pass
    return False


class Magics:
    """`session` runs code: its `evaluate(code)` gives the value of the last expression, `names` are the names of the code."""

    def __init__(self, session, display_module):
        self.session = session
        self.display = display_module
        builtins.__dict__.update({LINE: self.line, CELL: self.cell, COMMAND: self.command})

    def line(self, name, rest):
        run = getattr(self, f"line_{name}", None)
        if name in ("matplotlib", "load_ext", "autoreload", "config", "precision"):
            return None
        if run is None:
            raise UsageError(f"Line magic function `%{name}` not found.")
        return run(rest)

    def cell(self, name, rest, body):
        run = getattr(self, f"cell_{name}", None)
        if run is None:
            raise UsageError(f"Cell magic `%%{name}` not found.")
        return run(rest, body)

    def command(self, text, is_kept=False):
        """Prints what the command says; or gives back its lines, where they are assigned to a name."""
        self.session.flush()
        if is_kept:
            done = subprocess.run(["/bin/sh", "-c", self.filled(text)], stdout=subprocess.PIPE, check=False)
            return done.stdout.decode(errors="backslashreplace").splitlines()
        code = subprocess.call(["/bin/sh", "-c", self.filled(text)])
        if code != 0:
            print(f"the command ended with exit status {code}", file=sys.stderr)
        return None

    def filled(self, text):
        """With the values of `$name` and `{expression}` where there are such names."""

        def value(found):
            if found[0] == "$$":
                return "$"
            try:
                if found["name"] is not None:
                    return str(self.session.names[found["name"]])
                return str(eval(found["expression"], self.session.names))
            except Exception:
                return found[0]

        return INSERTED.sub(value, text)

    def line_pip(self, rest):
        self.command(f"{sys.executable} -m pip {rest}")

    def line_cd(self, rest):
        os.chdir(os.path.expanduser(self.filled(rest).strip("'\"") or "~"))
        print(os.getcwd())

    def line_pwd(self, _rest):
        return os.getcwd()

    def line_ls(self, rest):
        self.command(f"ls {rest}")

    def line_run(self, rest):
        words = self.filled(rest).split()
        if not words:
            raise UsageError("%run takes the path of a Python file")
        with open(os.path.expanduser(words[0]), encoding="utf-8") as file:
            before, sys.argv = sys.argv, words
            try:
                self.session.evaluate(file.read())
            finally:
                sys.argv = before

    def line_env(self, rest):
        rest = self.filled(rest)
        if not rest:
            return dict(os.environ)
        if "=" in rest:
            name, value = (part.strip() for part in rest.split("=", 1))
        elif " " in rest:
            name, value = rest.split(None, 1)
        elif rest in os.environ:
            return os.environ[rest]
        else:
            raise UsageError(f"Environment does not have key: {rest}")
        os.environ[name] = value
        print(f"env: {name}={value}")
        return None

    line_set_env = line_env

    def own_names(self, kinds):
        wanted = set(kinds.split())
        return sorted(
            name
            for name, value in self.session.names.items()
            if not name.startswith("_") and (not wanted or type(value).__name__ in wanted)
        )

    def line_who_ls(self, rest):
        return self.own_names(rest)

    def line_who(self, rest):
        names = self.own_names(rest)
        print("".join(f"{name}\t " for name in names) if names else "Interactive namespace is empty.")

    def line_whos(self, rest):
        names = self.own_names(rest)
        if not names:
            print("Interactive namespace is empty.")
            return
        rows = [(name, type(self.session.names[name]).__name__, short(self.session.names[name])) for name in names]
        widths = [max(len(row[at]) for row in [*rows, ("Variable", "Type", "")]) + 3 for at in (0, 1)]
        head = f"{'Variable':{widths[0]}}{'Type':{widths[1]}}Data/Info"
        print("\n".join([head, "-" * len(head), *(f"{name:{widths[0]}}{kind:{widths[1]}}{info}" for name, kind, info in rows)]))

    def line_reset(self, _rest):
        for name in self.own_names(""):
            del self.session.names[name]

    def line_time(self, rest):
        return self.timed(rest)

    def cell_time(self, rest, body):
        if rest:
            self.session.evaluate(rest)
        return self.timed(body)

    def timed(self, code):
        wall, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        try:
            return self.session.evaluate(code)
        finally:
            now, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
            user, system = now.ru_utime - used.ru_utime, now.ru_stime - used.ru_stime
            print(f"CPU times: user {span(user)}, sys: {span(system)}, total: {span(user + system)}\nWall time: {span(wall)}")

    def line_timeit(self, rest):
        *how, code = timeit_options(rest)
        self.repeat(code, "pass", how)

    def cell_timeit(self, rest, body):
        *how, setup = timeit_options(rest)
        self.repeat(body, setup or "pass", how)

    def repeat(self, code, setup, how):
        import timeit

        loops, repeats, is_quiet = how
        timer = timeit.Timer(plain(code), plain(setup), globals=self.session.names)
        if loops == 0:
            loops, _ = timer.autorange()
        each = [took / loops for took in timer.repeat(repeats, loops)]
        mean = sum(each) / len(each)
        spread = (sum((one - mean) ** 2 for one in each) / len(each)) ** 0.5
        if not is_quiet:
            many = f"{loops:,} loop{'' if loops == 1 else 's'} each"
            runs = f"{repeats} run{'' if repeats == 1 else 's'}"
            print(f"{span(mean)} ± {span(spread)} per loop (mean ± std. dev. of {runs}, {many})")

    def cell_capture(self, rest, body):
        """The output of the cell, kept under a name if one is given, and not shown."""
        import contextlib

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.session.evaluate(body)
        if rest:
            self.session.names[rest.split()[0]] = Captured(out.getvalue(), err.getvalue())

    def cell_writefile(self, rest, body):
        words = rest.split()
        adds = words[:1] == ["-a"]
        path = os.path.expanduser(self.filled(" ".join(words[1:] if adds else words)).strip("'\""))
        if path == "":
            raise UsageError("%%writefile takes the path of a file")
        print(("Appending to" if adds else "Overwriting" if os.path.exists(path) else "Writing") + f" {path}")
        with open(path, "a" if adds else "w", encoding="utf-8") as file:
            file.write(body if body.endswith("\n") else body + "\n")

    def cell_bash(self, rest, body, program="/bin/bash"):
        self.session.flush()
        code = subprocess.run([program, "-s", *rest.split()], input=body.encode(), check=False).returncode
        if code != 0:
            print(f"the command ended with exit status {code}", file=sys.stderr)

    def cell_sh(self, rest, body):
        self.cell_bash(rest, body, "/bin/sh")

    def shown(self, kind, body):
        self.display.display({kind: body}, raw=True)

    def cell_html(self, _rest, body):
        self.shown("text/html", body)

    def cell_markdown(self, _rest, body):
        self.shown("text/markdown", body)

    def cell_latex(self, _rest, body):
        self.shown("text/latex", body)

    def cell_javascript(self, _rest, body):
        self.shown("application/javascript", body)

    def cell_svg(self, _rest, body):
        self.shown("image/svg+xml", body)


class Captured:
    def __init__(self, stdout, stderr):
        self.stdout, self.stderr = stdout, stderr

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)


def timeit_options(rest):
    """Loops (0: as many as take a fifth of a second), repeats, and the code after them."""
    loops, repeats, is_quiet = 0, 7, False
    while True:
        found = re.match(r"-(?P<name>[a-zA-Z])\s*(?P<number>\d*)\s*", rest)
        if found is None:
            return loops, repeats, is_quiet, rest
        name, digits = found["name"], found["number"]
        if name == "q" and not digits:
            is_quiet = True
        elif name in "nr" and digits and int(digits) > 0:
            loops, repeats = (int(digits), repeats) if name == "n" else (loops, int(digits))
        else:
            raise UsageError(f"%timeit takes -n, -r (each with a number above 0) and -q, not {found[0].strip()!r}")
        rest = rest[found.end() :]


def span(seconds):
    """A length of time in a unit that reads well, to three digits."""
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h {minutes}min {rest}s" if hours else f"{minutes}min {rest}s"
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def short(value):
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
