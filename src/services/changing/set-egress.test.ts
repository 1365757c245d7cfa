import { expect, test } from "vitest";
import { ann, eve, failureOf, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import type { EgressPolicy } from "#model/egress-policy.ts";
import { annotationKeys, podConditions } from "#model/keys.ts";
import type { PodCondition } from "#model/pod.ts";
import { setEgress } from "./set-egress.ts";

const closed: EgressPolicy = { internet: false, allow: ["10.1.2.0/24"], deny: [] };
const text = JSON.stringify(closed);
const never = new AbortController().signal;

/** What a node says when it has done what is wished. */
const inForce = (wish: string): PodCondition => ({ type: podConditions.egressPolicy, status: "True", reason: "InForce", message: wish });

test("a change of the network is answered when the node acts on it, and not before", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i1");
  let answered = false;
  const changing = setEgress(scene, ann, "i1", { egress: closed, signal: never }).finally(() => {
    answered = true;
  });
  await settle();
  expect((await scene.stored("i1")).metadata.annotations).toMatchObject({ [annotationKeys.egressPolicy]: text });
  await scene.report("i1", { conditions: [{ type: "Ready", status: "True" }, inForce('{"internet":true}')] });
  await settle();
  expect(answered).toBe(false);
  await scene.report("i1", { conditions: [{ type: "Ready", status: "True" }, inForce(text)] });
  expect(await changing).toMatchObject({ sandboxId: "i1", egress: closed });
});

test("taking the policy back is a change like another", async () => {
  await using scene = await ServiceScene.open();
  const conditions = [{ type: "Ready", status: "True" as const }, inForce(text)];
  await scene.sandbox("i1", { annotations: { [annotationKeys.egressPolicy]: text }, status: { conditions } });
  const changing = setEgress(scene, ann, "i1", { egress: undefined, signal: never });
  await settle();
  expect((await scene.stored("i1")).metadata.annotations).not.toHaveProperty(annotationKeys.egressPolicy);
  await scene.report("i1", { conditions: [{ type: "Ready", status: "True" }] });
  expect(await changing).not.toHaveProperty("egress");
});

test("a node that does not act in time is told of, and so is a sandbox that ends meanwhile", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i1");
  await scene.sandbox("i2");
  const late = failureOf(setEgress(scene, ann, "i1", { egress: closed, signal: never }));
  const gone = failureOf(setEgress(scene, ann, "i2", { egress: closed, signal: never }));
  await settle();
  await scene.end("i2");
  await scene.clock.step(30_000);
  expect([(await late).code, (await gone).code]).toEqual(["timeout", "conflict"]);
});

test("I8: another's network cannot be changed, in the same words as one of no sandbox", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i1");
  const [foreign, missing] = await Promise.all(
    ["i1", "i9"].map(async (id) => wordsOf(await failureOf(setEgress(scene, eve, id, { egress: closed, signal: never })), id)),
  );
  expect(foreign).toBe(missing);
  expect((await scene.stored("i1")).metadata.annotations).not.toHaveProperty(annotationKeys.egressPolicy);
});

test.each([
  ["a network that is none", "running", { ...closed, allow: ["300.1.1.1"] }, "invalid_request"],
  ["an address of IPv6", "running", { ...closed, deny: ["fd00::1"] }, "invalid_request"],
  ["a sandbox that starts", "starting", closed, "conflict"],
] as const)("%s is refused, and nothing is written", async (_, phase, egress, code) => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i1", { phase });
  expect((await failureOf(setEgress(scene, ann, "i1", { egress, signal: never }))).code).toBe(code);
  expect((await scene.stored("i1")).metadata.annotations).not.toHaveProperty(annotationKeys.egressPolicy);
});
