import { expect, test } from "vitest";
import { resolveCapabilities } from "./capabilities.ts";

test("a sandbox's root may manage files, users and services, and nothing of the network or the kernel", () => {
  const usual = resolveCapabilities([], []);
  expect(usual).toContain("CAP_CHOWN");
  for (const name of ["SYS_ADMIN", "NET_ADMIN", "NET_RAW", "SYS_PTRACE", "MKNOD", "SYS_RESOURCE"])
    expect(usual).not.toContain(`CAP_${name}`);
});

test.each([
  ["dropping all leaves none", [], ["ALL"], []],
  ["what is added after dropping all is there", ["NET_BIND_SERVICE"], ["all"], ["CAP_NET_BIND_SERVICE"]],
  ["prefixes and small letters are understood", ["cap_net_raw"], ["ALL"], ["CAP_NET_RAW"]],
  ["what is added and dropped is there", ["CHOWN"], ["ALL", "CHOWN"], ["CAP_CHOWN"]],
])("%s", (_, add, drop, expected) => {
  expect(resolveCapabilities(add, drop)).toEqual(expected);
});

test("dropping one leaves the others", () => {
  const without = resolveCapabilities([], ["CHOWN", "CAP_KILL"]);
  expect(resolveCapabilities([], []).filter((name) => !without.includes(name))).toEqual(["CAP_CHOWN", "CAP_KILL"]);
});

test("what would reach beyond a sandbox cannot be added", () => {
  expect(() => resolveCapabilities(["NET_ADMIN", "SYS_ADMIN", "CHOWN"], [])).toThrow(
    "a sandbox cannot have the capabilities NET_ADMIN, SYS_ADMIN; these can be added:",
  );
});
