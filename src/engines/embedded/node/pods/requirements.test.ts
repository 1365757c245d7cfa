import { expect, test } from "vitest";
import { checkKernel, checkMachine } from "./requirements.ts";

test.each(["5.19.0", "6.1.0-18-amd64", "6.18.44-fc-v490", "7.0"])("Linux %s is new enough", (version) => {
  expect(() => checkKernel(version)).not.toThrow();
});

test.each(["5.18.19", "5.10.0-28-amd64", "4.19.0"])("Linux %s is refused by name", (version) => {
  expect(() => checkKernel(version)).toThrow(`sandboxes need Linux 5.19 or newer, for overlays with id maps; this is ${version}`);
});

test("who is not root is told to be", () => {
  expect(() => checkMachine(1000)).toThrow("a node needs root");
  expect(() => checkMachine(0)).not.toThrow();
});
