import fc from "fast-check";
import { expect, test } from "vitest";
import { type Pod, Pods } from "#model/pod.ts";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";
import type { RuntimeOperation } from "../../../../../test/world/simulated-pod-runtime.ts";

const names = fc.constantFrom("a", "b", "c");
const images = fc.constantFrom("registry.invalid/app:1", "registry.invalid/app:2", "registry.invalid/app:3");
const operations = fc.constantFrom<RuntimeOperation>(
  "ensurePod",
  "removePod",
  "createContainer",
  "startContainer",
  "signalContainer",
  "removeContainer",
);

/** Anything that may happen to a node. */
const happening = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("create" as const),
      name: names,
      policy: fc.constantFrom("Always" as const, "Always" as const, "OnFailure" as const, "Never" as const),
      withInit: fc.boolean(),
      withProbe: fc.boolean(),
      two: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), name: names, grace: fc.constantFrom(undefined, 0, 1, 30) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("image" as const), name: names, image: images }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("exit" as const), name: names, code: fc.constantFrom(0, 1, 137) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("probe" as const), answer: fc.constantFrom(200, 500) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(0, 7, 60, 900, 12_000, 70_000) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("crash" as const), afterCalls: fc.integer({ min: 0, max: 25 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reboot" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("failure" as const),
      operation: operations,
      when: fc.constantFrom("before" as const, "after" as const),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("slow" as const), operation: operations, ms: fc.constantFrom(0, 50, 3_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("registry" as const), works: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stubborn" as const), isSo: fc.boolean() }) },
);

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

async function happen(world: NodeWorld, event: Happening): Promise<void> {
  switch (event.kind) {
    case "create": {
      const probes = event.withProbe ? { readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 1 } } : {};
      const containers = [aContainer(probes), ...(event.two ? [aContainer({ name: "side" })] : [])];
      const spec = {
        containers,
        restartPolicy: event.policy,
        ...(event.withInit ? { initContainers: [aContainer({ name: "init" })] } : {}),
      };
      return void (await world.createPod(event.name, spec).catch(() => undefined));
    }
    case "delete":
      return world.deletePod(event.name, event.grace).catch(() => undefined);
    case "image":
      return world.setImage(event.name, event.image).catch(() => undefined);
    case "exit":
      return world.runtime.exit(world.runtime.container(event.name, "main")?.id ?? "", { code: event.code });
    case "probe":
      world.network.answer = () => event.answer;
      return;
    case "wait":
      return world.step(event.ms);
    case "crash":
      return event.afterCalls === 0 ? world.crashAgent() : world.crashAgentAfterCalls(event.afterCalls);
    case "restart":
      world.crashAgent();
      return world.startAgent();
    case "reboot":
      world.crashAgent();
      world.runtime.reboot();
      return world.startAgent();
    case "failure":
      return world.runtime.fail(event.operation, { message: "as the test wants", when: event.when, times: event.times });
    case "slow":
      return world.runtime.delay(event.operation, event.ms);
    case "registry":
      return world.images.refuse(() => (event.works ? undefined : new Error("registry is down")));
    case "stubborn":
      return world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 5 } : event.isSo ? { onStop: "ignores" } : {}));
  }
}

function isOver({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** Nothing stands in the way any more. */
async function heal(world: NodeWorld): Promise<void> {
  for (const operation of ["ensurePod", "removePod", "createContainer", "startContainer", "signalContainer", "removeContainer"] as const) {
    world.runtime.fail(operation, { message: "", times: 0 });
    world.runtime.delay(operation, 0);
  }
  world.images.refuse(() => undefined);
  world.network.answer = () => 200;
  world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 5 } : {}));
  world.crashAgent();
  await world.startAgent();
}

/** Follows every version of every pod: what must not go back. */
function watchCounts(world: NodeWorld): { readonly mistakes: string[]; stop(): void } {
  const stop = new AbortController();
  const mistakes: string[] = [];
  const counts = new Map<string, number>();
  /** Of pods that are over. */
  const phases = new Map<string | undefined, string>();
  const watch = async (): Promise<void> => {
    for await (const event of world.store.watch(Pods, { signal: stop.signal })) {
      if (event.type === "BOOKMARK") continue;
      const { metadata, status } = event.object;
      const phase = status?.phase ?? "";
      const before = phases.get(metadata.uid);
      if (before !== undefined && before !== phase) mistakes.push(`${metadata.name}: ${before} → ${phase}`);
      if (isOver(event.object)) phases.set(metadata.uid, phase);
      for (const { name, restartCount } of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
        const key = `${metadata.uid} ${name}`;
        if (restartCount < (counts.get(key) ?? 0)) mistakes.push(`${metadata.name}/${name}: ${counts.get(key)} → ${restartCount}`);
        counts.set(key, restartCount);
      }
    }
  };
  void watch().catch(() => undefined);
  return { mistakes, stop: () => stop.abort(new Error("seen enough")) };
}

test("whatever happens to a node, it ends as its pods say, with nothing started twice and nothing left over", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 40, size: "max" }), async (story) => {
      await using world = await NodeWorld.start();
      world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 5 } : {}));
      const counts = watchCounts(world);
      for (const event of story) await happen(world, event);

      await heal(world);
      await world.step(15 * 60_000);
      const { items } = await world.store.list(Pods);
      const [over, living] = [items.filter(isOver), items.filter((pod) => !isOver(pod))];
      expect(over.filter(({ spec }) => spec.restartPolicy === "Always")).toEqual([]);
      for (const { metadata, spec, status } of living) {
        expect([metadata.name, metadata.deletionTimestamp, status?.phase]).toEqual([metadata.name, undefined, "Running"]);
        if (spec.restartPolicy !== "Always") continue;
        const found = status?.containerStatuses?.map(({ name, image, ready }) => ({ name, image, ready }));
        expect(found).toEqual(spec.containers.map(({ name, image }) => ({ name, image, ready: true })));
      }
      expect(
        world.runtime
          .present()
          .map(({ uid }) => uid)
          .sort(),
      ).toEqual(living.map(({ metadata }) => metadata.uid).sort());
      for (const { containers } of world.runtime.present()) expect(containers.filter(({ state }) => state === "created")).toEqual([]);

      for (const { metadata } of items) await world.deletePod(metadata.name ?? "");
      await world.step(60_000);
      expect((await world.store.list(Pods)).items).toEqual([]);
      expect(world.runtime.present()).toEqual([]);
      expect(world.runtime.violations).toEqual([]);
      expect(counts.mistakes).toEqual([]);
      expect(JSON.stringify(world.logged.lines)).not.toContain("did not settle");
      counts.stop();
    }),
    { numRuns: Number(process.env["AGENTBOX_NODE_STORIES"] ?? 40) },
  );
}, 120_000);
