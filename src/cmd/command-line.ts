/**
 * Everything that `bin/agentbox` can do, put together here: the command line gets the real streams, clock and folders, and the parts that only some
 * commands need are loaded when one asks for them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CliError } from "#cli/failure.ts";
import type { ServerContext } from "#cli/config/server-contexts.ts";
import type { CliContext, GatewayPlace } from "#cli/context.ts";
import { NoPrefix } from "#cli/failure-text.ts";
import type { MachineImages } from "#cli/machine-images.ts";
import { runCli } from "#cli/main.ts";
import type { KubernetesClient } from "#engines/kubernetes/client.ts";
import { batchedOut } from "#lib/batched-out.ts";
import type { LogOptions } from "#lib/log.ts";
import { systemClock } from "#lib/clock.ts";
import { readAdminKey } from "./machine/admin-key-file.ts";
import { attachProcess, endOnBrokenOutput } from "./attached-process.ts";
import { contextFile, contextFilePath } from "./context-file.ts";
import { homeFolder, type HomeFolder } from "./parts/home-folder.ts";
import { ProcessSignals } from "./process-signals.ts";
import { isListening, readServerFile } from "./machine/server-file.ts";
import { askUser, userTerminal } from "./user-terminal.ts";

const signals = new ProcessSignals();
endOnBrokenOutput();

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
    hasTerminal: () => process.stdin.isTTY && process.stdout.isTTY,
    terminal: userTerminal,
    attach: () => attachProcess(signals),
    ask: askUser,
    readStdin: () => text(process.stdin),
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: signals.ended,
    version,
    home: placesIn(home),
    homeAt: (folder) => placesIn(homeFolder({ AGENTBOX_HOME: folder })),
    contexts: contextFile(contextFilePath(process.env)),
    connect: (place) => connect(home, place),
    serve: async (request) => {
      const { runAllInOne } = await import("./machine/all-in-one.ts");
      return await runAllInOne({
        ...request,
        home,
        version,
        env: process.env,
        databaseUrl: process.env["DATABASE_URL"],
        clock: systemClock,
        signal: signals.ended,
        stdout: process.stdout,
        stderr: process.stderr,
      });
    },
    serveParts: async (request) => {
      const { runParts } = await import("./cluster/run-parts.ts");
      return await runParts({
        ...request,
        home,
        version,
        env: process.env,
        clock: systemClock,
        signal: signals.ended,
        stdout: batchedStdout(),
      });
    },
    ...machineParts(home, version),
  };
}

type MachineParts = Pick<CliContext, "takeDown" | "images" | "readyTemplates" | "backups" | "service" | "probeMachine" | "trust">;

/** What commands do to this machine and its data folders, without the server or in its place. */
function machineParts(home: HomeFolder, version: string): MachineParts {
  return {
    takeDown: async () => {
      const { takeDown } = await import("./machine/take-down.ts");
      return await takeDown({ home, clock: systemClock, stdout: process.stdout });
    },
    images: () => imagesOf(home),
    readyTemplates: async () => {
      const [{ readyTemplates }, { cacheFolder }] = await Promise.all([
        import("./machine/ready-templates.ts"),
        import("#engines/embedded/node/runtime/find-command.ts"),
      ]);
      return readyTemplates({ cache: cacheFolder(process.env), version, env: process.env, images: () => imagesOf(home) });
    },
    backups: async (folder) => {
      const { machineBackups } = await import("./machine/backup/machine-backups.ts");
      const { stdin, stdout } = process;
      const of = folder === undefined ? home : homeFolder({ AGENTBOX_HOME: folder });
      return machineBackups({ home: of, version, clock: systemClock, databaseUrl: process.env["DATABASE_URL"], stdin, stdout });
    },
    service: async () => {
      const [{ machineService }, { takeDown }, { cacheFolder }] = await Promise.all([
        import("./machine/install/machine-service.ts"),
        import("./machine/take-down.ts"),
        import("#engines/embedded/node/runtime/find-command.ts"),
      ]);
      return machineService({
        program: join(import.meta.dirname, "../../bin/agentbox"),
        dataFolder: (process.env["AGENTBOX_HOME"] ?? "") === "" ? "/var/lib/agentbox" : home.folder,
        cacheFolder: cacheFolder(process.env),
        takeDown: (folder) => takeDown({ home: homeFolder({ AGENTBOX_HOME: folder }), clock: systemClock, stdout: process.stdout }),
      });
    },
    probeMachine: async () => await (await import("./doctor-probe.ts")).probeMachine(home, process.env),
    trust: async () => {
      const { systemTrust } = await import("./machine/system-trust.ts");
      return await systemTrust({ home: home.folder, certificateFolder: home.certificateFolder });
    },
  };
}

async function imagesOf(home: HomeFolder): Promise<MachineImages> {
  const { machineImages } = await import("./machine/machine-images.ts");
  return await machineImages({ home, clock: systemClock, stdin: process.stdin, env: process.env });
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

async function connect(usual: HomeFolder, place: ServerContext | undefined): Promise<KubernetesClient> {
  if (place?.kubeconfig !== undefined) {
    const { kubernetesClient } = await import("#engines/kubernetes/client.ts");
    client ??= await kubernetesClient({ kubeconfig: place.kubeconfig, context: place.kubeContext });
    return client;
  }
  const home = place?.home === undefined ? usual : homeFolder({ AGENTBOX_HOME: place.home });
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
