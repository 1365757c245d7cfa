import { describe, expect, test } from "vitest";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import { qosClass } from "./pod-qos.ts";

type Resources = { readonly limits?: Readonly<Record<string, string>>; readonly requests?: Readonly<Record<string, string>> };

function classOf(containers: readonly Resources[], initContainers: readonly Resources[] = []): string {
  const named = (all: readonly Resources[]): object[] => all.map((resources, index) => ({ name: `c${index}`, resources }));
  return qosClass({ containers: named(containers), initContainers: named(initContainers) } as unknown as StoredPodSpec);
}

const same: Resources = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } };

describe("the quality of service of a pod", () => {
  test.each([
    ["BestEffort", "without limits and requests", [{}], []],
    ["BestEffort", "that asks only for disk", [{ limits: { "ephemeral-storage": "1Gi" } }], []],
    ["BestEffort", "that asks for nothing in words", [{ requests: { cpu: "0", memory: "0" } }], []],
    ["Burstable", "with a request and no limit", [{ requests: { cpu: "1m" } }], []],
    ["Burstable", "with a limit for one of the two", [{ limits: { cpu: "1" }, requests: { cpu: "1" } }], []],
    ["Burstable", "with limits above its requests", [{ ...same, requests: { cpu: "1", memory: "512Mi" } }], []],
    ["Burstable", "of which only one container has limits", [same, {}], []],
    ["Burstable", "whose init container has no limits", [same], [{}]],
    ["Guaranteed", "whose limits are its requests, however they are written", [same, same], [same]],
  ] as const)("is %s for one %s", (wanted, _, containers, initContainers) => {
    expect(classOf(containers, initContainers)).toBe(wanted);
  });
});
