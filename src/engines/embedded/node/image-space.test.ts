import { expect, test } from "vitest";
import type { Digest } from "#images/digest.ts";
import type { GarbageOptions } from "#images/content-store/collect-garbage.ts";
import { ImageError } from "#images/image-error.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { HeldImages, type TeamSpace } from "./held-images.ts";
import { excessBytes, makeRoom, makeRoomOfTeams, startImageSpace, usualImageSpace } from "./image-space.ts";
import type { PodState } from "./pod-runtime.ts";

test.each([
  [85, 0],
  [85.1, 5.1],
  [100, 20],
  [0, 0],
])("a disk that is %d %% full has %d %% too much on it", (used, excess) => {
  expect(excessBytes({ totalBytes: 1000, usedBytes: used * 10 }, usualImageSpace)).toBe(excess * 10);
});

/** A disk of 1,000 bytes: `loose` that no name leads to, `unused` that only a name does. */
function aDisk({ other, loose, unused }: { other: number; loose: number; unused: number }) {
  const asked: GarbageOptions[] = [];
  const clock = new SteppedClock();
  const log = recordedLog();
  const state = { loose, unused, letGo: 0 };
  const deps = {
    images: {
      gc: async (options: GarbageOptions) => {
        asked.push(options);
        const names = Math.max(0, Math.min(state.unused, state.unused - (options.keepBytes ?? 0)));
        const freedBytes = state.loose + names;
        state.loose = 0;
        state.unused -= names;
        return { images: [], freedBytes, keptBytes: state.unused };
      },
    },
    held: { letGo: async () => void (state.letGo += 1), teams: async () => [] as TeamSpace[], collected: () => {} },
    disk: () => ({ totalBytes: 1000, usedBytes: other + state.loose + state.unused }),
    limits: usualImageSpace,
    clock,
    log: log.log,
  };
  return { deps, asked, state, clock };
}

test("while there is room nothing is collected", async () => {
  const { deps, asked } = aDisk({ other: 500, loose: 100, unused: 100 });
  await makeRoom(deps);
  expect(asked).toEqual([]);
});

test("what no name leads to goes first, and nothing else if that is enough", async () => {
  const { deps, state } = aDisk({ other: 600, loose: 200, unused: 100 });
  await makeRoom(deps);
  expect(state).toEqual({ loose: 0, unused: 100, letGo: 1 });
});

test("then unused images go until the lower mark, those that were just used excepted", async () => {
  const { deps, state, asked, clock } = aDisk({ other: 700, loose: 0, unused: 200 });
  await makeRoom(deps);
  expect(state.unused).toBe(100);
  expect(asked.map(({ keepNewerThan }) => keepNewerThan)).toEqual([clock.now() - 120_000, clock.now() - 120_000]);
});

test("it looks every five minutes until it is stopped", async () => {
  const { deps, state, clock } = aDisk({ other: 950, loose: 0, unused: 0 });
  const timer = startImageSpace(deps);
  await clock.step(300_000);
  await clock.step(300_000);
  expect(state.letGo).toBe(2);
  timer.cancel();
  await clock.step(600_000);
  expect(state.letGo).toBe(2);
});

test("images are held while a container uses them or may soon do so, and then let go", async () => {
  const clock = new SteppedClock();
  let used: readonly string[] = ["sha256:old"];
  const written: Digest[][] = [];
  const held = await HeldImages.open({
    images: {
      ensure: async (reference: string) => ({ digest: `sha256:${reference}` }) as ResolvedImage,
      hold: async (_: string, digests: Iterable<Digest>) => void written.push([...digests]),
      usedByTeams: async () => new Map(),
    },
    // Only the digests are looked at.
    runtime: { list: async () => [{ containers: used.map((imageDigest) => ({ imageDigest })) }] as unknown as PodState[] },
    clock,
    owner: "node",
    limitOf: () => Infinity,
  });
  expect(written.at(-1)).toEqual(["sha256:old"]);
  await held.ensure("new", { pullPolicy: "IfNotPresent", pullSecrets: [] });
  expect(written.at(-1)).toEqual(["sha256:old", "sha256:new"]);
  used = [];
  await held.letGo();
  expect(written.at(-1)).toEqual(["sha256:new"]);
  await clock.step(600_000);
  await held.letGo();
  expect(written.at(-1)).toEqual([]);
});

test("a team near its limit, or refused at it, loses images that no pod uses; other teams lose none", async () => {
  const { deps, asked, state, clock } = aDisk({ other: 100, loose: 0, unused: 0 });
  const collected: string[] = [];
  const space = (team: string, usedBytes: number, wasRefused = false): TeamSpace => ({ team, usedBytes, maxBytes: 100, wasRefused });
  const teams = async () => [space("red", 86), space("blue", 85), space("green", 60, true)];
  await makeRoomOfTeams({ ...deps, held: { ...deps.held, teams, collected: (team) => void collected.push(team) } });
  const keepNewerThan = clock.now() - 120_000;
  expect(asked).toEqual([
    { team: "red", keepBytes: 80, keepNewerThan },
    { team: "green", keepBytes: 0, keepNewerThan },
  ]);
  expect([collected, state.letGo]).toEqual([["red", "green"], 1]);
});

test("pulls of a team have its limit; a refused one is remembered until the team's images are collected", async () => {
  const budgets: unknown[] = [];
  const held = await HeldImages.open({
    images: {
      ensure: async (reference, { budget }) => {
        budgets.push(budget);
        if (reference === "large") throw new ImageError("team_limit", "too much");
        return { digest: `sha256:${reference}` } as ResolvedImage;
      },
      hold: async () => {},
      usedByTeams: async () => new Map([["red", 7]]),
    },
    runtime: { list: async () => [] },
    clock: new SteppedClock(),
    owner: "node",
    limitOf: () => 50,
  });
  const options = { pullPolicy: "IfNotPresent", pullSecrets: [] } as const;
  await held.ensure("any", options);
  await held.ensure("small", { ...options, team: "red" });
  await expect(held.ensure("large", { ...options, team: "red" })).rejects.toThrow("too much");
  expect(budgets).toEqual([undefined, { team: "red", maxBytes: 50 }, { team: "red", maxBytes: 50 }]);
  expect([held.usedBytes("red"), held.usedBytes("blue")]).toEqual([7, 0]);
  expect(await held.teams()).toEqual([{ team: "red", usedBytes: 7, maxBytes: 50, wasRefused: true }]);
  held.collected("red");
  expect(await held.teams()).toMatchObject([{ wasRefused: false }]);
});
