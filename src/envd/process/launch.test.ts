import { expect, test } from "vitest";
import { ArmedState } from "#envd/armed-state.ts";
import { launch } from "./launch.ts";

test("nothing is started any more for a sandbox that has ended, whatever was under way", async () => {
  const state = new ArmedState();
  state.arm("sandbox-1", {});
  const account = { name: "root", uid: 0, gid: 0, home: "/root" };
  const command = { cmd: "true", args: [], env: {}, account, groups: [], cwd: "/", needsCwd: false };
  const start = (): Promise<unknown> => launch({ helper: "/nowhere/helper", state, command, hasInput: false });
  await expect(start(), "it is tried, and there is no such helper").rejects.not.toThrow("has ended");
  state.retire("sandbox-1");
  await expect(start()).rejects.toMatchObject({ code: "unavailable", message: "this sandbox has ended" });
});
