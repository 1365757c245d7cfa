/** What SWE-ReX's client asks of the daemon; `test/conformance/swerex.test.ts` has the client itself. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../world/free-port.ts";
import { type Daemon, startDaemon } from "./daemon.ts";

const key = "secret";
const folder = mkdtempSync(join(tmpdir(), "agentbox-swerex-"));
let daemon: Daemon;
let url = "";
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  daemon = await startDaemon({ accessToken: key, envVars: { GIVEN: "1" } }, { AGENTBOX_SWEREX_PORT: String(port) });
  // It listens once the daemon is armed.
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  )
    continue;
});
beforeEach(() => ask("/close", null));
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

interface Answered {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const answer = await fetch(`${url}${path}`, {
    headers: { "x-api-key": key, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** The class that the client raises, and its message. */
async function raised(path: string, body: unknown): Promise<readonly [unknown, string]> {
  const answer = await ask(path, body);
  const { class_path, message } = answer.body["swerexception"] as { class_path: string; message: string };
  expect(answer.status).toBe(511);
  return [class_path, message];
}

async function run(command: string, more: object = {}): Promise<Record<string, unknown>> {
  const { status, body } = await ask("/run_in_session", { action_type: "bash", command, timeout: 10, ...more });
  expect(body).not.toHaveProperty("swerexception");
  expect(status).toBe(200);
  return body;
}

test("a session that is closed while its shell starts leaves no shell", async () => {
  const [script, pidFile] = [join(folder, "begin.sh"), join(folder, "pid")];
  writeFileSync(script, `echo $$ > ${pidFile}\n`);
  for (let round = 0; round < 5; round++) {
    rmSync(pidFile, { force: true });
    const created = ask("/create_session", { session: "brief", startup_source: [script], startup_timeout: 20 });
    while ((await ask("/close_session", { session: "brief" })).status !== 200) continue;
    expect((await created).status).toBe(511);
    expect(isAlive(pidFile)).toBe(false);
  }
});

