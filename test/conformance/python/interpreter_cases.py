"""The code interpreter."""

import asyncio
import time

from harness import case, done, eventually, raises


def out(execution):
    return "".join(execution.logs.stdout)


@case("the value of the last line is the text, and names stay")
async def _(use):
    first = await use.code("print('said'); x = 20")
    second = await use.code("x + 1")
    assert (out(first), first.text, second.text, second.error) == ("said\n", None, "21", None)
    assert second.execution_count == first.execution_count + 1


@case("the sandbox's variables are there, and those of a run for that run")
async def _(use):
    sandbox = await use.create(envs={"ONE": "sandbox"})
    code = "import os; (os.environ.get('ONE'), os.environ.get('TWO'))"
    assert (await use.code(code, sandbox)).text == "('sandbox', None)"
    assert (await use.code(code, sandbox, envs={"ONE": "run", "TWO": "2"})).text == "('run', '2')"
    assert (await use.code(code, sandbox)).text == "('sandbox', None)"


@case("output, errors and results are told while the code runs")
async def _(use):
    told = []
    code = "import sys, time\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(42)\ntime.sleep(1)\n1 / 0"
    await use.code(
        code,
        on_stdout=lambda message: told.append(("out", message.line, time.monotonic())),
        on_stderr=lambda message: told.append(("err", message.line, time.monotonic())),
        on_result=lambda result: told.append(("result", result.text, time.monotonic())),
        on_error=lambda error: told.append(("error", error.name, time.monotonic())),
    )
    assert sorted(one[:2] for one in told[:3]) == [("err", "err\n"), ("out", "out\n"), ("result", "42")]
    assert told[3][:2] == ("error", "ZeroDivisionError")
    assert told[3][2] - told[2][2] > 0.5


@case("an error has a name, a value and the lines that led to it")
async def _(use):
    error = (await use.code("def f():\n    return 1 / 0\nf()")).error
    assert (error.name, error.value) == ("ZeroDivisionError", "division by zero")
    assert "line 2, in f" in error.traceback, error.traceback
    assert (await use.code("x ==")).error.name == "SyntaxError"


@case("every kind of result arrives as what it is")
async def _(use):
    code = """from IPython.display import HTML, JSON, Javascript, Latex, Markdown, SVG, Image, display
display(HTML("<b>1</b>"), Markdown("# 2"), SVG("<svg></svg>"), Image(b"\\x89PNG"), Image(b"\\xff\\xd8"), Latex("$x$"), JSON({"a": [1]}), Javascript("alert(1)"))
class Shown:
    def _repr_pdf_(self): return b"%PDF"
    def _repr_mimebundle_(self, include=None, exclude=None): return {"application/x-own": {"deep": 1}}
    def __repr__(self): return "shown"
Shown()"""
    results = (await use.code(code)).results
    kinds = ["html", "markdown", "svg", "png", "jpeg", "latex", "json", "javascript"]
    assert [getattr(result, kind) for result, kind in zip(results, kinds)] == [
        "<b>1</b>", "# 2", "<svg></svg>", "iVBORw==", "/9g=", "$x$", {"a": [1]}, "alert(1)",
    ]  # fmt: skip
    last = results[-1]
    assert (last.pdf, last.text, last.extra) == ("JVBERg==", "shown", {"application/x-own": {"deep": 1}})
    assert [result.is_main_result for result in results] == [False] * 8 + [True]


@case("contexts are made, listed, restarted and removed, and know nothing of each other")
async def _(use):
    one = await done(use.sandbox.create_code_context(cwd="/tmp"))
    two = await done(use.sandbox.create_code_context(language="javascript"))
    assert (one.language, one.cwd, two.language, two.cwd) == ("python", "/tmp", "javascript", "/home/user")
    listed = [own.id for own in await done(use.sandbox.list_code_contexts())]
    assert one.id in listed and two.id in listed
    assert (await use.code("import os; mine = 1; os.getcwd()", context=one)).text == "/tmp"
    assert (await use.code("process.cwd()", context=two)).text == "/home/user"
    assert (await use.code("mine")).error.name == "NameError"
    await done(use.sandbox.restart_code_context(one))
    assert (await use.code("mine", context=one)).error.name == "NameError"
    await done(use.sandbox.remove_code_context(one))
    await done(use.sandbox.remove_code_context(two.id))
    assert one.id not in [own.id for own in await done(use.sandbox.list_code_contexts())]
    assert one.id in str(await raises(use.e2b.NotFoundException, lambda: use.sandbox.run_code("1", context=one)))


