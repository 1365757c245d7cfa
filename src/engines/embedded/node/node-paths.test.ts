import { expect, test } from "vitest";
import { checkContainerId, checkName, nodePaths } from "./node-paths.ts";

test("what lives with containers lies in memory, what needs room on disk", () => {
  const paths = nodePaths("/home/box", "a1");
  for (const path of [paths.pods, paths.slots, paths.stage, paths.runtimes]) expect(path.startsWith("/run/agentbox-a1/")).toBe(true);
  for (const path of [paths.disks, paths.trash, paths.hostImage, paths.lock]) expect(path.startsWith("/home/box/node/")).toBe(true);
});

test.each(["a", "0f-9.x_Y", "x".repeat(128)])("%j can be a name", (name) => {
  expect(() => checkName(name, "a name")).not.toThrow();
});

test.each(["", "..", ".hidden", "a/b", "a b", "-flag", "x".repeat(129), "ä"])("%j cannot be a name", (name) => {
  expect(() => checkName(name, "the uid of a pod")).toThrow("cannot be the uid of a pod");
});

test("an id of a container has 64 hexadecimal digits", () => {
  expect(() => checkContainerId("0f".repeat(32))).not.toThrow();
  for (const id of ["", "0F".repeat(32), "0f".repeat(31), `${"0f".repeat(32)}\n`])
    expect(() => checkContainerId(id)).toThrow("cannot be the id of a container");
});
