import { expect, test } from "vitest";
import { E2bScene } from "../../../test/world/e2b-scene.ts";

const id = "cp-aaaaaaaaaaaaaaaaaaaa";

test("a snapshot is a checkpoint; its id is a template id, and a name without a tag has the tag default", async () => {
  const scene = new E2bScene();
  expect(await scene.ask("POST /sandboxes/abc/snapshots")).toMatchObject({
    status: 201,
    json: { snapshotID: `${id}:default`, names: [`${id}:default`] },
  });
  for (const [name, alias] of [
    ["ready", "ready:default"],
    ["ready:v1", "ready:v1"],
    ["red/ready:v1", "ready:v1"],
  ]) {
    expect((await scene.ask("POST /sandboxes/abc/snapshots", { name, memory: false })).json).toMatchObject({ names: [alias] });
    expect(scene.asked.at(-1)).toEqual({ sandboxId: "abc", alias, memory: false });
  }
});

test("snapshots are listed by sandbox and name", async () => {
  const scene = new E2bScene();
  const { status, json } = await scene.ask("GET /snapshots?sandboxID=abc&name=ready:default&limit=7");
  expect([status, json]).toEqual([200, [{ snapshotID: `${id}:default`, names: [`${id}:default`] }]]);
  expect(scene.asked).toEqual([{ sandboxId: "abc", alias: "ready:default", limit: 7 }]);
});

test("DELETE of a template deletes a snapshot, and nothing else", async () => {
  const scene = new E2bScene();
  expect((await scene.ask(`DELETE /templates/${id}:default`)).status).toBe(204);
  expect(scene.asked).toEqual([id]);
  expect((await scene.ask("DELETE /templates/base")).status).toBe(501);
});

test("each child of a fork is told by itself, with its tokens or its failure", async () => {
  const scene = new E2bScene();
  const { status, json } = await scene.ask("POST /sandboxes/abc/fork", { count: 2, timeout: 60 });
  expect(scene.asked).toEqual([{ sandboxId: "abc", count: 2, lifetimeMs: 60_000 }]);
  expect([status, json]).toMatchObject([
    201,
    [{ sandbox: { sandboxID: "abc", envdAccessToken: "access-abc" } }, { error: { code: 429, message: "there is no pod" } }],
  ]);
  expect((await scene.ask("POST /sandboxes/abc/fork")).status).toBe(201);
  expect((await scene.ask("POST /sandboxes/abc/fork", { timeout: 4000 })).status).toBe(400);
});
