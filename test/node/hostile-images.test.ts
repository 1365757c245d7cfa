/** Images that attack, on `agentbox up`: a registry that leads elsewhere, private images by their digest, layers of zeros. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { isClientError } from "#client/client-error.ts";
import { Secrets } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { FakeRegistry, pullSecret } from "../world/fake-registry.ts";
import { imageOf } from "../world/image-fixture.ts";
import { layerOf } from "../world/layer-archive.ts";
import { UpProcess } from "../world/up-process.ts";

const program = { name: "bin/busybox", mode: 0o755, content: readFileSync("/usr/bin/busybox") };
const shell = [
  { name: "bin/" },
  { name: "tmp/", mode: 0o1777 },
  program,
  { name: "bin/cat", type: "symlink" as const, linkName: "busybox" },
];
const app = imageOf([shell, [{ name: "etc/word", content: "for the pool" }]]);
const other = imageOf([shell, [{ name: "etc/word", content: "for another team" }]]);
const mib = 1024 ** 2;
const plain = "the registry cannot be reached or is not allowed";

const parts = new AsyncDisposableStack();
/** Named in the settings; wants a password. */
let owned: FakeRegistry;
/** Not named. */
let hostile: FakeRegistry;
let up: UpProcess;
let tenant: AgentBoxClient;
let admin: AgentBoxClient;

beforeAll(async () => {
  owned = parts.use(await FakeRegistry.start({ users: { ann: "secret" }, scheme: "bearer" }));
  hostile = parts.use(await FakeRegistry.start());
  owned.add("team/app", "1", app);
  owned.add("team/other", "1", other);
  up = parts.use(await UpProcess.onNewFolder([]));
  writeFileSync(join(up.home, "registries.json"), JSON.stringify({ private: [owned.host] }));
  await up.start();
  const access = await up.access();
  admin = new AgentBoxClient(access);
  tenant = new AgentBoxClient({ ...access, apiKey: (await admin.keys.create({ role: "tenant", team: "red" })).key });
  const config = Buffer.from(pullSecret({ [owned.host]: ["ann", "secret"] })).toString("base64");
  const secret = { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": config } };
  await up.client.create(Secrets, { metadata: { namespace: up.namespace, name: "pull" }, ...secret });
  await pool("open", "host");
  await pool("closed", `${owned.host}/team/app:1`, { imagePullSecrets: [{ name: "pull" }] });
}, 120_000);
afterAll(() => parts.disposeAsync());

async function pool(name: string, image: string, more: object = {}): Promise<void> {
  const spec = { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image }], ...more };
  await up.client.create(SandboxPools, {
    metadata: { namespace: up.namespace, name },
    spec: { replicas: 1, podCreationImagePolicy: "PoolDefaultImage", template: { spec } },
  });
}

/** What a sandbox of the image says, or why there is none. */
async function word(who: AgentBoxClient, poolName: string, image?: string): Promise<string> {
  try {
    const { sandbox } = await who.sandboxes.create({ poolName, ...(image === undefined ? {} : { image }) });
    const { stdout } = await who.sandboxes.exec(sandbox.sandboxId, { command: ["cat", "/etc/word"] });
    await who.sandboxes.end(sandbox.sandboxId);
    return stdout;
  } catch (error) {
    if (!isClientError(error)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

test("a registry that is not named is not asked, and says nothing about its port", async () => {
  const [, port = ""] = hostile.host.split(":");
  const names = [`127.0.0.1:${port}`, `localhost:${port}`, `127.1:${port}`, `2130706433:${port}`, `[::ffff:7f00:1]:${port}`];
  const listening = await Promise.all(names.map((host) => word(tenant, "open", `${host}/x/y:1`)));
  const silent = await word(tenant, "open", "127.0.0.1:1/x/y:1");
  expect(silent).toBe(`image_unavailable: the manifest of 127.0.0.1:1/x/y:1: ${plain}`);
  for (const [index, told] of listening.entries()) expect(told.replace(names[index] ?? "", "127.0.0.1:1")).toBe(silent);
  expect(hostile.requests).toEqual([]);
}, 60_000);

test("a registry that is named cannot lead to one that is not", async () => {
  owned.fault = ({ path }) =>
    path.includes("/lure/") ? { status: 307, headers: { location: `http://${hostile.host}/secret` } } : undefined;
  expect(await word(tenant, "open", `${owned.host}/lure/x:1`)).toContain(plain);
  const realm = `Bearer realm="http://${hostile.host}/token"`;
  owned.fault = ({ path }) => (path.includes("/lure/") ? { status: 401, headers: { "www-authenticate": realm } } : undefined);
  expect(await word(tenant, "open", `${owned.host}/lure/y:1`)).toContain(plain);
  owned.fault = () => undefined;
  expect(hostile.requests).toEqual([]);
  expect(readFileSync(join(up.home, "logs", "agentbox.log"), "utf8")).toContain(hostile.host);
}, 60_000);

test("a private image runs for its pool, and by its digest for nobody who may not see it", async () => {
  expect(await word(tenant, "closed")).toBe("for the pool");
  expect(await word(tenant, "closed", `${owned.host}/team/app@${app.digest}`)).toBe("for the pool");
  // An admin brings the other one to this machine.
  expect(await word(admin, "closed", `${owned.host}/team/other@${other.digest}`)).toBe("for another team");
  expect(await word(tenant, "open", `${owned.host}/team/app@${app.digest}`)).toMatch(/^image_unavailable: .*answered 401/);
  expect(await word(tenant, "closed", `${owned.host}/team/other@${other.digest}`)).toMatch(
    /^image_unavailable: .*answered 401.*; the pool's pull secrets are not for this repository$/,
  );
}, 120_000);

test("five layers of zeros are refused, and take next to nothing of the disk", async () => {
  const zeros = Array.from({ length: 5 }, (_, index) => layerOf([{ name: `zeros${index}`, content: Buffer.alloc(80 * mib) }]));
  await using open = await FakeRegistry.start();
  open.add("zeros", "1", imageOf(zeros));
  writeFileSync(join(up.home, "registries.json"), JSON.stringify({ private: [owned.host, open.host] }));
  const images = join(up.home, "images");
  const used = (): number => Number(execFileSync("du", ["-sB1", images], { encoding: "utf8" }).split("\t")[0]);
  const before = used();
  const { stderr, code } = await up.agentbox("image", "pull", `${open.host}/zeros:1`);
  expect(stderr).toMatch(/it unpacks to more than the \d+ bytes that are allowed for its size/);
  expect(code).toBe(1);
  expect(used() - before).toBeLessThan(4 * mib);
}, 120_000);
