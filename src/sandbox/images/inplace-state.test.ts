import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, inplaceUpdatePhases, sandboxPhases } from "#model/keys.ts";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import {
  type InplaceUpdateState,
  parseInplaceUpdateState,
  readInplaceUpdateState,
  serializeInplaceUpdateState,
  targetImagesOf,
} from "./inplace-state.ts";

const anyState: fc.Arbitrary<InplaceUpdateState> = fc.record(
  {
    phase: fc.constantFrom(...inplaceUpdatePhases),
    targetImage: fc.string(),
    targetImages: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string()),
    targetPodPhase: fc.constantFrom(...sandboxPhases),
    updateTimestamp: fc.constant("2026-01-01T00:00:00.000Z"),
    lastContainerStatuses: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,8}$/),
      fc.record({ imageID: fc.string(), containerID: fc.string() }, { requiredKeys: [] }),
    ),
    stableContainerStatuses: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,8}$/),
      fc.record({ containerID: fc.string(), restartCount: fc.nat() }, { requiredKeys: ["restartCount"] }),
    ),
  },
  { requiredKeys: ["phase"] },
);

describe("the state of an exchange", () => {
  test("comes back from its annotation as it was written", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        expect(parseInplaceUpdateState(serializeInplaceUpdateState(state))).toEqual({ kind: "state", state });
      }),
    );
  });

  test("is written under the field names of the protocol", () => {
    const text = serializeInplaceUpdateState({
      phase: "starting",
      targetImages: { main: "app" },
      targetPodPhase: "running",
      updateTimestamp: "2026-01-01T00:00:00.000Z",
      lastContainerStatuses: { main: { imageID: "i", containerID: "c" } },
    });
    expect(JSON.parse(text)).toEqual({
      phase: "starting",
      targetImages: { main: "app" },
      targetPodPhase: "running",
      updateTimestamp: "2026-01-01T00:00:00.000Z",
      lastContainerStatuses: { main: { imageID: "i", containerID: "c" } },
    });
  });

  test("is none on a pod without the annotation", () => {
    expect(readInplaceUpdateState(aPoolPod())).toEqual({ kind: "none" });
  });

  test("of a later version, with fields that we do not know, is read", () => {
    expect(parseInplaceUpdateState('{"phase":"starting","mood":"good"}')).toMatchObject({ kind: "state", state: { phase: "starting" } });
  });

  test.for([
    ["{", "it is not JSON"],
    ["", "it is not JSON"],
    ["null", "it must be object"],
    ["{}", "it must have required properties phase"],
    ['{"phase":"dancing"}', "phase must be equal to one of the allowed values"],
    ['{"phase":"starting","targetImages":{"main":1}}', "targetImages.main must be string"],
    ['{"phase":"starting","targetPodPhase":"gone"}', "targetPodPhase must be equal to one of the allowed values"],
    [
      '{"phase":"completed","stableContainerStatuses":{"main":{}}}',
      "stableContainerStatuses.main must have required properties restartCount",
    ],
  ] as const)("%j cannot be read, and the reason names the place", ([text, why]) => {
    const read = readInplaceUpdateState(aPoolPod({ state: text }));
    expect(read.kind).toBe("unreadable");
    expect(read).toMatchObject({ why: expect.stringContaining(`${annotationKeys.inplaceUpdateState} cannot be read: ${why}`) as string });
  });

  test("never makes a reader throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(["state", "unreadable"]).toContain(parseInplaceUpdateState(text).kind);
      }),
    );
  });
});

describe("the images of an exchange", () => {
  const pod = aPoolPod({ images: { main: "a", side: "b" } });

  test("are those of each container that it names", () => {
    expect(targetImagesOf({ phase: "starting", targetImages: { side: "x" }, targetImage: "y" }, pod)).toEqual({ side: "x" });
  });

  test("are the first container's where only one is given", () => {
    expect(targetImagesOf({ phase: "starting", targetImage: "y" }, pod)).toEqual({ main: "y" });
  });

  test("are none where nothing is exchanged", () => {
    expect(targetImagesOf({ phase: "stopping", targetImages: {} }, pod)).toEqual({});
    expect(targetImagesOf({ phase: "stopping" }, pod)).toEqual({});
    expect(targetImagesOf({ phase: "stopping", targetImage: "y" }, aPoolPod({ images: {} }))).toEqual({});
  });
});
