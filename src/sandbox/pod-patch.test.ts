import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { sandboxPhases } from "#model/keys.ts";
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
