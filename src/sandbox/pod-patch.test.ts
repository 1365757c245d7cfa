import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClaimNote } from "#engine-port/claim-book.ts";
import { leaseAbout, podWithClaim } from "#engines/kubernetes/claims/claim-lease.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, patched, pinned, withStatus } from "../../test/world/pool-pods.ts";
import { mayFollow } from "./phase.ts";
import { podPatch } from "./pod-patch.ts";

/** Names that every object seems to have, and others that a pointer must escape. */
const awkwardKey = fc.oneof(
  fc.constantFrom("constructor", "toString", "hasOwnProperty", "a/b", "a~b", "~1", "a~0/b", "x.y/z"),
  fc.stringMatching(/^[a-z]{1,3}$/),
);
const anyMap = fc.dictionary(awkwardKey, fc.string({ maxLength: 3 }), { maxKeys: 5, noNullPrototype: true });

describe("a change of a pod", () => {
  test("begins by testing that the pod is the one that was looked at, in that very version", () => {
    const { operations } = podPatch(aPoolPod(), { labels: { a: "1" } });
    expect(operations.slice(0, 2)).toEqual([
      { op: "test", path: "/metadata/uid", value: "uid-1" },
      { op: "test", path: "/metadata/resourceVersion", value: "100" },
    ]);
  });

  test("is refused by a pod that has changed meanwhile, or is another of the same name", () => {
    const pod = aPoolPod();
    const patch = podPatch(pod, { labels: { a: "1" } });
    expect(patched(pod, patch).metadata.labels).toMatchObject({ a: "1" });
    expect(() => patched(withStatus(pod, {}), patch)).toThrow("test failed at /metadata/resourceVersion");
    expect(() => patched({ ...pod, metadata: { ...pod.metadata, uid: "uid-2" } }, patch)).toThrow("test failed at /metadata/uid");
  });

  test("writes only what differs", () => {
    const pod = aPoolPod({ labels: { a: "1", b: "2" }, annotations: { c: "3" } });
    const { operations } = podPatch(pod, { labels: { a: "1", b: "x" }, annotations: { c: "3" }, removeLabels: ["zzz"] });
    expect(operations.slice(2)).toEqual([{ op: "add", path: "/metadata/labels/b", value: "x" }]);
  });

  test("gives maps to a pod that has none", () => {
    const { labels, annotations: _, ...metadata } = aPoolPod().metadata;
    const bare: Pod = { ...aPoolPod(), metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) } };
    expect(patched(bare, podPatch(bare, { annotations: { a: "1" }, removeAnnotations: ["b"] })).metadata.annotations).toEqual({ a: "1" });
    expect(podPatch(bare, { removeAnnotations: ["b"] }).operations).toHaveLength(2);
  });

  test("of images is one of the containers that it names", () => {
    const pod = aPoolPod({ images: { main: "a", side: "b" } });
    const next = patched(pod, podPatch(pod, { images: { side: pinned("c", 4) } }));
    expect(next.spec.containers.map(({ image }) => image)).toEqual([pinned("a"), pinned("c", 4)]);
    expect(() => podPatch(pod, { images: { other: "x" } })).toThrow("pod py-1 has no container other");
  });

  test("sets and removes exactly what it says, whatever the keys are", () => {
    fc.assert(
      fc.property(anyMap, anyMap, fc.array(awkwardKey), (present, wanted, removed) => {
        const pod = aPoolPod({ metadata: { labels: present, annotations: present } });
        const next = patched(
          pod,
          podPatch(pod, { labels: wanted, removeLabels: removed, annotations: wanted, removeAnnotations: removed }),
        );
        const kept = Object.entries(present).filter(([key]) => !removed.includes(key));
        const expected = { ...Object.fromEntries(kept), ...wanted };
        expect(next.metadata.labels).toEqual(expected);
        expect(next.metadata.annotations).toEqual(expected);
        expect(next.spec).toEqual(pod.spec);
      }),
    );
  });

  test("moves only along the phases that may follow each other", () => {
    const pairs = sandboxPhases.flatMap((from) => sandboxPhases.map((to) => ({ pod: aPoolPod({ phase: from }), from, to })));
    for (const { pod, to } of pairs.filter((pair) => mayFollow(pair.from, pair.to))) {
      expect(sandboxPhaseOf(patched(pod, podPatch(pod, { phase: to })))).toBe(to);
    }
    for (const { pod, from, to } of pairs.filter((pair) => !mayFollow(pair.from, pair.to))) {
      expect(() => podPatch(pod, { phase: to })).toThrow(`cannot go from phase ${from} to ${to}`);
    }
  });

  test("cannot be made for a pod of nobody's, or one that no server has seen", () => {
    const foreign = aPoolPod({ metadata: { labels: {} } });
    expect(() => podPatch(foreign, { phase: "running" })).toThrow("cannot go from phase none to running");
    for (const field of ["uid", "resourceVersion"] as const) {
      const { [field]: _, ...metadata } = aPoolPod().metadata;
      expect(() => podPatch({ ...aPoolPod(), metadata }, {})).toThrow(`has no ${field}: it was not read from a server`);
    }
  });
});

