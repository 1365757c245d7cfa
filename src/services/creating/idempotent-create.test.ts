import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import type { Caller } from "#services/caller.ts";
import { createOnce, type IdempotencyDeps } from "./idempotent-create.ts";
import type { CreatedSandbox, CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

const ann: Caller = { role: "tenant", team: "red", user: "ann", keyId: "k" };
const command: CreateSandbox = { from: "base", idempotencyKey: "once" };

class Scene implements Disposable {
  readonly clock = new SteppedClock();
  readonly store: ObjectStore = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: this.clock });
  readonly deps: IdempotencyDeps = { client: this.store, clock: this.clock, keysNamespace: "default", longestCreateMs: 60_000 };
  readonly made: string[] = [];
  create = async (id: string): Promise<CreatedSandbox> => {
    this.made.push(id);
    return created(id);
  };

  once(wanted: CreateSandbox = command, caller = ann): Promise<CreatedSandbox> {
    const find = async (id: string) => (this.made.includes(id) ? created(id) : undefined);
    return createOnce(this.deps, caller, wanted, { create: (id) => this.create(id), find });
  }

  async notes(): Promise<number> {
    return (await this.store.list(ConfigMaps, { namespace: "default" })).items.length;
  }

  [Symbol.dispose](): void {
    this.store.close();
  }
}

function created(sandboxId: string): CreatedSandbox {
  return { sandbox: { sandboxId } } as CreatedSandbox;
}

test("without a key every request is a sandbox, and nothing is remembered", async () => {
  using scene = new Scene();
  const [first, second] = [await scene.once({ from: "base" }), await scene.once({ from: "base" })];
  expect(first.sandbox.sandboxId).not.toBe(second.sandbox.sandboxId);
  expect(await scene.notes()).toBe(0);
});

test("the same request with the same key is the same sandbox", async () => {
  using scene = new Scene();
  const first = await scene.once();
  expect(await scene.once()).toEqual(first);
  expect(scene.made).toHaveLength(1);
});

test("two at once make one sandbox; the other is told to come again", async () => {
  using scene = new Scene();
  const go = Promise.withResolvers<void>();
  const make = scene.create;
  scene.create = async (id) => {
    await go.promise;
    return make(id);
  };
  const first = scene.once();
  await scene.clock.step(1);
  await expect(scene.once()).rejects.toMatchObject({ code: "conflict", details: { retryAfterSeconds: 1 } });
  go.resolve();
  expect(await scene.once(command).catch(() => undefined)).toEqual(await first);
});

test("another request under the same key is refused", async () => {
  using scene = new Scene();
  await scene.once();
  await expect(scene.once({ ...command, image: "other" })).rejects.toMatchObject({
    code: "conflict",
    details: { field: "idempotencyKey" },
  });
});

test("I8: another caller's key is his own", async () => {
  using scene = new Scene();
  const first = await scene.once();
  const second = await scene.once(command, { ...ann, user: "bob" });
  expect(second.sandbox.sandboxId).not.toBe(first.sandbox.sandboxId);
});

test("a create that failed may be repeated under its key", async () => {
  using scene = new Scene();
  const make = scene.create;
  scene.create = () => Promise.reject(new ServiceError("no_capacity", "full"));
  await expect(scene.once()).rejects.toMatchObject({ code: "no_capacity" });
  scene.create = make;
  await scene.once();
  expect(scene.made).toHaveLength(1);
});

test("I7: when the maker died, the key is free again after the longest time that a create takes", async () => {
  using scene = new Scene();
  scene.create = () => new Promise(() => {});
  void scene.once();
  await scene.clock.step(59_000);
  scene.create = async (id) => {
    scene.made.push(id);
    return created(id);
  };
  await expect(scene.once()).rejects.toMatchObject({ code: "conflict" });
  await scene.clock.step(2000);
  await scene.once();
  expect(scene.made).toHaveLength(1);
});

test("what a key remembers is not the request", async () => {
  using scene = new Scene();
  await scene.once({ ...command, envVars: { TOKEN: "hunter2" } });
  expect(JSON.stringify(await scene.store.list(ConfigMaps))).not.toMatch(/hunter2|TOKEN|once/);
});
