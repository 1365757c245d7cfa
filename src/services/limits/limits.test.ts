import { expect, test } from "vitest";
import type { LimitTable, LimitValues } from "#model/limits.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { labelKeys } from "#model/keys.ts";
import { admin, ann, eve, failureOf, namespace, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { templateService } from "#services/templates/template-service.ts";
import { countSandboxes, countTaken, countUse } from "./count-use.ts";
import { CreateRate } from "./create-rate.ts";
import { LimitGuard } from "./limit-guard.ts";
import { limitService } from "./limit-service.ts";

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

function aPool(name: string, replicas: number, labels: Record<string, string> = {}): SandboxPool {
  return { metadata: { name, labels }, spec: { replicas, templateName: "base" } };
}

async function open() {
  const scene = await ServiceScene.open();
  const { cache, client } = scene;
  if (cache.limits === undefined) throw new Error("no limits");
  const guard = new LimitGuard({ cache, use: countUse(cache) });
  guard.countSandboxes(countSandboxes(scene.live), countTaken(scene.live));
  const limits = limitService({ client, guard, limits: cache.limits, table: () => cache.limitTable(), namespace });
  const made = await client.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template, visibility: { rules: [] } } });
  cache.templates.remember(made);
  const pools = poolService({ client, cache, namespace, limits: guard });
  const templates = templateService({ client, cache, limits: guard });
  return { scene, guard, limits, pools, templates, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

/** A guard over numbers, without anything that they count. */
function guardOver(table: Partial<LimitTable>, use: Record<string, number> = {}): LimitGuard {
  const of = (name: string) => (team?: string) => use[`${team ?? ""}/${name}`] ?? 0;
  const whole = { server: {}, everyTeam: {}, teams: {}, ...table };
  const uses = { pods: of("pods"), pools: of("pools"), keys: of("keys"), templates: of("templates") };
  return new LimitGuard({ cache: { limitTable: () => whole }, use: uses });
}

const everyTeam = (values: LimitValues): Partial<LimitTable> => ({ everyTeam: values });

test("what is being made counts from the moment that it is allowed, so that many at once do not pass a limit", () => {
  const guard = guardOver(everyTeam({ pools: 3 }), { "red/pools": 1, "/pools": 1 });
  const places = [guard.reserve("red", { pools: 1 }), guard.reserve("red", { pools: 1 })];
  expect(() => guard.reserve("red", { pools: 1 })).toThrow(/team red may have 3 pools/);
  guard.reserve("blue", { pools: 3 }).release();
  places[0]?.release();
  // Twice is once.
  places[0]?.release();
  guard.reserve("red", { pools: 1 }).release();
  expect(guard.used("pools", "red")).toBe(2);
});

test("of a wish that does not fit nothing is taken", () => {
  const guard = guardOver(everyTeam({ pods: 5, pools: 1 }));
  expect(() => guard.reserve("red", { pools: 1, pods: 6 })).toThrow(/limit pods/);
  expect([guard.used("pools", "red"), guard.used("pods", "red")]).toEqual([0, 0]);
});

test("a refusal names the limit, what is used and what raises it, and nothing about when to try again", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "team", team: "red" }, { pods: 10 });
  await at.pools.create(ann, aPool("one", 8));
  expect(await failureOf(at.pools.create(ann, aPool("two", 3)))).toMatchObject({
    code: "limit_reached",
    message:
      "team red may have 10 pods in its pools (limit pods): it has 8, and 3 more would be too many. " +
      "An admin can raise it: agentbox limits set --team red pods=N",
    details: { limit: { name: "pods", of: "team", team: "red", limit: 10, used: 8 } },
  });
});

test("100,000 pods are refused by default: from a tenant, and from an admin who mistypes", async () => {
  await using at = await open();
  expect(await failureOf(at.pools.create(ann, aPool("all", 100_000)))).toMatchObject({ code: "limit_reached" });
  expect(await failureOf(at.pools.create(admin, aPool("all", 100_000)))).toMatchObject({
    code: "limit_reached",
    details: { limit: { name: "podsPerPool", of: "server" } },
  });
  const { metadata } = await at.pools.create(ann, aPool("some", 1));
  const wanted = { name: metadata.name ?? "" };
  expect(await failureOf(at.pools.scale(ann, wanted, 100_000))).toMatchObject({ code: "limit_reached" });
  expect(await failureOf(at.pools.replace(ann, wanted, { ...aPool(wanted.name, 100_000), metadata: { name: wanted.name } }))).toMatchObject(
    {
      code: "limit_reached",
    },
  );
});

