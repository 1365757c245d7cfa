/** AgentBox on a cluster as it is really run: each part in processes of its own, on a real API server. */
import { expect, test } from "vitest";
import { Leases } from "#model/core-kinds.ts";
import { ClusterScene } from "../world/cluster-scene.ts";
import { eventually } from "../world/eventually.ts";
import type { ServeProcess } from "../world/serve-process.ts";

interface Created {
  readonly sandbox: { readonly sandboxId: string };
}

async function idle(scene: ClusterScene, count: number): Promise<void> {
  await eventually(async () => expect((await scene.pool("py")).status).toMatchObject({ replicas: count, idleReplicas: count }));
}

async function create(scene: ClusterScene, key: string, api: string): Promise<string> {
  const { status, json, text } = await scene.ask(key, `POST ${api}/v1/sandboxes`, { poolName: "py" });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return (json as Created).sandbox.sandboxId;
}

async function leader(processes: readonly ServeProcess[]): Promise<ServeProcess> {
  await eventually(() => expect(processes.some((process) => process.has("controllers run"))).toBe(true));
  return processes.find((process) => process.has("controllers run")) as ServeProcess;
}

test("a leader that is killed is followed within 20 s, and every sandbox has its record", async () => {
  await using scene = await ClusterScene.open();
  const [api, one, other] = [scene.serve("api"), scene.serve("controllers"), scene.serve("controllers")];
  const address = await api.api();
  const key = await scene.adminKey();
  await scene.createPool("py", 4);
  await idle(scene, 4);
  const ids = [await create(scene, key, address), await create(scene, key, address)];
  const first = await leader([one, other]);
  const second = first === one ? other : one;
  await second.says("agentbox is ready");
  first.signal("SIGKILL");
  const killedAt = performance.now();
  // No process leads now; the API alone answers requests.
  ids.push(await create(scene, key, address));
  for (const id of ids) expect((await scene.ask(key, `DELETE ${address}/v1/sandboxes/${id}`)).status).toBe(202);
  await second.says("controllers run");
  expect(performance.now() - killedAt).toBeLessThan(20_000);
  for (const id of ids) {
    const seen = async (): Promise<unknown> => (await scene.ask(key, `GET ${address}/v1/sandboxes/${id}`)).json;
    await eventually(async () => expect(await seen()).toMatchObject({ sandbox: { sandboxId: id, status: "Completed" } }));
  }
  await idle(scene, 4);
  // One that is told to end gives the lease back.
  const third = scene.serve("controllers");
  await third.says("agentbox is ready");
  second.signal("SIGTERM");
  const toldAt = performance.now();
  await third.says("controllers run");
  expect(performance.now() - toldAt).toBeLessThan(8_000);
  expect(await second.ended()).toBe(0);
});

test("API processes and controllers are exchanged under load, and whoever asks once more has a sandbox that nobody else has", async () => {
  await using scene = await ClusterScene.open();
  const controllers = scene.serve("controllers");
  const serving = [scene.serve("api"), scene.serve("api")];
  const addresses = await Promise.all(serving.map((process) => process.api()));
  const key = await scene.adminKey();
  await scene.createPool("py", 12);
  await idle(scene, 12);
  const made: string[] = [];
  let again = 0;
  const user = async (turn: number): Promise<void> => {
    // A balancer that does not know yet sends half of the requests to the ending process.
    for (let tries = 0; tries < 2; tries++) {
      const address = addresses[(turn + tries) % addresses.length] ?? "";
      const answer = await scene.ask(key, `POST ${address}/v1/sandboxes`, { poolName: "py" }).catch(() => undefined);
      if (answer?.status === 201) {
        const { sandboxId } = (answer.json as Created).sandbox;
        made.push(sandboxId);
        const ended = await scene.ask(key, `DELETE ${address}/v1/sandboxes/${sandboxId}`).catch(() => undefined);
        if (ended?.status !== 202) await scene.ask(key, `DELETE ${addresses[(turn + 1) % 2] ?? ""}/v1/sandboxes/${sandboxId}`);
        return;
      }
      again++;
    }
    throw new Error("twice without a sandbox");
  };
  const users: Promise<void>[] = [];
  const load = setInterval(() => users.push(user(users.length)), 150);
  await using ending = new AsyncDisposableStack();
  ending.defer(() => clearInterval(load));
  for (const index of [0, 1]) {
    const [before, next] = [serving[index], scene.serve("api")];
    const address = await next.api();
    before?.signal("SIGTERM");
    expect(await before?.ended()).toBe(0);
    addresses[index] = address;
  }
  const successor = scene.serve("controllers");
  await successor.says("agentbox is ready");
  controllers.signal("SIGTERM");
  await successor.says("controllers run");
  await ending.disposeAsync();
  await Promise.all(users);
  expect(new Set(made).size).toBe(made.length);
  expect(made.length).toBeGreaterThan(20);
  await idle(scene, 12);
  // Only a client that met the ending process between its last answer and the balancer's update had to repeat its request.
  expect(again).toBeLessThan(made.length / 2);
});

