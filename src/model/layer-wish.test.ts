import { expect, test } from "vitest";
import { annotationKeys, podConditions } from "./keys.ts";
import { layerAnswer, type LayerAnswer, layerCondition, type LayerWish, layerWish, layerWishText } from "./layer-wish.ts";

const wish: LayerWish = { id: "cp-aaaaaaaaaaaaaaaaaaaa", containerId: "c1" };
const pushed = { digest: `sha256:${"a".repeat(64)}`, size: 7, frozenMs: 3, architecture: "amd64" };

const told = (by: LayerWish, answer: LayerAnswer) => ({
  status: { conditions: [{ type: podConditions.layer, ...layerCondition(by, answer) }] },
});

test("a wish that was written is read again, and what is no wish is none", () => {
  const read = (text: string) => layerWish({ metadata: { annotations: { [annotationKeys.layerWish]: text } } });
  expect(read(layerWishText(wish))).toEqual(wish);
  expect(["", "null", "[]", "{}", '{"id":1,"containerId":"c1"}', "{"].map(read)).toEqual(Array(6).fill(undefined));
  expect(layerWish({ metadata: {} })).toBeUndefined();
});

test("an answer is to the wish that it names, and to no other use of the pod", () => {
  expect(layerAnswer(told(wish, pushed), wish)).toMatchObject(pushed);
  expect(layerAnswer(told(wish, { reason: "TooLarge", why: "it is" }), wish)).toMatchObject({ reason: "TooLarge", why: "it is" });
  expect(layerAnswer(told(wish, pushed), { ...wish, containerId: "c2" })).toBeUndefined();
  expect(layerAnswer(told(wish, pushed), { ...wish, id: "cp-bbbbbbbbbbbbbbbbbbbb" })).toBeUndefined();
  expect(layerAnswer(told(wish, { ...pushed, size: "7" } as unknown as LayerAnswer), wish)).toBeUndefined();
  expect(layerAnswer({}, wish)).toBeUndefined();
});
