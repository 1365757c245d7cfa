import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, isReservedKey, labelKeys } from "#model/keys.ts";
import { checkUserMetadata, type UserMetadata, userMetadataLimits } from "./user-metadata.ts";

function keys(wanted: UserMetadata): readonly string[] {
  return checkUserMetadata(wanted).map(({ field, key }) => `${field} ${key}`);
}

function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
}

describe("W27: keys of AgentBox", () => {
  test("are refused in labels, annotations and metadata, naming the key", () => {
    expect(checkUserMetadata({ labels: { [labelKeys.sandboxPhase]: "idle" } })).toEqual([
      {
        field: "labels",
        key: "agentbox.navix.sh/sandbox-phase",
        message: 'labels: the key "agentbox.navix.sh/sandbox-phase" is reserved for AgentBox',
      },
    ]);
    const all = [...Object.values(labelKeys), ...Object.values(annotationKeys)];
    const map = (list: readonly string[]): Record<string, string> => Object.fromEntries(list.map((key) => [key, "x"]));
    for (const field of ["labels", "annotations", "metadata"] as const) {
      const refused = new Set(checkUserMetadata({ [field]: map(all) }).map(({ key }) => key));
      expect(all.filter((key) => !refused.has(key))).toEqual([]);
    }
  });

  test("are refused however they are written", () => {
    expect(keys({ annotations: { "AgentBox.Navix.SH/sandbox-id": "x" }, metadata: { "AGENTBOX.navix.sh/x": "y" } })).toEqual([
      "annotations AgentBox.Navix.SH/sandbox-id",
      "metadata AGENTBOX.navix.sh/x",
    ]);
  });

  test("are refused with whatever follows the prefix", () => {
    fc.assert(
      fc.property(fc.constantFrom("agentbox.navix.sh/", "scheduling.navix.sh/"), fc.string(), (prefix, name) => {
        expect(isReservedKey(prefix + name)).toBe(true);
        for (const field of ["labels", "annotations"] as const) expect(keys({ [field]: { [prefix + name]: "x" } })).not.toEqual([]);
      }),
    );
  });
});

describe("keys of Kubernetes", () => {
  test.for([
    "kubernetes.io/hostname",
    "node.kubernetes.io/unreachable",
    "app.kubernetes.io/name",
    "k8s.io/x",
    "container.apparmor.security.beta.kubernetes.io/main",
    "scheduler.alpha.K8s.io/critical-pod",
  ])("%s is refused: it may decide how the pod is run or who selects it", (key) => {
    expect(checkUserMetadata({ annotations: { [key]: "x" } })).toMatchObject([
      { message: expect.stringContaining("reserved for Kubernetes") as string },
    ]);
  });

  test("that only look like it are the caller's own, and in metadata any are", () => {
    expect(keys({ labels: { "mykubernetes.io/x": "y", "example.com/k8s.io": "z" }, metadata: { "app.kubernetes.io/name": "a" } })).toEqual(
      [],
    );
  });
});

describe("labels", () => {
  test.for(["a", "A-b_c.d9", "example.com/a", "x".repeat(63), `${"d".repeat(253)}/x`])("may have the key %j", (key) => {
    expect(keys({ labels: { [key]: "v" } })).toEqual([]);
  });

  test.for(["", "-a", "a-", "a b", "x".repeat(64), "/a", "a/", "Example.com/a", "a/b/c", "é", `${"d".repeat(254)}/x`, "__proto__"])(
    "may not have the key %j",
    (key) => {
      const labels = Object.fromEntries([[key, "v"]]);
      expect(keys({ labels })).toEqual([`labels ${key}`]);
    },
  );

  test.for(["", "v", "A.b-c_9", "x".repeat(63)])("may have the value %j", (value) => {
    expect(keys({ labels: { a: value } })).toEqual([]);
  });

  test.for(["-v", "v ", "x".repeat(64), "a/b", "é", "line\nbreak"])(
    "may not have the value %j, and the message says what one is",
    (value) => {
      const [problem] = checkUserMetadata({ labels: { a: value } });
      expect(problem?.message).toContain('the key "a" has');
      expect(problem?.message).toContain("a label's value has");
    },
  );

  test("are at most 32", () => {
    expect(keys({ labels: many(userMetadataLimits.labels) })).toEqual([]);
    expect(checkUserMetadata({ labels: many(33) })).toEqual([
      { field: "labels", key: "", message: "labels: 33 are too many; there may be 32" },
    ]);
  });
});

