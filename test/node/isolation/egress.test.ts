import { beforeAll, describe, expect, test } from "vitest";
import type { EgressPolicy } from "#model/egress-policy.ts";
import { anOutside, ask, outsidePort } from "./outside.ts";
import { twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();
const outside = anOutside();

async function policy(egress: EgressPolicy | undefined): Promise<void> {
  const limits = { pids: 2048 };
  await box.world.node.runtime.ensurePod({ uid: box.mine.uid, namespace: "default", name: "mine", hostname: "mine", limits, egress });
}

const first = (): string => outside.publicAddress;
const second = (): string => outside.secondPublicAddress;
const closed = (): string => outside.privateAddresses["a private network of class A"] ?? "";
const net = (address: string): string => `${address}/32`;

const cases: readonly (readonly [fact: string, policy: () => EgressPolicy | undefined, reaches: readonly [boolean, boolean]])[] = [
  ["without a policy reaches what is public", () => undefined, [true, true]],
  ["without internet reaches nothing", () => ({ internet: false, allow: [], deny: [] }), [false, false]],
  ["without internet reaches what is allowed", () => ({ internet: false, allow: [net(first())], deny: [] }), [true, false]],
  ["with internet does not reach what is denied", () => ({ internet: true, allow: [], deny: [net(second())] }), [true, false]],
  ["reaches what is allowed within what is denied", () => ({ internet: true, allow: [net(first())], deny: ["25.0.0.0/8"] }), [true, false]],
  [
    "is not let into a private network by a policy",
    () => ({ internet: true, allow: [net(closed()), "10.0.0.0/8"], deny: [] }),
    [true, true],
  ],
];

describe.each(cases)("a sandbox", (fact, wanted, [reachesFirst, reachesSecond]) => {
  beforeAll(() => policy(wanted()));

  test.each(users)(`${fact}, as %s`, async (user) => {
    const reaches = async (address: string): Promise<boolean> =>
      (await box.mine.python(ask(address, outsidePort), user)).startsWith("answered");
    expect([await reaches(first()), await reaches(second()), await reaches(closed())]).toEqual([reachesFirst, reachesSecond, false]);
  });

  test(`${fact}, and its neighbour goes on as before`, async () => {
    expect(await box.other.python(ask(second(), outsidePort))).toMatch(/^answered/);
  });
});
