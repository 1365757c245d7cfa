import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Digest } from "./digest.ts";
import { ImageError } from "./image-error.ts";
import { canonicalName, familiarName, formatReference, type ImageReference, parseReference, repositoryName } from "./reference.ts";

const digest: Digest = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("short names mean what they mean to Docker", () => {
  test.each([
    ["alpine", "docker.io/library/alpine:latest"],
    ["alpine:3.20", "docker.io/library/alpine:3.20"],
    ["docker.io/alpine", "docker.io/library/alpine:latest"],
    ["index.docker.io/alpine", "docker.io/library/alpine:latest"],
    ["someone/tool", "docker.io/someone/tool:latest"],
    ["localhost/tool", "localhost/tool:latest"],
    ["localhost:5000/tool", "localhost:5000/tool:latest"],
    ["registry.example/a/b/c:v1", "registry.example/a/b/c:v1"],
    ["[::1]:5000/tool", "[::1]:5000/tool:latest"],
    ["10.0.0.1:80/tool", "10.0.0.1:80/tool:latest"],
    ["Intranet/tool", "Intranet/tool:latest"],
    [`alpine@${digest}`, `docker.io/library/alpine@${digest}`],
    [`alpine:3.20@${digest}`, `docker.io/library/alpine:3.20@${digest}`],
    ["a__b/c.d_e---f", "docker.io/a__b/c.d_e---f:latest"],
  ])("%s is %s", (text, full) => {
    expect(formatReference(parseReference(text))).toBe(full);
  });

  test("the parts of a reference are told apart", () => {
    expect(parseReference(`localhost:5000/team/tool:v1-u3@${digest}`)).toEqual({
      kind: "registry",
      registry: "localhost:5000",
      repository: "team/tool",
      tag: "v1-u3",
      digest,
    });
  });
});

describe("the pseudo image", () => {
  test("host is the machine, with or without tag and digest", () => {
    expect(parseReference("host")).toEqual({ kind: "host" });
    expect(parseReference(`host:idle-u7@${digest}`)).toEqual({ kind: "host", tag: "idle-u7", digest });
    expect(formatReference(parseReference(`host:idle-u7@${digest}`))).toBe(`host:idle-u7@${digest}`);
    expect(repositoryName(parseReference("host:x"))).toBe("host");
  });

  test("a repository of that name is reached by its full name", () => {
    expect(parseReference("docker.io/library/host").kind).toBe("registry");
    expect(parseReference("registry.example/host").kind).toBe("registry");
    expect(familiarName(parseReference("docker.io/library/host"))).toBe("docker.io/library/host:latest");
  });
});

describe("the name under which an image is kept", () => {
  test("does not change with a tag beside a digest", () => {
    const names = ["app:1-u1", "app:1-u2", "app"].map((name) => canonicalName(parseReference(`${name}@${digest}`)));
    expect(new Set(names)).toEqual(new Set([`docker.io/library/app@${digest}`]));
  });

  test("is repository and tag when there is no digest", () => {
    expect(canonicalName(parseReference("app"))).toBe("docker.io/library/app:latest");
  });
});

describe("what is not a reference is refused with the reason", () => {
  test.each([
    ["", "it is empty"],
    [":tag", "it has no name"],
    [`@${digest}`, "it has no name"],
    ["alpine:", 'its tag ""'],
    ["alpine:-x", 'its tag "-x"'],
    [`alpine:${"x".repeat(129)}`, "1 to 128"],
    ["alpine@sha256:abc", "64 hexadecimal digits"],
    [`alpine@sha512:${"a".repeat(128)}`, "is not sha256:"],
    [`alpine@${digest.toUpperCase()}`, "lower case"],
    ["Alpine", "must be in lower case"],
    ["team/Tool", "must be in lower case"],
    ["team//tool", "empty part"],
    ["/tool", "empty part"],
    ["team/tool/", "empty part"],
    ["a___b", "one or two underscores"],
    ["-a", "lower-case letters and digits"],
    ["a..b/c", "not a host name"],
    ["bad_host.example/tool", "not a host name"],
    ["localhost:/tool", "is not a port"],
    ["localhost:99999/tool", "is not a port"],
    ["localhost:x/tool", "not a host name"],
    ["[::1/tool", "not a host name"],
    ["[::1]x:5000/tool", "not a host name"],
    ["a".repeat(64), "image's id"],
    [`${"a/".repeat(140)}a`, "longer than 255"],
    ["al pine", "lower-case letters and digits"],
    ["alpine\n", "lower-case letters and digits"],
    ["https://registry.example/tool", "leave out everything up to //"],
  ])("%j", (text, reason) => {
    const attempt = (): ImageReference => parseReference(text);
    expect(attempt).toThrow(ImageError);
    expect(attempt).toThrow(reason);
    expect(attempt).toThrow(JSON.stringify(text));
  });
});

const part = fc.stringMatching(/^[a-z0-9]{1,8}([._-][a-z0-9]{1,5})?$/);
const tag = fc.stringMatching(/^\w[\w.-]{0,20}$/);
const anyDigest = fc.stringMatching(/^[0-9a-f]{64}$/).map((hex): Digest => `sha256:${hex}`);
const version = fc
  .record({ tag: fc.option(tag, { nil: undefined }), digest: fc.option(anyDigest, { nil: undefined }) })
  .map((both) => ({ ...(both.tag === undefined ? {} : { tag: both.tag }), ...(both.digest === undefined ? {} : { digest: both.digest }) }));
const registry = fc.constantFrom(
  "docker.io",
  "localhost",
  "localhost:5000",
  "registry.example",
  "registry.example:443",
  "[::1]:5000",
  "10.1.2.3",
);
const reference: fc.Arbitrary<ImageReference> = fc.oneof(
  version.map((both) => ({ kind: "host" as const, ...both })),
  fc.record({ registry, path: fc.array(part, { minLength: 1, maxLength: 4 }), version }).map(({ registry: host, path, version: both }) => ({
    kind: "registry" as const,
    registry: host,
    repository: host === "docker.io" && path.length === 1 ? `library/${path.join("/")}` : path.join("/"),
    ...(both.tag === undefined && both.digest === undefined ? { tag: "latest" } : both),
  })),
);

test("every form of a reference parses back to the same reference", () => {
  fc.assert(
    fc.property(reference, (given) => {
      expect(parseReference(formatReference(given))).toEqual(given);
      expect(parseReference(familiarName(given))).toEqual(given);
    }),
  );
});

test("parsing either throws an ImageError or gives something whose full form is stable", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-zA-Z0-9.:/@_[\]-]{0,40}$/)), (text) => {
      const full = fullForm(text);
      expect(full instanceof ImageError || fullForm(full) === full).toBe(true);
    }),
    { numRuns: 500 },
  );
});

function fullForm(text: string): string | ImageError {
  try {
    return formatReference(parseReference(text));
  } catch (error) {
    if (error instanceof ImageError) return error;
    throw error;
  }
}