test("a team's pools have a size of their own, below what the server allows", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "team", team: "red" }, { podsPerPool: 3 });
  await at.pools.create(ann, aPool("py", 3));
  expect(await failureOf(at.pools.create(ann, aPool("js", 4)))).toMatchObject({
    details: { limit: { name: "podsPerPool", of: "team", team: "red", limit: 3 } },
  });
  await at.pools.create(eve, aPool("js", 4));
});

test("what other teams have does not count for a team, and counts for the server", async () => {
  await using at = await open();
  await at.pools.create(eve, aPool("theirs", 7));
  await at.pools.create(ann, aPool("mine", 2));
  expect([at.guard.used("pods", "red"), at.guard.used("pools", "red"), at.guard.used("pods"), at.guard.used("pools")]).toEqual([
    2, 1, 9, 2,
  ]);
});

test("many pools at once do not pass the limit together", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "teams" }, { pools: 3, pods: 10 });
  const ends = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => at.pools.create(ann, aPool(`p${index}`, 1))));
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  const scaled = await Promise.allSettled(
    (await at.pools.list(ann, {})).items.map(({ metadata }) => at.pools.scale(ann, { name: metadata.name ?? "" }, 5)),
  );
  expect(scaled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(at.guard.used("pods", "red")).toBeLessThanOrEqual(10);
});

test("a pool may always become smaller, also above a limit that was lowered, and then grows no more", async () => {
  await using at = await open();
  const { metadata } = await at.pools.create(ann, aPool("py", 20));
  const wanted = { name: metadata.name ?? "" };
  await at.limits.set(admin, { of: "team", team: "red" }, { pods: 10, podsPerPool: 5 });
  expect((await at.pools.scale(ann, wanted, 15)).spec.replicas).toBe(15);
  expect(await failureOf(at.pools.scale(ann, wanted, 16))).toMatchObject({ code: "limit_reached" });
  expect((await at.pools.scale(ann, wanted, 0)).spec.replicas).toBe(0);
});

test("an admin's pool for a team is the team's, and one for everybody is the server's", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "team", team: "red" }, { pools: 1 });
  await at.pools.create(admin, aPool("reds", 1, { [labelKeys.team]: "red" }));
  expect(await failureOf(at.pools.create(ann, aPool("py", 1)))).toMatchObject({ code: "limit_reached" });
  await at.pools.create(admin, aPool("shared", 1));
  await at.limits.set(admin, { of: "server" }, { pools: 2 });
  const refused = await failureOf(at.pools.create(eve, aPool("py", 1)));
  // How much others have is not told to a tenant.
  expect(refused.details.limit).toEqual({ name: "pools", of: "server", limit: 2 });
  expect(await failureOf(at.pools.create(admin, aPool("more", 1)))).toMatchObject({ details: { limit: { used: 2 } } });
});

test("templates have a limit of the server", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "server" }, { templates: 2 });
  const wish = (name: string) => ({ metadata: { name }, spec: { template } });
  await at.templates.create(admin, wish("one"));
  expect(await failureOf(at.templates.create(admin, wish("two")))).toMatchObject({ code: "limit_reached" });
});

test("a tenant sees the limits of its team with what is used; an admin sees and sets all", async () => {
  await using at = await open();
  await at.pools.create(ann, aPool("py", 3));
  await at.scene.sandbox("i1");
  await at.scene.sandbox("i2", { phase: "stopping" });
  await at.limits.set(admin, { of: "teams" }, { keys: 4 });
  const [own, ...others] = at.limits.list(ann, {});
  expect(others).toMatchObject([{ of: "user", team: "red", user: "ann" }]);
  expect(at.limits.list(redTeam, {})).toHaveLength(1);
  expect(own).toMatchObject({ of: "team", team: "red" });
  expect(own?.limits.map(({ name, limit, used, isSet }) => [name, limit, used, isSet])).toEqual(
    expect.arrayContaining([
      ["pods", 500, 3, false],
      ["pools", 50, 1, false],
      ["sandboxes", 500, 1, false],
      ["keys", 4, 0, false],
      ["createsPerMinute", 6000, undefined, false],
    ]),
  );
  expect(() => at.limits.list(redTeam, { team: "blue" })).toThrow(/its own team/);
  await expect(at.limits.set(redTeam, { of: "team", team: "red" }, { pods: 9 })).rejects.toMatchObject({ code: "forbidden" });
  await at.limits.set(admin, { of: "team", team: "red" }, { pods: 9 });
  expect(at.limits.list(admin, {}).map((set) => (set.of === "team" ? set.team : set.of))).toEqual(["server", "teams", "red"]);
  const back = await at.limits.set(admin, { of: "team", team: "red" }, { pods: null });
  expect(back.limits[0]).toMatchObject({ name: "pods", limit: 500, isSet: false });
});

