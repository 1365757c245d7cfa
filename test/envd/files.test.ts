import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { fileSignature } from "#envd-protocol/file-signature.ts";
import { startDaemon, type Daemon } from "./daemon.ts";

const token = "the-token";
let daemon: Daemon;
let folder = "";
beforeAll(async () => {
  daemon = await startDaemon({ accessToken: token, defaultUser: "root" });
});
afterAll(() => daemon[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-files-"));
  chmodSync(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const owner = { "x-access-token": token };

function at(path: string, more: Readonly<Record<string, string>> = {}): string {
  return `${daemon.url}/files?${new URLSearchParams({ path, ...more }).toString()}`;
}

async function put(path: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}, query = {}): Promise<Response> {
  return fetch(at(path, query), { method: "POST", headers: { "content-type": "application/octet-stream", ...owner, ...headers }, body });
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(at(path), { headers: { ...owner, "accept-encoding": "identity", ...headers } });
}

test("what is written is read back, with its folders made for the user", async () => {
  const path = join(folder, "a/b/c.txt");
  expect(await (await put(path, "contents", {}, { username: "www-data" })).json()).toEqual([{ name: "c.txt", path, type: "file" }]);
  expect(await (await get(path)).text()).toBe("contents");
  expect([statSync(path).uid, statSync(path).mode & 0o777, statSync(join(folder, "a")).uid]).toEqual([33, 0o644, 33]);
});

test("a file is replaced as a whole, keeps its mode, and is written where a link leads", async () => {
  const path = join(folder, "run.sh");
  writeFileSync(path, "old", { mode: 0o755 });
  symlinkSync(path, join(folder, "link"));
  const before = statSync(path).ino;
  expect((await put(join(folder, "link"), "new")).status).toBe(200);
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(statSync(path).mode & 0o777).toBe(0o755);
  expect(statSync(path).ino).not.toBe(before);
  expect(readdirSync(folder).toSorted()).toEqual(["link", "run.sh"]);
});

test("an upload that breaks off leaves the old file and nothing else", async () => {
  const path = join(folder, "kept");
  writeFileSync(path, "old");
  const stop = new AbortController();
  const body = new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(Buffer.from("half"));
      await new Promise((resolve) => setTimeout(resolve, 50));
      stop.abort();
    },
  });
  const headers = { ...owner, "content-type": "application/octet-stream" };
  await fetch(at(path), { method: "POST", headers, body, duplex: "half", signal: stop.signal }).catch(() => undefined);
  await expect.poll(() => readdirSync(folder)).toEqual(["kept"]);
  expect(readFileSync(path, "utf8")).toBe("old");
});

test("many files come in one form, each by its name with folders; the same one twice is refused", async () => {
  const form = new FormData();
  form.append("file", new Blob(["one"]), join(folder, "x/1"));
  form.append("file", new Blob(["two"]), join(folder, "x/ü 2"));
  form.append("other", "ignored");
  const answer = await fetch(`${daemon.url}/files`, { method: "POST", headers: owner, body: form });
  expect(((await answer.json()) as { path: string }[]).map(({ path }) => path)).toEqual([join(folder, "x/1"), join(folder, "x/ü 2")]);
  expect(readFileSync(join(folder, "x/ü 2"), "utf8")).toBe("two");
  form.append("file", new Blob(["again"]), join(folder, "x/1"));
  expect((await fetch(`${daemon.url}/files`, { method: "POST", headers: owner, body: form })).status).toBe(400);
});

test("gzip goes both ways", async () => {
  const path = join(folder, "zipped");
  expect((await put(path, gzipSync("plain ".repeat(1000)), { "content-encoding": "gzip" })).status).toBe(200);
  expect(readFileSync(path, "utf8")).toBe("plain ".repeat(1000));
  const answer = await get(path, { "accept-encoding": "gzip" });
  expect(answer.headers.get("content-encoding")).toBe("gzip");
  expect(await answer.text()).toBe("plain ".repeat(1000));
  expect((await put(path, "not gzip", { "content-encoding": "gzip" })).status).toBe(400);
  expect((await get(path, { "accept-encoding": "identity;q=0, br" })).status).toBe(406);
});

test("ranges and conditions are kept to", async () => {
  const path = join(folder, "digits");
  writeFileSync(path, "0123456789");
  const part = await get(path, { range: "bytes=2-4" });
  expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([206, "bytes 2-4/10", "234"]);
  expect(await (await get(path, { range: "bytes=-3" })).text()).toBe("789");
  expect((await get(path, { range: "bytes=10-" })).status).toBe(416);
  const whole = await get(path);
  expect((await get(path, { "if-none-match": whole.headers.get("etag") ?? "" })).status).toBe(304);
  expect((await get(path, { "if-modified-since": whole.headers.get("last-modified") ?? "" })).status).toBe(304);
  expect(whole.headers.get("content-disposition")).toBe('inline; filename="digits"');
});

