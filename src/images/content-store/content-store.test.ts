/** Blobs, names, holds, scratch space and locks of a store, without layers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type Digest, digestOf, hexOf } from "../digest.ts";
import { parseReference } from "../reference.ts";
import { ContentStore } from "./content-store.ts";
import type { ImageRecord } from "./image-records.ts";
import { FileLocks } from "./locks.ts";

let parent: string;
let folder: string;
let clock: SteppedClock;
let store: ContentStore;
beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), "agentbox-store-"));
  folder = join(parent, "images");
  clock = new SteppedClock();
  store = await ContentStore.open({ folder, clock });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(parent, { recursive: true, force: true });
});

describe("a store", () => {
  test("is closed to other users of the machine, whatever it was before", async () => {
    chmodSync(folder, 0o777);
    await using second = await ContentStore.open({ folder, clock });
    expect(statSync(second.folder).mode & 0o777).toBe(0o700);
  });

  test("of another version is left alone", async () => {
    writeFileSync(join(folder, "version"), "99");
    await expect(ContentStore.open({ folder, clock })).rejects.toThrow(/has layout 99; this AgentBox reads layout 1/);
  });

  test("that cannot be made says so", async () => {
    writeFileSync(join(folder, "..", "file"), "");
    await expect(ContentStore.open({ folder: join(folder, "..", "file", "x"), clock })).rejects.toMatchObject({ code: "storage" });
  });

  test("removes what a process that died has left, and nothing of one that lives", async () => {
    const script = `
      import { ContentStore } from "#images/content-store/content-store.ts";
      import { systemClock } from "#lib/clock.ts";
      const store = await ContentStore.open({ folder: process.argv[1], clock: systemClock });
      const writer = await store.blobs.write();
      await writer.write(Buffer.alloc(1000));
      console.log("ready");
      setInterval(() => {}, 1000);
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder], {
      cwd: join(import.meta.dirname, "../../.."),
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const scratch = (): string[] => readdirSync(join(folder, "tmp")).filter((name) => name !== "owners");
    expect(scratch().length).toBe(2);
    await (await ContentStore.open({ folder, clock }))[Symbol.asyncDispose]();
    expect(scratch().length).toBe(2);
    child.kill("SIGKILL");
    await once(child, "exit");
    await (await ContentStore.open({ folder, clock }))[Symbol.asyncDispose]();
    expect(scratch().length).toBe(1);
    expect(readdirSync(join(folder, "tmp/owners")).length).toBe(1);
  });

  test("leaves nothing behind when it is closed", async () => {
    await store[Symbol.asyncDispose]();
    expect(readdirSync(join(folder, "tmp"))).toEqual(["owners"]);
    expect(readdirSync(join(folder, "tmp/owners"))).toEqual([]);
  });
});

describe("a blob", () => {
  test("is found by its digest", async () => {
    const digest = await store.blobs.put(Buffer.from("hello"));
    expect(digest).toBe(digestOf("hello"));
    expect(await store.blobs.read(digest)).toEqual(Buffer.from("hello"));
    expect([await store.blobs.size(digest), await store.blobs.has(digest)]).toEqual([5, true]);
    expect(await store.blobs.list()).toMatchObject([{ digest, size: 5 }]);
    await store.blobs.remove(digest);
    await store.blobs.remove(digest);
    expect([await store.blobs.read(digest), await store.blobs.has(digest)]).toEqual([undefined, false]);
    await expect(store.blobs.require(digest, "the config")).rejects.toThrow(/the config .* is not in the store/);
  });

  test("comes bit by bit and is there only when it is whole", async () => {
    const digest = digestOf("hello");
    const writer = await store.blobs.write();
    await writer.write(Buffer.from("hel"));
    expect([writer.written, await store.blobs.has(digest)]).toEqual([3, false]);
    await writer.write(Buffer.from("lo"));
    expect(await writer.commit(digest)).toBe(digest);
    await writer[Symbol.asyncDispose]();
    expect(readFileSync(store.blobs.pathOf(digest), "utf8")).toBe("hello");
  });

  test("that is not what was promised gets no place, and can be begun again", async () => {
    await using writer = await store.blobs.write();
    await writer.write(Buffer.from("longer than hello"));
    await expect(writer.commit(digestOf("hello"))).rejects.toMatchObject({ code: "digest_mismatch" });
    expect(await store.blobs.list()).toEqual([]);
    await writer.reset();
    await writer.write(Buffer.from("hello"));
    await writer.commit(digestOf("hello"));
    expect(await store.blobs.read(digestOf("hello"))).toEqual(Buffer.from("hello"));
  });

  test("that nobody commits leaves nothing", async () => {
    const before = readdirSync(join(folder, "tmp"), { recursive: true }).length;
    const writer = await store.blobs.write();
    await writer.write(Buffer.from("x"));
    await writer[Symbol.asyncDispose]();
    expect(readdirSync(join(folder, "tmp"), { recursive: true }).length).toBe(before);
  });

  test("that the disk damaged is as good as not there", async () => {
    const digest = await store.blobs.put(Buffer.from("hello"));
    writeFileSync(store.blobs.pathOf(digest), "hellO");
    expect(await store.blobs.read(digest)).toBeUndefined();
  });

  test("is not mistaken for other files", async () => {
    writeFileSync(join(folder, "blobs", "note"), "");
    expect(await store.blobs.list()).toEqual([]);
  });
});

describe("names", () => {
  const record = (name: string, content: string, more: Partial<ImageRecord> = {}): ImageRecord => ({
    name,
    digest: digestOf(`index ${content}`),
    manifest: digestOf(`manifest ${content}`),
    id: digestOf(`config ${content}`),
    source: "registry",
    since: 1000,
    ...more,
  });

  test("lead to images", async () => {
    await store.images.put(record("r.example/app:1", "a"));
    expect(await store.images.find(parseReference("r.example/app:1"))).toMatchObject(record("r.example/app:1", "a"));
    expect(await store.images.find(parseReference("r.example/app:2"))).toBeUndefined();
    await store.images.remove("r.example/app:1");
    expect(await store.images.list()).toEqual([]);
  });

  test("with a digest lead to an image under any tag of the same repository, whatever tag they carry", async () => {
    await store.images.put(record("r.example/app:1", "a"));
    for (const digest of [digestOf("index a"), digestOf("manifest a")]) {
      expect(await store.images.find(parseReference(`r.example/app:1-u77@${digest}`))).toMatchObject({ name: "r.example/app:1" });
      expect(await store.images.find(parseReference(`r.example/other@${digest}`))).toBeUndefined();
    }
    expect(await store.images.find(parseReference(`r.example/app:1@${digestOf("index b")}`))).toBeUndefined();
  });

  test("that move on leave the old image under its digest", async () => {
    await store.images.put(record("r.example/app:1", "a"));
    await store.images.put(record("r.example/app:1", "b"));
    await store.images.put(record("r.example/app:1", "b"));
    expect((await store.images.list()).map(({ name, id }) => [name, id])).toEqual([
      ["r.example/app:1", digestOf("config b")],
      [`r.example/app@${digestOf("index a")}`, digestOf("config a")],
    ]);
  });

  test("know when they were last used", async () => {
    await store.images.put(record("r.example/app:1", "a"));
    await store.images.touch("r.example/app:1", 5_000_000);
    await store.images.touch("r.example/never:1", 5_000_000);
    expect(await store.images.find(parseReference("r.example/app:1"))).toMatchObject({ lastUsed: 5_000_000, since: 1000 });
  });
});

describe("holds", () => {
  const [a, b, c]: Digest[] = [digestOf("a"), digestOf("b"), digestOf("c")];

  test("are what all owners use together, and are replaced as a whole", async () => {
    await store.holds.set("node", [a, b, a] as Digest[]);
    await store.holds.set("other", [c] as Digest[]);
    expect(await store.holds.all()).toEqual(new Set([a, b, c]));
    await store.holds.set("node", [b] as Digest[]);
    await store.holds.set("other", []);
    await store.holds.set("other", []);
    expect(await store.holds.all()).toEqual(new Set([b]));
  });

  test("are still there when the store is opened again", async () => {
    await store.holds.set("node", [a] as Digest[]);
    await using again = await ContentStore.open({ folder, clock });
    expect(await again.holds.all()).toEqual(new Set([a]));
  });

  test("that cannot be read are not taken for none", async () => {
    writeFileSync(join(folder, "holds/node.json"), "[");
    await expect(store.holds.all()).rejects.toMatchObject({ code: "broken_content" });
  });
});

describe("locks", () => {
  test("keep others waiting until they are given back, in one process too", async () => {
    const order: string[] = [];
    const locks = new FileLocks(join(folder, "locks"), clock);
    const first = await locks.acquire("x", "exclusive");
    const second = locks.holding("x", "exclusive", () => Promise.resolve(order.push("second")));
    await clock.step(5000);
    order.push("first is done");
    await first[Symbol.asyncDispose]();
    await clock.step(1000);
    await second;
    expect(order).toEqual(["first is done", "second"]);
  });

  test("for reading can be held by many, and are given back one by one", async () => {
    const locks = new FileLocks(join(folder, "locks"), clock);
    const readers = [await locks.acquire("x", "shared"), await locks.acquire("x", "shared")];
    expect(await locks.tryAcquire("x", "exclusive")).toBeUndefined();
    await readers[0]?.[Symbol.asyncDispose]();
    expect(await locks.tryAcquire("x", "exclusive")).toBeUndefined();
    await readers[1]?.[Symbol.asyncDispose]();
    const writer = await locks.tryAcquire("x", "exclusive");
    expect(writer).toBeDefined();
    await writer?.[Symbol.asyncDispose]();
  });

  test("leave no files", async () => {
    const locks = new FileLocks(join(folder, "locks"), clock);
    await locks.holding("x", "exclusive", () => locks.holding("y", "shared", () => Promise.resolve()));
    expect(readdirSync(join(folder, "locks"))).toEqual([]);
  });

  test("are given back when the work fails", async () => {
    await expect(store.locks.holding("x", "exclusive", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    expect(await store.locks.tryAcquire("x", "exclusive")).toBeDefined();
  });

  test("are not waited for after an abort", async () => {
    await store.locks.acquire("x", "exclusive");
    const abort = new AbortController();
    const waiting = store.locks.acquire("x", "shared", abort.signal);
    setImmediate(() => abort.abort(new Error("no longer wanted")));
    await expect(waiting).rejects.toThrow("no longer wanted");
  });

  test("with a file that was removed under them do not count", async () => {
    const locks = new FileLocks(join(folder, "locks"), clock);
    const lost = await locks.acquire("x", "exclusive");
    rmSync(join(folder, "locks/x"));
    const second = await locks.tryAcquire("x", "exclusive");
    expect(second).toBeDefined();
    await lost[Symbol.asyncDispose]();
    expect(existsSync(join(folder, "locks/x"))).toBe(true);
    await second?.[Symbol.asyncDispose]();
  });

  test("adding and collecting keep each other away", async () => {
    const order: string[] = [];
    const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const adding = store.adding(() => {
      begun.resolve();
      return finish.promise;
    });
    await begun.promise;
    const collecting = store.collecting(async () => void order.push("collected"));
    await clock.step(1000);
    order.push("added");
    finish.resolve();
    await adding;
    // Locks are files: when the next try is due depends on the disk as well as on the clock.
    while (order.length < 2) await clock.step(200);
    await collecting;
    expect(order).toEqual(["added", "collected"]);
  });
});

test("what the disk refuses while adding is told as such", async () => {
  const refused = (): Promise<unknown> => readFile(join(folder, "no/such/place"));
  await expect(store.adding(refused)).rejects.toMatchObject({ code: "storage" });
  await expect(store.adding(() => Promise.reject(new Error("something else")))).rejects.toThrow("something else");
});

test("file names of blobs are the digest's digits", () => {
  expect(store.blobs.pathOf(digestOf("x"))).toBe(join(folder, "blobs", hexOf(digestOf("x"))));
});
