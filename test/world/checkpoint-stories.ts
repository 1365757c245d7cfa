/** Checkpoints of real sandboxes, on every engine that takes them: what is in them, and what sandboxes from them have. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Said } from "./run-cli.ts";

export interface CheckpointWorld extends AsyncDisposable {
  access(): Promise<{ readonly url: string; readonly apiKey: string }>;
  agentbox(...args: readonly string[]): Promise<Said>;
}

export interface CheckpointEngine<W extends CheckpointWorld> {
  /** With a pool `base` of four places. */
  readonly open: () => Promise<W>;
  /** Whether sockets, holes of files and nanoseconds come back. A layer has no form for the first, node runtimes fill the second, and our archives round the third. */
  readonly keepsAll: boolean;
  /** Images of checkpoints that are there. */
  readonly images: (world: W) => Promise<number>;
}

/** Everything that a folder can hold, made by root of the sandbox; and what a layer says of the files below it. */
const oddTree = `
import os, socket
os.makedirs("/opt/odd/deep/er", exist_ok=True)
os.chdir("/opt/odd")
def put(name, text="x", mode=0o644, uid=0, gid=0):
    with open(name, "w") as file: file.write(text)
    os.chown(name, uid, gid); os.chmod(name, mode)
put("plain", "plain"); put("setuid", "s", 0o4755); put("sticky", "t", 0o1600, 1000, 1000); put("foreign", "f", 0o640, 12345, 54321)
put("deep/er/\\u00fc\\u4e2d file", "unicode"); put("empty", "")
os.link("plain", "hard"); os.symlink("plain", "soft"); os.symlink("/no/where", "dangling")
os.lchown("soft", 1000, 1000)
os.mkfifo("fifo", 0o620)
if KEEPS_ALL: listening = socket.socket(socket.AF_UNIX); listening.bind("socket")
os.setxattr("plain", "user.note", b"kept \\x00 bytes")
try: os.setxattr("setuid", "security.capability", bytes.fromhex("0100000202040000000000000000000000000000"))
except OSError as error: print("no capability:", error)
with open("sparse", "wb") as file:
    file.seek(1 << 30 if KEEPS_ALL else 1 << 22); file.write(b"end")
os.utime("plain", ns=(1_500_000_000_123_456_789, 1_500_000_000_987_654_321))
os.mkdir("closed", 0o711); os.utime("closed", (1, 1))
os.remove("/etc/hostname.old") if os.path.exists("/etc/hostname.old") else None
os.remove("/etc/skel/.bashrc") if os.path.exists("/etc/skel/.bashrc") else None
import shutil
shutil.rmtree("/etc/skel", ignore_errors=True); os.mkdir("/etc/skel"); put("/etc/skel/mine", "mine")
for name in ("/usr/bin/apt", "/usr/bin/who"):
    if os.path.exists(name): os.remove(name)
put("/usr/local/bin/added", "#!/bin/sh\\necho added\\n", 0o755)
put("/home/user/note", "of the user", 0o600, 1000, 1000)
`;

const fingerprint = `
import hashlib, json, os, stat
def describe(path):
    s = os.lstat(path)
    kind = stat.S_IFMT(s.st_mode)
    facts = [path, oct(s.st_mode), s.st_uid, s.st_gid, s.st_mtime_ns if KEEPS_ALL else round(s.st_mtime_ns / 1e7)]
    if not stat.S_ISDIR(kind): facts.append(s.st_nlink)
    if stat.S_ISLNK(kind): facts.append(os.readlink(path))
    if stat.S_ISREG(kind):
        facts += [s.st_size, KEEPS_ALL and s.st_blocks * 512 < s.st_size + 4096]
        if s.st_size < 1 << 20: facts.append(hashlib.sha256(open(path, "rb").read()).hexdigest())
    facts += [[name, os.getxattr(path, name, follow_symlinks=False).hex()] for name in sorted(os.listxattr(path, follow_symlinks=False))]
    return facts
found = []
for root in ("/opt", "/etc/skel", "/home", "/usr/local/bin", "/root"):
    found.append(describe(root))
    for folder, folders, files in os.walk(root):
        found += [describe(os.path.join(folder, name)) for name in sorted(folders + files)]
print(json.dumps([found, os.path.exists("/usr/bin/apt"), os.path.exists("/usr/bin/who"), sorted(os.listdir("/etc"))]))
`;

export interface Taken {
  readonly id: string;
  readonly phase: string;
}

/** As much of every answer as the cases read. */
export interface Answer {
  readonly sandbox?: { readonly sandboxId: string; readonly containerImages: object };
  readonly checkpoint?: Taken;
  readonly checkpoints?: readonly Taken[];
  /** Of a list, or of a fork. */
  readonly sandboxes?: readonly { readonly sandboxId?: string; readonly sandbox?: { readonly sandboxId: string } }[];
  readonly failures?: readonly object[];
  readonly field?: string;
}

export const none: Taken = { id: "", phase: "" };

export class CheckpointApi {
  readonly #world: CheckpointWorld;

  constructor(world: CheckpointWorld) {
    this.#world = world;
  }