@case("what makes no sense is an error that says so")
async def _(use):
    assert "cobol" in str(await raises(use.e2b.SandboxException, lambda: use.sandbox.run_code("1", language="cobol")))
    assert "/not/there" in str(await raises(use.e2b.SandboxException, lambda: use.sandbox.create_code_context(cwd="/not/there")))


@case("bash, JavaScript and TypeScript keep what they know")
async def _(use):
    await use.code("cd /tmp; name='a b'", language="bash")
    assert out(await use.code('pwd; echo "$name"', language="bash")) == "/tmp\na b\n"
    await use.code("const a = await Promise.resolve(20)", language="javascript")
    assert (await use.code("a + 1", language="js")).text == "21"
    await use.code("interface A { n: number }\nconst it: A = { n: 5 }", language="typescript")
    assert (await use.code("it.n", language="ts")).text == "5"


@case("code that takes longer than its time is ended, and names stay")
async def _(use):
    for language, before, endless, after in (
        ("python", "kept = 5", "while True: pass", "print(kept)"),
        ("python", "kept = 5", "import time; time.sleep(600)", "print(kept)"),
        ("javascript", "kept = 5", "for (;;);", "console.log(kept)"),
        ("typescript", "var kept: number = 5", "await new Promise(() => {})", "console.log(kept)"),
        ("bash", "kept=5", "while :; do sleep 600; done", "echo $kept"),
    ):
        context = await done(use.sandbox.create_code_context(language=language))
        await use.code(before, context=context)
        await raises(use.e2b.TimeoutException, lambda: use.sandbox.run_code(endless, context=context, timeout=1))
        assert out(await use.code(after, context=context)) == "5\n", (language, endless)
        await done(use.sandbox.remove_code_context(context))


@case("five megabytes of output and of a value arrive whole")
async def _(use):
    assert out(await use.code("print('ж→ü𝄞' * 500_000)")) == "ж→ü𝄞" * 500_000 + "\n"
    assert (await use.code("'ü' * 2_500_000")).text == "ü" * 2_500_000


@case("a run that says nothing for a while is not given up")
async def _(use):
    assert (await use.code("import time; time.sleep(7); 'at last'")).text == "at last"


@case("contexts run at the same time")
async def _(use):
    if not use.is_async:
        return
    contexts = [await use.sandbox.create_code_context() for _ in range(5)]
    code = "import os, time\nos.makedirs('meeting', exist_ok=True)\nopen('meeting/%d', 'w').close()\nwhile len(os.listdir('meeting')) < 5: time.sleep(0.02)\n%d"
    runs = await asyncio.gather(*(use.sandbox.run_code(code % (n, n), context=own) for n, own in enumerate(contexts)))
    assert [run.text for run in runs] == ["0", "1", "2", "3", "4"]


@case("a process that dies is an error, and the next run has a new one")
async def _(use):
    context = await done(use.sandbox.create_code_context())
    assert (await use.code("import os; os._exit(9)", context=context)).error.name == "ContextEnded"
    assert (await use.code("1 + 1", context=context)).text == "2"


@case("killing the sandbox while code runs is an error and no hang")
async def _(use):
    sandbox = await use.create()

    def kill(_message):
        killed = sandbox.kill()
        if use.is_async:
            asyncio.ensure_future(killed)

    await raises(use.e2b.TimeoutException, lambda: sandbox.run_code("print('in')\nimport time; time.sleep(600)", on_stdout=kill, timeout=0))


@case("code and commands share files")
async def _(use):
    await done(use.sandbox.files.write("for-code.txt", "by files"))
    assert (await use.code("open('by-code.txt', 'w').write('by code'); open('for-code.txt').read()")).text == "by files"
    assert (await use.run("cat by-code.txt; stat -c ' %U' by-code.txt")).stdout == "by code user\n"


@case("names outlive a pause, and who connects again finds them", needs="pausing")
async def _(use):
    sandbox = await use.create()
    await use.code("kept = [1, 2]", sandbox)
    await use.pause(sandbox)
    again = await done(use.Sandbox.connect(sandbox.sandbox_id))
    assert (await use.code("kept", again)).text == "[1, 2]"
