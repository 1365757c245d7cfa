import { expect, test } from "vitest";
import type { PodStatus } from "#model/pod.ts";
import { isSameStatus, statusPatch } from "./same-status.ts";

const stored: PodStatus = {
  phase: "Running",
  qosClass: "BestEffort",
  reason: "Because",
  podIP: "10.0.0.1",
  containerStatuses: [{ name: "a", image: "i", imageID: "", ready: true, restartCount: 0, state: { terminated: { exitCode: 0 } } }],
};

test("what is the same is not written", () => {
  expect(statusPatch({ ...stored }, stored)).toEqual({});
  expect(isSameStatus({ ...stored }, stored)).toBe(true);
});

test("null and left out are the same, at any depth", () => {
  const [container] = stored.containerStatuses ?? [];
  const withNull = [{ ...container, state: { terminated: { exitCode: 0, finishedAt: null } } }];
  expect(isSameStatus({ ...stored }, { ...stored, containerStatuses: withNull as never })).toBe(true);
});

test("what differs is written whole, and what belongs to others is left alone", () => {
  const [container] = stored.containerStatuses ?? [];
  const changed = container === undefined ? [] : [{ ...container, ready: false }];
  expect(statusPatch({ phase: "Running", reason: "Because", podIP: "10.0.0.1", containerStatuses: changed }, stored)).toEqual({
    containerStatuses: changed,
  });
});

test("what of ours is no longer so is taken away", () => {
  expect(statusPatch({ phase: "Running", podIP: "10.0.0.1" }, stored)).toEqual({ reason: null });
});

test("a list and an object with the same content are not the same", () => {
  expect(
    isSameStatus({ phase: "Running", podIPs: [{ ip: "1" }] } as never, { phase: "Running", podIPs: { 0: { ip: "1" } } } as never),
  ).toBe(false);
});