function isAlive(pidFile: string): boolean {
  return existsSync(pidFile) && existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`);
}

describe("keys", () => {
  test.each(["/", "/is_alive", "//is_alive", "/execute", "/nowhere"])("%s tells nothing without one", async (path) => {
    const answer = await fetch(`${url}${path}`);
    expect([answer.status, await answer.json()]).toEqual([403, { detail: "Not authenticated" }]);
    const wrong = await fetch(`${url}${path}`, { headers: { "x-api-key": "guess" } });
    expect([wrong.status, await wrong.json()]).toEqual([401, { detail: "Invalid API Key" }]);
  });
});

test("it says that it is alive, and what it does not know", async () => {
  expect((await ask("/is_alive")).body).toEqual({ is_alive: true, message: "" });
  expect((await ask("/")).body).toEqual({ message: "hello world" });
  expect((await ask("/nowhere")).status).toBe(404);
  expect((await ask("/execute")).status).toBe(405);
  expect(await ask("/execute", { shell: true })).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "command"] }] } });
});

describe("a session", () => {
  test("keeps its variables and folder, and gives output and exit code of each command", async () => {
    expect((await ask("/create_session", {})).body).toEqual({ output: "", session_type: "bash" });
    expect(await run("x=5; cd /tmp")).toMatchObject({ output: "", exit_code: 0, expect_string: "SHELLPS1PREFIX", session_type: "bash" });
    expect(await run("echo $x $GIVEN; pwd; (exit 3)", { check: "silent" })).toMatchObject({ output: "5 1\n/tmp\n", exit_code: 3 });
    expect((await run("echo $?", { check: "ignore" }))["exit_code"]).toBeNull();
  });

  test.each([
    ["many lines", "echo one\n\n  # nothing\necho two", "one\ntwo\n"],
    ["a loop", "for n in 1 2; do\n  echo $n\ndone", "1\n2\n"],
    ["a document in place", "cat <<'EOF'\n\ttab $x\nEOF", "\ttab $x\n"],
    ["quotes of all kinds", `printf '%s|' "it's" 'a "b"' \\\\ '!x' "\${y:-ü€𝄞}"`, `it's|a "b"|\\|!x|ü€𝄞|`],
    ["no line end", "printf '  spaces  '", "  spaces  "],
    ["only a comment", "# nothing", ""],
    ["nothing", "\n \n", ""],
    ["colours", "printf '\\033[31mred\\033[0m\\n'", "red\n"],
    ["much", "seq 1 20000 | tail -1; head -c 300000 /dev/zero | tr '\\0' x | wc -c", "20000\n300000\n"],
  ])("%s", async (_, command, output) => {
    await ask("/create_session", {});
    expect(await run(command, { check: "raise" })).toMatchObject({ output, exit_code: 0 });
    expect(await run("echo next")).toMatchObject({ output: "next\n" });
  });

  test("its errors are those that the client knows", async () => {
    await ask("/create_session", {});
    const action = (command: string, more: object = {}) => ({ action_type: "bash", command, timeout: 5, ...more });
    expect(await raised("/create_session", {})).toEqual(["swerex.exceptions.SessionExistsError", "session default already exists"]);
    expect((await raised("/run_in_session", action("true", { session: "no" })))[0]).toBe("swerex.exceptions.SessionDoesNotExistError");
    expect((await raised("/close_session", { session: "no" }))[0]).toBe("swerex.exceptions.SessionDoesNotExistError");
    expect(await raised("/run_in_session", action("echo out; false", { error_msg: "Oh" }))).toEqual([
      "swerex.exceptions.NonZeroExitCodeError",
      "Oh: Command 'echo out; false' failed with exit code 1. Here is the output:\n'out\\n'",
    ]);
    expect((await raised("/run_in_session", action("(a")))[0]).toBe("swerex.exceptions.BashIncorrectSyntaxError");
    expect((await raised("/run_in_session", action("sleep 60", { timeout: 0.2 })))[0]).toBe("swerex.exceptions.CommandTimeoutError");
    expect((await ask("/run_in_session", { action_type: "bash_interrupt" })).body).toMatchObject({ exit_code: 0 });
    expect(await run("echo back")).toMatchObject({ output: "back\n" });
    expect((await raised("/run_in_session", action("exit 0")))[0]).toBe("pexpect.exceptions.EOF");
  });

  test("ends with its shell, also when a job in the background keeps its terminal open", async () => {
    await ask("/create_session", {});
    await run("(sleep 1000) &");
    const exit = { action_type: "bash", command: "echo bye; exit", timeout: 10 };
    expect((await raised("/run_in_session", exit))[0]).toBe("pexpect.exceptions.EOF");
  });

  test("an interrupt ends what runs, also for the request that waits for it", async () => {
    await ask("/create_session", {});
    const running = ask("/run_in_session", { action_type: "bash", command: "echo in > /tmp/swerex-in; sleep 60", check: "silent" });
    await expect.poll(() => readFileSync("/tmp/swerex-in", { flag: "a+" }).length).toBeGreaterThan(0);
    rmSync("/tmp/swerex-in");
    await ask("/run_in_session", { action_type: "bash_interrupt" });
    expect((await running).body).toMatchObject({ exit_code: 130 });
  });

  test("a program that asks is answered, and left", async () => {
    await ask("/create_session", {});
    const interactive = { is_interactive_command: true, expect: ["\\? $", "> "] };
    expect(await run("read -p 'name? ' name", interactive)).toMatchObject({ expect_string: "\\? $", exit_code: 0 });
    expect((await run("Ann", { is_interactive_quit: true }))["exit_code"]).toBe(0);
    expect((await run("echo $name"))["output"]).toBe("Ann\n");
  });

  test("brings its start files, and knows nothing of others", async () => {
    writeFileSync(join(folder, "start"), "echo started; export FROM_FILE=yes");
    expect((await ask("/create_session", { session: "a", startup_source: [join(folder, "start")] })).body["output"]).toBe("started\n");
    await ask("/create_session", { session: "b" });
    expect([
      (await run("echo $FROM_FILE", { session: "a" }))["output"],
      (await run("echo $FROM_FILE", { session: "b" }))["output"],
    ]).toEqual(["yes\n", "\n"]);
  });
});

