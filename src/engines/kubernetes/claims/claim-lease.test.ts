import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aPoolPod, patched, withStatus } from "../../../../test/world/pool-pods.ts";
import type { ClaimNote } from "#engine-port/claim-book.ts";
import { holderIn, isClaimLease, isOfLaterUse, leaseAbout, noteAbout, podWithClaim } from "./claim-lease.ts";
import { isClaimElsewhere, storedPod } from "#model/shown-pod.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Lease } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

const { sandboxPhase, sandboxId, sandboxPool, user } = labelKeys;
const mark = annotationKeys.chosenToGo;

function aClaim(id: string, more: Partial<ClaimNote> = {}): ClaimNote {
  const labels = { [sandboxPhase]: "running", [sandboxId]: id, [user]: "ann" };
  return { labels, annotations: { [annotationKeys.sandboxId]: id }, without: [mark], ...more };
}

const leaving: ClaimNote = { labels: {}, annotations: { [annotationKeys.leaving]: "2026-01-01T10:00:00Z" }, without: [] };

function aLease(pod: Pod, note: ClaimNote, resourceVersion = "200"): Lease {
  const lease = leaseAbout(pod, note, undefined);
  return { ...lease, metadata: { ...lease.metadata, uid: "uid-lease", resourceVersion } };
}

/** The Lease with another text in the place of its claim. */
function saying(lease: Lease, text: string): Lease {
  return { ...lease, metadata: { ...lease.metadata, annotations: { [annotationKeys.claim]: text } } };
}

describe("a pod with its claim", () => {
  test("shows what the Lease adds, and not what it takes away", () => {
    const pod = aPoolPod({ annotations: { [mark]: "2026-01-01T00:00:00Z", kept: "yes" } });
    const shown = podWithClaim(pod, aLease(pod, aClaim("i1")));
    expect(shown.metadata.labels).toEqual({ ...pod.metadata.labels, [sandboxPhase]: "running", [sandboxId]: "i1", [user]: "ann" });
    const { [mark]: _, ...annotations } = pod.metadata.annotations ?? {};
    expect(shown.metadata.annotations).toEqual({ ...annotations, [annotationKeys.sandboxId]: "i1" });
    expect({ ...shown.metadata, labels: 0, annotations: 0 }).toEqual({ ...pod.metadata, labels: 0, annotations: 0 });
    expect([shown.spec, shown.status]).toEqual([pod.spec, pod.status]);
    expect([shown, shown.metadata, shown.metadata.labels, shown.metadata.annotations].every(Object.isFrozen)).toBe(true);
  });

  test("knows what the server has of it, however often it is shown", () => {
    const pod = aPoolPod();
    const lease = aLease(pod, aClaim("i1"));
    const shown = podWithClaim(podWithClaim(pod, lease), lease);
    expect([storedPod(shown), storedPod(pod), podWithClaim(shown, undefined)]).toEqual([pod, pod, pod]);
    expect(storedPod(shown)).toBe(pod);
    expect([isClaimElsewhere(shown), isClaimElsewhere(pod)]).toEqual([true, false]);
  });

  test("is the very same object where nothing is said of it", () => {
    const pod = aPoolPod();
    expect(podWithClaim(pod, undefined)).toBe(pod);
    expect(podWithClaim(pod, aLease(aPoolPod({ use: 1 }), aClaim("i1")))).toBe(pod);
  });

  test("says of one that is to go since when nobody may claim it, and is idle", () => {
    const pod = aPoolPod();
    const shown = podWithClaim(pod, aLease(pod, leaving));
    expect(shown.metadata.annotations?.[annotationKeys.leaving]).toBe("2026-01-01T10:00:00Z");
    expect([sandboxPhaseOf(shown), sandboxIdOf(shown)]).toEqual(["idle", undefined]);
  });
});

