/** Sandboxes as their users meet them, over HTTP: the same stories for a process of any engine with real containers and a pool `base` of three. */
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { poolOfOne } from "./pool-of-one.ts";

export interface SystemUnderTest extends AsyncDisposable {
  /** Resolves when all of it runs; pods may still be on their way. */
  start(): Promise<void>;
  access(): Promise<{ readonly url: string; readonly apiKey: string }>;
  readonly process: { kill(): Promise<void>; stop(): Promise<void>; interrupt(): Promise<void> };
  readonly client: ObjectClient;
  /** Of its pools. */
  readonly namespace: string;
}

/** Lists the sleeps that run; images need not have more than a shell and grep. */
const sleepers = "cat /proc/[0-9]*/comm 2>/dev/null | grep -x sleep";

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function http(up: SystemUnderTest, method: string, path: string, body?: object): Promise<Answer> {
  const { url, apiKey } = await up.access();
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { "X-API-Key": apiKey, ...(body && { "content-type": "application/json" }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Answer["body"]) };
}

interface Shown {
  readonly sandboxId: string;
  readonly podName: string;
  readonly status: string;
  readonly containerId?: string;
}

interface CreateWish {
  readonly poolName?: string;
  readonly lifetime?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

async function create(up: SystemUnderTest, wish: CreateWish = {}): Promise<Shown> {
  const { poolName = "base" } = wish;
  const { status, body } = await http(up, "POST", "/sandboxes", { ...wish, poolName });
  expect([status, body]).toMatchObject([201, { sandbox: { status: "Running", poolName } }]);
  return body["sandbox"] as Shown;
}

async function shown(up: SystemUnderTest, id: string): Promise<Shown> {
  return (await http(up, "GET", `/sandboxes/${id}`)).body["sandbox"] as Shown;
}

async function run(up: SystemUnderTest, id: string, ...command: readonly string[]): Promise<unknown> {
  const { status, body } = await http(up, "POST", `/sandboxes/${id}/exec`, { command });
  return status === 200 ? body : { status, ...body };
}

async function recordOf(up: SystemUnderTest, id: string): Promise<Shown> {
  await expect.poll(() => shown(up, id), { timeout: 60_000 }).toMatchObject({ terminatedAt: expect.any(String), status: /^(?!Stopping)/ });
  return await shown(up, id);
}

async function listed(up: SystemUnderTest, id: string): Promise<readonly Shown[]> {
  return (await http(up, "GET", `/sandboxes?idPrefix=${id}`)).body["sandboxes"] as readonly Shown[];
}

/** `open`: one that is not started yet. */
export function describeSandboxStories(open: () => Promise<SystemUnderTest>): void {
  test("a sandbox is created, used and deleted, and its record is there after a restart (I3)", async () => {
    await using up = await open();
    await up.start();

    const made = await create(up, { metadata: { ticket: "42" } });
    expect(await run(up, made.sandboxId, "echo", "hi")).toMatchObject({ exitCode: 0, stdout: "hi\n", stderr: "", truncated: false });
    expect(await http(up, "DELETE", `/sandboxes/${made.sandboxId}`)).toMatchObject({ status: 202 });
    const record = await recordOf(up, made.sandboxId);
    expect(record).toMatchObject({ status: "Completed", stopReason: "Completed", metadata: { ticket: "42" } });
    expect(await listed(up, made.sandboxId)).toEqual([record]);
    expect(await run(up, made.sandboxId, "echo", "hi")).toMatchObject({ status: 409, code: "conflict" });

    await up.process.interrupt();
    await up.start();
    expect(await shown(up, made.sandboxId)).toEqual(record);
    expect(await listed(up, made.sandboxId)).toEqual([record]);
    expect(await http(up, "DELETE", `/sandboxes/${made.sandboxId}`)).toMatchObject({ status: 202 });
    expect(await listed(up, made.sandboxId)).toEqual([record]);
  });

  test("a sandbox is there and can be used after kill -9 of the server, and what it wrote goes with it (I2, I11)", async () => {
    await using up = await open();
    await up.start();
    const poolName = await poolOfOne(up);

    const made = await create(up, { poolName });
    expect(await run(up, made.sandboxId, "sh", "-c", "echo mine > /tmp/mine; sleep 987654 > /dev/null 2>&1 &")).toMatchObject({
      exitCode: 0,
    });
    await up.process.kill();
    await up.start();

    const after = await shown(up, made.sandboxId);
    expect(after).toMatchObject({ status: "Running", podName: made.podName });
    expect(await run(up, made.sandboxId, "cat", "/tmp/mine")).toMatchObject({ exitCode: 0, stdout: "mine\n" });
    expect(await run(up, made.sandboxId, "sh", "-c", sleepers)).toMatchObject({ exitCode: 0 });
    expect(await http(up, "DELETE", `/sandboxes/${made.sandboxId}`)).toMatchObject({ status: 202 });
    const record = await recordOf(up, made.sandboxId);
    expect(await listed(up, made.sandboxId)).toMatchObject([{ status: "Completed", containerId: record.containerId }]);

    const next = await create(up, { poolName });
    expect(next.podName).toBe(made.podName);
    expect(await run(up, next.sandboxId, "sh", "-c", `ls /tmp/mine || ${sleepers}`)).toMatchObject({ exitCode: 1, stdout: "" });
  });

  test("a sandbox ends at its end time by itself, also when the server was killed meanwhile", async () => {
    await using up = await open();
    await up.start();
    const [soon, later] = [await create(up, { lifetime: "1s" }), await create(up, { lifetime: "4s" })];
    const ended = { status: "Released", failureReason: "MaxLifetime" };
    expect(await recordOf(up, soon.sandboxId)).toMatchObject(ended);
    await up.process.kill();
    await up.start();
    expect(await recordOf(up, later.sandboxId)).toMatchObject(ended);
  });

  test("a person at a terminal in a sandbox sees what is typed run, and how it ends", async () => {
    await using up = await open();
    await up.start();
    const { sandboxId } = await create(up);
    let seen = "";
    const onOutput = (bytes: Uint8Array): void => void (seen += Buffer.from(bytes).toString());
    const { sandboxes } = new AgentBoxClient(await up.access());
    const terminal = await sandboxes.terminal(sandboxId, { rows: 33, cols: 99 }, { onOutput });
    terminal.type("stty size\n");
    await expect.poll(() => seen).toContain("33 99");
    terminal.resize(44, 111);
    terminal.type("stty size; exit 5\n");
    expect(await terminal.ended).toMatchObject({ exitCode: 5 });
    expect(seen).toContain("44 111");
  });

  test("creates that wait are answered when the server ends, and leave nothing behind (I9)", async () => {
    await using up = await open();
    await up.start();
    await Promise.all([create(up), create(up), create(up)]);
    const waiting = http(up, "POST", "/sandboxes", { poolName: "base" });
    const waits = async (): Promise<unknown> => (await up.client.get(SandboxPools, { namespace: up.namespace, name: "base" })).status;
    await expect.poll(waits).toMatchObject({ pendingRequests: 1 });
    await up.process.stop();
    expect(await waiting).toMatchObject({ status: 429, body: { code: "no_capacity" } });
    await up.start();
    expect((await http(up, "GET", "/sandboxes")).body["sandboxes"]).toHaveLength(3);
  });
}
