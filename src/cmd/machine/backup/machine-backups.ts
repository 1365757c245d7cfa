/**
 * Backups of a data folder in the words of the command line.
 *
 * - make-backup.ts        writes one           - restore-backup.ts   puts one into place
 * - copy-face.ts          the server's part    - copy-databases.ts   consistent copies of databases
 * - kept-files.ts         settings and keys    - imported-images.ts  images that no registry has
 * - manifest.ts           what is in it        - unpack-backup.ts    reads and checks one
 * - staging.ts            what is not in place yet
 */
import type { Readable, Writable } from "node:stream";
import type { MachineBackups } from "#cli/machine-backups.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import type { Clock } from "#lib/clock.ts";
import { historySource } from "./copy-face.ts";
import { makeBackup } from "./make-backup.ts";
import { restoreBackup } from "./restore-backup.ts";

export interface MachineBackupsOptions {
  readonly home: HomeFolder;
  readonly version: string;
  readonly clock: Clock;
  readonly databaseUrl: string | undefined;
  readonly stdin: Readable;
  readonly stdout: Writable;
}

export function machineBackups({ databaseUrl, ...deps }: MachineBackupsOptions): MachineBackups {
  return {
    make: async (request) => makeBackup({ ...deps, history: historySource(databaseUrl ?? deps.home.historyFile) }, request),
    restore: (request) => restoreBackup(deps, request),
  };
}
