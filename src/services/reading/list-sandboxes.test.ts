import fc from "fast-check";
import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, nobody, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { annotationKeys, podConditions } from "#model/keys.ts";
import {
  isTerminalStatus,
  liveSandboxStatuses,
  type SandboxRecord,
  type SandboxRecordStatus,
  sandboxRecordStatuses,
} from "#model/sandbox-record.ts";
import { matchesFilter } from "#store/matches-filter.ts";
import { compareKeys } from "#store/record-key.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import { countLive } from "./count-live.ts";
import { getSandbox } from "./get-sandbox.ts";
import { listSandboxes } from "./list-sandboxes.ts";
import type { ListSandboxes } from "#services/sandbox-service.ts";

async function idsOf(scene: ServiceScene, caller: Caller, query: ListSandboxes = {}): Promise<readonly string[]> {
  return (await listSandboxes(scene, caller, query)).sandboxes.map(({ sandboxId }) => sandboxId);
}

/** All pages, one after the other. */
async function everything(scene: ServiceScene, caller: Caller, query: ListSandboxes): Promise<readonly SandboxRecord[]> {
  const found: SandboxRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await listSandboxes(scene, caller, { ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sandboxes);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

test("live and ended sandboxes are one list, newest claim first", async () => {
  await using scene = await ServiceScene.open();
  await scene.record("i-first");
  await scene.clock.step(1000);
  await scene.sandbox("i-second");
  await scene.clock.step(1000);
  await scene.record("i-third");
  await scene.clock.step(1000);
  await scene.sandbox("i-fourth", { phase: "starting" });
  const { sandboxes } = await listSandboxes(scene, ann, {});
  expect(sandboxes.map(({ sandboxId, status }) => [sandboxId, status])).toEqual([
    ["i-fourth", "Starting"],
    ["i-third", "Completed"],
    ["i-second", "Running"],
    ["i-first", "Completed"],
  ]);
});

test("a sandbox that ends between two pages is in the list once", async () => {
  await using scene = await ServiceScene.open();
  for (const id of ["i-1", "i-2", "i-3"]) {
    await scene.sandbox(id);
    await scene.clock.step(1000);
  }
  const first = await listSandboxes(scene, ann, { limit: 1 });
  await scene.end("i-3");
  await scene.end("i-2");
  const rest = await everything(scene, ann, { limit: 1, cursor: first.next ?? "" });
  expect([...first.sandboxes, ...rest].map(({ sandboxId }) => sandboxId)).toEqual(["i-3", "i-2", "i-1"]);
});

test("I8: a tenant's list is of his own, a team's of all its users, an admin's of all", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-ann");
  await scene.sandbox("i-bob", { user: "bob" });
  await scene.sandbox("i-eve", { team: "blue", user: "eve" });
  await scene.sandbox("i-none", { team: "", user: "" });
  await scene.record("o-ann");
  await scene.record("o-eve", { team: "blue", user: "eve" });
  expect(new Set(await idsOf(scene, ann))).toEqual(new Set(["i-ann", "o-ann"]));
  expect(await idsOf(scene, bob)).toEqual(["i-bob"]);
  expect(new Set(await idsOf(scene, redTeam))).toEqual(new Set(["i-ann", "i-bob", "o-ann"]));
  expect(new Set(await idsOf(scene, eve))).toEqual(new Set(["i-eve", "o-eve"]));
  expect(await idsOf(scene, admin)).toHaveLength(6);
  expect(await idsOf(scene, nobody)).toEqual([]);
});

test("I8: a cursor of somebody else's list shows nothing of it", async () => {
  await using scene = await ServiceScene.open();
  for (const id of ["i-1", "i-2", "i-3"]) await scene.sandbox(id);
  const { next = "" } = await listSandboxes(scene, ann, { limit: 1 });
  expect(await idsOf(scene, eve, { cursor: next })).toEqual([]);
});

test("W31: a page of a long list reads as much as it shows", async () => {
  await using scene = await ServiceScene.open();
  for (let index = 0; index < 60; index++) await scene.sandbox(`i-${index}`, { team: index % 2 === 0 ? "red" : "blue", user: "" });
  let read = 0;
  const live = {
    *newestFirst(part: Parameters<ServiceScene["live"]["newestFirst"]>[0]) {
      for (const record of scene.live.newestFirst(part)) {
        read += 1;
        yield record;
      }
    },
    oldestFirst: (part: Parameters<ServiceScene["live"]["oldestFirst"]>[0]) => scene.live.oldestFirst(part),
  };
  const page = await listSandboxes({ live, history: scene.history }, redTeam, { limit: 5 });
  expect(page.sandboxes).toHaveLength(5);
  expect(read).toBe(6);
});

test("what is wrong with a query is named", async () => {
  await using scene = await ServiceScene.open();
  const fieldOf = async (query: ListSandboxes): Promise<unknown> => {
    const { code, details } = await failureOf(listSandboxes(scene, ann, query));
    return [code, details.field];
  };
  expect(await fieldOf({ limit: 0 })).toEqual(["invalid_request", "limit"]);
  expect(await fieldOf({ limit: 1001 })).toEqual(["invalid_request", "limit"]);
  expect(await fieldOf({ limit: 1.5 })).toEqual(["invalid_request", "limit"]);
  expect(await fieldOf({ cursor: "nonsense" })).toEqual(["invalid_request", "cursor"]);
  expect(await fieldOf({ endedBefore: "yesterday" })).toEqual(["invalid_request", "endedBefore"]);
});

const callers = [admin, ann, bob, redTeam, eve];
const statuses = fc.constantFrom<SandboxRecordStatus>(...sandboxRecordStatuses);
const when = fc.integer({ min: 0, max: 5 }).map((second) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString());
const sandbox = fc.record({
  team: fc.constantFrom("red", "blue"),
  user: fc.constantFrom("ann", "bob", "eve"),
  poolName: fc.constantFrom("py", "js"),
  status: statuses,
  claimedAt: when,
  metadata: fc.constantFrom<Readonly<Record<string, string>>>({}, { a: "1" }, { a: "2" }, { a: "1", b: "x=y" }),
});
const filter = fc.record(
  {
    pool: fc.constantFrom("py", "js"),
    status: fc.array(statuses, { maxLength: 3 }),
    claimedAfter: when,
    claimedBefore: when,
    metadata: fc.constantFrom<Readonly<Record<string, string>>>({ a: "1" }, { b: "x=y" }),
    idPrefix: fc.constantFrom("i-1", "i-"),
  },
  { requiredKeys: [] },
);

async function put(scene: ServiceScene, id: string, one: Omit<SandboxRecord, "sandboxId" | "namespace" | "podName" | "containerImages">) {
  const live = liveSandboxStatuses.find((status) => status === one.status);
  if (live === undefined) {
    await scene.record(id, { ...one, stopReason: one.status as "Completed" });
    return;
  }
  const { team, user, claimedAt, poolName: pool } = one;
  await scene.sandbox(id, {
    team,
    user,
    claimedAt,
    pool,
    phase: ({ Starting: "starting", Running: "running", Paused: "running", Stopping: "stopping" } as const)[live],
    annotations: { [annotationKeys.sandboxMetadata]: JSON.stringify(one.metadata) },
    ...(live === "Paused" && { status: { conditions: [{ type: podConditions.paused, status: "True" }] } }),
  });
}

test("W31: pages of any size, with any filter, are together what matches, once, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sandbox, { maxLength: 14 }),
      filter,
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(...callers),
      async (all, wanted, limit, caller) => {
        await using scene = await ServiceScene.open();
        for (const [index, one] of all.entries()) await put(scene, `i-${index}`, one);
        const found = await everything(scene, caller, { ...wanted, limit });
        const expected = all
          .map((one, index) => ({ ...one, sandboxId: `i-${index}` }) as SandboxRecord)
          .filter((one) => matchesFilter(one, { ...wanted, scope: scopeOf(caller) }))
          .sort(compareKeys);
        expect(found.map(({ sandboxId, status }) => [sandboxId, status])).toEqual(
          expected.map(({ sandboxId, status }) => [sandboxId, status]),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("live sandboxes oldest first are those newest first the other way round, in pages of any size", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sandbox, { maxLength: 14 }),
      filter,
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(...callers),
      async (all, wanted, limit, caller) => {
        await using scene = await ServiceScene.open();
        for (const [index, one] of all.entries()) await put(scene, `i-${index}`, one);
        const status = wanted.status?.filter((one) => !isTerminalStatus(one)) ?? liveSandboxStatuses;
        const newest = await everything(scene, caller, { ...wanted, status, limit });
        expect(await everything(scene, caller, { ...wanted, status, limit, order: "oldest" })).toEqual(newest.toReversed());
      },
    ),
    { numRuns: 40 },
  );
});

