/** Sandboxes from the command line, as its help says: the same story for every engine with nodes that freeze, with a pool `base` of three. */
import { expect, test } from "vitest";
import type { Said } from "./run-cli.ts";
import type { SystemUnderTest } from "./sandbox-stories.ts";

export interface CommandLineSystem extends SystemUnderTest {
  agentbox(...args: readonly string[]): Promise<Said>;
}

/** `open`: one that is not started yet. */
export function describeCommandLineStories(open: () => Promise<CommandLineSystem>): void {
  test("sandboxes are made, used, paused, looked at and ended from the command line, and remembered after a restart", async () => {
    await using up = await open();
    await up.start();

    expect(await up.agentbox("run", "base", "--", "echo", "hi")).toMatchObject({ stdout: "hi\n", code: 0 });
    expect(await up.agentbox("run", "-e", "A=b", "--", "sh", "-c", "echo $A; echo no >&2; exit 3")).toMatchObject({
      stdout: "b\n",
      // Before it may stand what was waited for.
      stderr: expect.stringMatching(/no\n$/),
      code: 3,
    });
    // A stopping one is shown until its record is written.
    await expect
      .poll(() => up.agentbox("ls"))
      .toMatchObject({
        stdout: "",
        stderr: "No live sandboxes (ended ones: agentbox ls --all)\n",
      });

    const made = await up.agentbox("run", "base", "--timeout", "1h", "-m", "ticket=42");
    const id = made.stdout.trim();
    expect(made).toMatchObject({ stdout: expect.stringMatching(/^[a-z0-9]+\n$/), code: 0 });
    expect((await up.agentbox("ls")).stdout).toMatch(
      new RegExp(`^ID +POOL +STATUS +REASON +AGE +ENDED\n${id} +base +Running +- +\\d+s +-\n$`),
    );
    expect(await up.agentbox("exec", id, "--", "sh", "-c", "exit 7")).toEqual({ stdout: "", stderr: "", code: 7 });
    expect((await up.agentbox("logs", id, "--tail", "5")).code).toBe(0);

    expect((await up.agentbox("pause", id)).stdout).toBe(`sandbox ${id} is paused\n`);
    expect(await up.agentbox("exec", id, "--", "true")).toMatchObject({ code: 1, stderr: expect.stringContaining("is paused: resume it") });
    expect((await up.agentbox("resume", id)).stdout).toBe(`sandbox ${id} runs\n`);
    expect((await up.agentbox("extend", id, "--timeout", "30m")).stdout).toMatch(/ ends in (30m|29m\d*s?), at 20/);
    expect((await up.agentbox("inspect", id, "-o", "yaml")).stdout).toMatch(/^endTime: "20.*^status: Running$/ms);

    expect(await up.agentbox("rm", id, "nosuchsandbox")).toEqual({
      stdout: `sandbox ${id} has ended\n`,
      stderr: 'error: there is no sandbox "nosuchsandbox"\n',
      code: 1,
    });
    expect((await up.agentbox("kill", id)).code).toBe(0);

    await up.process.kill();
    await up.start();
    const remembered = await up.agentbox("ls", "-a", "-m", "ticket=42", "-o", "json");
    expect(JSON.parse(remembered.stdout)).toMatchObject([{ sandboxId: id, status: "Completed", metadata: { ticket: "42" } }]);
    expect((await up.agentbox("ls", "--all", "-o", "name")).stdout.trim().split("\n")).toHaveLength(3);
  });
}
