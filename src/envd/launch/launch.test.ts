import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const launcher = [fileURLToPath(import.meta.resolve("./launch.ts"))];

interface Ran {
  readonly status: number | null;
  /** The identity that the launcher reported. */
  readonly first: { readonly pid?: number; readonly startTime?: string; readonly failed?: string; readonly fault?: string };
  readonly output: string;
}

function launch(request: object, input = ""): Ran {
  const { status, stdout } = spawnSync(process.execPath, [...launcher, JSON.stringify(request)], { input, encoding: "utf8" });
  return { status, ...split(stdout) };
}

function split(stdout: string): Omit<Ran, "status"> {
  const [, first = "{}", ...output] = stdout.split("\u001E");
  return { first: JSON.parse(first) as Ran["first"], output: output.join("\u001E") };
}

test("a program runs with more variables, in another folder, with what it is sent, and its exit code is its own", () => {
  const argv = ["sh", "-c", 'echo "$A $(pwd)"; cat; exit 7'];
  const ran = launch({ argv, env: { A: "quoted \" and 'quoted'" }, workingDir: "/usr" }, "sent");
  expect(ran).toMatchObject({ status: 7, output: "quoted \" and 'quoted' /usr\nsent" });
  expect(ran.first.pid).toBeGreaterThan(0);
});

test("what it is asked on standard input is not on its command line, and the program's own input follows", async () => {
  const child = spawn(process.execPath, [...launcher, '{"ask":true}'], { stdio: ["pipe", "pipe", "inherit"] });
  const said: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
  await once(child.stdout, "data");
  expect(Buffer.concat(said).toString()).toBe('\u001E{"ready":true}\u001E');
  const request = { argv: ["sh", "-c", 'printf %s "$A" | wc -c; cat'], env: { A: "ü".repeat(50_000) } };
  const lines =
    Buffer.from(JSON.stringify(request))
      .toString("base64")
      .match(/.{1,1024}/g) ?? [];
  child.stdin.write(`${lines.join("\n")}\n.\n`);
  await once(child.stdout, "data");
  child.stdin.end("its own");
  await once(child.stdout, "close");
  expect(Buffer.concat(said).toString().split("\u001E").at(-1)).toBe("100000\nits own");
});

test.runIf(process.getuid?.() === 0)("a program runs as another user, in that user's home", () => {
  expect(launch({ argv: ["sh", "-c", 'id -u; id -g; echo "$HOME"'], user: "nobody" }).output).toMatch(/^65534\n65534\n\//);
  expect(launch({ argv: ["sh", "-c", "id -u; id -g; id -G"], user: "4711:4712" }).output).toBe("4711\n4712\n4712\n");
});

test("no signal is ignored by the program that is not ignored by others", () => {
  const { output } = launch({ argv: ["grep", "SigIgn", "/proc/self/status"] });
  // The first 31 signals: what make starts ignores the next one, which belongs to the C library.
  expect(Number(`0x${output.trim().split("\t")[1]}`) % 2 ** 31).toBe(0);
});

test.each([
  ["no such program", { argv: ["no-such-program"] }, "no-such-program"],
  ["no such folder", { argv: ["sh"], workingDir: "/no/such" }, "/no/such"],
  ["no such user", { argv: ["sh"], user: "no-such-user" }, "no-such-user"],
])("%s: nothing runs, and why is said before anything else", (_, request, said) => {
  const { status, first, output } = launch(request);
  expect({ status, output }).toEqual({ status: said === "no-such-program" ? 127 : 126, output: "" });
  expect(first.failed).toContain(said);
  expect(first.fault).toBe({ "no-such-program": "not-found", "/no/such": "workingDir", "no-such-user": "user" }[said]);
});

test("a signal by the reported identity ends a program with its children, and no other process", async () => {
  const request = { argv: ["sh", "-c", "sleep 1000 & wait"] };
  const child = spawn(process.execPath, [...launcher, JSON.stringify(request)], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const { pid, startTime } = split(said.toString()).first;
  launch({ signal: { pid, startTime: "1", name: "SIGTERM" } });
  expect(child.exitCode).toBeNull();
  const exit = once(child, "exit");
  const ended = once(child.stdout, "close");
  launch({ signal: { pid, startTime, name: "SIGTERM" } });
  expect(await exit).toEqual([null, "SIGTERM"]);
  // No process holds its output any more.
  await ended;
});
