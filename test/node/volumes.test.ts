/** Volumes over HTTP, through services and node, with real containers: shared, read-only, full, over kill -9, deleted; and what a volume cannot reach. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { SandboxWish } from "#client/sandbox-types.ts";
import { UpProcess } from "../world/up-process.ts";

let up: UpProcess;
let client: AgentBoxClient;
let url: string;

async function open(): Promise<void> {
  await up.start();
  const access = await up.access();
  url = access.url;
  client = new AgentBoxClient(access);
}

beforeAll(async () => {
  up = await UpProcess.onNewFolder();
  await open();
}, 300_000);

afterAll(async () => {
  await up[Symbol.asyncDispose]();
}, 120_000);

type Mounts = NonNullable<SandboxWish["volumeMounts"]>;

async function sandboxWith(...volumeMounts: Mounts): Promise<string> {
  const { sandbox } = await client.sandboxes.create({ poolName: "base", lifetime: "1h", volumeMounts });
  return sandbox.sandboxId;
}

async function sh(id: string, script: string, user?: string): Promise<string> {
  const { exitCode, stdout, stderr } = await client.sandboxes.exec(id, {
    command: ["sh", "-c", script],
    ...(user === undefined ? {} : { user }),
  });
  return exitCode === 0 ? stdout.trim() : `exit ${exitCode}: ${stderr.trim()}`;
}

async function clientOf(team: string): Promise<AgentBoxClient> {
  return new AgentBoxClient({ url, apiKey: (await client.keys.create({ team })).key });
}

/** The files of a volume over E2B's API. */
async function content(volume: string, line: string, body?: string | Uint8Array<ArrayBuffer>, token?: string): Promise<Response> {
  const { id, token: own } = await client.volumes.get(volume);
  const [method = "GET", path = ""] = line.split(" ");
  const headers = {
    authorization: `Bearer ${token ?? own}`,
    ...(body === undefined ? {} : { "content-type": "application/octet-stream" }),
  };
  return fetch(`${url}/volumecontent/${id}/${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
}

const imageOf = (uidLess: string): string[] => readdirSync(join(up.home, "volumes")).filter((name) => name.endsWith(uidLess));

const patience = { timeout: 300_000 };

describe("a volume", () => {
  test("is shared by sandboxes that run, outlives them, and is read-only where that is asked for", patience, async () => {
    await client.volumes.create({ name: "shared", sizeMiB: 64 });
    const [first, second] = [
      await sandboxWith({ name: "shared", path: "/mnt/data" }),
      await sandboxWith({ name: "shared", path: "/srv/deep/er" }),
    ];
    expect(await sh(first, "echo one > /mnt/data/a && id -u && stat -c %u:%a /mnt/data")).toBe("0\n0:777");
    expect(await sh(second, "cat /srv/deep/er/a && echo two > /srv/deep/er/b")).toBe("one");
    expect(await sh(first, "cat /mnt/data/b")).toBe("two");
    expect(await sh(first, "stat -c %u /mnt/data/b && stat -c %u:%a /mnt")).toMatch(/^0\n0:755$/);
    const reader = await sandboxWith({ name: "shared", path: "/mnt/data", readOnly: true });
    expect(await sh(reader, "cat /mnt/data/a; echo x > /mnt/data/c")).toContain("Read-only file system");
    expect(await sh(reader, "mount -o remount,rw /mnt/data")).toMatch(/^exit/);
    expect(await sh(first, "chmod u+s /mnt/data/a; mknod /mnt/data/null c 1 3; grep ' /mnt/data ' /proc/self/mountinfo")).toMatch(
      /nosuid,nodev/,
    );

    const { sandbox } = await client.sandboxes.get(first).then((one) => ({ sandbox: one }));
    expect(sandbox.volumeMounts).toEqual([{ name: "shared", path: "/mnt/data", readOnly: false }]);
    expect((await client.volumes.get("shared")).mountedBy.toSorted()).toEqual([first, second, reader].toSorted());
    await expect(client.volumes.remove("shared")).rejects.toThrow(/mounted by/);
    const pod = sandbox.podName;
    for (const id of [first, second, reader]) await client.sandboxes.end(id);
    const gone = await up.podsWhen((pods) => pods.every(({ metadata }) => metadata.name !== pod), 60_000);
    expect(
      gone.map(({ metadata }) => metadata.name),
      "its pod is replaced",
    ).not.toContain(pod);
    expect((await client.sandboxes.get(first)).volumeMounts, "in the history").toEqual([
      { name: "shared", path: "/mnt/data", readOnly: false },
    ]);
    const later = await sandboxWith({ name: "shared", path: "/mnt/data" });
    expect(await sh(later, "cat /mnt/data/a /mnt/data/b")).toBe("one\ntwo");
    await client.sandboxes.end(later);
  });

  test("that is full is full for its sandboxes alone; deleting it gives the room back", patience, async () => {
    await client.volumes.create({ name: "small", sizeMiB: 24 });
    const before = imageOf(".img").length;
    const id = await sandboxWith({ name: "small", path: "/mnt/small" });
    expect(await sh(id, "head -c 60000000 /dev/zero > /mnt/small/big")).toContain("No space left on device");
    expect(await sh(id, "echo fine > /tmp/elsewhere && cat /tmp/elsewhere")).toBe("fine");
    const { usedMiB = 0 } = await client.volumes.get("small");
    expect(usedMiB).toBeGreaterThan(15);
    await client.volumes.remove("small", { force: true });
    expect(imageOf(".img")).toHaveLength(before - 1);
    await expect(client.volumes.get("small")).rejects.toThrow("there is no volume");
    expect(await sh(id, "rm /mnt/small/big && echo still > /mnt/small/x && cat /mnt/small/x"), "its sandbox keeps it").toBe("still");
    await client.sandboxes.end(id);
  });

  test("is there over kill -9 of the server, also in sandboxes that run on, and in a paused one", patience, async () => {
    await client.volumes.create({ name: "kept", sizeMiB: 32 });
    const id = await sandboxWith({ name: "kept", path: "/mnt/kept" });
    await sh(id, "echo before > /mnt/kept/f");
    await client.sandboxes.pause(id);
    await up.process.kill();
    await open();
    await client.sandboxes.resume(id);
    expect(await sh(id, "echo after >> /mnt/kept/f && cat /mnt/kept/f")).toBe("before\nafter");
    expect(await (await content("kept", "GET file?path=/f")).text()).toBe("before\nafter\n");
    const other = await sandboxWith({ name: "kept", path: "/mnt/kept" });
    expect(await sh(other, "cat /mnt/kept/f")).toBe("before\nafter");
    await client.sandboxes.end(id);
    await client.sandboxes.end(other);
  });

  test("is not in a checkpoint, is shared by the children of a fork, and comes into a container that is exchanged", patience, async () => {
    await client.volumes.create({ name: "forked", sizeMiB: 32 });
    const id = await sandboxWith({ name: "forked", path: "/mnt/data" });
    await sh(id, "echo volume > /mnt/data/f && echo file > /root/f");
    const checkpoint = await client.checkpoints.take(id, {});
    const plain = (await client.sandboxes.create({ poolName: checkpoint.id, lifetime: "1h" })).sandbox.sandboxId;
    expect(await sh(plain, "cat /root/f; ls -A /mnt/data")).toBe("file");
    const again = await client.sandboxes.create({
      poolName: checkpoint.id,
      lifetime: "1h",
      volumeMounts: [{ name: "forked", path: "/mnt/data" }],
    });
    expect(await sh(again.sandbox.sandboxId, "cat /root/f /mnt/data/f")).toBe("file\nvolume");
    const { sandboxes, failures } = await client.checkpoints.fork(id, { count: 2 });
    expect(failures).toEqual([]);
    const [child = "", other = ""] = sandboxes.map(({ sandbox }) => sandbox.sandboxId);
    await sh(child, "echo child > /mnt/data/child && echo own > /root/own");
    expect(await sh(other, "cat /mnt/data/child; ls /root/own")).toMatch(/^exit 2/);
    expect(await sh(id, "cat /mnt/data/child")).toBe("child");
    for (const one of [id, plain, again.sandbox.sandboxId, child, other]) await client.sandboxes.end(one);
  });

  test("is no other team's, by name, by id or by token", patience, async () => {
    const [red, blue] = [await clientOf("red"), await clientOf("blue")];
    const mine = await red.volumes.create({ name: "secret", sizeMiB: 16 });
    expect(await blue.volumes.list()).toEqual([]);
    for (const name of [mine.id, "secret"]) {
      await expect(blue.volumes.get(name)).rejects.toThrow("there is no volume");
      await expect(blue.volumes.remove(name)).rejects.toThrow("there is no volume");
      await expect(blue.sandboxes.create({ poolName: "base", volumeMounts: [{ name, path: "/mnt/x" }] })).rejects.toThrow(
        "there is no volume",
      );
    }
    const theirs = await blue.volumes.create({ name: "secret", sizeMiB: 16 });
    expect(theirs.id).not.toBe(mine.id);
    const statuses = await Promise.all(
      [theirs.token, "", "x".repeat(mine.token.length)].map(async (token) => {
        const answer = await fetch(`${url}/volumecontent/${mine.id}/dir?path=/`, { headers: { authorization: `Bearer ${token}` } });
        return answer.status;
      }),
    );
    expect(statuses).toEqual([401, 401, 401]);
    await red.volumes.remove("secret");
    const again = await red.volumes.create({ name: "secret", sizeMiB: 16 });
    expect(again.token, "of a volume that was made again").not.toBe(mine.token);
    await red.volumes.remove("secret");
    await blue.volumes.remove("secret");
  });
});

test("every bad mount is told in one answer", patience, async () => {
  await client.volumes.create({ name: "fine", sizeMiB: 16 });
  const bad = [
    { name: "fine", path: "/" },
    { name: "fine", path: "relative" },
    { name: "fine", path: "/proc/self" },
    { name: "fine", path: "/.envd/x" },
    { name: "fine", path: "/mnt/../etc" },
    { name: "none", path: "/mnt/none" },
    { name: "fine", path: "/mnt/a" },
    { name: "fine", path: "/mnt/a/b" },
  ];
  const error: unknown = await client.sandboxes.create({ poolName: "base", volumeMounts: bad }).catch((thrown: unknown) => thrown);
  const message = String(error);
  for (const index of [0, 1, 2, 3, 4, 5, 7]) expect(message).toContain(`volumeMounts[${index}]`);
  expect(message).not.toContain("volumeMounts[6].name");
  await client.volumes.remove("fine");
});

describe("over the content API", () => {
  test("files come and go as E2B's SDKs send them, and nothing leads out of the volume", patience, async () => {
    await client.volumes.create({ name: "content", sizeMiB: 32 });
    const json = async (answer: Promise<Response>): Promise<readonly [number, unknown]> => {
      const got = await answer;
      const text = await got.text();
      return [got.status, text === "" ? undefined : (JSON.parse(text) as unknown)];
    };
    expect(await json(content("content", "PUT file?path=/a.txt&mode=420&uid=1000&gid=1000", "hello"))).toMatchObject([
      201,
      { name: "a.txt", type: "file", path: "/a.txt", size: 5, mode: 0o644, uid: 1000, gid: 1000 },
    ]);
    expect(await json(content("content", "PUT file?path=/a.txt&force=false", "again"))).toMatchObject([409, {}]);
    expect(await json(content("content", "PUT file?path=/no/such/a.txt", "x"))).toMatchObject([404, {}]);
    expect(await json(content("content", "POST dir?path=/x/y/z"))).toMatchObject([404, {}]);
    expect(await json(content("content", "POST dir?path=/x/y/z&force=true"))).toMatchObject([201, { type: "directory", path: "/x/y/z" }]);
    expect(await json(content("content", "PUT file?path=/x/y/b", new Uint8Array(3_000_000)))).toMatchObject([201, { size: 3_000_000 }]);
    const [, listed] = await json(content("content", "GET dir?path=/&depth=3"));
    expect((listed as { path: string }[]).map(({ path }) => path)).toEqual(["/a.txt", "/x", "/x/y", "/x/y/b", "/x/y/z"]);
    expect(await json(content("content", "PUT file?path=/huge", new Uint8Array(40_000_000)))).toMatchObject([
      413,
      { message: expect.stringContaining("full") },
    ]);
    expect(await json(content("content", "GET path?path=/huge"))).toMatchObject([404, {}]);
    expect(await json(content("content", "GET path?path=/../etc/passwd"))).toMatchObject([400, {}]);

    const id = await sandboxWith({ name: "content", path: "/mnt/c" });
    await sh(
      id,
      "cd /mnt/c && ln -s /etc/passwd abs && ln -s ../../../../../../etc/passwd rel && ln -s / top && ln -s /proc/self/root/etc/shadow proc && mkfifo pipe && ln -s /x inside",
    );
    for (const name of ["abs", "rel", "proc", "top/etc/passwd"])
      expect([name, (await content("content", `GET file?path=/${name}`)).status]).toEqual([name, 404]);
    expect((await content("content", "GET file?path=/pipe")).status).toBe(409);
    expect(await json(content("content", "GET path?path=/abs"))).toMatchObject([200, { type: "symlink", target: "/etc/passwd" }]);
    expect(await json(content("content", "GET path?path=/inside/y/b"))).toMatchObject([200, { size: 3_000_000 }]);
    expect(await json(content("content", "PUT file?path=/abs", "replaced"))).toMatchObject([201, { type: "file" }]);
    expect((await content("content", "DELETE path?path=/rel")).status).toBe(204);
    expect((await content("content", "DELETE path?path=/x")).status).toBe(204);
    expect((await content("content", "DELETE path?path=/")).status).toBe(400);
    expect(await sh(id, "ls -A /mnt/c | sort | tr '\\n' ' '")).toBe("a.txt abs inside pipe proc top");
    expect(statSync("/etc/passwd").size).toBeGreaterThan(0);
    expect(existsSync("/etc/shadow")).toBe(true);
    await client.sandboxes.end(id);
  });
});

test("a link in the sandbox's image is no way to mount elsewhere, and its pod is not kept", patience, async () => {
  await client.volumes.create({ name: "linked", sizeMiB: 16 });
  // /bin is a link of the image `host` to /usr/bin.
  await expect(sandboxWith({ name: "linked", path: "/bin/deep" })).rejects.toThrow("is a symbolic link");
  expect((await client.volumes.get("linked")).mountedBy).toEqual([]);
});
