import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PassThrough, Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { BackupMade, Restored } from "#cli/machine-backups.ts";
import { homeFolder, type HomeFolder } from "#cmd/parts/home-folder.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { systemClock } from "#lib/clock.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { copyPath, historySource, withCopies } from "./copy-face.ts";
import { machineBackups } from "./machine-backups.ts";

let folder = "";
let home: HomeFolder;
let file = "";
const open: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-backup-"));
  home = homeFolder({ AGENTBOX_HOME: join(folder, "home") });
  file = join(folder, "b.tar");
  await mkdir(join(home.folder, "keys"), { recursive: true, mode: 0o700 });
  await writeFile(home.adminKeyFile, "e2b_secret\n", { mode: 0o600 });
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await rm(folder, { recursive: true });
});

function store(of = home): ObjectStore {
  const opened = openObjectStore({ file: of.dataFile, kinds: embeddedKindRules({ podTemplates: true }), clock: systemClock });
  open.push(() => opened.close());
  return opened;
}

/** What a start leaves behind, without the server. */
async function stopped(): Promise<void> {
  const objects = store();
  await objects.create(ConfigMaps, { metadata: { name: "kept", namespace: "default" }, data: { k: "v" } });
  objects.close();
}

interface Surroundings {
  readonly home?: HomeFolder;
  readonly version?: string;
  readonly databaseUrl?: string;
  readonly stdin?: Readable;
  readonly stdout?: PassThrough;
}

function backups({
  home: of = home,
  version = "1.2.3",
  databaseUrl,
  stdin = Readable.from([]),
  stdout = new PassThrough(),
}: Surroundings = {}) {
  return machineBackups({ home: of, version, clock: systemClock, databaseUrl, stdin, stdout });
}

const watched = { onProgress: () => {}, signal: new AbortController().signal };
const make = (given?: Surroundings, more: { replace?: boolean; file?: string } = {}): Promise<BackupMade> =>
  backups(given).make({ file, images: false, replace: false, ...watched, ...more });
const restore = (given?: Surroundings, more: { replace?: boolean; file?: string } = {}): Promise<Restored> =>
  backups(given).restore({ file, replace: false, ...watched, ...more });

const other = (): HomeFolder => homeFolder({ AGENTBOX_HOME: join(folder, "other") });

/** The store's socket as `agentbox up` has it. */
async function serving(of: ObjectStore): Promise<Server> {
  await mkdir(home.runFolder, { recursive: true });
  const { log } = recordedLog();
  const deps = { store: of, runFolder: home.runFolder, history: historySource(home.historyFile), clock: systemClock, log };
  const server = createServer(withCopies(deps, (_, response) => response.writeHead(404).end()));
  await new Promise<void>((resolve) => server.listen(home.socketPath, resolve));
  open.push(() => server.close());
  return server;
}