describe("a command outside of sessions", () => {
  test("has its outputs apart, or in one", async () => {
    const command = { command: "echo out; echo err >&2; exit 3", shell: true };
    expect((await ask("/execute", command)).body).toEqual({ stdout: "out\n", stderr: "err\n", exit_code: 3 });
    expect((await ask("/execute", { ...command, merge_output_streams: true })).body).toEqual({
      stdout: "out\nerr\n",
      stderr: "",
      exit_code: 3,
    });
    expect((await ask("/execute", { command: ["printf", "%s|", "a b", "c"], cwd: "/tmp" })).body["stdout"]).toBe("a b|c|");
    expect((await ask("/execute", { command: "echo $A$GIVEN; pwd", shell: true, env: { A: "1" }, cwd: "/usr" })).body["stdout"]).toBe(
      "1\n/usr\n",
    );
    expect((await ask("/execute", { command: "kill -9 $$", shell: true })).body["exit_code"]).toBe(-9);
  });

  test("fails as in Python", async () => {
    expect(await raised("/execute", { command: "no such program" })).toEqual([
      "builtins.FileNotFoundError",
      "[Errno 2] No such file or directory: 'no such program'",
    ]);
    expect((await raised("/execute", { command: ["true"], cwd: "/nowhere" }))[0]).toBe("builtins.FileNotFoundError");
    expect((await raised("/execute", { command: ["/etc/passwd"] }))[0]).toBe("builtins.PermissionError");
    expect((await raised("/execute", { command: ["false"], check: true }))[1]).toMatch(
      /^Command \['false'\] failed with exit code 1\. Stdout:/,
    );
    expect(await raised("/execute", { command: "sleep 60", shell: true, timeout: 0.2 })).toEqual([
      "swerex.exceptions.CommandTimeoutError",
      "Timeout (0.2s) exceeded while running command",
    ]);
  });

  test("runs once for a request that comes again, also while it runs", async () => {
    const file = join(folder, "marks");
    const again = () => ask("/execute", { command: `sleep 0.3; echo x >> ${file}`, shell: true }, { "x-request-id": "r1" });
    const [first, second] = await Promise.all([again(), again()]);
    expect([first, await again()]).toEqual([second, second]);
    expect(readFileSync(file, "utf8")).toBe("x\n");
  });
});

describe("files", () => {
  test("are written with the folders above them, and read as Python reads them", async () => {
    const path = join(folder, "new/deep/file");
    expect((await ask("/write_file", { path, content: "a\r\nü" })).body).toEqual({});
    expect((await ask("/read_file", { path })).body).toEqual({ content: "a\nü" });
    writeFileSync(path, Buffer.from([0x61, 0xff, 0xc3, 0xbc]));
    expect((await ask("/read_file", { path, errors: "backslashreplace" })).body).toEqual({ content: "a\\xffü" });
    expect((await ask("/read_file", { path, encoding: "latin-1" })).body).toEqual({ content: "aÿÃ¼" });
    expect((await raised("/read_file", { path }))[0]).toBe("builtins.UnicodeDecodeError");
    expect(await raised("/read_file", { path: "none.txt" })).toEqual([
      "builtins.FileNotFoundError",
      "[Errno 2] No such file or directory: 'none.txt'",
    ]);
    expect((await raised("/read_file", { path: folder }))[0]).toBe("builtins.IsADirectoryError");
    expect((await raised("/read_file", { path, encoding: "no-such" }))[0]).toBe("builtins.LookupError");
  });

  test("are uploaded, and an archive is taken apart inside of its target", async () => {
    const upload = async (content: Buffer, target: string, unzip: boolean): Promise<number> => {
      const form = new FormData();
      form.append("file", new Blob([new Uint8Array(content)]), "x");
      form.append("target_path", target);
      form.append("unzip", String(unzip));
      return (await fetch(`${url}/upload`, { method: "POST", headers: { "x-api-key": key }, body: form })).status;
    };
    expect(await upload(Buffer.from("plain"), join(folder, "up/plain"), false)).toBe(200);
    expect(readFileSync(join(folder, "up/plain"), "utf8")).toBe("plain");
    await ask("/execute", {
      command: [
        "python3",
        "-c",
        "import zipfile,sys; z=zipfile.ZipFile(sys.argv[1],'w',8); z.writestr('a/b.txt','in '*1000); z.writestr('../out','out')",
        join(folder, "z"),
      ],
    });
    expect(await upload(readFileSync(join(folder, "z")), join(folder, "tree/x"), true)).toBe(200);
    expect(readFileSync(join(folder, "tree/x/a/b.txt"), "utf8")).toBe("in ".repeat(1000));
    expect(readFileSync(join(folder, "tree/x/out"), "utf8")).toBe("out");
    expect(await upload(Buffer.from("no zip"), join(folder, "tree/y"), true)).toBe(511);
  });
});
