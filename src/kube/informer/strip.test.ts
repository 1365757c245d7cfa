import { expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { Pod } from "#model/pod.ts";
import { stripBallast } from "./strip.ts";

const bare: Pod = deepFreeze({
  metadata: { name: "p", labels: { a: "b" }, annotations: { kept: "yes" } },
  spec: { containers: [{ name: "main" }] },
});
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

test("an object without ballast stays the same object", () => {
  expect(stripBallast(bare)).toBe(bare);
  const noAnnotations: Pod = deepFreeze({ metadata: { name: "p" }, spec: bare.spec });
  expect(stripBallast(noAnnotations)).toBe(noAnnotations);
});

test("managedFields and kubectl's copy are taken off, everything else stays and is shared", () => {
  const heavy: Pod = deepFreeze({
    ...bare,
    metadata: { ...bare.metadata, managedFields: [{ manager: "kubelet" }], annotations: { kept: "yes", [lastApplied]: "{}" } },
  });
  const lean = stripBallast(heavy);
  expect(lean).toEqual(bare);
  expect("managedFields" in lean.metadata).toBe(false);
  expect(lean.spec).toBe(heavy.spec);
  expect(heavy.metadata.managedFields).toHaveLength(1);
});

test("what is stripped is frozen as everything in a cache", () => {
  const lean = stripBallast(
    deepFreeze({ ...bare, metadata: { ...bare.metadata, managedFields: [], annotations: { [lastApplied]: "{}" } } }),
  );
  expect([lean, lean.metadata, lean.metadata.annotations, lean.spec].every(Object.isFrozen)).toBe(true);
});
