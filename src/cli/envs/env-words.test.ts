import { describe, expect, test } from "vitest";
import { Arguments } from "../flags.ts";
import { envAndMember, memberWish, oneEnv, policyWith } from "./env-words.ts";

function flags(values: Readonly<Record<string, string>> = {}): Arguments {
  return new Arguments([], new Map(Object.entries(values).map(([name, value]) => [name, [value]])));
}

describe("the words of agentbox envs", () => {
  test("name one Env, in the namespace of the flag", () => {
    expect(oneEnv("show", ["py"], flags({ namespace: "ns" }))).toEqual({ name: "py", namespace: "ns" });
    expect(() => oneEnv("show", [], flags())).toThrow("envs show needs the name of an Env");
    expect(() => oneEnv("show", ["a", "b"], flags())).toThrow("takes one Env: unexpected b");
  });

  test("name an Env, or one member of it", () => {
    expect(envAndMember("py", flags())).toEqual({ env: { name: "py", namespace: undefined }, member: undefined });
    expect(envAndMember("py/small", flags())).toEqual({ env: { name: "py", namespace: undefined }, member: "small" });
    for (const word of ["/small", "py/", "a/b/c", ""]) expect(() => envAndMember(word, flags())).toThrow("expected ENV or ENV/MEMBER");
  });
});

describe("the flags of a member", () => {
  test("say its size in cpu and memory, or by an instance type", () => {
    expect(memberWish(flags({ cpu: "2", memory: "1Gi", replicas: "3", priority: "5", group: "g" }), "m")).toEqual({
      name: "m",
      replicas: 3,
      config: { inlineResources: { limits: { cpu: "2", memory: "1Gi" } }, scalingGroup: "g", priority: 5 },
    });
    expect(memberWish(flags({ "instance-type": "large" }), undefined)).toEqual({ config: { instanceType: "large", multiplier: 1 } });
  });

  test("cannot say the size in both ways", () => {
    expect(() => memberWish(flags({ cpu: "1", "instance-type": "large" }), "m")).toThrow("remove --cpu and --memory");
    expect(() => memberWish(flags({ multiplier: "2" }), "m")).toThrow("--multiplier needs --instance-type");
  });
});

describe("the policy of a group", () => {
  test("is not touched where no flag is about it", () => {
    expect(policyWith(flags({ cpu: "1" }), "default", undefined)).toBeUndefined();
  });

  test("begins with the mode Demand", () => {
    expect(policyWith(flags({ max: "20" }), "default", undefined)).toEqual({
      name: "default",
      enabled: true,
      maxReplicas: 20,
      scaleUpPolicy: { mode: "Demand" },
    });
  });

  test("keeps what no flag names", () => {
    const present = { name: "default", enabled: true, minReplicas: 1, scaleUpPolicy: { mode: "Default", cooldownSeconds: 9 } } as const;
    expect(policyWith(flags({ max: "5" }), "default", present)).toEqual({ ...present, maxReplicas: 5 });
    expect(policyWith(flags({ mode: "Aggressive" }), "default", present)).toEqual({
      ...present,
      scaleUpPolicy: { mode: "Aggressive", cooldownSeconds: 9 },
    });
  });

  test("is switched off, and later on again with the mode that it had", () => {
    const present = { name: "default", enabled: true, scaleUpPolicy: { mode: "Default" } } as const;
    const off = policyWith(flags({ mode: "off" }), "default", present);
    expect(off).toEqual({ ...present, enabled: false });
    expect(policyWith(flags({ min: "1" }), "default", off)).toEqual({ ...present, enabled: false, minReplicas: 1 });
  });
});
