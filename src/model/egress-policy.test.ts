import * as fc from "fast-check";
import { expect, test } from "vitest";
import { egressPolicyText, egressRefusal, invalidEgressMessage, isEgressApplied, parseEgressPolicy } from "./egress-policy.ts";
import { annotationKeys, podConditionReasons, podConditions } from "./keys.ts";
import type { Pod, PodCondition } from "./pod.ts";

test("what is written is read again", () => {
  const network = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(([address, length]) => `${address}/${length}`);
  fc.assert(
    fc.property(fc.boolean(), fc.array(network), fc.array(network), (internet, allow, deny) => {
      const policy = { internet, allow, deny };
      expect(parseEgressPolicy(egressPolicyText(policy))).toEqual({ kind: "policy", policy });
    }),
  );
});

test("what is left out is the Internet without exceptions", () => {
  expect(parseEgressPolicy("{}")).toEqual({ kind: "policy", policy: { internet: true, allow: [], deny: [] } });
});

test.each([
  ["", "it is not JSON"],
  ["[]", "it must be a JSON object"],
  ["null", "it must be a JSON object"],
  ['{"internet":"no"}', "internet must be true or false"],
  ['{"allow":"1.1.1.1"}', "allow must be a list of networks"],
  ['{"deny":[1]}', "deny must be a list of networks"],
  ['{"deny":["example.org"]}', 'deny: "example.org" is no IPv4 network; it would look like 10.231.0.0/16'],
  ['{"allow":["::1/128"]}', 'allow: "::1/128" is no IPv4 network; it would look like 10.231.0.0/16'],
  ['{"alow":[]}', 'it has the field "alow"; there are internet, allow, deny'],
  [JSON.stringify({ deny: Array.from({ length: 1001 }, () => "1.1.1.1") }), "deny has 1001 networks; at most 1000 are possible"],
])("%s is refused", (text, why) => {
  expect(parseEgressPolicy(text)).toEqual({ kind: "invalid", why });
});

function aPod(wish: string | undefined, answer: Partial<PodCondition> | undefined): Pod {
  return {
    metadata: { name: "p", ...(wish === undefined ? {} : { annotations: { [annotationKeys.egressPolicy]: wish } }) },
    spec: { containers: [] },
    status: answer === undefined ? {} : { conditions: [{ type: podConditions.egressPolicy, status: "True", ...answer }] },
  };
}

test("an answer counts for the wish that it repeats, and for no other", () => {
  expect(isEgressApplied(aPod("{}", { message: "{}" }))).toBe(true);
  expect(isEgressApplied(aPod("{}", undefined))).toBe(false);
  expect(isEgressApplied(aPod('{"internet":false}', { message: "{}" }))).toBe(false);
});

test("a wish that was taken back is done when its answer is gone", () => {
  expect(isEgressApplied(aPod(undefined, { message: "{}" }))).toBe(false);
  expect(isEgressApplied(aPod(undefined, undefined))).toBe(true);
});

test("a refusal is told with its reason, for the wish that it repeats", () => {
  const answer = {
    status: "False",
    reason: podConditionReasons.invalidPolicy,
    message: invalidEgressMessage("x", "it is not JSON"),
  } as const;
  expect(egressRefusal(aPod("x", answer))).toBe("it is not JSON");
  expect(isEgressApplied(aPod("x", answer))).toBe(false);
  expect(egressRefusal(aPod("{}", answer))).toBeUndefined();
  expect(egressRefusal(aPod("x", undefined))).toBeUndefined();
});
