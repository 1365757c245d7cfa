import { expect, test } from "vitest";
import { linuxResources, socketBytes } from "./resources.ts";

const devices = [{ allow: false, access: "rwm" }];

test.each([
  ["nothing", {}, {}],
  ["a cpu limit is also the share", { limits: { cpu: "500m" } }, { cpu: { shares: 512, quota: 50_000, period: 100_000 } }],
  ["a request is a share and no limit", { requests: { cpu: "2" } }, { cpu: { shares: 2048 } }],
  ["both", { limits: { cpu: "2" }, requests: { cpu: "250m" } }, { cpu: { shares: 256, quota: 200_000, period: 100_000 } }],
  ["tiny amounts are as small as the kernel takes them", { limits: { cpu: "1m" } }, { cpu: { shares: 2, quota: 1000, period: 100_000 } }],
  ["memory has no swap on top", { limits: { memory: "256Mi" } }, { memory: { limit: 268_435_456, swap: 268_435_456 } }],
  [
    "plain numbers are amounts too",
    { limits: { memory: 1000, cpu: 1 } },
    { cpu: { shares: 1024, quota: 100_000, period: 100_000 }, memory: { limit: 1000, swap: 1000 } },
  ],
])("%s", (_, resources, expected) => {
  expect(linuxResources(resources, true)).toEqual({ devices, ...expected });
});

test("what is no quantity is refused", () => {
  expect(() => linuxResources({ limits: { memory: "lots" } }, true)).toThrow(/quantit/);
});

test("where the machine does not count swap it is not limited", () => {
  expect(linuxResources({ limits: { memory: "1Mi" } }, false).memory).toEqual({ limit: 1_048_576 });
});

const GiB = 2 ** 30;

test.each([
  ["a quarter of its memory", { limits: { memory: "1Gi" } }, GiB / 4],
  ["enough to work with, however small it is", { limits: { memory: "8Mi" } }, 2 ** 24],
  ["an eighth of the machine's, however large it is", { limits: { memory: "64Gi" } }, GiB / 4],
  ["an eighth of the machine's, if it has no limit", {}, GiB / 4],
])("sockets of a container may hold %s", (_, resources, expected) => {
  expect(socketBytes(resources, 2 * GiB)).toBe(expected);
});