test.each<[string, Record<string, number | null>]>([
  ["no limit", { nothing: 1 }],
  ["the server's only", { templates: 1 }],
  ["less than nothing", { pods: -1 }],
  ["no whole number", { pods: 1.5 }],
])("a limit that is %s is refused, with its place", async (_, change) => {
  await using at = await open();
  await expect(at.limits.set(admin, { of: "team", team: "red" }, change)).rejects.toMatchObject({
    code: "invalid_request",
    details: { field: `limits.${Object.keys(change)[0]}` },
  });
});

test("two admins who set limits at once do not undo each other", async () => {
  await using at = await open();
  const teams = ["a", "b", "c", "d"];
  await Promise.all(teams.map((team) => at.limits.set(admin, { of: "team", team }, { pods: 7 })));
  expect(Object.keys(at.scene.cache.limitTable().teams).sort()).toEqual(teams);
});

test("a team makes so many sandboxes a minute, with a burst of ten seconds' worth, and is told when to try again", async () => {
  const clock = new SteppedClock();
  const rate = new CreateRate({ limits: guardOver(everyTeam({ createsPerMinute: 60 })), clock, processes: () => 2 });
  // Half of it is another process's.
  for (let made = 0; made < 5; made++) rate.take("red");
  expect(() => rate.take("red")).toThrow(
    expect.objectContaining({ code: "limit_reached", details: expect.objectContaining({ retryAfterSeconds: 2 }) }),
  );
  rate.take("blue");
  rate.take("");
  await clock.step(2000);
  rate.take("red");
  expect(() => rate.take("red")).toThrow(/60 sandboxes a minute/);
});

test("what a team's images take is shown where the node tells it, and left out where none does", async () => {
  await using at = await open();
  const shown = () => at.limits.list(admin, { team: "red" })[0]?.limits.find(({ name }) => name === "imageMiB");
  expect(shown()).toMatchObject({ limit: 20_480 });
  expect(shown()).not.toHaveProperty("used");
  at.guard.countImages((team) => (team === "red" ? 7 : 0));
  expect(shown()).toMatchObject({ limit: 20_480, used: 7 });
});

const annOf = { of: "user", team: "red", user: "ann" } as const;
const sized = { resources: { limits: { cpu: "500m", memory: "256Mi" } } };

test("what live sandboxes may use counts for their team and their user, and those that stop do not", async () => {
  await using at = await open();
  const { scene, guard } = at;
  for (const [id, shape] of [
    ["i1", {}],
    ["i2", { user: "bob" }],
    ["i3", { team: "blue", user: "eve" }],
    ["i4", {}],
  ] as const) {
    await scene.sandbox(id, { ...shape, container: sized });
  }
  const used = () => [guard.used("cpu"), guard.used("cpu", "red"), guard.used("cpu", "red", "ann"), guard.used("memoryMiB", "red", "ann")];
  expect(used()).toEqual([2, 1.5, 1, 512]);
  await scene.change("i4", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  expect(used()).toEqual([1.5, 1, 0.5, 256]);
});

test.each([
  ["sandboxes", { sandboxes: 2 }, /user ann of team red may have 2 live sandboxes \(limit sandboxes\): it has 2, and 1 more/],
  ["cpu", { cpu: 1 }, /user ann of team red may have 1 cores in live sandboxes \(limit cpu\): it has 1, and 0.5 more/],
  ["memoryMiB", { memoryMiB: 600 }, /may have 600 MiB of memory in live sandboxes \(limit memoryMiB\): it has 512, and 256 more/],
])("a user's limit %s is kept beside the team's, and the refusal says what raises it", async (name, limits, message) => {
  await using at = await open();
  await at.limits.set(admin, annOf, limits);
  await at.scene.sandbox("i1", { container: sized });
  const wanted = { sandboxes: 1, cpu: 0.5, memoryMiB: 256 };
  using _ = at.guard.reserve(ann, wanted);
  expect(() => at.guard.reserve(ann, wanted)).toThrow(message);
  expect(() => at.guard.reserve(ann, wanted)).toThrow(
    expect.objectContaining({ code: "limit_reached", message: expect.stringContaining(`limits set --team red --user ann ${name}=N`) }),
  );
  at.guard.reserve({ team: "red", user: "bob" }, wanted).release();
  at.guard.reserve(redTeam, wanted).release();
});

test("what every user of a team may have holds for users without a limit of their own", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "user", team: "red", user: "*" }, { sandboxes: 1 });
  await at.limits.set(admin, annOf, { sandboxes: 2 });
  at.guard.reserve(ann, { sandboxes: 2 }).release();
  expect(() => at.guard.reserve({ team: "red", user: "bob" }, { sandboxes: 2 })).toThrow(/user bob of team red may have 1/);
  at.guard.reserve(eve, { sandboxes: 2 }).release();
});

