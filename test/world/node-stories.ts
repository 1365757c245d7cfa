/** Anything that may happen to a node, for property tests: changes of pods, ends of containers, trouble, crashes, reboots. */
import fc from "fast-check";
import { annotationKeys } from "#model/keys.ts";
import { aContainer, type NodeWorld } from "./node-world.ts";
import type { RuntimeOperation } from "./simulated-pod-runtime.ts";

const names = fc.constantFrom("a", "b", "c");
const images = fc.constantFrom("registry.invalid/app:1", "registry.invalid/app:2", "registry.invalid/app:3");
const policies = fc.constantFrom("Always" as const, "Always" as const, "OnFailure" as const, "Never" as const);
const allOperations: readonly RuntimeOperation[] = [
  "ensurePod",
  "removePod",
  "createContainer",
  "startContainer",
  "signalContainer",
  "removeContainer",
  "freezePod",
  "thawPod",
];
const operations = fc.constantFrom(...allOperations);
const moments = fc.constantFrom("before" as const, "after" as const);

interface Happenings {
  readonly create: {
    readonly name: string;
    readonly policy: "Always" | "OnFailure" | "Never";
    readonly withInit: boolean;
    readonly withProbe: boolean;
    readonly two: boolean;
  };
  readonly delete: { readonly name: string; readonly grace: number | undefined };
  readonly image: { readonly name: string; readonly image: string };
  readonly pause: { readonly name: string; readonly since: string | null };
  readonly exit: { readonly name: string; readonly code: number };
  readonly probe: { readonly answer: number };
  readonly wait: { readonly ms: number };
  readonly crash: { readonly afterCalls: number };
  readonly restart: object;
  readonly reboot: object;
  readonly failure: { readonly operation: RuntimeOperation; readonly when: "before" | "after"; readonly times: number };
  readonly slow: { readonly operation: RuntimeOperation; readonly ms: number };
  readonly registry: { readonly works: boolean };
  readonly stubborn: { readonly isSo: boolean };
}

type Kind = keyof Happenings;
export type Happening = { readonly [K in Kind]: { readonly kind: K; readonly about: Happenings[K] } }[Kind];

function sometimes<K extends Kind>(weight: number, kind: K, about: fc.Arbitrary<Happenings[K]>): fc.WeightedArbitrary<Happening> {
  // The pair of kind and content is one of the union, whichever K is.
  return { weight, arbitrary: about.map((content) => ({ kind, about: content }) as Happening) };
}

const create = { name: names, policy: policies, withInit: fc.boolean(), withProbe: fc.boolean(), two: fc.boolean() };

export const happening: fc.Arbitrary<Happening> = fc.oneof(
  sometimes(4, "create", fc.record(create)),
  sometimes(2, "delete", fc.record({ name: names, grace: fc.constantFrom(undefined, 0, 1, 30) })),
  sometimes(4, "image", fc.record({ name: names, image: images })),
  sometimes(3, "pause", fc.record({ name: names, since: fc.constantFrom(null, "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.002Z") })),
  sometimes(3, "exit", fc.record({ name: names, code: fc.constantFrom(0, 1, 137) })),
  sometimes(2, "probe", fc.record({ answer: fc.constantFrom(200, 500) })),
  sometimes(6, "wait", fc.record({ ms: fc.constantFrom(0, 7, 60, 900, 12_000, 70_000) })),
  sometimes(3, "crash", fc.record({ afterCalls: fc.integer({ min: 0, max: 25 }) })),
  sometimes(3, "restart", fc.constant({})),
  sometimes(1, "reboot", fc.constant({})),
  sometimes(2, "failure", fc.record({ operation: operations, when: moments, times: fc.integer({ min: 1, max: 3 }) })),
  sometimes(1, "slow", fc.record({ operation: operations, ms: fc.constantFrom(0, 50, 3_000) })),
  sometimes(1, "registry", fc.record({ works: fc.boolean() })),
  sometimes(1, "stubborn", fc.record({ isSo: fc.boolean() })),
);

const doings: { readonly [K in Kind]: (world: NodeWorld, about: Happenings[K]) => Promise<unknown> | void } = {
  create: (world, { name, policy, withInit, withProbe, two }) => {
    const main = aContainer(withProbe ? { readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 1 } } : {});
    const containers = two ? [main, aContainer({ name: "side" })] : [main];
    const init = withInit ? { initContainers: [aContainer({ name: "init" })] } : {};
    return world.createPod(name, { containers, restartPolicy: policy, ...init }).catch(() => undefined);
  },
  delete: (world, { name, grace }) => world.deletePod(name, grace).catch(() => undefined),
  image: (world, { name, image }) => world.setImage(name, image).catch(() => undefined),
  pause: (world, { name, since }) =>
    world.patchPod(name, { metadata: { annotations: { [annotationKeys.paused]: since } } }).catch(() => undefined),
  exit: (world, { name, code }) => world.runtime.exit(world.runtime.container(name, "main")?.id ?? "", { code }),
  probe: (world, { answer }) => {
    world.network.answer = () => answer;
  },
  wait: (world, { ms }) => world.step(ms),
  crash: (world, { afterCalls }) => (afterCalls === 0 ? world.crashAgent() : world.crashAgentAfterCalls(afterCalls)),
  restart: (world) => {
    world.crashAgent();
    return world.startAgent();
  },
  reboot: (world) => {
    world.crashAgent();
    world.runtime.reboot();
    return world.startAgent();
  },
  failure: (world, { operation, when, times }) => world.runtime.fail(operation, { message: "as the story wants", when, times }),
  slow: (world, { operation, ms }) => world.runtime.delay(operation, ms),
  registry: (world, { works }) => world.images.refuse(() => (works ? undefined : new Error("registry is down"))),
  stubborn: (world, { isSo }) => behave(world, isSo),
};

function behave(world: NodeWorld, isStubborn: boolean): void {
  world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 5 } : isStubborn ? { onStop: "ignores" } : {}));
}

export async function play(world: NodeWorld, story: readonly Happening[]): Promise<void> {
  behave(world, false);
  for (const { kind, about } of story) {
    // Kind and content belong together, which a lookup cannot show.
    const act = doings[kind] as (world: NodeWorld, about: Happening["about"]) => Promise<unknown> | void;
    await act(world, about);
  }
}

/** Nothing stands in the way any more, and a fresh agent looks after the node. */
export async function heal(world: NodeWorld): Promise<void> {
  for (const operation of allOperations) {
    world.runtime.fail(operation, { message: "", times: 0 });
    world.runtime.delay(operation, 0);
  }
  world.images.refuse(() => undefined);
  world.network.answer = () => 200;
  behave(world, false);
  world.crashAgent();
  await world.startAgent();
}
