import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { NativeApi } from "../../../test/world/native-api.ts";
import { ServiceScene } from "../../../test/world/service-scene.ts";
import { auditReader } from "#services/audit/read-audit.ts";
import { usageOverTime } from "#services/usage/usage-over-time.ts";
import type { AuditEntry } from "#store/audit/audit-store.ts";
import { auditRoutes } from "./audit-routes.ts";
import { auditPageSchema } from "./schemas/audit.ts";
import { usageRoutes } from "./usage-routes.ts";

/** The real use cases behind the routes. */
class Reports implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly api: NativeApi;

  private constructor(scene: ServiceScene, api: NativeApi) {
    this.scene = scene;
    this.api = api;
  }

  static async open(): Promise<Reports> {
    const scene = await ServiceScene.open();
    const { history, live, clock } = scene;
    const services = { audit: auditReader(history.audit), usageOverTime: usageOverTime({ live, store: history.usage, clock }) };
    return new Reports(scene, await NativeApi.over(() => [...auditRoutes(services), ...usageRoutes(services)], clock));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
  }
}

const entry = (id: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  id,
  at: `2026-01-01T00:00:0${id.slice(-1)}.000Z`,
  keyId: "k-ann",
  role: "tenant",
  team: "red",
  user: "ann",
  action: "DELETE /v1/sandboxes/:sandboxId",
  target: "s1",
  subject: { sandboxId: "s1" },
  address: "192.0.2.1",
  agent: "=cmd()",
  status: 202,
  ms: 3,
  requestId: "r1",
  ...more,
});

const ids = (json: unknown): string[] => (json as { readonly entries: AuditEntry[] }).entries.map(({ id }) => id);

test("I8: each caller reads the entries of its own team or user, and an admin all", async () => {
  await using reports = await Reports.open();
  const { api, scene } = reports;
  // The last one is of a user of another team, who has the same name.
  const namesake = entry("e4", { team: "blue", user: "ann" });
  await scene.history.audit.add([entry("e1"), entry("e2", { user: "bob" }), entry("e3", { team: "blue", user: "eve" }), namesake]);
  const seen = async (by: "admin" | "ann" | "bob" | "eve", query = ""): Promise<string[]> =>
    ids((await api.ask(`GET /v1/audit${query}`, { by })).json);
  expect(await seen("admin")).toEqual(["e4", "e3", "e2", "e1"]);
  for (const query of ["", "?target=s1", "?keyId=k-ann"]) expect(await seen("ann", query)).toEqual(["e1"]);
  expect(await seen("bob")).toEqual(["e2"]);
  expect(await seen("eve", "?team=red")).toEqual([]);
  expect(await seen("eve", "?target=s1")).toEqual(["e3"]);
  expect((await api.ask("GET /v1/audit/csv", { by: "eve" })).text.split("\r\n")).toHaveLength(3);
});

test("a tenant learns that an admin acted for it, and neither its key nor where it was", async () => {
  await using reports = await Reports.open();
  const { api, scene } = reports;
  await scene.history.audit.add([entry("e1", { role: "admin", keyId: "k-admin" })]);
  const { json, text } = await api.ask("GET /v1/audit");
  expect(Value.Check(auditPageSchema, json)).toBe(true);
  expect(json).toMatchObject({ entries: [{ id: "e1", role: "admin", team: "red" }] });
  expect(text).not.toMatch(/k-admin|192\.0\.2\.1|cmd/);
  expect((await api.ask("GET /v1/audit/csv")).text).not.toMatch(/k-admin|192\.0\.2\.1|cmd/);
});

test("the log is read page by page, and a cursor that is none is refused", async () => {
  await using reports = await Reports.open();
  const { api, scene } = reports;
  await scene.history.audit.add(["e1", "e2", "e3"].map((id) => entry(id)));
  const first = (await api.ask("GET /v1/audit?limit=2")).json as { readonly next: string };
  expect(ids(first)).toEqual(["e3", "e2"]);
  const second = (await api.ask(`GET /v1/audit?limit=2&cursor=${first.next}`)).json;
  expect([ids(second), second]).toEqual([["e1"], expect.not.objectContaining({ next: expect.anything() as string })]);
  const wrong = await api.ask("GET /v1/audit?cursor=abc");
  expect([wrong.status, wrong.json]).toMatchObject([400, { field: "query.cursor" }]);
});

test("as CSV, a text that looks like a formula is none", async () => {
  await using reports = await Reports.open();
  const { api, scene } = reports;
  await scene.history.audit.add([entry("e1", { code: "conflict", status: 409 })]);
  const { headers, text } = await api.ask("GET /v1/audit/csv");
  expect(headers["content-type"]).toBe("text/csv; charset=utf-8");
  expect(text).toBe(
    "at,keyId,role,team,user,action,target,address,agent,status,code,ms,requestId\r\n" +
      "2026-01-01T00:00:01.000Z,k-ann,tenant,red,ann,DELETE /v1/sandboxes/:sandboxId,s1,192.0.2.1,'=cmd(),409,conflict,3,r1\r\n",
  );
});

test("usage has ended sandboxes and live ones until now, of the caller's own", async () => {
  await using reports = await Reports.open();
  const { api, scene } = reports;
  const start = scene.clock.now();
  await scene.record("done", { claimedAt: scene.now, terminatedAt: new Date(start + 1_800_000).toISOString(), cpu: "2", memory: "1Gi" });
  await scene.record("foreign", { team: "blue", user: "eve", claimedAt: scene.now, terminatedAt: new Date(start + 60_000).toISOString() });
  await scene.sandbox("live");
  await scene.sandbox("stops", { phase: "stopping" });
  await scene.clock.step(3_600_000);
  const usage = async (query: string, by: "admin" | "ann" | "eve" = "ann"): Promise<unknown> =>
    ((await api.ask(`GET /v1/usage?${query}`, { by })).json as { readonly rows: unknown }).rows;
  expect(await usage("step=all&by=user")).toMatchObject([
    { team: "red", user: "ann", creates: 2, sandboxSeconds: 1800 + 3600, cpuSeconds: 3600, memoryGibSeconds: 1800 },
  ]);
  expect(await usage("step=all", "eve")).toMatchObject([{ team: "blue", creates: 1, sandboxSeconds: 60 }]);
  expect(await usage("step=all&team=red", "eve")).toEqual([]);
  expect(await usage("step=hour", "admin")).toHaveLength(2);
  expect((await api.ask("GET /v1/usage/csv?step=all")).text).toMatch(
    /^start,team,creates,sandboxSeconds,cpuSeconds,memoryGibSeconds\r\n.*,red,2,5400,3600,1800\r\n$/,
  );
});

test.each([
  ["from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "query.from"],
  ["step=hour&from=2025-01-01T00:00:00Z", "query.from"],
  ["step=week", "query.step"],
  ["from=yesterday", "query.from"],
])("a report of ?%s is refused, and says which part is wrong", async (query, field) => {
  await using reports = await Reports.open();
  const { status, json } = await reports.api.ask(`GET /v1/usage?${query}`);
  expect([status, json]).toMatchObject([400, { field }]);
});
