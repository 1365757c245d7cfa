import { expect, test } from "vitest";
import { endProcesses } from "./end-processes.ts";

test("where the first process is not the sandbox's own init, nothing is ended: the namespace is somebody else's", async () => {
  expect(await endProcesses("/.envd/init")).toBe(false);
});
