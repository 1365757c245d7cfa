import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliServer } from "../../../test/world/cli-server.ts";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";

let server: CliServer;

beforeAll(async () => {
  server = await CliServer.start();
});

afterAll(() => server[Symbol.asyncDispose]());

const run = (argv: readonly string[], env: Record<string, string> = {}): Promise<Said> => server.run(argv, env);

describe("agentbox key", () => {
  test("makes a key that works, shows it, and revokes it", async () => {
    const made = await run(["key", "create", "--team", "red", "--name", "ci", "--expires-in", "1h"]);
    const key = made.stdout.trim();
    const id = /Key (\w+) is shown only once/.exec(made.stderr)?.[1] ?? "";
    expect([made.code, key]).toEqual([0, expect.stringMatching(/^e2b_[0-9a-f]{40}$/)]);
    const asRed = { AGENTBOX_API_KEY: key };
    const listed = await run(["key", "ls"], asRed);
    expect(listed.stdout).toMatch(
      new RegExp(`^ID +ROLE +TEAM +USER +AGE +EXPIRES +CREATED-BY +NAME\n${id} +tenant +red +- +\\d+s +20\\S+Z +[0-9a-f]{16} +ci\n$`),
    );
    expect((await run(["key", "ls"])).stdout).toContain("first admin key");
    expect(await run(["key", "revoke", id])).toEqual({ stdout: `key ${id} is revoked\n`, stderr: "", code: 0 });
    expect(await run(["key", "ls"], asRed)).toMatchObject({ code: 1, stderr: expect.stringContaining("unknown, revoked or expired") });
  });

  test("a tenant's key cannot create a key with more rights", async () => {
    const key = (await run(["key", "create", "--team", "red", "--user", "ann"])).stdout.trim();
    const asAnn = { AGENTBOX_API_KEY: key };
    for (const argv of [
      ["--role", "admin"],
      ["--team", "blue"],
      ["--user", "bob"],
    ]) {
      expect(await run(["key", "create", ...argv], asAnn)).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^error: .*only/),
      });
    }
  });

  test("says what is wrong with a request, a key or an address", async () => {
    expect((await run(["key", "create"])).stderr).toContain("error: team: a tenant's key needs a team");
    expect((await run(["key", "revoke", "0123456789abcdef"])).stderr).toBe('error: there is no API key "0123456789abcdef"\n');
    expect((await run(["key", "ls"], { AGENTBOX_API_KEY: "wrong" })).stderr).toContain("not valid");
    expect((await run(["key", "ls"], { AGENTBOX_API_URL: server.url })).stderr).toContain("AGENTBOX_API_KEY is not");
    const nowhere = { AGENTBOX_API_URL: "http://127.0.0.1:59998", AGENTBOX_API_KEY: "x" };
    expect((await run(["key", "ls"], nowhere)).stderr).toContain(
      "the server at http://127.0.0.1:59998 cannot be reached: connection refused: no server listens there",
    );
    expect((await agentbox(["key", "ls"])).stderr).toContain("AgentBox is not running here. Start it with: make up");
  });
});
