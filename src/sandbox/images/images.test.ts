import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aPoolPod, digestOf } from "../../../test/world/pool-pods.ts";
import {
  differingTargets,
  idleContainerImages,
  imagesToResolve,
  pinTargets,
  requestedImages,
  runContainerImages,
  type TargetImages,
  targetsOf,
} from "./images.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";

function aTemplate(more: Partial<PoolTemplate> = {}): PoolTemplate {
  return {
    podCreationImagePolicy: "IdleImage",
    idleImage: "idle:1",
    template: {
      spec: {
        containers: [
          { name: "main", image: "app:1" },
          { name: "side", image: "side:1" },
        ],
      },
    },
    ...more,
  };
}

function targets(...names: readonly string[]): TargetImages {
  return Object.fromEntries(names.map((name) => [name, { image: `${name}:1`, digest: digestOf(name) }]));
}

describe("the images that idle pods run", () => {
  test("are the idle image in the first container, and the template's in the others", () => {
    expect(idleContainerImages(aTemplate())).toEqual({ main: "idle:1", side: "side:1" });
  });

  test("W28: with PoolDefaultImage are the run images, so that every claim may be on the fast path", () => {
    const template = aTemplate({ podCreationImagePolicy: "PoolDefaultImage" });
    expect(idleContainerImages(template)).toEqual(runContainerImages(template));
    expect(idleContainerImages(template)).toEqual({ main: "app:1", side: "side:1" });
  });

  test("are the run images where no idle image is given", () => {
    const { idleImage: _, ...template } = aTemplate();
    expect(idleContainerImages(template)).toEqual({ main: "app:1", side: "side:1" });
  });

  test("are none where there are no containers", () => {
    expect(idleContainerImages({ podCreationImagePolicy: "IdleImage", idleImage: "idle:1" })).toEqual({});
  });
});

describe("the images that a request wants", () => {
  test("are the template's when it does not say", () => {
    expect(requestedImages(aTemplate(), {})).toEqual({ kind: "images", images: { main: "app:1", side: "side:1" } });
  });

  test("are its own for the first container, or for each that it names", () => {
    expect(requestedImages(aTemplate(), { image: "own:2" })).toMatchObject({ images: { main: "own:2", side: "side:1" } });
    expect(requestedImages(aTemplate(), { containerImages: { side: "s:2" } })).toMatchObject({ images: { main: "app:1", side: "s:2" } });
  });

  test("W31: containerImages goes before image, also for the first container", () => {
    expect(requestedImages(aTemplate(), { image: "loses:1", containerImages: { main: "wins:1" } })).toMatchObject({
      images: { main: "wins:1" },
    });
  });

  test("W31: may be the idle image itself", () => {
    expect(requestedImages(aTemplate(), { image: "idle:1" })).toMatchObject({ kind: "images", images: { main: "idle:1" } });
  });

  test("of a container that is not there are refused, with those that are", () => {
    expect(requestedImages(aTemplate(), { containerImages: { nope: "x" } })).toEqual({
      kind: "refused",
      code: "container-not-found",
      message: 'there is no container "nope"; there are main, side',
    });
    expect(requestedImages(aTemplate(), { containerImages: { constructor: "x" } })).toMatchObject({ code: "container-not-found" });
  });

  test("must not be empty", () => {
    expect(requestedImages(aTemplate(), { image: " " })).toMatchObject({ code: "target-image-required" });
    const bare = aTemplate({ template: { spec: { containers: [{ name: "main" }] } } });
    expect(requestedImages(bare, {})).toMatchObject({ code: "target-image-required", message: 'container "main" has no image to run' });
    expect(requestedImages(bare, { image: "given:1" })).toMatchObject({ kind: "images" });
  });

  test("need a container to run in", () => {
    expect(requestedImages({ podCreationImagePolicy: "IdleImage" }, { image: "x" })).toMatchObject({ code: "no-containers" });
  });
});

describe("digests", () => {
  test("are asked for every image that the pool needs, each once", () => {
    const template = aTemplate({
      template: {
        spec: {
          containers: [
            { name: "main", image: "app:1" },
            { name: "copy", image: "app:1" },
          ],
          initContainers: [{ name: "i", image: "init:1" }],
        },
      },
    });
    expect(imagesToResolve(template)).toEqual(["app:1", "idle:1", "init:1"]);
  });

  test("make targets of images", () => {
    expect(targetsOf({ main: "app:1" }, { "app:1": digestOf("app") })).toEqual({
      kind: "targets",
      targets: { main: { image: "app:1", digest: digestOf("app") } },
    });
  });

  test("that are written into the reference need no table", () => {
    const image = `app@${digestOf("app")}`;
    expect(targetsOf({ main: image }, {})).toEqual({ kind: "targets", targets: { main: { image, digest: digestOf("app") } } });
  });

  test("that are not known are named, each once", () => {
    expect(targetsOf({ a: "x:1", b: "y:1", c: "x:1" }, { "y:1": digestOf("y") })).toEqual({ kind: "unresolved", missing: ["x:1"] });
    expect(targetsOf({ a: "constructor" }, {})).toEqual({ kind: "unresolved", missing: ["constructor"] });
  });

  test("are pinned for a use", () => {
    expect(pinTargets(targets("main"), 2)).toEqual({ main: `main:1-u2@${digestOf("main")}` });
  });
});

describe("what a claim must exchange", () => {
  const pod = aPoolPod({ images: { main: "app", side: "side" }, use: 4 });

  test("is nothing when all digests are those that the pod waits on, whatever their tags", () => {
    const wanted = {
      main: { image: "mirror.invalid/app:latest", digest: digestOf("app") },
      side: { image: "s", digest: digestOf("side") },
    };
    expect(differingTargets(pod, wanted)).toEqual({});
  });

  test("is just the containers that differ", () => {
    const wanted = { main: { image: "app:1", digest: digestOf("app") }, side: { image: "side:1", digest: digestOf("other") } };
    expect(Object.keys(differingTargets(pod, wanted))).toEqual(["side"]);
  });

  test("is the same image under another digest: a tag that was pushed again is another image", () => {
    expect(Object.keys(differingTargets(pod, { main: { image: "registry.invalid/app:1", digest: digestOf("newer") } }))).toEqual(["main"]);
  });

  test("is everything on a pod whose images are not pinned", () => {
    const unpinned = aPoolPod({ spec: { containers: [{ name: "main", image: "app:1" }] } });
    expect(Object.keys(differingTargets(unpinned, { main: { image: "app:1", digest: digestOf("app") } }))).toEqual(["main"]);
  });

  test("is none exactly when every digest is equal", () => {
    const image = fc.constantFrom("a", "b");
    fc.assert(
      fc.property(image, image, image, image, (main, side, wantedMain, wantedSide) => {
        const some = aPoolPod({ images: { main, side } });
        const wanted = { main: { image: "x", digest: digestOf(wantedMain) }, side: { image: "y", digest: digestOf(wantedSide) } };
        const differing = Object.keys(differingTargets(some, wanted));
        expect(differing).toEqual([...(main === wantedMain ? [] : ["main"]), ...(side === wantedSide ? [] : ["side"])]);
      }),
    );
  });
});
