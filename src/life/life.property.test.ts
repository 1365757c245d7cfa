/** Whole lives of a pod, claim after claim, with whatever users bring along. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, type SandboxPhase, sandboxStopReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, digestOf, nodeCatchesUp, patched } from "../../test/world/pool-pods.ts";
import { type Claim, planClaim } from "./claim/plan-claim.ts";
import { planFinishStart } from "./arm/plan-started.ts";
import type { TargetImages } from "#sandbox/images/images.ts";
import { mayFollow } from "#sandbox/phase.ts";
import { planRecycle } from "./recycle/plan-recycle.ts";
import { fateAfterUse } from "./recycle/plan-fate.ts";
import { planEnd } from "./end/plan-end.ts";
import { unexpectedRestart } from "#sandbox/health/restart.ts";
import { captureStopRecord } from "./record/plan-record.ts";
import { checkUserMetadata } from "#sandbox/user-metadata.ts";

/** No user has a value that the pod has without the user, so any trace of one is a leak. */
const userValue = fc.stringMatching(/^user-[a-z0-9]{8}$/);
const userKey = fc.oneof(fc.stringMatching(/^[a-z]([a-z.-]{0,8}[a-z])?$/), fc.constantFrom("constructor", "example.com/key", "a.b/c"));
const userMap = fc.dictionary(userKey, userValue, { maxKeys: 4, noNullPrototype: true });
const image = fc.constantFrom("idle", "app", "other");

const wish = fc.record({
  id: userValue,
  team: userValue,
  user: userValue,
  images: fc.record({ main: image, side: image }),
  labels: userMap,
  annotations: userMap,
  metadata: userMap,
  idleTimeoutMs: fc.nat(1e6),
  endTimeMs: fc.nat(1e12),
  stopReason: fc.option(fc.constantFrom(...sandboxStopReasons), { nil: undefined }),
  releaseEarly: fc.boolean(),
});
type Wish = typeof wish extends fc.Arbitrary<infer T> ? T : never;

const waiting: TargetImages = { main: target("idle"), side: target("side") };

function target(name: string): { image: string; digest: string } {
  return { image: `registry.invalid/${name}:1`, digest: digestOf(name) };
}

/** The pod through its life, with every phase and image text that it had. */
class Life {
  pod: Pod;
  now = Date.parse("2026-01-01T00:00:00Z");
  readonly phases: SandboxPhase[] = [];
  readonly imageTexts: string[][] = [];

  constructor(pod: Pod) {
    this.pod = pod;
    this.#note();
  }

  write(plan: { kind: string; patch?: Parameters<typeof patched>[1] }): void {
    if (plan.patch === undefined) throw new Error(JSON.stringify(plan));
    this.pod = patched(this.pod, plan.patch);
    this.#note();
  }

  nodeCatchesUp(): void {
    this.now += 1000;
    this.pod = nodeCatchesUp(this.pod);
  }

  #note(): void {
    const phase = sandboxPhaseOf(this.pod);
    if (phase === undefined) throw new Error("the pod lost its phase");
    if (phase !== this.phases.at(-1)) this.phases.push(phase);
    this.imageTexts.push(this.pod.spec.containers.map((container) => container.image ?? ""));
  }
}

function use(life: Life, wanted: Wish): void {
  const { images, stopReason, releaseEarly, id, ...rest } = wanted;
  const claim: Claim = { ...rest, sandboxId: id, images: { main: target(images.main), side: target(images.side) } };
  life.write(planClaim(life.pod, claim, life.now));
  expect(sandboxIdOf(life.pod)).toBe(id);
  if (sandboxPhaseOf(life.pod) === "starting" && !releaseEarly) {
    life.nodeCatchesUp();
    life.write(planFinishStart(life.pod, life.now));
  }
  expect(unexpectedRestart(life.pod)).toBeUndefined();
  const fate = fateAfterUse(life.pod, { waiting, maxUses: 1000 });
  life.write(planEnd(life.pod, { sandboxId: id, fate, ...(stopReason === undefined ? {} : { stopReason }) }, life.now));
  const record = captureStopRecord(life.pod, life.now);
  expect(record).toMatchObject({ sandboxId: id, team: rest.team, user: rest.user, metadata: rest.metadata });
  life.nodeCatchesUp();
  // Asked again later, by another process, the record is the same.
  expect(captureStopRecord(life.pod, life.now)).toEqual(record);
  life.write(planRecycle(life.pod, { recorded: id }, life.now));
}

test("I2: after claim, release and recycling nothing of its user is left on a pod, and it is one use older", () => {
  fc.assert(
    fc.property(wish, (wanted) => {
      const before = aPoolPod({
        images: { main: "idle", side: "side" },
        labels: { app: "base" },
        annotations: { "cni.example.com/ip": "x" },
      });
      fc.pre(checkUserMetadata(wanted, before.metadata).length === 0);
      const life = new Life(before);
      use(life, wanted);
      const { metadata } = life.pod;
      expect(JSON.stringify(metadata)).not.toContain("user-");
      expect(metadata.labels).toEqual(before.metadata.labels);
      expect(metadata.annotations?.[annotationKeys.useCount]).toBe("1");
      const added = Object.keys(metadata.annotations ?? {}).filter((key) => !Object.hasOwn(before.metadata.annotations ?? {}, key));
      expect(added).toEqual([annotationKeys.inplaceUpdateState]);
    }),
  );
});

test("a pod may be used again and again: phases follow the rules, and no container spec ever comes back", () => {
  fc.assert(
    fc.property(fc.array(wish, { minLength: 2, maxLength: 6 }), (wishes) => {
      const life = new Life(aPoolPod({ images: { main: "idle", side: "side" } }));
      const fit = wishes.filter((wanted) => checkUserMetadata(wanted).length === 0);
      for (const wanted of fit) use(life, wanted);
      expect(life.pod.metadata.annotations?.[annotationKeys.useCount]).toBe(String(fit.length));
      for (const [index, phase] of life.phases.slice(1).entries()) expect(mayFollow(life.phases[index] ?? "failed", phase)).toBe(true);
      for (const container of [0, 1]) {
        const texts = life.imageTexts.map((images) => images[container]).filter((text, index, all) => text !== all[index - 1]);
        expect(new Set(texts).size).toBe(texts.length);
      }
    }),
    { numRuns: 50 },
  );
});
