import { describe, expect, test } from "vitest";
import { aSandboxPod } from "../../test/world/sandbox-pods.ts";
import { isClaimed, podCondition, poolOf, sandboxIdOf, sandboxPhaseOf, userOf } from "./claimed-pod.ts";
import { labelKeys, sandboxPhases } from "./keys.ts";
import type { Pod } from "./pod.ts";

const foreign: Pod = { metadata: { name: "nginx" }, spec: { containers: [] } };

describe("a pod", () => {
  test.for([
    ["idle", false],
    ["starting", true],
    ["running", true],
    ["stopping", false],
    ["failed", false],
  ] as const)("with an id in phase %s is a live sandbox: %s", ([phase, claimed]) => {
    expect(sandboxPhases).toContain(phase);
    expect(isClaimed(aSandboxPod("p", { phase, id: "i1" }))).toBe(claimed);
  });

  test("without an id is no sandbox in any phase", () => {
    expect(sandboxPhases.filter((phase) => isClaimed(aSandboxPod("p", { phase })))).toEqual([]);
    expect(isClaimed(aSandboxPod("p", { phase: "running", id: "" }))).toBe(false);
  });

  test("that is being recycled still shows its id", () => {
    expect(sandboxIdOf(aSandboxPod("p", { phase: "stopping", id: "i1" }))).toBe("i1");
  });

  test("of somebody else says nothing", () => {
    expect([sandboxPhaseOf(foreign), sandboxIdOf(foreign), poolOf(foreign), userOf(foreign), podCondition(foreign, "Ready")]).toEqual(
      Array.from({ length: 5 }, () => undefined),
    );
  });

  test("with a phase that we do not know has none", () => {
    expect(sandboxPhaseOf({ ...foreign, metadata: { labels: { [labelKeys.sandboxPhase]: "dancing" } } })).toBeUndefined();
  });

  test("names its pool and its user", () => {
    const pod = aSandboxPod("p", { pool: "py", user: "ann" });
    expect([poolOf(pod), userOf(pod)]).toEqual(["py", "ann"]);
  });
});