test("of a request full of bad keys only the first thousand are looked at, and a long one is not said whole", () => {
  const hostile = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`-${index}`, "v"]));
  expect(checkUserMetadata({ labels: hostile })).toHaveLength(1001);
  const [problem] = checkUserMetadata({ labels: { ["x".repeat(900_000)]: "v" } });
  expect(problem?.message.length).toBeLessThan(1000);
  expect(problem?.key.length).toBeLessThan(1000);
});

describe("annotations", () => {
  test("may have any value", () => {
    expect(keys({ annotations: { a: "any text, even\nlines and é" } })).toEqual([]);
  });

  test("have the keys of labels", () => {
    expect(keys({ annotations: { "-a": "v", "a b": "v" } })).toEqual(["annotations -a", "annotations a b"]);
  });

  test("are bounded in number and size, counted in bytes", () => {
    expect(keys({ annotations: many(65) })).toEqual(["annotations "]);
    expect(keys({ annotations: { a: "x".repeat(userMetadataLimits.annotationBytes - 1) } })).toEqual([]);
    expect(checkUserMetadata({ annotations: { a: "é".repeat(userMetadataLimits.annotationBytes / 2) } })).toEqual([
      { field: "annotations", key: "", message: "annotations: keys and values have 65537 bytes; there may be 65536" },
    ]);
  });
});

describe("metadata", () => {
  test("may have any key and value that is not too long", () => {
    expect(keys({ metadata: { "what ever/é": "any", constructor: "x" } })).toEqual([]);
    expect(keys({ metadata: { "": "x" } })).toEqual(["metadata "]);
    expect(keys({ metadata: { ["k".repeat(257)]: "x" } })).toEqual([`metadata ${"k".repeat(257)}`]);
  });

  test("is bounded in number and size", () => {
    expect(keys({ metadata: many(65) })).toEqual(["metadata "]);
    expect(keys({ metadata: { a: "x".repeat(userMetadataLimits.metadataBytes) } })).toEqual(["metadata "]);
  });
});

describe("keys that the pool's pods have already", () => {
  test("are refused, because one of the two values would be lost", () => {
    const taken = { labels: { app: "base" }, annotations: { note: "x" } };
    expect(checkUserMetadata({ labels: { app: "mine" }, annotations: { note: "y" }, metadata: { app: "z" } }, taken)).toEqual([
      { field: "labels", key: "app", message: 'labels: the key "app" is used by the template of this pool' },
      { field: "annotations", key: "note", message: 'annotations: the key "note" is used by the template of this pool' },
    ]);
    expect(checkUserMetadata({ labels: { constructor: "x" } }, taken)).toEqual([]);
  });
});

test("nothing is wrong with nothing", () => {
  expect(checkUserMetadata({})).toEqual([]);
});

test("all that is wrong is said at once", () => {
  expect(keys({ labels: { "-": "v", b: "!" }, annotations: { [annotationKeys.endTime]: "x" }, metadata: { "": "" } })).toEqual([
    "labels -",
    "labels b",
    "annotations agentbox.navix.sh/end-time",
    "metadata ",
  ]);
});

test("a NUL character is refused wherever a text may stand, with its key", () => {
  const found = checkUserMetadata({ metadata: { "a\0b": "x", c: "y\0" }, annotations: { "example.com/d": "\0" }, labels: { e: "\0" } });
  expect(found.map(({ field, key }) => `${field} ${JSON.stringify(key)}`).sort()).toEqual([
    'annotations "example.com/d"',
    'labels "e"',
    'metadata "a\\u0000b"',
    'metadata "c"',
  ]);
});
