import { expect, test } from "vitest";
import { annotationKeys, podConditions } from "./keys.ts";
import type { Pod } from "./pod.ts";
import {
  areVolumesMounted,
  maxVolumeMounts,
  mountRefusal,
  parseVolumeMounts,
  type VolumeMount,
  volumeMountsOf,
  volumeMountsText,
} from "./volume-mounts.ts";

const mount: VolumeMount = { uid: "u1", name: "data", path: "/mnt/data", readOnly: false };
const wish = volumeMountsText([mount]);

function pod(
  text: string | undefined,
  condition?: { readonly status: "True" | "False"; readonly reason: string; readonly message: string },
): Pod {
  return {
    metadata: { name: "p", annotations: text === undefined ? {} : { [annotationKeys.volumeMounts]: text } },
    spec: { containers: [] },
    status: { conditions: condition === undefined ? [] : [{ type: podConditions.volumeMounts, ...condition }] },
  };
}

test("what a claim writes is what the node reads", () => {
  expect(parseVolumeMounts(wish)).toEqual([mount]);
  expect(volumeMountsOf(pod(wish))).toEqual([mount]);
});

test.each([
  "",
  "{}",
  "[1]",
  '[{"uid":"a"}]',
  JSON.stringify([{ ...mount, readOnly: "no" }]),
  volumeMountsText(Array.from({ length: maxVolumeMounts + 1 }, () => mount)),
])("%j is no list of mounts", (text) => {
  expect(parseVolumeMounts(text)).toBeUndefined();
});

test("volumes count as mounted only when the node answers this very wish", () => {
  const [other] = [volumeMountsText([{ ...mount, path: "/other" }])];
  expect(areVolumesMounted(pod(undefined)), "nothing is wished").toBe(true);
  expect(areVolumesMounted(pod(wish))).toBe(false);
  expect(areVolumesMounted(pod(wish, { status: "False", reason: "Pending", message: wish }))).toBe(false);
  expect(areVolumesMounted(pod(wish, { status: "True", reason: "Mounted", message: other }))).toBe(false);
  expect(areVolumesMounted(pod(wish, { status: "True", reason: "Mounted", message: wish }))).toBe(true);
});

test("a failed wish says why, and the failure of an earlier one says nothing", () => {
  const failed = (of: string) => pod(wish, { status: "False", reason: "MountFailed", message: `${of}: it is a link` });
  expect(mountRefusal(failed(wish))).toBe("it is a link");
  expect(mountRefusal(failed(volumeMountsText([])))).toBeUndefined();
  expect(mountRefusal(pod(wish, { status: "False", reason: "Pending", message: wish }))).toBeUndefined();
});
