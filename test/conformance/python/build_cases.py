"""Templates that are built."""

import os
import tempfile

from harness import case, done, raises


def name(use, what):
    return f"{what}-python-{'async' if use.is_async else 'sync'}-{use.e2b.__name__}"


async def build(use, template, alias, logs=None):
    face = use.e2b.AsyncTemplate if use.is_async else use.e2b.Template
    add = (lambda entry: logs.append(entry.message)) if logs is not None else None
    await done(face.build(template, alias=alias, on_build_logs=add))


def template(use, **options):
    face = use.e2b.AsyncTemplate if use.is_async else use.e2b.Template
    return face(**options)


@case("a template of steps and a folder is built, and built again from its layers", needs="builds")
async def _(use):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "app/sub"))
        for path in ("app/a.txt", "app/sub/b.txt"):
            with open(os.path.join(folder, path), "w") as file:
                file.write(path)
        for attempt in (1, 2):
            logs = []
            steps = (
                template(use, file_context_path=folder)
                .from_base_image()
                .copy("app", "code")
                .set_envs({"WHO": "python"})
                .run_cmd("echo $WHO > who; cat code/sub/b.txt >> who")
            )
            await build(use, steps, name(use, "steps"), logs)
            cached = [line for line in logs if line.startswith("CACHED ")]
            assert attempt == 1 or len(cached) == 4, logs
    sandbox = await use.create(name(use, "steps"))
    assert (await use.run("cat who", sandbox)).stdout == "python\napp/sub/b.txt"


@case("a Dockerfile, and a start command that is ready when the sandbox is there", needs="builds")
async def _(use):
    text = "FROM e2bdev/base\nWORKDIR /srv/www\nRUN echo served > index.html\n"
    steps = (
        template(use)
        .from_dockerfile(text)
        .set_start_cmd("python3 -m http.server --directory /srv/www 8124", "curl -sf http://127.0.0.1:8124/")
    )
    await build(use, steps, name(use, "docker"))
    sandbox = await use.create(name(use, "docker"))
    assert (await use.run("curl -sf http://127.0.0.1:8124/index.html", sandbox)).stdout == "served\n"


@case("a step that fails is an error with what it said", needs="builds")
async def _(use):
    steps = template(use).from_base_image().run_cmd("echo broken >&2; exit 7")
    error = await raises(use.e2b.BuildException, lambda: build(use, steps, name(use, "fails")))
    assert "exit status 7: broken" in str(error), error