  async ask(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: Answer }> {
    const { url, apiKey } = await this.#world.access();
    const headers = { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const answer = await fetch(`${url}/v1${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Answer) };
  }

  async sandboxFrom(poolName: string): Promise<string> {
    const { status, body } = await this.ask("POST", "/sandboxes", { poolName, lifetime: "10m" });
    if (status !== 201 || body.sandbox === undefined) throw new Error(`no sandbox from ${poolName}: ${status} ${JSON.stringify(body)}`);
    return body.sandbox.sandboxId;
  }
}

export function describeCheckpointStories<W extends CheckpointWorld>({ open, keepsAll, images }: CheckpointEngine<W>): void {
  describe("a checkpoint", () => {
    let up: W;
    let api: CheckpointApi;
    beforeAll(async () => {
      up = await open();
      api = new CheckpointApi(up);
    }, 120_000);
    // A pool of one machine grows, one of a cluster is as large as it was made.
    afterEach(async () => {
      const { sandboxes: running = [] } = (await api.ask("GET", "/sandboxes?status=Running")).body;
      for (const { sandboxId = "" } of running) await api.ask("DELETE", `/sandboxes/${sandboxId}`);
    });
    afterAll(() => up[Symbol.asyncDispose]());

    const ask: CheckpointApi["ask"] = (...args) => api.ask(...args);
    const sandboxFrom = (name: string): Promise<string> => api.sandboxFrom(name);
    const python = (id: string, program: string) =>
      up.agentbox("exec", id, "--user", "root", "--", "python3", "-c", `KEEPS_ALL = ${keepsAll ? "True" : "False"}\n${program}`);

    test("holds every odd file as it was, and a sandbox made from it has them", async () => {
      const id = await sandboxFrom("base");
      expect(await python(id, oddTree)).toMatchObject({ code: 0, stderr: "" });
      const before = await python(id, fingerprint);
      const { status, body } = await ask("POST", `/sandboxes/${id}/checkpoints`, { alias: "odd:v1" });
      expect(body).toMatchObject({ checkpoint: { phase: "Succeeded", sandboxId: id, alias: "odd:v1" } });
      expect(status).toBe(201);
      expect((await python(id, fingerprint)).stdout, "the sandbox goes on as it was").toBe(before.stdout);

      for (const from of [body.checkpoint?.id ?? "", "odd:v1", "odd"]) {
        const child = await sandboxFrom(from);
        const after = await python(child, fingerprint);
        expect(JSON.parse(after.stdout)).toEqual(JSON.parse(before.stdout));
        expect((await up.agentbox("exec", child, "--", "added")).stdout).toBe("added\n");
        await ask("DELETE", `/sandboxes/${child}`);
      }
      expect(await ask("DELETE", "/checkpoints/odd")).toMatchObject({ status: 204 });
      expect(await ask("DELETE", "/checkpoints/odd")).toMatchObject({ status: 404 });
      await expect.poll(() => images(up), { timeout: 30_000 }).toBe(0);
    });

    test("of a sandbox made from a checkpoint says so, and holds what both changed", async () => {
      const id = await sandboxFrom("base");
      await up.agentbox("exec", id, "--", "sh", "-c", "echo one > ~/one; echo gone > ~/gone");
      const first = (await ask("POST", `/sandboxes/${id}/checkpoints`, {})).body.checkpoint ?? none;
      const child = await sandboxFrom(first.id);
      await up.agentbox("exec", child, "--", "sh", "-c", "echo two > ~/two; rm ~/gone");
      const second = (await ask("POST", `/sandboxes/${child}/checkpoints`, {})).body.checkpoint ?? none;
      expect(second).toMatchObject({ phase: "Succeeded", parent: first.id });
      // Its files are in the second one.
      expect(await ask("DELETE", `/checkpoints/${first.id}`)).toMatchObject({ status: 204 });
      const grandchild = await sandboxFrom(second.id);
      expect((await up.agentbox("exec", grandchild, "--", "sh", "-c", "cd; cat one two; ls")).stdout).toBe("one\ntwo\none\ntwo\n");
      const { containerImages = {} } = (await ask("GET", `/sandboxes/${grandchild}`)).body.sandbox ?? {};
      expect(Object.values(containerImages)).toEqual([expect.stringContaining(second.id)]);
    });

    test("of several children at once is one image; each child has the files, and none sees another's", async () => {
      const id = await sandboxFrom("base");
      await up.agentbox("exec", id, "--", "sh", "-c", "echo parent > ~/note");
      const { status, body } = await ask("POST", `/sandboxes/${id}/fork`, { count: 3 });
      expect([status, body.sandboxes?.length, body.failures]).toEqual([201, 3, []]);
      const ids = (body.sandboxes ?? []).map(({ sandbox }) => sandbox?.sandboxId ?? "");
      expect(new Set([id, ...ids]).size).toBe(4);
      for (const child of ids) {
        expect((await up.agentbox("exec", child, "--", "sh", "-c", "cat ~/note; echo child > ~/note")).stdout).toBe("parent\n");
      }
      expect((await up.agentbox("exec", id, "--", "sh", "-c", "cat ~/note")).stdout).toBe("parent\n");
      expect((await ask("GET", "/checkpoints?purpose=fork")).body.checkpoints).toEqual([]);
    });

    test("is not taken with memory, and the answer says why", async () => {
      const id = await sandboxFrom("base");
      const { status, body } = await ask("POST", `/sandboxes/${id}/checkpoints`, { memory: true });
      expect([status, body.field]).toEqual([501, "memory"]);
    });
  });
}
