import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliServer } from "../../../test/world/cli-server.ts";
import type { Said } from "../../../test/world/run-cli.ts";

let server: CliServer;

beforeAll(async () => {
  server = await CliServer.start();
});

afterAll(() => server[Symbol.asyncDispose]());

const run = (argv: readonly string[], env: Record<string, string> = {}): Promise<Said> => server.run(argv, env);

describe("agentbox limits", () => {
  test("are set by an admin, seen by the team with what it uses, and kept", async () => {
    const key = (await run(["key", "create", "--team", "red"])).stdout.trim();
    const asRed = { AGENTBOX_API_KEY: key };
    expect((await run(["limits", "set", "--team", "red", "keys=2"])).stdout).toMatch(/^team red +keys +1 +2 +yes/m);
    expect((await run(["key", "create"], asRed)).code).toBe(0);
    const refused = await run(["key", "create"], asRed);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("team red may have 2 API keys (limit keys): it has 2, and 1 more would be too many"),
    ]);
    expect((await run(["limits", "ls"], asRed)).stdout).toMatch(/^team red +keys +2 +2 +yes/m);
    expect((await run(["limits", "ls"], asRed)).stdout).not.toMatch(/^server/m);
    expect((await run(["limits", "set", "--team", "red", "keys=9"], asRed)).stderr).toContain("only an admin key can set limits");
    expect((await run(["limits", "set", "--team", "red", "keys=default"])).stdout).toMatch(/^team red +keys +2 +100 +-/m);
    expect((await run(["key", "create"], asRed)).code).toBe(0);
  });

  test("are the server's and every team's, too", async () => {
    expect((await run(["limits", "set", "--every-team", "pools=7"])).stdout).toMatch(/^every team +pools +- +7 +yes/m);
    expect((await run(["limits", "set", "--server", "pods=99"])).stdout).toMatch(/^server +pods +\d+ +99 +yes/m);
    const listed = (await run(["limits", "ls", "--team", "blue"])).stdout;
    expect(listed).toMatch(/^team blue +pools +0 +7 +-/m);
  });

  test("are those of a user of a team, or of every user of it", async () => {
    expect((await run(["limits", "set", "--team", "green", "--user", "ann", "sandboxes=4"])).stdout).toMatch(
      /^team green, user ann +sandboxes +0 +4 +yes/m,
    );
    await run(["limits", "set", "--team", "green", "--user", "*", "cpu=2"]);
    const listed = (await run(["limits", "ls", "--team", "green"])).stdout;
    expect(listed).toMatch(/^team green, user ann +cpu +0 +2 +-/m);
    expect(listed).toMatch(/^team green, every user +cpu +- +2 +yes/m);
    expect((await run(["limits", "ls", "--team", "green", "--user", "ann"])).stdout).not.toMatch(/every user/);
  });

  test.each([
    [["limits", "set", "--server", "--user", "ann", "sandboxes=1"], "--user needs --team TEAM"],
    [["limits", "set", "pods=1"], "needs one of --server, --every-team and --team TEAM"],
    [["limits", "set", "--server", "--team", "red", "pods=1"], "needs one of --server"],
    [["limits", "set", "--server"], "needs NAME=NUMBER"],
    [["limits", "set", "--server", "pods=many"], 'not "pods=many"'],
    [["limits", "set", "--server", "connections=1"], "is no limit of the server"],
    [["limits", "ls", "x"], "takes no names"],
  ])("%j says what is wrong", async (argv, message) => {
    const said = await run(argv);
    expect([said.code === 0, said.stderr]).toEqual([false, expect.stringContaining(message)]);
  });
});
