"""What is promised of each template, by E2B's published SDKs. Usage: cases.py TEMPLATE …; fails with what was seen instead."""

import sys

from e2b_code_interpreter import Sandbox as Interpreter
from e2b_desktop import Sandbox as Desktop

PAGE = """
from playwright.sync_api import sync_playwright
with sync_playwright() as p:
    page = p.chromium.launch().new_page()
    page.set_content("<h1>hello</h1>")
    print(page.inner_text("h1"), len(page.screenshot()) > 1000)
"""

SCIENCE = """
import numpy, pandas, matplotlib.pyplot as plt, sklearn.linear_model, scipy, seaborn, sympy, openpyxl, requests, PIL
print(sklearn.linear_model.LinearRegression().fit([[0], [1], [2]], [0, 3, 6]).coef_.round(6))
plt.plot([1, 2, 3])
plt.show()
pandas.DataFrame({"a": [1, 2]})
"""

COMMANDS = {
    "whoami && pwd": "user\n/home/user\n",
    "sudo whoami": "root\n",
    "python --version | cut -d. -f1": "Python 3\n",
    "node -p 1+1 && npm --version | wc -l && npx --version | wc -l": "2\n1\n1\n",
    "echo 'int main(void) { return 7; }' > a.c && gcc a.c && { ./a.out; echo $?; }": "7\n",
    "python -m venv v && v/bin/python -c 'print(1)'": "1\n",
    "for name in git curl make jq rg ssh zip unzip rsync; do command -v $name > /dev/null || echo no $name; done": "",
    # What is compiled fits its sources: Python would compile it again at every start.
    "python -v -c 'import json, email, ctypes' 2>&1 | grep -c stale || true": "0\n",
    "dpkg --audit": "",
}


def check(seen, wanted, what):
    assert seen == wanted, f"{what}: {seen!r}, not {wanted!r}"


def run_all(sandbox, commands):
    for command, wanted in commands.items():
        check(sandbox.commands.run(command, timeout=120).stdout, wanted, command)


def base(name="base"):
    with Interpreter.create(name) as sandbox:
        run_all(sandbox, COMMANDS)


def code_interpreter():
    base("code-interpreter")
    for name in ("code-interpreter-v1", "code-interpreter"):
        with Interpreter.create(name) as sandbox:
            ran = sandbox.run_code(SCIENCE)
            check(ran.error, None, "its error")
            check(ran.logs.stdout, ["[3.]\n"], "its output")
            check([bool(result.png) for result in ran.results], [True, False], "its pictures")


def node():
    base("node")
    with Interpreter.create("node") as sandbox:
        run_all(sandbox, {"echo 'const a: number = 2; console.log(a)' > a.ts && tsx a.ts": "2\n"})
        run_all(sandbox, {"for name in pnpm yarn tsc; do $name --version > /dev/null || echo no $name; done": ""})


def browser():
    base("browser")
    with Interpreter.create("browser") as sandbox:
        sandbox.files.write("/home/user/page.py", PAGE)
        run_all(sandbox, {"python page.py": "hello True\n"})


def desktop():
    base("desktop")
    with Desktop.create("desktop") as sandbox:
        sandbox.move_mouse(100, 120)
        check(sandbox.get_cursor_position(), (100, 120), "the cursor")
        check(bytes(sandbox.screenshot()[:4]), b"\x89PNG", "a picture of the screen")
        sandbox.launch("xfce4-terminal")
        sandbox.stream.start()
        page = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:6080/vnc.html"
        check(sandbox.commands.run(page).stdout, "200", "the page of the stream")


for name in sys.argv[1:]:
    globals()[name.replace("-", "_")]()
    print(f"{name}: as promised", flush=True)
