import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentbox } from "../world/run-cli.ts";
import { transcriptOf } from "./cli-transcript.ts";
import { describeServers } from "./servers.ts";

/** What kubectl says to the same command lines; test/kubernetes/kubectl-transcript.test.ts holds it to a real server. */
const recording = join(import.meta.dirname, "cli-transcript.txt");

describeServers("the command line", (server) => {
  test("apply, get and delete answer with kubectl's words", async () => {
    const { client } = server();
    const said = await transcriptOf((args, { cwd, stdin }) => agentbox(args, { client, cwd, stdin }), "cli-ours");
    expect(said).toBe(await readFile(recording, "utf8"));
  });
});