test("parts of cores that are taken and given back leave nothing behind", () => {
  const guard = guardOver(everyTeam({ cpu: 1 }));
  for (let round = 0; round < 50; round++) {
    const places = Array.from({ length: 10 }, () => guard.reserve(ann, { cpu: 0.1 }));
    expect(() => guard.reserve(ann, { cpu: 0.1 })).toThrow(/it has 1, and 0.1 more/);
    for (const place of places) place.release();
    expect([guard.used("cpu"), guard.used("cpu", "red"), guard.used("cpu", "red", "ann")]).toEqual([0, 0, 0]);
  }
});

test("pods of pools that wait without a sandbox are limited, for a team and for a user", async () => {
  await using at = await open();
  await at.limits.set(admin, { of: "team", team: "red" }, { idlePods: 6 });
  await at.limits.set(admin, annOf, { idlePods: 4 });
  await at.pools.create(ann, aPool("one", 3));
  expect(await failureOf(at.pools.create(ann, aPool("two", 2)))).toMatchObject({
    details: { limit: { name: "idlePods", of: "user", used: 3 } },
  });
  await at.pools.create(redTeam, aPool("teams", 3));
  expect(await failureOf(at.pools.create(redTeam, aPool("more", 1)))).toMatchObject({
    details: { limit: { name: "idlePods", of: "team" } },
  });
});

test("a user makes so many sandboxes a minute, and what is refused costs the team nothing", () => {
  const table = { ...everyTeam({ createsPerMinute: 30 }), users: { red: { ann: { createsPerMinute: 6 } } } };
  const rate = new CreateRate({ limits: guardOver(table), clock: new SteppedClock() });
  rate.take("red", "ann");
  for (let more = 0; more < 9; more++) expect(() => rate.take("red", "ann")).toThrow(/user ann of team red may make 6 sandboxes a minute/);
  for (let more = 0; more < 4; more++) rate.take("red", "bob");
  expect(() => rate.take("red", "bob")).toThrow(/team red may make 30/);
});

test("a user sees its own limits, a team's key asks for any of its users, an admin sees all that are set", async () => {
  await using at = await open();
  await at.limits.set(admin, annOf, { sandboxes: 2 });
  const names = (sets: readonly object[]) =>
    sets.map((set) =>
      Object.values({ ...set, limits: "" })
        .filter(Boolean)
        .join(" "),
    );
  expect(names(at.limits.list(ann, {}))).toEqual(["team red", "user red ann"]);
  expect(names(at.limits.list(redTeam, { user: "bob" }))).toEqual(["team red", "user red bob"]);
  expect(() => at.limits.list(ann, { user: "bob" })).toThrow(/only its own limits/);
  expect(names(at.limits.list(admin, {}))).toEqual(["server", "teams", "user red ann"]);
  expect(names(at.limits.list(admin, { team: "red" }))).toEqual(["team red", "user red ann"]);
  expect(() => at.limits.list(admin, { user: "ann" })).toThrow(/name the team of the user/);
  expect(at.limits.use(ann, {}).flatMap(({ limits }) => limits.filter(({ used }) => used === undefined))).toEqual([]);
  await expect(at.limits.set(admin, annOf, { keys: 1 })).rejects.toMatchObject({ message: "limits.keys is no limit of a user" });
  await at.limits.set(admin, annOf, { sandboxes: null });
  expect(at.scene.cache.limitTable().users?.["red"] ?? {}).toEqual({});
});
