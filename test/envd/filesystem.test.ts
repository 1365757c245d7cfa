import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asUser } from "./calls.ts";
import { callers, startDaemon, type Caller, type Daemon } from "./daemon.ts";

let daemon: Daemon;
let folder = "";
beforeAll(async () => {
  daemon = await startDaemon({ defaultUser: "root" });
});
afterAll(() => daemon[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-fs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function codeOf(work: Promise<unknown>): Promise<Code | undefined> {
  return work.then(
    () => undefined,
    (error: { code: Code }) => error.code,
  );
}

interface Listed {
  readonly path: string;
  readonly type: number;
  readonly symlinkTarget?: string;
}

describe.each([
  ["JSON", false],
  ["binary", true],
] as const)("files and folders over %s", (_, isBinary) => {
  let calls = {} as Caller;
  beforeAll(() => {
    calls = callers(daemon.url, isBinary).filesystem;
  });

  test("an entry tells type, size, owner and permissions", async () => {
    writeFileSync(join(folder, "f"), "12345");
    chmodSync(join(folder, "f"), 0o640);
    const { entry } = await calls.stat({ path: join(folder, "f") });
    expect(entry).toMatchObject({
      name: "f",
      type: 1,
      path: join(folder, "f"),
      size: 5n,
      mode: 0o640,
      permissions: "-rw-r-----",
      owner: "root",
      group: "root",
    });
    expect(Number(entry.modifiedTime.seconds)).toBe(Math.floor(statSync(join(folder, "f")).mtimeMs / 1000));
  });

  test("a link is shown as what it leads to, a broken one without a type", async () => {
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    symlinkSync("nowhere", join(folder, "broken"));
    expect((await calls.stat({ path: join(folder, "link") })).entry).toMatchObject({
      type: 2,
      symlinkTarget: join(folder, "real"),
      permissions: "Lrwxrwxrwx",
    });
    expect((await calls.stat({ path: join(folder, "broken") })).entry).toMatchObject({ type: 0 });
  });

  test("a folder is listed by name, down to the depth that is asked for, under the name it was asked by", async () => {
    mkdirSync(join(folder, "real/b/c"), { recursive: true });
    writeFileSync(join(folder, "real/a"), "");
    symlinkSync(join(folder, "real"), join(folder, "link"));
    const names = async (depth: number) => {
      const { entries } = await calls.listDir({ path: join(folder, "link"), depth });
      return entries.map(({ path }: Listed) => path.slice(folder.length));
    };
    expect(await names(0)).toEqual(["/link/a", "/link/b"]);
    expect(await names(2)).toEqual(["/link/a", "/link/b", "/link/b/c"]);
    symlinkSync("loop", join(folder, "loop"));
    expect(await codeOf(calls.listDir({ path: join(folder, "loop") }))).toBe(Code.FailedPrecondition);
    expect(await codeOf(calls.listDir({ path: join(folder, "real/a") }))).toBe(Code.InvalidArgument);
    expect(await codeOf(calls.listDir({ path: join(folder, "none") }))).toBe(Code.NotFound);
  });

  test("folders are made with those above them, for the user", async () => {
    chmodSync(folder, 0o777);
    const path = join(folder, "x/y");
    expect((await calls.makeDir({ path }, asUser("www-data"))).entry).toMatchObject({ path, type: 2, owner: "www-data" });
    expect(await codeOf(calls.makeDir({ path }))).toBe(Code.AlreadyExists);
    writeFileSync(join(folder, "f"), "");
    expect(await codeOf(calls.makeDir({ path: join(folder, "f") }))).toBe(Code.InvalidArgument);
    expect(await codeOf(calls.makeDir({ path: join(folder, "f/g") }))).toBe(Code.InvalidArgument);
  });

  test("a move makes the way to its end; what is missing cannot be moved, and can be removed", async () => {
    mkdirSync(join(folder, "from"));
    writeFileSync(join(folder, "from/f"), "x");
    expect((await calls.move({ source: join(folder, "from"), destination: join(folder, "to/here") })).entry).toMatchObject({
      path: join(folder, "to/here"),
    });
    expect(existsSync(join(folder, "to/here/f"))).toBe(true);
    expect(await codeOf(calls.move({ source: join(folder, "from"), destination: join(folder, "x") }))).toBe(Code.NotFound);
    await calls.remove({ path: join(folder, "to") });
    await calls.remove({ path: join(folder, "to") });
    expect(existsSync(join(folder, "to"))).toBe(false);
    expect(await codeOf(calls.stat({ path: join(folder, "to") }))).toBe(Code.NotFound);
  });

  test("a watch tells what happens, also in folders that are made later", async () => {
    const { watcherId } = await calls.createWatcher({ path: folder, recursive: true, includeEntry: true });
    const seen: string[] = [];
    const look = async (): Promise<readonly string[]> => {
      const { events } = await calls.getWatcherEvents({ watcherId });
      seen.push(...events.map((event: { name: string; type: number }) => `${event.name}:${event.type}`));
      return seen;
    };
    const until = async (name: string): Promise<void> => {
      await expect.poll(look).toContain(name);
    };
    mkdirSync(join(folder, "new"));
    await until("new:1");
    writeFileSync(join(folder, "new/f"), "x");
    await until("new/f:1");
    appendFileSync(join(folder, "new/f"), "y");
    await until("new/f:2");
    chmodSync(join(folder, "new/f"), 0o600);
    await until("new/f:5");
    renameSync(join(folder, "new/f"), join(folder, "g"));
    await until("new/f:4");
    await until("g:1");
    rmSync(join(folder, "g"));
    await until("g:3");
    await calls.removeWatcher({ watcherId });
    expect(await codeOf(calls.getWatcherEvents({ watcherId }))).toBe(Code.NotFound);
  });

  test("events of a finished write are there when they are asked for next, also in a folder made a moment ago", async () => {
    const { watcherId } = await calls.createWatcher({ path: folder, recursive: true });
    for (let n = 0; n < 20; n++) {
      mkdirSync(join(folder, `d${n}`));
      writeFileSync(join(folder, `d${n}/f`), "x");
      const { events } = await calls.getWatcherEvents({ watcherId });
      const names = events.map((event: { name: string }) => event.name);
      expect(names).toEqual(expect.arrayContaining([`d${n}`, `d${n}/f`]));
    }
    await calls.removeWatcher({ watcherId });
  });

  test("a watched upload is a file created, given to its user and written, or without the first, and nothing else", async () => {
    const leaving = new AbortController();
    const seen: string[] = [];
    const path = join(folder, "up");
    const put = () =>
      fetch(`${daemon.url}/files?path=${path}`, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: "x" });
    await codeOf(
      (async () => {
        for await (const { event } of calls.watchDir({ path: folder }, { signal: leaving.signal })) {
          if (event.case === "start") await put();
          if (event.case !== "filesystem") continue;
          seen.push(`${event.value.name}:${event.value.type}`);
          if (seen.length === 3) await put();
          if (seen.length === 5) leaving.abort();
        }
      })(),
    );
    expect(seen).toEqual(["up:1", "up:5", "up:2", "up:5", "up:2"]);
  });

  test("what cannot be watched says so", async () => {
    writeFileSync(join(folder, "f"), "");
    expect(await codeOf(calls.createWatcher({ path: join(folder, "none") }))).toBe(Code.NotFound);
    expect(await codeOf(calls.createWatcher({ path: join(folder, "f") }))).toBe(Code.InvalidArgument);
  });
});

test("a move between file systems keeps owners, modes and links", async () => {
  const calls = callers(daemon.url, false).filesystem;
  const other = join(folder, "other");
  mkdirSync(other);
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", other]);
  try {
    mkdirSync(join(folder, "tree/sub"), { recursive: true });
    writeFileSync(join(folder, "tree/sub/f"), "contents", { mode: 0o750 });
    symlinkSync("sub/f", join(folder, "tree/l"));
    execFileSync("chown", ["33:33", join(folder, "tree/sub/f")]);
    await calls.move({ source: join(folder, "tree"), destination: join(other, "tree") });
    const { uid, mode } = statSync(join(other, "tree/sub/f"));
    expect([uid, mode & 0o777, readFileSync(join(other, "tree/l"), "utf8"), existsSync(join(folder, "tree"))]).toEqual([
      33,
      0o750,
      "contents",
      false,
    ]);
  } finally {
    execFileSync("umount", [other]);
  }
});
