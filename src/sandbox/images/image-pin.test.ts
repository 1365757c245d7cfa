import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseReference } from "#images/reference.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { digestIn, pinImage, readableImage } from "./image-pin.ts";

const digest = digestOf("one");
const other = digestOf("two");

describe("a pinned image", () => {
  test.for([
    ["alpine", "alpine:latest-u3"],
    ["alpine:3.20", "alpine:3.20-u3"],
    ["localhost:5000/app", "localhost:5000/app:latest-u3"],
    ["localhost:5000/team/app:v1", "localhost:5000/team/app:v1-u3"],
    ["host", "host:latest-u3"],
    [`app@${digest}`, "app:u3"],
    [`app:v1@${other}`, "app:v1-u3"],
    [`app:v1-u2@${digest}`, "app:v1-u3"],
    [`app:u2@${digest}`, "app:u3"],
    ["app:jammy-u2", "app:jammy-u2-u3"],
  ] as const)("of %s for use 3 is %s with the digest", ([image, expected]) => {
    expect(pinImage(image, digest, 3)).toBe(`${expected}@${digest}`);
  });

  test("needs a digest that is one", () => {
    expect(() => pinImage("app", "sha256:abc", 0)).toThrow('"sha256:abc" of image app is not sha256: and 64 hexadecimal digits');
    expect(() => pinImage("app", "latest", 0)).toThrow("is not sha256:");
  });

  const name = fc.stringMatching(/^([a-z]{1,8}(:5000)?\/)?[a-z]{1,8}(\/[a-z]{1,4})?$/).filter((text) => text.split("/")[0] !== "");
  const tag = fc.stringMatching(/^\w[\w.-]{0,127}$/);
  const image = fc.oneof(
    name,
    fc.tuple(name, tag).map(([left, right]) => `${left}:${right}`),
    name.map((text) => `${text}@${digest}`),
  );

  test("is a reference that registries take, however long the tag was", () => {
    fc.assert(
      fc.property(image, fc.nat(1e9), (text, use) => {
        const reference = parseReference(pinImage(text.replace(/^[a-z]+:5000$/, "app"), digest, use));
        expect(reference.digest).toBe(digest);
        expect(reference.tag).toMatch(new RegExp(`(^|-)u${use}$`));
      }),
    );
  });

  test("is another text for every use, so that a kubelet has never seen it", () => {
    fc.assert(
      fc.property(image, fc.nat(1e9), fc.nat(1e9), (text, use, later) => {
        expect(pinImage(text, digest, use) === pinImage(text, digest, later)).toBe(use === later);
      }),
    );
  });

  test("does not grow when it is pinned again and again", () => {
    // Longer tags are cut, so that what is left of them depends on the longest number.
    const short = image.filter((text) => text.length < 100 || text.includes("@"));
    fc.assert(
      fc.property(short, fc.array(fc.nat(1000), { minLength: 1 }), (text, uses) => {
        const again = uses.reduce((pin, use) => pinImage(pin, digest, use), pinImage(text, digest, 0));
        expect(again).toBe(pinImage(text, digest, uses.at(-1) ?? 0));
      }),
    );
  });

  test("is shown as its user wrote it, with the digest that ran", () => {
    expect(readableImage(pinImage("python:3.12", digest, 7))).toBe(`python:3.12@${digest}`);
    expect(readableImage(pinImage(`python@${digest}`, digest, 7))).toBe(`python@${digest}`);
    expect(readableImage("python:3.12")).toBe("python:3.12");
  });
});

describe("the digest of an image", () => {
  test.for([`docker.io/library/app@${digest}`, `docker-pullable://app@${digest}`, `app:v1-u4@${digest}`, digest])(
    "the digest is found in %s",
    (text) => {
      expect(digestIn(text)).toBe(digest);
    },
  );

  test.for(["", "app:v1", "sha256:abc", `${digest}:tail`])("there is no digest in %j", (text) => {
    expect(digestIn(text)).toBeUndefined();
  });
});