describe("a backup", () => {
  test("holds objects, keys and settings, and comes back as they were, with their rights", async () => {
    await stopped();
    await writeFile(join(home.folder, "registries.json"), "{}", { mode: 0o640 });
    await mkdir(join(home.folder, "plugins"));
    await writeFile(join(home.folder, "plugins", "own.js"), "// mine");
    await symlink("plugins/own.js", join(home.folder, "linked.js"));
    await symlink("plugins", join(home.folder, "folder-link"));
    for (const name of ["node", "logs", "images", "run"]) await mkdir(join(home.folder, name));
    await writeFile(join(home.folder, "logs", "agentbox.log"), "lines");
    expect(await make()).toMatchObject({ files: 5, leftOut: ["folder-link"], historyElsewhere: undefined, images: undefined });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await restore({ home: other() })).toMatchObject({ folder: other().folder, files: 5, version: "1.2.3", putAside: undefined });
    expect((await readdir(other().folder)).sort()).toEqual([
      "keys",
      "linked.js",
      "node-life.json",
      "objects.db",
      "plugins",
      "registries.json",
    ]);
    expect(await readFile(other().adminKeyFile, "utf8")).toBe("e2b_secret\n");
    expect((await stat(join(other().folder, "registries.json"))).mode & 0o777).toBe(0o640);
    expect((await stat(other().folder)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(other().folder, "linked.js"), "utf8")).toBe("// mine");
    expect(await store(other()).get(ConfigMaps, { name: "kept", namespace: "default" })).toMatchObject({ data: { k: "v" } });
  });

  test("is of one moment while a server writes, and the server's copy goes with the client", async () => {
    const objects = store();
    await serving(objects);
    let written = 0;
    const over = new AbortController();
    const writing = (async () => {
      while (!over.signal.aborted) {
        const data = { text: "x".repeat(20_000) };
        await objects.create(ConfigMaps, { metadata: { name: `n${written}`, namespace: "default" }, data });
        written += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const before = written;
    await make();
    over.abort();
    await writing;
    await expect.poll(() => readdir(home.runFolder)).toEqual(["api.sock"]);
    await restore({ home: other() });
    const { items } = await store(other()).list(ConfigMaps, { namespace: "default" });
    const numbers = items.map(({ metadata }) => Number(metadata.name?.slice(1))).sort((a, b) => a - b);
    // Every write up to one moment, and none after it.
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(numbers.length).toBeGreaterThanOrEqual(before);
    expect(numbers.length).toBeLessThanOrEqual(written);
  });

  test("goes to standard output and comes from standard input", async () => {
    await stopped();
    const stdout = new PassThrough();
    const chunks: Buffer[] = [];
    stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    await make({ stdout }, { file: "-" });
    await restore({ home: other(), stdin: Readable.from(chunks) }, { file: "-" });
    expect(existsSync(other().dataFile)).toBe(true);
  });

  test("takes the history from where the server has it, and says so when PostgreSQL keeps it", async () => {
    await stopped();
    const elsewhere = join(folder, "elsewhere.db");
    const db = new DatabaseSync(elsewhere);
    db.exec("CREATE TABLE migrations (version INTEGER); INSERT INTO migrations VALUES (1); CREATE TABLE t (x); INSERT INTO t VALUES (7)");
    db.close();
    await make({ databaseUrl: elsewhere });
    await restore({ home: other() });
    const copied = new DatabaseSync(other().historyFile);
    expect(copied.prepare("SELECT x FROM t").all()).toEqual([{ x: 7 }]);
    copied.close();
    const made = await make({ databaseUrl: "postgres://me:secret@db:5432/boxes" }, { replace: true });
    expect(made.historyElsewhere).toBe("PostgreSQL at db:5432/boxes");
    expect(await restore({ home: other() }, { replace: true })).toMatchObject({ historyElsewhere: "PostgreSQL at db:5432/boxes" });
    expect(existsSync(other().historyFile)).toBe(false);
    expect((await readFile(file)).includes("secret@")).toBe(false);
  });

  test("is refused where a file is, where no folder is, and where there is nothing to back up", async () => {
    await expect(make()).rejects.toThrow("AgentBox was never started on it");
    await stopped();
    await make();
    await expect(make()).rejects.toThrow("is there already");
    await expect(make({}, { file: join(folder, "no", "b.tar") })).rejects.toThrow(`there is no folder ${join(folder, "no")}`);
    await expect(make({}, { file: folder })).rejects.toThrow("is a folder");
  });

  test("is refused while another process has the objects and does not answer", async () => {
    store();
    await expect(make()).rejects.toThrow("is in use by another process");
  });

  test("is made by one client at a time, and another one is told", async () => {
    const objects = store();
    await serving(objects);
    const first = request({ socketPath: home.socketPath, path: copyPath, method: "POST" });
    first.on("error", () => {});
    await new Promise((resolve) => first.once("response", resolve).end());
    await expect(make()).rejects.toThrow("another backup is being made");
    first.destroy();
    await expect.poll(() => readdir(home.runFolder)).toEqual(["api.sock"]);
    await make();
  });
});

describe("a restore", () => {
  test("leaves a folder with data alone unless it is told, and then keeps that data beside it", async () => {
    await stopped();
    await make();
    await writeFile(home.adminKeyFile, "changed since\n");
    await expect(restore()).rejects.toThrow("holds data already (keys, objects.db, run)");
    const { putAside } = await restore({}, { replace: true });
    expect(await readFile(home.adminKeyFile, "utf8")).toBe("e2b_secret\n");
    expect(await readFile(join(putAside ?? "", "keys/admin.key"), "utf8")).toBe("changed since\n");
    expect((await readdir(folder)).sort()).toEqual(["b.tar", "home", putAside?.slice(folder.length + 1)]);
  });

  test("is refused while a server runs on the folder, or owns its objects", async () => {
    await stopped();
    await make();
    const objects = store();
    await expect(restore({}, { replace: true })).rejects.toThrow("is in use by another process");
    await serving(objects);
    await expect(restore({}, { replace: true })).rejects.toThrow("AgentBox runs on");
    expect(await readFile(home.adminKeyFile, "utf8")).toBe("e2b_secret\n");
  });

  test("of a newer version is refused", async () => {
    await stopped();
    await make({ version: "2.0.0" });
    await expect(restore({ home: other() })).rejects.toThrow("it was made by AgentBox 2.0.0, and this is 1.2.3");
    expect(await readdir(folder)).toEqual(["b.tar", "home"]);
  });

  test.each([
    ["a byte of a file is another", (bytes: Buffer) => flipped(bytes, bytes.indexOf("e2b_secret")), "the content of data/keys/admin.key"],
    ["a byte of the manifest is another", (bytes: Buffer) => flipped(bytes, bytes.indexOf('"1.2.3"') + 2), "manifest.json is not what"],
    ["a byte of a header is another", (bytes: Buffer) => flipped(bytes, bytes.indexOf("data/objects.db\0")), "Invalid tar header"],
    ["it ends early", (bytes: Buffer) => bytes.subarray(0, 20_000), "Unexpected end of data"],
    [
      "it ends between two files",
      (bytes: Buffer) => bytes.subarray(0, bytes.indexOf("data/keys/admin.key\0")),
      "ends before data/keys/admin.key",
    ],
    ["it is empty", () => Buffer.alloc(0), "it is empty"],
    ["it is something else", () => Buffer.from("hello".repeat(1000)), "is damaged, or not a backup of AgentBox"],
  ])("says what is wrong and leaves nothing when %s", async (_what, damage, said) => {
    await stopped();
    await make();
    await writeFile(file, damage(await readFile(file)));
    await expect(restore({ home: other() })).rejects.toThrow(said);
    expect(await readdir(folder)).toEqual(["b.tar", "home"]);
  });

  test("replaces objects that cannot be read any more", async () => {
    await stopped();
    await make();
    await chmod(home.dataFile, 0o600);
    await writeFile(home.dataFile, "not a database at all".repeat(100));
    await restore({}, { replace: true });
    expect(await store().get(ConfigMaps, { name: "kept", namespace: "default" })).toMatchObject({ data: { k: "v" } });
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}