test("oldest first is refused for ended sandboxes, and so is the cursor of the other order", async () => {
  await using scene = await ServiceScene.open();
  for (const id of ["i-1", "i-2", "i-3"]) await scene.sandbox(id);
  const status = ["Running"] as const;
  const fieldOf = async (query: ListSandboxes): Promise<unknown> => (await failureOf(listSandboxes(scene, ann, query))).details.field;
  expect(await fieldOf({ order: "oldest" })).toBe("order");
  expect(await fieldOf({ order: "oldest", status: ["Running", "Completed"] })).toBe("order");
  const { next: newest = "" } = await listSandboxes(scene, ann, { limit: 1 });
  const { next: oldest = "" } = await listSandboxes(scene, ann, { limit: 1, status, order: "oldest" });
  expect(await fieldOf({ order: "oldest", status, cursor: newest })).toBe("cursor");
  expect(await fieldOf({ cursor: oldest })).toBe("cursor");
});

test("a live sandbox has its times in a list as in its details", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.endTime]: "2027-01-01T00:00:00.000Z", [annotationKeys.idleTimeout]: "90" } });
  const { sandboxes } = await listSandboxes(scene, ann, {});
  expect(sandboxes).toMatchObject([{ sandboxId: "i-1", endTime: "2027-01-01T00:00:00.000Z", idleTimeoutMs: 90_000 }]);
  expect(sandboxes).toEqual([await getSandbox(scene, ann, "i-1")]);
});

test("a cursor that nobody gave out is refused, whatever it is", async () => {
  await using scene = await ServiceScene.open();
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1 }), async (cursor) => {
      expect((await failureOf(listSandboxes(scene, ann, { cursor }))).details.field).toBe("cursor");
    }),
  );
});

test("a count is of the caller's live sandboxes that fit, and of no others", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.sandbox("i-2", { phase: "starting" });
  await scene.record("i-3");
  const running = ["Starting", "Running"] as const;
  expect(countLive(scene.live, ann, { status: running })).toBe(2);
  expect(countLive(scene.live, ann, { status: ["Running"], claimedAfter: "2020-01-01T00:00:00Z" })).toBe(1);
  expect(countLive(scene.live, ann, { status: running, metadata: { no: "such" } })).toBe(0);
  expect([countLive(scene.live, eve, { status: running }), countLive(scene.live, nobody, {})]).toEqual([0, 0]);
});