test("metadata is kept with the file, and replaced with it", async () => {
  const path = join(folder, "described");
  const first = await put(path, "x", { "X-Metadata-Author": "me", "x-metadata-b": "2" });
  expect(await first.json()).toEqual([{ name: "described", path, type: "file", metadata: { author: "me", b: "2" } }]);
  await put(path, "x", { "x-metadata-c": "3" });
  const stat = await fetch(`${daemon.url}/filesystem.Filesystem/Stat`, {
    method: "POST",
    headers: { ...owner, "content-type": "application/json" },
    body: JSON.stringify({ path }),
  });
  expect(await stat.json()).toMatchObject({ entry: { path, metadata: { c: "3" } } });
  expect((await put(path, "x", { "x-metadata-long": "v".repeat(5000) })).status).toBe(400);
});

test("a signature opens one path for one operation and for its time", async () => {
  const path = join(folder, "signed");
  writeFileSync(path, "secret");
  const read = fileSignature(token, { path, operation: "read", user: "" });
  const status = async (query: Readonly<Record<string, string>>, init: RequestInit = {}) => (await fetch(at(path, query), init)).status;
  expect(await status({ signature: read })).toBe(200);
  expect(await status({})).toBe(401);
  expect(await status({ signature: `${read}x` })).toBe(401);
  expect(await status({ signature: read, username: "root" })).toBe(401);
  expect(await status({ signature: read }, { method: "POST", body: "x", headers: { "content-type": "application/octet-stream" } })).toBe(
    401,
  );
  const later = Math.floor(Date.now() / 1000) + 100;
  const signed = (expiration: number) => ({
    signature: fileSignature(token, { path, operation: "read", user: "", expiration }),
    signature_expiration: String(expiration),
  });
  expect(await status(signed(later))).toBe(200);
  const expired = await fetch(at(path, signed(1000)));
  expect([expired.status, await expired.json()]).toEqual([401, { code: 401, message: "signature is already expired" }]);
});

test("a signature over no path does not let the names in the body decide what is written", async () => {
  const form = new FormData();
  form.append("file", new Blob(["taken over"]), join(folder, "anywhere"));
  const signature = fileSignature(token, { path: "", operation: "write", user: "" });
  for (const query of [{ signature }, { signature, path: "" }]) {
    const address = `${daemon.url}/files?${new URLSearchParams(query).toString()}`;
    expect((await fetch(address, { method: "POST", body: form })).status).toBe(401);
  }
  expect(existsSync(join(folder, "anywhere"))).toBe(false);
  expect((await fetch(`${daemon.url}/files`, { method: "POST", body: form, headers: owner })).status).toBe(200);
});

test("what cannot be read or written says why", async () => {
  writeFileSync(join(folder, "file"), "");
  execFileSync("sh", ["-c", `mkfifo ${join(folder, "pipe")}`]);
  expect((await get(join(folder, "none"))).status).toBe(404);
  expect((await get(folder)).status).toBe(400);
  expect((await get(join(folder, "pipe"))).status).toBe(400);
  expect((await put(folder, "x")).status).toBe(400);
  expect((await put(join(folder, "file/below"), "x")).status).toBe(400);
  expect((await put(join(folder, "n".repeat(300)), "x")).status).toBe(400);
  expect((await put(join(folder, "x"), "x", {}, { username: "nobody-there" })).status).toBe(401);
  expect((await put(join(folder, "x"), "x", { "content-type": "text/plain" })).status).toBe(400);
});

test("a full disk is told as such, and what was there stays", async () => {
  const mount = join(folder, "small");
  mkdirSync(mount);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", mount]);
  try {
    writeFileSync(join(mount, "old"), "old");
    const answer = await put(join(mount, "old"), Buffer.alloc(3_000_000));
    expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([507, 507]);
    expect(readdirSync(mount)).toEqual(["old"]);
    expect(readFileSync(join(mount, "old"), "utf8")).toBe("old");
  } finally {
    execFileSync("umount", [mount]);
  }
});

test("files are put together in their order, and the parts removed", async () => {
  for (const name of ["1", "2"]) writeFileSync(join(folder, name), `part ${name} `);
  const body = JSON.stringify({ source_paths: [join(folder, "1"), join(folder, "2")], destination: join(folder, "all") });
  const answer = await fetch(`${daemon.url}/files/compose`, { method: "POST", headers: owner, body });
  expect(answer.status).toBe(200);
  expect(readFileSync(join(folder, "all"), "utf8")).toBe("part 1 part 2 ");
  expect(existsSync(join(folder, "1"))).toBe(false);
});

test("without the token nothing is answered but /health, and no later order brings another token", async () => {
  for (const path of ["/envs", "/metrics", "/files?path=/etc/passwd", "/files/compose", "/process.Process/List", "/nothing"]) {
    const answer = await fetch(daemon.url + path, { method: path.startsWith("/process") || path.endsWith("compose") ? "POST" : "GET" });
    expect([path, answer.status]).toEqual([path, 401]);
  }
  const other = daemon.init({ accessToken: "another", defaultUser: "root", envVars: { NEW: "1" } });
  await expect(other).rejects.toThrow('409: {"code":409,"message":"this daemon was armed before');
  expect((await fetch(`${daemon.url}/envs`, { headers: { "x-access-token": "another" } })).status).toBe(401);
  expect(await (await fetch(`${daemon.url}/envs`, { headers: owner })).json()).not.toHaveProperty("NEW");
});
