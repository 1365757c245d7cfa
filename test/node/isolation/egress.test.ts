import { beforeAll, describe, expect, test } from "vitest";
import { type EgressPolicy, egressPolicyText, egressRefusal, isEgressApplied } from "#model/egress-policy.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { anOutside, ask, outsidePort } from "./outside.ts";
import { twoNeighbours, users } from "./sandboxes.ts";

const mine = { namespace: "default", name: "mine" };
const box = twoNeighbours();
const outside = anOutside();

/** As a claim sets it; resolves when the node says that it holds. */
async function policy(egress: EgressPolicy | undefined): Promise<void> {
  const text = egress === undefined ? null : egressPolicyText(egress);
  const body = { metadata: { annotations: { [annotationKeys.egressPolicy]: text } } };
  const { metadata } = await box.world.store.patch(Pods, mine, { type: "merge", body });
  await until((pod) => isEgressApplied(pod) && Number(pod.metadata.resourceVersion) >= Number(metadata.resourceVersion));
}

async function until(isSo: (pod: Pod) => boolean): Promise<void> {
  for await (const event of box.world.store.watch(Pods, { namespace: "default", fieldSelector: "metadata.name=mine" })) {
    if (event.type !== "BOOKMARK" && isSo(event.object)) return;
  }
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
  ["reaches nothing where everything is denied", () => ({ internet: true, allow: [], deny: ["0.0.0.0/0"] }), [false, false]],
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

test("a connection that is open when the policy comes is cut by it", async () => {
  await policy(undefined);
  const source = `
import socket, sys, time
connection = socket.create_connection(("${first()}", ${outsidePort}), timeout=20)
open("/tmp/connected", "w").close()
connection.settimeout(3)
try:
    while True:
        connection.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        if not connection.recv(4096): raise OSError("closed")
        time.sleep(0.1)
except OSError:
    print("cut")`;
  const talking = box.mine.python(source);
  await box.mine.says("until test -e /tmp/connected; do sleep 0.05; done");
  await policy({ internet: false, allow: [], deny: [] });
  expect(await talking).toBe("cut");
});

test("a policy that cannot be read closes everything", async () => {
  const body = { metadata: { annotations: { [annotationKeys.egressPolicy]: "open" } } };
  await box.world.store.patch(Pods, mine, { type: "merge", body });
  await until((pod) => egressRefusal(pod) !== undefined);
  await expect.poll(() => box.mine.python(ask(first(), outsidePort))).toBe("refused");
});

test("after recycling nothing of the policy is left", async () => {
  await policy({ internet: false, allow: [], deny: [] });
  const { store } = box.world;
  const { status } = await store.get(Pods, mine);
  const former = status?.containerStatuses?.[0]?.containerID;
  const operations = [
    { op: "remove", path: `/metadata/annotations/${annotationKeys.egressPolicy.replace("/", "~1")}` },
    { op: "replace", path: "/spec/containers/0/image", value: "host:latest-u9" },
  ] as const;
  await store.patch(Pods, mine, { type: "json", operations });
  await until((pod) => {
    const [container] = pod.status?.containerStatuses ?? [];
    return container?.ready === true && container.containerID !== former && isEgressApplied(pod);
  });
  expect(await box.mine.python(ask(first(), outsidePort))).toMatch(/^answered/);
});
