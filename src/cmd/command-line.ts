/**
 * Everything that `bin/agentbox` can do, put together here: the command line gets the real streams, clock and folders, and the parts that only some
 * commands need are loaded when one asks for them.
 */
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { CliError } from "#cli/failure.ts";
import type { CliContext, GatewayPlace } from "#cli/context.ts";
import { NoPrefix } from "#cli/failure-text.ts";
import { runCli } from "#cli/main.ts";
import type { KubernetesClient } from "#engines/kubernetes/client.ts";
import { batchedOut } from "#lib/batched-out.ts";
import type { LogOptions } from "#lib/log.ts";
import { systemClock } from "#lib/clock.ts";
import { readAdminKey } from "./admin-key-file.ts";
import { homeFolder, type HomeFolder } from "./home-folder.ts";
import { prepareServerCode } from "./server-code.ts";
import { isListening, readServerFile } from "./server-file.ts";
import { userTerminal } from "./user-terminal.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    // Who asks twice does not want to wait for an orderly end.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(`ended by ${signal}`));
  });
}
// `agentbox get … | head` closes our output early, and that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

let client: KubernetesClient | undefined;
process.exitCode = await main();
await client?.close();

async function main(): Promise<number> {
  try {
    const home = homeFolder(process.env);
    return await runCli(contextFor(home), process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    return 1;
  }
}

function contextFor(home: HomeFolder): CliContext {
  const version = packageVersion();
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    terminal: userTerminal,
    readStdin: () => text(process.stdin),
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: stop.signal,
    version,
    home: placesIn(home),
    connect: () => connect(home),
    serve: async (request) => {
      prepareServerCode();
      const { runAllInOne } = await import("./all-in-one.ts");
      return await runAllInOne({
        ...request,
        home,
        version,
        env: process.env,
        databaseUrl: process.env["DATABASE_URL"],
        clock: systemClock,
        signal: stop.signal,
        stdout: process.stdout,
        stderr: process.stderr,
      });
    },
    serveParts: async (request) => {
      prepareServerCode();
      const { runParts } = await import("./cluster/run-parts.ts");
      return await runParts({
        ...request,
        home,
        version,
        env: process.env,
        clock: systemClock,
        signal: stop.signal,
        stdout: batchedStdout(),
      });
    },
    takeDown: async () => {
      const { takeDown } = await import("./take-down.ts");
      return await takeDown({ home, clock: systemClock, stdout: process.stdout });
    },
    images: async () => {
      const { machineImages } = await import("./machine-images.ts");
      return await machineImages({ home, clock: systemClock, stdin: process.stdin });
    },
    trust: async () => {
      const { systemTrust } = await import("./system-trust.ts");
      return await systemTrust({ home: home.folder, certificateFolder: home.certificateFolder });
    },
  };
}

function placesIn(home: HomeFolder): CliContext["home"] {
  return {
    folder: home.folder,
    socketPath: home.socketPath,
    httpAddress: () => httpAddressOf(home),
    gateway: () => gatewayOf(home),
    adminKey: () => readAdminKey(home.adminKeyFile),
  };
}

/** For logs of servers. */
function batchedStdout(): LogOptions["out"] {
  const { out, flush } = batchedOut(process.stdout);
  process.once("exit", flush);
  return out;
}

async function gatewayOf(home: HomeFolder): Promise<GatewayPlace | undefined> {
  if (!(await isListening(home.socketPath))) return undefined;
  const { gatewayAddress: address, domain, authorityFile } = (await readServerFile(home.serverFile)) ?? {};
  return address === undefined || domain === undefined ? undefined : { address, domain, authorityFile };
}

async function httpAddressOf(home: HomeFolder): Promise<string | undefined> {
  if (!(await isListening(home.socketPath))) return undefined;
  return (await readServerFile(home.serverFile))?.httpAddress;
}

async function connect(home: HomeFolder): Promise<KubernetesClient> {
  if (!(await isListening(home.socketPath))) {
    throw new NoPrefix(`AgentBox is not running (no socket at ${home.socketPath}). Start it with: make up`);
  }
  const { kubernetesClient } = await import("#engines/kubernetes/client.ts");
  client ??= await kubernetesClient({ socketPath: home.socketPath });
  return client;
}

function packageVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
