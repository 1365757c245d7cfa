/** The helper under the compiler's sanitizers, as the daemon uses it. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ArmedState } from "#envd/armed-state.ts";
import { MetadataStore } from "#envd/files/metadata.ts";
import { Inotify, inotifyMask, type RawEvent } from "#envd/filesystem/inotify.ts";
import { HelperChild } from "#envd/helper/helper-child.ts";
import { frameOf } from "#envd/helper/helper-frames.ts";
import { rehearseCommand } from "#envd/rehearsal.ts";
import { type Command, launch, type Launched, type LaunchOptions } from "#envd/process/launch.ts";
import { getXattr, listXattrs, setXattr } from "#lib/native/files.ts";
import { type SanitizedHelper, sanitizedHelper } from "../world/sanitized-helper.ts";

let built: SanitizedHelper;
let folder = "";
beforeAll(async () => {
  built = await sanitizedHelper();
  folder = mkdtempSync(join(tmpdir(), "agentbox-helped-"));
  // Commands of other users pass through here.
  chmodSync(folder, 0o755);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await built[Symbol.asyncDispose]();
});

const root = { name: "root", uid: 0, gid: 0, home: "/root" };
const guest = { name: "guest", uid: 4711, gid: 4712, home: "/" };

function start(command: Partial<Command>, on: Pick<LaunchOptions, "terminal"> & { hasInput?: boolean } = {}): Promise<Launched> {
  const whole = {
    cmd: "/bin/sh",
    args: [],
    env: { PATH: "/usr/bin:/bin" },
    account: root,
    groups: [],
    cwd: "/",
    needsCwd: true,
    ...command,
  };
  return launch({ helper: built.path, state: new ArmedState(), command: whole, hasInput: false, ...on });
}

async function ran(command: Partial<Command>, on: Parameters<typeof start>[1] = {}): Promise<{ out: string; code: number | null }> {
  const launched = await start(command, on);
  let out = "";
  for (const { socket } of launched.outputs.values()) socket.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const { code } = await launched.ended;
  await Promise.all([...launched.outputs.values()].map(({ closed }) => closed));
  return { out, code };
}

const shell = (script: string): Partial<Command> => ({ args: ["-c", script] });

describe("a command", () => {
  test("is what the helper becomes: its end is the command's, its environment what was given", async () => {
    expect(await ran({ ...shell('echo "$GIVEN $1"; exit 5'), env: { GIVEN: "one" } })).toEqual({ out: "one \n", code: 5 });
  });

  test("that cannot be started says why: a missing program, a missing folder, and one that its user may not enter", async () => {
    const closed = join(folder, "closed");
    mkdirSync(closed, { mode: 0o700 });
    const refused = (command: Partial<Command>): Promise<string> => start(command).then(String, ({ message }: Error) => message);
    expect(await refused({ cmd: "/nowhere" })).toBe("the command '/nowhere' cannot be started: no such file or directory");
    expect(await refused({ cwd: "/nowhere" })).toBe("cwd '/nowhere' cannot be entered by root: no such file or directory");
    expect(await refused({ cwd: closed, account: guest })).toBe(`cwd '${closed}' cannot be entered by guest: permission denied`);
    expect(await refused({ cmd: folder })).toBe(`the command '${folder}' cannot be started: permission denied`);
  });

  test("whose folder was not chosen by the caller starts without it", async () => {
    expect(await ran({ ...shell("pwd"), cwd: "/nowhere", needsCwd: false })).toEqual({ out: "/\n", code: 0 });
  });

  test("is looked for in every folder of the search path, of which an empty one is the current folder", async () => {
    const own = join(folder, "own");
    writeFileSync(own, "#!/bin/sh\necho found as $0\n", { mode: 0o755 });
    expect((await ran({ cmd: "own", env: { PATH: `/nowhere:${folder}` } })).out).toBe(`found as ${own}\n`);
    expect((await ran({ cmd: "own", env: { PATH: "/nowhere::/bin" }, cwd: folder })).out).toBe("found as ./own\n");
    await expect(ran({ cmd: "own", env: { PATH: "/bin" }, cwd: folder })).rejects.toThrow("no such file or directory");
  });

  test("has its user's groups, and the daemon's no more", async () => {
    const { out } = await ran({ ...shell("id -u; id -g; id -G"), account: guest, groups: [4712, 4800] });
    expect(out).toBe("4711\n4712\n4712 4800\n");
  });

  test("owns its pipes, so that it can open them by name, and not the /dev/null that it has for input", async () => {
    const { uid } = statSync("/dev/null");
    expect((await ran({ ...shell("echo by name > /dev/stdout; stat -L -c %u /dev/stderr"), account: guest })).out).toBe("by name\n4711\n");
    expect(statSync("/dev/null").uid).toBe(uid);
  });

  test("reads what it is sent, and has no descriptor but its three", async () => {
    const launched = await start(shell("read line; echo $line; ls /proc/self/fd"), { hasInput: true });
    let out = "";
    launched.outputs.get("stdout")?.socket.on("data", (chunk: Buffer) => (out += chunk.toString()));
    launched.input?.end("sent\n");
    await launched.outputs.get("stdout")?.closed;
    // The last one is the folder that `ls` reads.
    expect(out).toBe("sent\n0\n1\n2\n3\n");
  });

  test("on a terminal has a session of its own there, and the size that it is given", async () => {
    const launched = await start(shell("stty size; read line; stty size; ps -o tty= -p $$"), { terminal: { rows: 7, cols: 33 } });
    let out = "";
    launched.outputs.get("pty")?.socket.on("data", (chunk: Buffer) => (out += chunk.toString()));
    await expect.poll(() => out).toContain("7 33");
    await launched.resize?.({ rows: 8, cols: 44 });
    launched.input?.write("\n");
    await launched.ended;
    await expect.poll(() => out).toMatch(/8 44\r\npts\/\d+/);
  });

  test("with more arguments than a frame holds is refused, and nothing is started", async () => {
    const attempt = start({ args: Array.from({ length: 50 }, () => "x".repeat(100_000)) });
    await expect(attempt).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("at most 4194304") });
  });

  test("with an argument longer than the kernel takes says so", async () => {
    await expect(start({ args: ["x".repeat(200_000)] })).rejects.toThrow("argument list too long");
  });
});

test("a rehearsed command is started and ends", async () => {
  expect(await rehearseCommand(built.path)).toMatch(/200 [^]*"start":[^]*"exit status 64"/);
});

describe("metadata", () => {
  test("is what the file has under our prefix, and replacing it leaves other attributes alone", async () => {
    const path = join(folder, "file");
    writeFileSync(path, "");
    setXattr(Buffer.from(path), "user.other", Buffer.from("stays"));
    const store = new MetadataStore(built.path);
    await store.replace(path, { one: "1", empty: "", long: "x".repeat(900) });
    expect(await store.read([path, join(folder, "none")])).toEqual([{ one: "1", empty: "", long: "x".repeat(900) }, {}]);
    await store.replace(path, { one: "2" });
    expect(await store.read([path])).toEqual([{ one: "2" }]);
    expect(listXattrs(Buffer.from(path)).sort()).toEqual(["user.e2b.one", "user.other"]);
    await store.replace(path, {});
    expect(await store.read([path])).toEqual([{}]);
    expect(getXattr(Buffer.from(path), "user.other")?.toString()).toBe("stays");
  });

  test("of hundreds of files comes in their order", async () => {
    const paths = Array.from({ length: 300 }, (_, index) => join(folder, `many-${index}`));
    for (const [index, path] of paths.entries()) {
      writeFileSync(path, "");
      setXattr(Buffer.from(path), "user.e2b.number", Buffer.from(String(index)));
    }
    const found = await new MetadataStore(built.path).read(paths);
    expect(found.map((metadata) => metadata["number"])).toEqual(paths.map((_, index) => String(index)));
  });

  test("of a link is the link's own, which has none, and where it cannot be kept that is said", async () => {
    const [path, link] = [join(folder, "target"), join(folder, "link")];
    writeFileSync(path, "");
    symlinkSync(path, link);
    const store = new MetadataStore(built.path);
    await store.replace(path, { of: "target" });
    expect(await store.read([link])).toEqual([{}]);
    await expect(store.replace(link, { of: "link" })).rejects.toThrow("does not keep metadata: operation not permitted");
  });
});

test("a watch tells what happens in its folder, and none is made of what is no folder", async () => {
  const [watched, beside] = [join(folder, "watched"), join(folder, "beside")];
  mkdirSync(watched);
  const events: RawEvent[] = [];
  const inotify = await Inotify.open(built.path, (event) => events.push(event));
  const number = await inotify.watch(watched);
  expect([await inotify.watch(join(folder, "nowhere")), await inotify.watch("/dev/null")]).toEqual([undefined, undefined]);
  execFileSync("sh", ["-c", `cd ${watched}; echo x > made; mv made ${beside}`]);
  await expect.poll(() => events.map(({ mask, name }) => [mask, name])).toContainEqual([inotifyMask.movedFrom, "made"]);
  expect(events.map(({ mask, name, watch }) => [mask, name, watch])).toEqual([
    [inotifyMask.create, "made", number],
    [inotifyMask.modify, "made", number],
    [inotifyMask.movedFrom, "made", number],
  ]);
  inotify.close();
});

test("a helper whose daemon is gone ends", async () => {
  for (const verb of ["attributes", "watch", "command"] as const) {
    const child = new HelperChild({ helper: built.path, verb });
    child.letGo();
    expect((await child.ended).signal).toBeNull();
  }
});

test("a helper that is asked for what it cannot do says what it can", () => {
  const { status, stderr } = spawnSync(built.path, ["dance"]);
  expect([status, stderr.toString()]).toEqual([64, expect.stringContaining("usage: helper doorman PROGRAM")]);
});

/** What the sanitizers complain of, if anything. */
async function complaintAbout(verb: string, bytes: Uint8Array): Promise<string> {
  const child = spawn(built.path, [verb], { stdio: ["ignore", "ignore", "pipe", "pipe"], env: {}, detached: true, cwd: "/" });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const socket = child.stdio[3] as Socket;
  socket.on("error", () => {});
  socket.resume();
  socket.end(bytes);
  await once(child, "close");
  return said;
}

const field = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.nat(9), fc.constantFrom("/", "", "/nowhere", "user.e2b.a", "PATH=::"));
const frame = fc.array(field, { maxLength: 14 }).map((fields) => frameOf(fields));
const cut = fc.tuple(frame, fc.nat(60), fc.nat(3)).map(([bytes, at, less]) => {
  const short = Buffer.from(bytes.subarray(0, at));
  if (short.length >= 4) short.writeUInt32LE(Math.max(0, short.length - 4 - less), 0);
  return short;
});

test.each(["command", "attributes", "watch"])("no frame makes `helper %s` touch memory that is not the frame's", async (verb) => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(frame, cut, fc.uint8Array({ maxLength: 80 })), async (bytes) => {
      expect(await complaintAbout(verb, bytes)).toBe("");
    }),
    { numRuns: 40 },
  );
});
