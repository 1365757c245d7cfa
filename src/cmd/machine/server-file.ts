import { readFile, rename, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";

/** What a running server notes about itself. */
export interface ServerFacts {
  readonly pid: number;
  readonly version: string;
  readonly httpAddress: string;
  /** Of the gateway, if there is one: the plain address, and the domain of the sandboxes' hosts. */
  readonly gatewayAddress?: string;
  readonly domain?: string;
  /** Of its certificate, where that is this machine's own. */
  readonly authorityFile?: string;
  readonly startedAt: string;
}

/** Atomic: a reader sees the whole file or none. */
export async function writeServerFile(path: string, facts: ServerFacts): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, `${JSON.stringify(facts, null, 2)}\n`);
  await rename(fresh, path);
}

/** Undefined when there is no such note, or none that can be read. */
export async function readServerFile(path: string): Promise<ServerFacts | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ServerFacts;
  } catch {
    return undefined;
  }
}

/** True if a process listens on a unix socket. The socket of a killed server refuses connections. */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(socketPath);
    const answer = (listening: boolean): void => {
      probe.destroy();
      resolve(listening);
    };
    probe.once("connect", () => answer(true));
    probe.once("error", () => answer(false));
  });
}
