import { expect, test } from "vitest";
import { firstCommands } from "./first-commands.ts";

test("first commands are short where the user stands in the repository", () => {
  const lines = firstCommands({ root: "/opt/agentbox", cwd: "/opt/agentbox", homeFolder: undefined }, true);
  expect(lines[0]).toBe("bin/agentbox run base -- echo hi");
});

test("first commands work from elsewhere, and find a data folder that is not the usual one", () => {
  const where = { root: "/opt/agentbox", cwd: "/home/me", homeFolder: "/home/me/it's mine" };
  const home = String.raw`AGENTBOX_HOME='/home/me/it'\''s mine'`;
  expect(firstCommands(where, true)[0]).toBe(`${home} /opt/agentbox/bin/agentbox run base -- echo hi`);
  expect(firstCommands(where, false)).toContain(`${home} /opt/agentbox/bin/agentbox apply -f /opt/agentbox/deploy/examples`);
});

test("one line says how to get the templates that programs expect", () => {
  const lines = firstCommands({ root: "/opt/agentbox", cwd: "/opt/agentbox", homeFolder: undefined }, true);
  expect(lines.filter((line) => line.includes("template"))).toEqual([
    "bin/agentbox template add base code-interpreter node browser desktop   # or some of them: what programs for E2B expect",
  ]);
});

test("programs with E2B's SDK are pointed at a server that has sandboxes, and at no other", () => {
  const where = { root: "/opt/agentbox", cwd: "/opt/agentbox", homeFolder: "/data" };
  expect(firstCommands(where, true)).toContain(`eval "$(AGENTBOX_HOME=/data bin/agentbox env)"   # and programs with E2B's SDK run here`);
  expect(firstCommands(where, false).filter((line) => line.includes("env"))).toEqual([]);
});
