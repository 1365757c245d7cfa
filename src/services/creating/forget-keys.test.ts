import { afterEach, expect, test, vi } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { forgetOldKeys, KeysToForget } from "./forget-keys.ts";
import { createOnce } from "./idempotent-create.ts";
import type { CreatedSandbox } from "#services/sandbox-service.ts";

const [minutes, hours] = [60_000, 3_600_000];

class Scene {
  readonly clock = new SteppedClock();
  readonly store: ObjectStore = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: this.clock });
  readonly deps = { client: this.store, clock: this.clock, keysNamespace: "default" };
  readonly forgetting = new KeysToForget({ ...this.deps, random: () => 0.5, log: recordedLog().log });

  /** A create with this key, which is made at once. */
  async create(team: string, idempotencyKey: string): Promise<void> {
    const once = { ...this.deps, longestCreateMs: minutes, onNoted: () => this.forgetting.noted() };
    const making = { create: async () => ({ sandbox: {} }) as CreatedSandbox, find: async () => undefined };
    await createOnce(once, { role: "tenant", team, keyId: "k" }, { from: "base", idempotencyKey }, making);
  }

  async createMany(team: string, count: number): Promise<void> {
    for (let one = 0; one < count; one++) await this.create(team, `key-${this.clock.now()}-${one}`);
  }

  async notes(team: string): Promise<number> {
    return (await this.#of(team)).length;
  }

  /** When the newest one was made. */
  async newest(team: string): Promise<number> {
    return Math.max(...(await this.#of(team)).map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? "")));
  }

  async #of(team: string): Promise<readonly ConfigMap[]> {
    return (await this.store.list(ConfigMaps, { namespace: "default", labelSelector: `${labelKeys.team}=${team}` })).items;
  }
}

let scene: Scene;
afterEach(async () => {
  await scene.forgetting.stop();
  scene.store.close();
});

test("keys are forgotten after a day", async () => {
  scene = new Scene();
  await scene.create("red", "once");
  await scene.clock.step(23 * hours);
  expect(await scene.notes("red")).toBe(1);
  await scene.clock.step(3 * hours);
  expect(await scene.notes("red")).toBe(0);
});

test("of a team with very many keys the oldest are forgotten, and no other team's", async () => {
  scene = new Scene();
  await scene.createMany("blue", 10);
  await scene.createMany("red", 10);
  await scene.clock.step(20 * minutes);
  await scene.create("red", "new");
  await forgetOldKeys(scene.deps, 4);
  expect([await scene.notes("red"), await scene.notes("blue")]).toEqual([4, 4]);
  expect(await scene.newest("red")).toBe(scene.clock.now());
});

test("a key of the last ten minutes stays, however many its team has: its create may be repeated", async () => {
  scene = new Scene();
  await scene.createMany("red", 10);
  await scene.clock.step(9 * minutes);
  await forgetOldKeys(scene.deps, 4);
  expect(await scene.notes("red")).toBe(10);
});

test("a process that remembers very many does not wait an hour to forget", async () => {
  scene = new Scene();
  await scene.create("red", "old");
  await scene.clock.step(25 * hours);
  expect(await scene.notes("red")).toBe(0);
  const list = vi.spyOn(scene.store, "list");
  for (let count = 0; count < 1999; count++) scene.forgetting.noted();
  expect(list).not.toHaveBeenCalled();
  scene.forgetting.noted();
  expect(list).toHaveBeenCalledTimes(1);
});
