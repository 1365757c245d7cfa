"""The Python side of a context: one namespace that lives as long as this process.

Requests come as JSON lines on the standard input that we were started with. Standard output and error are the code's own; among its
output we write frames, which the daemon takes out again (frame-reader.ts). `python_display.py` knows how objects show themselves,
`python_charts.py` what a figure is about.
"""

import ast
import builtins
import json
import linecache
import os
import signal
import sys
import traceback

import python_display

# Writes up to this size are not torn apart by what others write to the same pipe.
PIECE = 4000
# What is in this folder is not the code's.
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_")


class Channel:
    """Frames among the output, on descriptors of our own: the code may close or redirect its."""

    def __init__(self, mark):
        self.mark = b"\0" + mark.encode()
        self.out = os.dup(1)
        self.err = os.dup(2)

    def send(self, message):
        flush()
        text = json.dumps(message).encode()
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        for piece in pieces[:-1]:
            write_all(self.out, self.mark + b"+" + piece + b"\n")
        write_all(self.out, self.mark + b"." + pieces[-1] + b"\n")

    def end(self):
        self.send({"type": "end"})
        write_all(self.err, self.mark + b'.{"type":"end"}\n')


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            # The code closed it or put something else in its place.
            pass


class Interrupts:
    """An interrupt ends the code that runs; between two runs there is nothing to end."""

    def __init__(self):
        self.running = False
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, _signal, _frame):
        if self.running:
            raise KeyboardInterrupt


def without_indent(code):
    """Indented code runs, as in notebooks: all lines lose what stands before the first."""
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return code if indent == "" else "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)


class Session:
    def __init__(self, channel):
        self.channel = channel
        self.count = 0
        self.loop = None
        self.magics = None
        self.plain = None
        self.pieces = 0
        module = type(sys)("__main__")
        # What is defined in a run can be found by pickle and the like.
        sys.modules["__main__"] = module
        self.names = module.__dict__
        self.names["__builtins__"] = builtins
        builtins.display = python_display.display
        python_display.publish = self.publish

    def flush(self):
        """Before other programs write to the same outputs."""
        flush()

    def publish(self, bundle, is_main=False):
        self.channel.send({"type": "result", "bundle": bundle, "main": is_main})

    def run(self, code):
        self.count += 1
        self.pieces = 0
        code = without_indent(code)
        value = self.evaluate(code)
        if value is not None and not code.rstrip().endswith(";"):
            self.names["_"] = value
            python_display.show_main(value)
        python_display.show_open_figures()

    def evaluate(self, code):
        """Runs code; the value of its last expression."""
        self.pieces += 1
        name = f"<run {self.count}>" if self.pieces == 1 else f"<run {self.count}, piece {self.pieces}>"
        tree = self.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self.execute(tree, name, "exec")
        return None if last is None else self.execute(ast.Expression(last.value), name, "eval")

    def parse(self, code, name):
        try:
            return ast.parse(code, name)
        except SyntaxError:
            if self.magics is None:
                magics = python_display.own_module("python_magics")
                self.magics, self.plain = magics.Magics(self, python_display), magics.plain
            plain = self.plain(code)
            if plain == code:
                raise
            return ast.parse(plain, name)
        finally:
            # Tracebacks show the lines.
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)

    def execute(self, tree, name, mode):
        compiled = compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        value = eval(compiled, self.names)
        if not compiled.co_flags & 0x80:  # a coroutine: the code awaits something
            return value
        # Seldom needed, and slow to load.
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)

    def tell(self, error):
        frames = error.__traceback__
        while frames is not None and not frames.tb_frame.f_code.co_filename.startswith("<run "):
            frames = frames.tb_next
        told = traceback.TracebackException(type(error), error, frames)
        keep_frames_of_code(told)
        lines = "".join(told.format()).rstrip("\n")
        self.channel.send({"type": "error", "name": type(error).__name__, "value": text_of(error), "traceback": lines})


def keep_frames_of_code(told):
    """Ours say nothing about the code that failed."""
    while told is not None:
        told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if not frame.filename.startswith(OURS)])
        keep_frames_of_code(told.__cause__)
        told = told.__context__


def text_of(error):
    try:
        return str(error)
    except Exception:
        return "its text cannot be told"


def with_variables(variables):
    """The environment as it was, after the given variables have been put into it."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    return before


def restore(before):
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def take_input():
    """Our requests, on a descriptor that programs started by the code do not get; they and `input()` find the end of the file."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return requests


def is_closed(stream):
    return stream is None or getattr(stream, "closed", False)


def open_streams(channel):
    """`exit()` closes the input, and code may close its outputs; the next run has them again."""
    if is_closed(sys.stdin):
        sys.stdin = open(os.devnull, encoding="utf-8")
    for name, descriptor, ours in (("stdout", 1, channel.out), ("stderr", 2, channel.err)):
        if is_closed(getattr(sys, name)):
            os.dup2(ours, descriptor)
            setattr(sys, name, open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False))


def main():
    channel = Channel(sys.argv[1])
    requests = take_input()
    # Our own folder is no place for the code's modules; its working folder is.
    sys.path[0] = ""
    sys.argv = [""]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    interrupts = Interrupts()
    session = Session(channel)
    channel.end()
    for line in requests:
        request = json.loads(line)
        open_streams(channel)
        before = with_variables(request["env"])
        try:
            interrupts.running = True
            session.run(request["code"])
            interrupts.running = False
        except BaseException as error:
            # Also the end of the program: the code may say exit(), and the context lives on.
            interrupts.running = False
            session.tell(error)
        restore(before)
        channel.end()


main()
