import { readdirSync } from "node:fs";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandNotStarted, type ExecCommand } from "#kube/pod-access.ts";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { NodeWorld } from "./node-world.ts";

let world: NodeWorld;
let box: ContainerPlan;
beforeAll(async () => {
  world = await NodeWorld.open();
  const { uid } = await world.pod();
  box = await world.start(uid, { env: { PATH: "/bin", COLOUR: "green" } });
});
afterAll(() => world[Symbol.asyncDispose]());

describe("a command in a container", () => {
  test("gives its output, its errors and its exit code", async () => {
    expect(await world.sh(box.id, "echo out; echo err >&2; exit 9")).toEqual({ code: 9, out: "out\n", err: "err\n" });
    expect(await world.exec(box.id, ["/bin/true"])).toEqual({ code: 0, out: "", err: "" });
    expect(await world.sh(box.id, "kill -9 $$")).toMatchObject({ code: 137 });
  });

  test("reads what it is sent until the end of it", async () => {
    const input = "x".repeat(3_000_000);
    const { out } = await world.exec(box.id, ["/bin/cat"], { input });
    expect(out.length).toBe(input.length);
  });

  test("that does not read what it is sent is no failure", async () => {
    expect(await world.exec(box.id, ["/bin/true"], { input: "x".repeat(1_000_000) })).toMatchObject({ code: 0 });
  });

  test("has the container's environment and more, another user and another folder if asked for", async () => {
    const { out } = await world.sh(box.id, "id -u; id -g; pwd; echo $COLOUR $SIZE $HOME", {
      env: { SIZE: "xl" },
      user: "app",
      workingDir: "/tmp",
    });
    expect(out).toBe("1234\n1234\n/tmp\ngreen xl /home/app\n");
    expect(await world.sh(box.id, "id -u; echo $HOME")).toMatchObject({ out: "0\n/root\n" });
  });

  test("may open its own output again by name", async () => {
    expect(await world.sh(box.id, "echo a > /proc/self/fd/1; echo b > /proc/self/fd/2", { user: "app" })).toEqual({
      code: 0,
      out: "a\n",
      err: "b\n",
    });
  });

  test("ends when its process ends, although what it left in the background holds its output", async () => {
    const { code, out } = await world.sh(box.id, "sleep 1000 & echo done");
    expect({ code, out }).toEqual({ code: 0, out: "done\n" });
    const { out: processes } = await world.sh(box.id, "ps");
    expect(processes.match(/sleep 1000/g)).toHaveLength(2);
  });

  test("gives all of its output to a reader who comes after its end", async () => {
    const session = world.runtime.exec(box.id, { argv: ["/bin/dd", "if=/dev/zero", "bs=100000", "count=1"] });
    session.stdin.end();
    expect(await session.exitCode).toBe(0);
    expect((await text(session.stdout)).length).toBe(100_000);
  });

  test("is killed with its children when its caller gives up", async () => {
    const given = new AbortController();
    const session = world.runtime.exec(box.id, { argv: ["/bin/sh", "-c", "sleep 777 & sleep 777; echo never"], signal: given.signal });
    const outcome = session.exitCode.then(() => "ended", String);
    await expect.poll(async () => (await world.sh(box.id, "ps")).out).toContain("sleep 777");
    given.abort(new Error("enough"));
    expect(await outcome).toBe("Error: enough");
    expect(await text(session.stdout)).toBe("");
    expect((await world.sh(box.id, "ps")).out).not.toContain("sleep 777");
  });

  test("that cannot be started fails with the reason, and its streams end", async () => {
    const make =
      "printf 'x' > /tmp/text; printf '#!/no/such\\n' > /tmp/script; cp /tmp/text /tmp/plain; chmod +x /tmp/text /tmp/script; mkdir /tmp/d";
    await world.sh(box.id, make);
    const fails = async (argv: readonly string[], more: Partial<ExecCommand> = {}): Promise<unknown> => {
      const session = world.runtime.exec(box.id, { argv, ...more });
      const error: unknown = await session.exitCode.catch((thrown: unknown) => thrown);
      expect([await text(session.stdout), await text(session.stderr)]).toEqual(["", ""]);
      return error instanceof CommandNotStarted ? [error.fault, error.message] : error;
    };
    expect(await fails(["/bin/nothing"])).toEqual(["not-found", 'there is no program "/bin/nothing"']);
    expect(await fails(["nothing"])).toEqual(["not-found", 'there is no program "nothing" in PATH']);
    expect(await fails(["/tmp/plain"])).toEqual(["not-executable", '"/tmp/plain" may not be executed']);
    expect(await fails(["/tmp/d"])).toMatchObject(["not-executable", expect.any(String)]);
    expect(await fails(["/bin/true"], { workingDir: "/no" })).toMatchObject(["workingDir", expect.stringContaining('"/no"')]);
    expect(await fails(["/bin/true"], { user: "nobody-here" })).toMatchObject(["user", expect.stringContaining("nobody-here")]);
    // By runtimes that find out when they have said already that it runs, on its own output.
    const late = async (argv: readonly string[]): Promise<unknown> => {
      const outcome = await world.exec(box.id, argv).catch((thrown: unknown) => thrown);
      if (outcome instanceof CommandNotStarted) return outcome.fault === "not-found" ? 127 : 126;
      return (outcome as { readonly code: number }).code;
    };
    expect([await late(["/tmp/script"]), await late(["/tmp/text"]), await late(["/bin/true", "x".repeat(200_000)])]).toEqual([
      127, 126, 126,
    ]);
  });

  test("gets signals with what it started, and a broken pipe when nobody reads what it writes", async () => {
    const session = world.runtime.exec(box.id, { argv: ["/bin/sh", "-c", "trap 'echo caught; exit 5' INT; echo on; sleep 1000"] });
    await new Promise((resolve) => void session.stdout.once("data", resolve));
    session.signal("SIGINT");
    expect(await session.exitCode).toBe(5);
    const endless = world.runtime.exec(box.id, { argv: ["/bin/sh", "-c", "while :; do echo y; done"] });
    endless.stdout.destroy();
    expect(await endless.exitCode).toBe(141);
    expect((await world.exec(box.id, ["/bin/cat", "/proc/self/status"])).out).toContain("SigIgn:\t0000000000000000\n");
  });

  test("leaves no descriptor open here when its input was never ended", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let turn = 0; turn < 10; turn++) expect(await world.runtime.exec(box.id, { argv: ["/bin/true"] }).exitCode).toBe(0);
    await expect.poll(open).toBeLessThan(before + 5);
  });

  test("is refused where there is no container, or one that has ended", async () => {
    await expect(world.sh("nobody", "true")).rejects.toThrow("there is no container nobody on this node");
    const { uid } = await world.pod();
    const { id } = await world.run(uid, { argv: ["/bin/true"] });
    await expect(world.sh(id, "true")).rejects.toThrow(/has ended, nothing can be run in it/);
  });

  test("has no more powers than the container", async () => {
    const { out } = await world.sh(box.id, "grep -E 'CapBnd|Seccomp:' /proc/self/status");
    const own = await world.sh(box.id, "grep -E 'CapBnd|Seccomp:' /proc/1/status");
    expect(out).toBe(own.out);
    expect(out).toContain("Seccomp:\t2");
  });
});