describe("a Lease says nothing", () => {
  const pod = aPoolPod();
  const lease = aLease(pod, aClaim("i1"));

  test.each([
    ["another pod of the same name", aPoolPod({ metadata: { uid: "uid-2" } })],
    ["a later use", aPoolPod({ use: 1 })],
    ["a pod that is starting", aPoolPod({ phase: "starting", id: "i2" })],
    ["a pod that carries the claim itself", aPoolPod({ phase: "running", id: "i1" })],
    ["a pod that is stopping", aPoolPod({ phase: "stopping", id: "i1" })],
    ["a pod without a phase", aPoolPod({ metadata: { labels: { [sandboxPool]: "py" } } })],
    ["a pod whose count of uses is another text for the same number", aPoolPod({ annotations: { [annotationKeys.useCount]: "00" } })],
  ])("of %s", (_, other) => {
    expect(noteAbout(pod, lease)).toBeDefined();
    expect(noteAbout(other, lease)).toBeUndefined();
    expect(podWithClaim(other, lease)).toBe(other);
  });

  test.each([
    ["is no JSON", "{"],
    ["is empty", ""],
    ["is null", "null"],
    ["is a text", '"i1"'],
    ["is a list", "[]"],
    ["does not say of which use", '{"uid":"uid-1","labels":{},"annotated":[],"without":[]}'],
    ["does not say of which pod", '{"use":"0","labels":{},"annotated":[],"without":[]}'],
    ["says the use as a number", '{"uid":"uid-1","use":0,"labels":{},"annotated":[],"without":[]}'],
    ["has no labels", '{"uid":"uid-1","use":"0","annotated":[],"without":[]}'],
    ["has labels that are null", '{"uid":"uid-1","use":"0","labels":null,"annotated":[],"without":[]}'],
    ["has a label that is no text", '{"uid":"uid-1","use":"0","labels":{"a":1},"annotated":[],"without":[]}'],
    ["has an annotation whose name is no text", '{"uid":"uid-1","use":"0","labels":{},"annotated":[{}],"without":[]}'],
    ["does not say what it hides", '{"uid":"uid-1","use":"0","labels":{},"annotated":[]}'],
    ["hides something without a name", '{"uid":"uid-1","use":"0","labels":{},"annotated":[],"without":[null]}'],
  ])("when its claim %s", (_, text) => {
    expect(podWithClaim(pod, saying(lease, text))).toBe(pod);
  });

  test("when somebody else made it", () => {
    const { annotations: _, ...bare } = lease.metadata;
    expect([isClaimLease(lease), isClaimLease({ ...lease, metadata: bare })]).toEqual([true, false]);
    expect(podWithClaim(pod, { ...lease, metadata: bare })).toBe(pod);
  });
});

describe("the Lease of a claim", () => {
  test("holds also when its pod was deleted in a way that leaves behind what it owned", () => {
    const pod = aPoolPod();
    const lease = aLease(pod, aClaim("i1"));
    const { ownerReferences: _, ...orphaned } = lease.metadata;
    expect(sandboxIdOf(podWithClaim(pod, { ...lease, metadata: orphaned }))).toBe("i1");
  });

  test("is named as its pod, goes with it, and is found by the sandbox and by the pool", () => {
    const { labels, without } = aClaim("i1");
    const heading = { uid: "uid-1", use: "0", labels, annotated: [annotationKeys.sandboxId], without };
    expect(leaseAbout(aPoolPod(), aClaim("i1"), undefined)).toEqual({
      metadata: {
        namespace: "ns",
        name: "py-1",
        labels: { [sandboxPool]: "py", [sandboxId]: "i1" },
        annotations: { [annotationKeys.sandboxId]: "i1", [annotationKeys.claim]: JSON.stringify(heading) },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "py-1", uid: "uid-1" }],
      },
      spec: { holderIdentity: "i1" },
    });
  });

  test("shows no more than was claimed: annotations that others put on it stay there", () => {
    const lease = aLease(aPoolPod(), aClaim("i1"));
    const annotations = { ...lease.metadata.annotations, "example.com/seen": "yes" };
    const shown = podWithClaim(aPoolPod(), { ...lease, metadata: { ...lease.metadata, annotations } });
    expect(shown.metadata.annotations).toEqual(podWithClaim(aPoolPod(), lease).metadata.annotations);
  });

  test("that takes the place of another one takes it of that very version", () => {
    const pod = aPoolPod({ use: 1 });
    const held = aLease(aPoolPod(), aClaim("i1"), "317");
    expect(leaseAbout(pod, aClaim("i2"), held).metadata.resourceVersion).toBe("317");
    expect(noteAbout(pod, leaseAbout(pod, aClaim("i2"), held))).toMatchObject(aClaim("i2"));
  });

  test("about a pod that is to go is nobody's", () => {
    const { metadata, spec } = leaseAbout(aPoolPod(), leaving, undefined);
    expect([metadata.labels, spec, holderIn(leaving), holderIn(aClaim("i1"))]).toEqual([{ [sandboxPool]: "py" }, {}, undefined, "i1"]);
  });

  test.each([
    ["0", "1", true],
    ["9", "10", true],
    ["1", "1", false],
    ["10", "9", false],
    ["1", "many", false],
    ["many", "1", false],
  ])("of a pod seen in use %s and written in use %s: is it of a later one? %s", (seen, written, isLater) => {
    const inUse = (use: string): Pod => aPoolPod({ annotations: { [annotationKeys.useCount]: use } });
    const lease = aLease(inUse(written), aClaim("i1"));
    expect(isOfLaterUse(inUse(seen), lease)).toBe(isLater);
    expect(isOfLaterUse(aPoolPod({ metadata: { uid: "uid-2" } }), lease)).toBe(false);
    expect(isOfLaterUse(inUse(seen), saying(lease, "{"))).toBe(false);
  });
});

/** All that a server ever had of one pod and of its Lease, in the order in which it came to be. */
class Life {
  readonly pods: Pod[] = [aPoolPod()];
  readonly leases: Lease[] = [];
  /** Use to the sandbox that had it. */
  readonly claims = new Map<string, string>();
  /** Phase and sandbox, wherever they stand. */
  truth: readonly [string, string | undefined] = ["idle", undefined];

