import { describe, expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { type ScriptedApi, scriptedApi } from "../../../test/world/scripted-api.ts";

function run(api: ScriptedApi, ...argv: readonly string[]): Promise<Said> {
  return agentbox(argv, { env: { AGENTBOX_API_URL: api.url, AGENTBOX_API_KEY: "e2b_x" } });
}

const entry = {
  id: "e1",
  at: "2026-01-01T00:00:00.000Z",
  keyId: "k1",
  role: "admin",
  team: "red",
  user: "",
  action: "DELETE /v1/sandboxes/:sandboxId",
  target: "s1",
  subject: {},
  address: "192.0.2.1",
  status: 409,
  code: "conflict",
  ms: 3,
  requestId: "r1",
};
const row = { start: "2026-01-01T00:00:00.000Z", team: "red", creates: 2, sandboxSeconds: 7200, cpuSeconds: 3600, memoryGibSeconds: 900 };
const report = { from: row.start, to: "2026-01-02T00:00:00.000Z", step: "day", by: "team", rows: [row] };
const pathOf = (api: ScriptedApi): string => decodeURIComponent(api.asked.at(-1)?.path ?? "");

describe("agentbox audit", () => {
  test("shows who did what to what, from where and with which result, and asks for what the flags say", async () => {
    await using api = await scriptedApi(() => ({ body: { entries: [entry] } }));
    const { code, stdout } = await run(api, "audit", "--target", "s1", "--result", "refused", "--key", "k1");
    expect(code).toBe(0);
    expect(stdout).toMatch(/admin as red +DELETE \/v1\/sandboxes\/:sandboxId +s1 +409 conflict +192\.0\.2\.1/);
    expect(pathOf(api)).toBe("/v1/audit?keyId=k1&target=s1&result=refused&limit=100");
  });

  test("says when there is more than the limit, and reads everything with 0", async () => {
    await using api = await scriptedApi(({ path }) => ({ body: { entries: [entry], ...(!path.includes("cursor") && { next: "c" }) } }));
    expect((await run(api, "audit", "--limit", "1")).stderr).toContain("more than 1: --limit 0 shows all");
    const all = await run(api, "audit", "--limit", "0", "-o", "json");
    expect(JSON.parse(all.stdout)).toHaveLength(2);
  });

  test("refuses a result that does not exist", async () => {
    await using api = await scriptedApi(() => ({ body: { entries: [] } }));
    expect((await run(api, "audit", "--result", "good")).code).toBe(2);
  });
});

describe("agentbox usage", () => {
  test("shows hours, and asks for what the flags say", async () => {
    await using api = await scriptedApi(() => ({ body: report }));
    const { stdout } = await run(api, "usage", "--from", "2026-01-01", "--step", "day", "--team", "red");
    expect(stdout).toMatch(/START +OWNER +CREATES +HOURS +CORE-HOURS +GIB-HOURS\n2026-01-01 +red +2 +2\.00 +1\.00 +0\.25/);
    expect(pathOf(api)).toBe("/v1/usage?from=2026-01-01T00:00:00.000Z&step=day&team=red");
  });

  test("prints the report for programs, and refuses two beginnings and times that are none", async () => {
    await using api = await scriptedApi(() => ({ body: report }));
    expect(JSON.parse((await run(api, "usage", "-o", "json")).stdout)).toEqual(report);
    expect((await run(api, "usage", "--since", "1h", "--from", "2026-01-01")).code).toBe(2);
    expect((await run(api, "usage", "--to", "soon")).stderr).toContain("--to must be a time");
  });
});