describe("a command with a terminal", () => {
  test("has one of the container's own, of the right size, and sees when it changes", async () => {
    const session = world.runtime.exec(box.id, { argv: ["/bin/sh"], tty: { rows: 31, cols: 91 } });
    let seen = "";
    session.stdout.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    session.stdin.write("tty; stty size; echo $((40+2))\n");
    await expect.poll(() => seen).toMatch(/\/dev\/pts\/\d+\r\n31 91\r\n42\r\n/);
    session.resize(50, 120);
    session.stdin.write("stty size; exit 5\n");
    expect(await session.exitCode).toBe(5);
    await expect.poll(() => seen).toContain("50 120");
    expect(await text(session.stderr)).toBe("");
  });

  test("gets the signals of its keys", async () => {
    const session = world.runtime.exec(box.id, { argv: ["/bin/sh", "-c", "echo ready; sleep 1000"], tty: { rows: 24, cols: 80 } });
    let seen = "";
    session.stdout.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    await expect.poll(() => seen).toContain("ready");
    session.stdin.write("\u0003");
    expect(await session.exitCode).toBe(130);
  });
});

test("many commands at once do not mix", async () => {
  const ran = await Promise.all(Array.from({ length: 20 }, (_, index) => world.sh(box.id, `echo ${index}; exit ${index}`)));
  expect(ran).toEqual(ran.map((_, index) => ({ code: index, out: `${index}\n`, err: "" })));
});
