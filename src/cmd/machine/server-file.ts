import { readFile, rename, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";

/** What a running server notes about itself. */
export interface ServerFacts {
  readonly pid: number;
  readonly version: string;
  readonly httpAddress: string;
  /** Of the gateway, where there is one: plain, and the domain whose hosts are sandboxes. */
  readonly gatewayAddress?: string;
  readonly domain?: string;
  /** Of its certificate, where that is this machine's own. */
  readonly authorityFile?: string;
  readonly startedAt: string;
}

/** As a whole: who reads it meanwhile finds all of it, or none. */
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

/** Whether somebody listens at a unix socket. One that a killed server left behind refuses. */
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
