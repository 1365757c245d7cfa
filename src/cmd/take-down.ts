/** `agentbox down`: the opposite of `up`, containers included. */
import { CliError } from "#cli/failure.ts";
import type { TextSink } from "#cli/context.ts";
import { type MonotonicClock, sleep } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import type { HomeFolder } from "./home-folder.ts";
import { isListening, readServerFile } from "./server-file.ts";

export interface TakeDownOptions {
  readonly home: HomeFolder;
  readonly clock: MonotonicClock;
  readonly stdout: TextSink;
}

export async function takeDown({ home, clock, stdout }: TakeDownOptions): Promise<number> {
  await endServer(home, clock, stdout);
  const { eraseEmbeddedNode, isOnMachine } = await import("./embedded-node.ts");
  if (!isOnMachine(home.folder)) {
    stdout.write(`No sandboxes of ${home.folder} are on this machine.\n`);
    return 0;
  }
  if (process.getuid?.() !== 0) throw new CliError("removing sandboxes needs root: sudo agentbox down");
  stdout.write("Removing sandboxes …\n");
  const log = openLog({ clock, out: process.stderr });
  await eraseEmbeddedNode({ home: home.folder, clock, log });
  stdout.write("All sandboxes are gone. Objects are kept; the next start runs their pods again.\n");
  return 0;
}

const endingMs = 15_000;

async function endServer(home: HomeFolder, clock: MonotonicClock, stdout: TextSink): Promise<void> {
  if (!(await isListening(home.socketPath))) return;
  const until = clock.now() + endingMs;
  let facts = await readServerFile(home.serverFile);
  // One that is just starting says who it is as the last thing.
  for (; facts === undefined; facts = await readServerFile(home.serverFile)) {
    if (clock.now() > until) throw new CliError("AgentBox runs, but does not say as which process: end it with Ctrl-C first");
    await sleep(clock, 50);
  }
  stdout.write(`Ending AgentBox (process ${facts.pid}) …\n`);
  process.kill(facts.pid, "SIGTERM");
  // The process, not its socket: that is closed first, while the rest is still being put away.
  while (isAlive(facts.pid)) {
    if (clock.now() > until)
      throw new CliError(`process ${facts.pid} has not ended after ${endingMs / 1000} s: end it with kill -9, then try again`);
    await sleep(clock, 50);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
