/** The folder with everything that AgentBox keeps on this machine. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { CliError } from "#cli/failure.ts";

export interface HomeFolder {
  readonly folder: string;
  /** Objects, in SQLite. */
  readonly dataFile: string;
  /** Ended sandboxes, in SQLite, unless DATABASE_URL says where else. */
  readonly historyFile: string;
  /** Things that are true only while the server runs; for its user alone. */
  readonly runFolder: string;
  readonly socketPath: string;
  /** The running server and its addresses, for people and for `agentbox env`. */
  readonly serverFile: string;
  /** Files and logs of template builds. */
  readonly buildsFolder: string;
  readonly logFile: string;
  readonly controlPlaneKeyFile: string;
  /** Certificates of the gateway, if none are configured. */
  readonly certificateFolder: string;
  /** The first admin key, for the command line of this user. */
  readonly adminKeyFile: string;
}

/** The kernel keeps the path of a unix socket in 108 bytes, one of them for its end. */
const longestSocketPath = 107;

/** The default folder. */
export function usualHomeFolder(): string {
  return join(homedir(), ".agentbox");
}

export function homeFolder(env: Readonly<Record<string, string | undefined>>): HomeFolder {
  const chosen = env["AGENTBOX_HOME"] ?? "";
  const folder = chosen === "" ? usualHomeFolder() : resolve(chosen);
  const runFolder = join(folder, "run");
  const socketPath = join(runFolder, "api.sock");
  if (Buffer.byteLength(socketPath) > longestSocketPath) {
    throw new CliError(`the path ${socketPath} is too long for a unix socket (${longestSocketPath} bytes): choose a shorter AGENTBOX_HOME`);
  }
  return {
    folder,
    dataFile: join(folder, "objects.db"),
    historyFile: join(folder, "history.db"),
    runFolder,
    socketPath,
    serverFile: join(runFolder, "server.json"),
    buildsFolder: join(folder, "builds"),
    logFile: join(folder, "logs", "agentbox.log"),
    controlPlaneKeyFile: join(folder, "keys", "control-plane.pem"),
    certificateFolder: join(folder, "certificates"),
    adminKeyFile: join(folder, "keys", "admin.key"),
  };
}