test("keys and limits hold in all API processes, and each takes its lease away when it ends", async () => {
  await using scene = await ClusterScene.open();
  const flags = ["api", "controllers", "--rate-limit", "40", "--rate-burst", "40"];
  const processes = [scene.serve(...flags), scene.serve(...flags)];
  const [one = "", other = ""] = await Promise.all(processes.map((process) => process.api()));
  const admin = await scene.adminKey();
  const made = await scene.ask(admin, `POST ${one}/v1/keys`, { team: "red" });
  const { key, id } = made.json as { readonly key: string; readonly id: string };
  for (const api of [one, other]) await eventually(async () => expect((await scene.ask(key, `GET ${api}/v1/sandboxes`)).status).toBe(200));

  // Shares move within some seconds after the second process was seen.
  await new Promise((resolve) => setTimeout(resolve, 25_000));
  const began = performance.now();
  const asked = Array.from({ length: 400 }, (_, index) => scene.ask(key, `GET ${[one, other][index % 2] ?? ""}/v1/sandboxes`));
  const answered = (await Promise.all(asked)).filter(({ status }) => status === 200).length;
  const seconds = (performance.now() - began) / 1000;
  expect(answered).toBeGreaterThan(20);
  expect(answered).toBeLessThanOrEqual(40 + 40 * seconds + 4);

  expect((await scene.ask(admin, `DELETE ${one}/v1/keys/${id}`)).status).toBe(204);
  await eventually(async () => expect((await scene.ask(key, `GET ${other}/v1/sandboxes`)).status).toBe(401));

  for (const process of processes) process.signal("SIGTERM");
  expect(await Promise.all(processes.map((process) => process.ended()))).toEqual([0, 0]);
  const leases = (await scene.client.list(Leases, { namespace: "agentbox" })).items;
  expect(leases.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity])).toEqual([["agentbox-controllers", ""]]);
});

test("a minute without the API server: traffic goes on, creates are answered at once, and everything goes on after it", async () => {
  await using scene = await ClusterScene.open();
  const [api, controllers, gateway] = [scene.serve("api"), scene.serve("controllers"), scene.serve("gateway")];
  const [address, way] = [await api.api(), await gateway.gateway()];
  await controllers.says("controllers run");
  const key = await scene.adminKey();
  await scene.createPool("py", 3);
  await idle(scene, 3);
  const id = await create(scene, key, address);
  const visit = () => scene.ask(key, `GET ${way}/sandboxes/${id}/${scene.daemons.port}/hello`);
  await eventually(async () => expect((await visit()).text).toBe(`sandbox ${id}`));

  await scene.bed.killApiServer();
  await Promise.all([api, gateway].map((process) => process.says("object server does not answer")));
  const until = performance.now() + 60_000;
  const slowest = { create: 0, visit: 0 };
  while (performance.now() < until) {
    const refused = await scene.ask(key, `POST ${address}/v1/sandboxes`, { poolName: "py" });
    expect([refused.status, Number(refused.retryAfter) > 0]).toEqual([503, true]);
    const visited = await visit();
    expect(visited.text).toBe(`sandbox ${id}`);
    slowest.create = Math.max(slowest.create, refused.ms);
    slowest.visit = Math.max(slowest.visit, visited.ms);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  expect(slowest.create).toBeLessThan(1000);
  // It had no lease for longer than it may lead without.
  await controllers.says("controllers have stopped");
  expect(await Promise.all([api, controllers, gateway].map((process) => process.ready()))).toEqual(["ok", "ok", "ok"]);

  await scene.bed.startApiServer();
  await eventually(async () => expect((await scene.ask(key, `POST ${address}/v1/sandboxes`, { poolName: "py" })).status).toBe(201));
  expect((await scene.ask(key, `DELETE ${address}/v1/sandboxes/${id}`)).status).toBe(202);
  await eventually(() => expect(controllers.lines.filter(({ msg }) => msg === "controllers run")).toHaveLength(2));
  await eventually(async () => expect((await scene.pool("py")).status).toMatchObject({ replicas: 3, idleReplicas: 2, runningReplicas: 1 }));
  await eventually(async () =>
    expect(await visit()).toMatchObject({ status: 502, text: expect.stringContaining("It ended at") as string }),
  );
});
