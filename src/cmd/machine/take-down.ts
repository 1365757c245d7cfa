/** `agentbox down`: the opposite of `up`, containers included. */
import { CliError } from "#cli/failure.ts";
import type { TextSink } from "#cli/context.ts";
import { type MonotonicClock, sleep } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { awaitEnd } from "./await-end.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { isListening, readServerFile, type ServerFacts } from "./server-file.ts";

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

/** A server that does nothing for so long will not end by itself. */
const stillMs = 15_000;

async function endServer(home: HomeFolder, clock: MonotonicClock, stdout: TextSink): Promise<void> {
  if (!(await isListening(home.socketPath))) return;
  const { pid } = await serverFacts(home, clock);
  stdout.write(`Ending AgentBox (process ${pid}) …\n`);
  process.kill(pid, "SIGTERM");
  // The process, not its socket: that is closed first, while the rest is still being put away.
  if ((await awaitEnd(pid, { clock, stillMs })) === "ended") return;
  throw new CliError(`process ${pid} does not end and has done nothing for ${stillMs / 1000} s: end it with kill -9, then try again`);
}

/** The server writes its facts as the last step of its start, so one that listens may not have written them yet. */
async function serverFacts(home: HomeFolder, clock: MonotonicClock): Promise<ServerFacts> {
  const until = clock.now() + startingMs;
  for (;;) {
    const facts = await readServerFile(home.serverFile);
    if (facts !== undefined) return facts;
    if (!(await isListening(home.socketPath))) throw new CliError("AgentBox ended while it was starting: try again");
    if (clock.now() > until) throw new CliError("AgentBox runs, but does not say as which process: end it with Ctrl-C first");
    await sleep(clock, 50);
  }
}

/** Minutes on a slow machine. */
const startingMs = 300_000;
