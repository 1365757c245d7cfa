/** Prints a build's log as it comes, until the build is over. */
import type { Build, BuildsClient } from "#client/builds.ts";
import { sleep } from "#lib/clock.ts";
import type { CliContext } from "../context.ts";

const everyMs = 300;

export async function followBuild(context: CliContext, builds: Pick<BuildsClient, "get" | "logs">, buildId: string): Promise<Build> {
  for (let offset = 0; ;) {
    const build = await builds.get(buildId, context.signal);
    const entries = await builds.logs(buildId, offset, context.signal);
    offset += entries.length;
    for (const { message } of entries) context.stdout.write(`${withoutKey(message)}\n`);
    const isOver = build.status === "ready" || build.status === "error";
    if (isOver && entries.length === 0) return build;
    if (!isOver) await sleep(context.clock, everyMs, context.signal);
  }
}

/** The layer's key is for programs. */
function withoutKey(message: string): string {
  return message.replace(/ \[[0-9a-f]{64}\]$/, "");
}
