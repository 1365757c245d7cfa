import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { homeFolder } from "./home-folder.ts";

describe("the data folder", () => {
  test("is the one that AGENTBOX_HOME names, from here if need be", () => {
    expect(homeFolder({ AGENTBOX_HOME: "/data/box" })).toMatchObject({ folder: "/data/box", socketPath: "/data/box/run/api.sock" });
    expect(homeFolder({ AGENTBOX_HOME: "box" }).folder).toBe(join(process.cwd(), "box"));
  });

  test.each([{}, { AGENTBOX_HOME: "" }])("is in the home of the user for %j", (env) => {
    expect(homeFolder(env).folder).toBe(join(homedir(), ".agentbox"));
  });

  test("may not have a name that is too long for a socket", () => {
    const fits = `/${"x".repeat(107 - "//run/api.sock".length)}`;
    expect(homeFolder({ AGENTBOX_HOME: fits }).socketPath).toHaveLength(107);
    expect(() => homeFolder({ AGENTBOX_HOME: `${fits}x` })).toThrow("choose a shorter AGENTBOX_HOME");
  });
});