  /** What is not possible as it stands does not happen. */
  step(step: Step): void {
    const pod = this.pods.at(-1) as Pod;
    const shown = podWithClaim(pod, this.leases.at(-1));
    if (step === "report") this.pods.push(withStatus(pod, { podIP: `10.0.0.${this.pods.length}` }));
    else if (step === "fold" && isClaimElsewhere(shown)) this.#write(pod, { metadata: shown.metadata });
    else if (sandboxPhaseOf(shown) === "idle" && !isClaimElsewhere(shown)) this.#begin(step, pod);
    else this.#goOn(step, pod, shown);
  }

  #begin(step: Step, pod: Pod): void {
    if (step === "claim") this.#claim(pod, `i${this.claims.size + 1}`);
    if (step === "close") this.#note(pod, leaving);
  }

  #goOn(step: Step, pod: Pod, shown: Pod): void {
    const phase = sandboxPhaseOf(shown);
    if (step === "end" && phase === "running") {
      this.#write(pod, aPoolPod({ phase: "stopping", id: sandboxIdOf(shown) ?? "" }));
      this.truth = ["stopping", this.claims.get(useOf(pod))];
    } else if (step === "recycle" && phase === "stopping") {
      this.#write(pod, aPoolPod({ use: Number(useOf(pod)) + 1 }));
      this.truth = ["idle", undefined];
    }
  }

  #claim(pod: Pod, id: string): void {
    this.claims.set(useOf(pod), id);
    this.truth = ["running", id];
    this.#note(pod, aClaim(id));
  }

  #note(pod: Pod, note: ClaimNote): void {
    this.leases.push(aLease(pod, note, String(this.leases.length)));
  }

  #write(pod: Pod, { metadata: { labels = {}, annotations = {} } }: Pick<Pod, "metadata">): void {
    // A pod that ends a use keeps its count; only recycling writes another one.
    const count = sandboxPhaseOf(pod) === "stopping" ? {} : { [annotationKeys.useCount]: useOf(pod) };
    const operations = [
      { op: "add", path: "/metadata/labels", value: labels },
      { op: "add", path: "/metadata/annotations", value: { ...annotations, ...count } },
    ] as const;
    this.pods.push(patched(pod, { type: "json", operations: [...operations] }));
  }
}

const steps = ["report", "claim", "close", "fold", "end", "recycle"] as const;
type Step = (typeof steps)[number];

function useOf(pod: Pod): string {
  return pod.metadata.annotations?.[annotationKeys.useCount] ?? "";
}

/** A sandbox's whole life is more likely than steps that lead nowhere. */
const lives = fc
  .array(
    fc.oneof(
      fc.constant(["claim", "fold", "end", "recycle"] as const),
      fc.constant(["claim", "end", "recycle"] as const),
      fc.array(fc.constantFrom(...steps)),
    ),
    { maxLength: 6 },
  )
  .map((parts) => {
    const life = new Life();
    for (const step of parts.flat()) life.step(step);
    return life;
  });

/** Whoever follows both, as the cache does. */
class Follower {
  shown: Pod | undefined;
  #lease: Lease | undefined;
  /** What was shown of each use that was not on the pod itself, at any moment. */
  readonly beside = new Set<string>();

  hear(heard: { readonly pod: Pod } | { readonly lease: Lease }): void {
    if ("lease" in heard) this.#lease = heard.lease;
    const pod = "pod" in heard ? heard.pod : this.shown;
    if (pod === undefined) return;
    this.shown = podWithClaim(pod, this.#lease);
    const id = sandboxIdOf(this.shown);
    if (isClaimElsewhere(this.shown) && id !== undefined) this.beside.add(`${useOf(pod)}: ${id}`);
  }
}

test("in whatever order the versions of a pod and of its Lease are heard, and whichever are missed, the pod is shown as it is", () => {
  fc.assert(
    fc.property(lives, fc.infiniteStream(fc.boolean()), fc.infiniteStream(fc.boolean()), (life, podNext, missed) => {
      const follower = new Follower();
      const [pods, leases] = [[...life.pods], [...life.leases]];
      while (pods.length + leases.length > 0) {
        const isPod = leases.length === 0 || (pods.length > 0 && podNext.next().value === true);
        const heard = isPod ? { pod: pods.shift() as Pod } : { lease: leases.shift() as Lease };
        // The last one of each is not missed for ever.
        const isLast = (isPod ? pods : leases).length === 0;
        if (isLast || missed.next().value !== true) follower.hear(heard);
      }
      expect(follower.shown).toEqual(podWithClaim(life.pods.at(-1) as Pod, life.leases.at(-1)));
      expect([sandboxPhaseOf(follower.shown as Pod), sandboxIdOf(follower.shown as Pod)]).toEqual(life.truth);
      const claims = new Set([...life.claims].map(([use, id]) => `${use}: ${id}`));
      expect([...follower.beside.difference(claims)]).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
