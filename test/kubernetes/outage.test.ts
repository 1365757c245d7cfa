/** The API server goes while AgentBox runs, and comes back. */
import { expect, test } from "vitest";
import { ClusterScene } from "../world/cluster-scene.ts";
import { eventually } from "../world/eventually.ts";

test("without the API server traffic goes on, creates are told at once to come again, and everything goes on after it", async () => {
  await using scene = await ClusterScene.open();
  const process = scene.serve("api", "controllers", "gateway");
  const [api, gateway] = [await process.api(), await process.gateway()];
  const key = await scene.adminKey();
  await scene.createPool("py", 2);
  const create = () => scene.ask(key, `POST ${api}/v1/sandboxes`, { poolName: "py" });
  await eventually(async () => expect((await scene.pool("py")).status?.idleReplicas).toBe(2));
  const made = await create();
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const { sandboxId } = (made.json as { sandbox: { sandboxId: string } }).sandbox;
  const visit = () => scene.ask(key, `GET ${gateway}/sandboxes/${sandboxId}/${scene.daemons.port}/hello`);
  expect((await visit()).text).toBe(`sandbox ${sandboxId}`);

  await scene.bed.killApiServer();
  await eventually(() => expect(process.has("object server does not answer")).toBe(true));
  for (let turn = 0; turn < 5; turn++) {
    const refused = await create();
    expect([refused.status, refused.json, Number(refused.retryAfter) > 0]).toMatchObject([503, { code: "unavailable" }, true]);
    expect(refused.ms).toBeLessThan(1000);
    expect((await visit()).text).toBe(`sandbox ${sandboxId}`);
  }
  const seen = await scene.ask(key, `GET ${api}/v1/sandboxes/${sandboxId}`);
  expect([seen.status, await process.ready()]).toEqual([200, "ok"]);

  await scene.bed.startApiServer();
  await eventually(async () => expect((await create()).status).toBe(201));
  // Two pods carry sandboxes now, and the controllers have seen it: the server counts what they counted before it went.
  expect((await scene.ask(key, `DELETE ${api}/v1/sandboxes/${sandboxId}`)).status).toBe(202);
  await eventually(async () => expect((await scene.pool("py")).status).toMatchObject({ replicas: 2, idleReplicas: 1, runningReplicas: 1 }));
  process.signal("SIGTERM");
  expect(await process.ended()).toBe(0);
}, 110_000);