describe("a change of a pod whose claim stands on its Lease", () => {
  const claimLabels = { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i1" };
  const note: ClaimNote = { labels: claimLabels, annotations: { [annotationKeys.sandboxId]: "i1" }, without: ["hidden", "not there"] };

  /** The pod as it is shown, and the one that a server makes of the change, which it knows nothing more of. */
  function folded(
    pod: Pod,
    said: ClaimNote,
    change: Parameters<typeof podPatch>[1],
  ): { readonly shown: Pod; readonly next: Pod; readonly again: Pod } {
    const lease = leaseAbout(pod, said, undefined);
    const shown = podWithClaim(pod, lease);
    const next = patched(pod, podPatch(shown, change));
    return { shown, next, again: podWithClaim(next, lease) };
  }

  test("takes the claim along: what is shown stands there, what it hides is gone, and the Lease has nothing more to say", () => {
    const pod = aPoolPod({ annotations: { hidden: "x", kept: "y" } });
    const { shown, next, again } = folded(pod, note, {});
    expect(isClaimElsewhere(shown)).toBe(true);
    expect(next.metadata.labels).toEqual({ ...pod.metadata.labels, ...claimLabels });
    expect(next.metadata.annotations).toEqual({ [annotationKeys.useCount]: "0", kept: "y", [annotationKeys.sandboxId]: "i1" });
    expect(again).toBe(next);
  });

  test("writes nothing that stands there already, and tests the version that the server has", () => {
    const pod = aPoolPod({ labels: { a: "1" }, annotations: { b: "2" } });
    const shown = podWithClaim(pod, leaseAbout(pod, note, undefined));
    const { operations } = podPatch(shown, { labels: { a: "1" }, annotations: { b: "2" } });
    expect(operations).toEqual([
      { op: "test", path: "/metadata/uid", value: "uid-1" },
      { op: "test", path: "/metadata/resourceVersion", value: "100" },
      { op: "add", path: "/metadata/labels/agentbox.navix.sh~1sandbox-phase", value: "running" },
      { op: "add", path: "/metadata/labels/agentbox.navix.sh~1sandbox-id", value: "i1" },
      { op: "add", path: "/metadata/annotations/agentbox.navix.sh~1sandbox-id", value: "i1" },
    ]);
  });

  test("goes on from the phase that is shown", () => {
    const { next } = folded(aPoolPod(), note, { phase: "stopping" });
    expect([sandboxPhaseOf(next), sandboxIdOf(next)]).toEqual(["stopping", "i1"]);
    expect(() => podPatch(aPoolPod(), { phase: "stopping" })).toThrow("cannot go from phase idle to stopping");
    expect(() => folded(aPoolPod(), note, { phase: "starting" })).toThrow("cannot go from phase running to starting");
  });

  test("gives maps to a pod that has none, and images to its containers", () => {
    const { annotations: _, ...metadata } = aPoolPod().metadata;
    const { next } = folded({ ...aPoolPod(), metadata }, note, { images: { main: pinned("c", 4) } });
    expect(next.metadata.annotations).toEqual({ [annotationKeys.sandboxId]: "i1" });
    expect(next.spec.containers[0]?.image).toBe(pinned("c", 4));
  });

  test("leaves a pod that is closed to claims closed, on itself", () => {
    const closed: ClaimNote = { labels: {}, annotations: { [annotationKeys.leaving]: "2026-01-01T10:00:00Z" }, without: [] };
    const { next, again } = folded(aPoolPod(), closed, { annotations: { mark: "1" } });
    expect(next.metadata.annotations).toMatchObject({ mark: "1", ...closed.annotations });
    expect(again.metadata).toEqual(next.metadata);
  });

  test("sets and removes exactly what it says of what is shown, whatever the keys are", () => {
    fc.assert(
      fc.property(
        anyMap,
        anyMap,
        anyMap,
        fc.tuple(fc.array(awkwardKey), fc.array(awkwardKey)),
        (present, added, wanted, [hidden, removed]) => {
          const idle = { [labelKeys.sandboxPhase]: "idle" };
          const pod = aPoolPod({ metadata: { labels: { ...present, ...idle }, annotations: present } });
          // A claim sets nothing that it hides.
          const without = hidden.filter((key) => !Object.hasOwn(added, key));
          const said = { labels: { ...added, ...claimLabels }, annotations: added, without };
          const change = { labels: wanted, removeLabels: removed, annotations: wanted, removeAnnotations: removed };
          const { shown, next, again } = folded(pod, said, change);
          for (const field of ["labels", "annotations"] as const) {
            const kept = Object.entries(shown.metadata[field] ?? {}).filter(([key]) => !removed.includes(key));
            expect(next.metadata[field]).toEqual({ ...Object.fromEntries(kept), ...wanted });
          }
          expect(next.spec).toEqual(pod.spec);
          expect(again).toBe(next);
        },
      ),
    );
  });
});
