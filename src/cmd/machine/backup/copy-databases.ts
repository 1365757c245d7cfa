/** Consistent copies of the two databases: through the server where one runs, else from the files. */
import { existsSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { CliError } from "#cli/failure.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import type { Clock } from "#lib/clock.ts";
import { copyDatabase, type CopyWatch } from "#lib/sqlite-copy.ts";
import { sqliteCode } from "#lib/sqlite-space.ts";
import { isListening } from "../server-file.ts";
import { type CopyLine, copyPath, type HistorySource } from "./copy-face.ts";

export interface CopyRequest extends CopyWatch {
  readonly home: HomeFolder;
  /** For what is copied here. */
  readonly staging: string;
  readonly clock: Clock;
  /** Of a server that would be started now. */
  readonly history: HistorySource;
}

/** Disposing lets the server remove its copy. */
export interface CopiedObjects extends Disposable {
  readonly file: string;
  /** The moment whose state it has. */
  readonly at: number;
  readonly history: HistorySource;
}

export async function copyObjects(options: CopyRequest): Promise<CopiedObjects> {
  const { home } = options;
  if (await isListening(home.socketPath)) return await askServer(options);
  if (!existsSync(home.dataFile)) throw new CliError(`there is nothing to back up in ${home.folder}: AgentBox was never started on it`);
  const file = join(options.staging, "objects.db");
  const db = ownedDatabase(home.dataFile);
  try {
    await copyDatabase(db, file, options);
  } finally {
    db.close();
  }
  const { history, clock } = options;
  return { file, at: clock.now(), history, [Symbol.dispose]: () => {} };
}

/** Opens a database that no other process may have open, and changes nothing in it. */
export function ownedDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT;");
    return db;
  } catch (error) {
    db.close();
    if (sqliteCode(error) === 5)
      throw new CliError(`${file} is in use by another process: a server starts or ends there, try again`, { cause: error });
    throw error;
  }
}

async function askServer({ home, onProgress, signal }: CopyRequest): Promise<CopiedObjects> {
  const asked = request({ socketPath: home.socketPath, path: copyPath, method: "POST", agent: false, ...(signal && { signal }) });
  const answered = new Promise<IncomingMessage>((done, failed) => {
    asked.once("response", done);
    asked.on("error", failed);
  });
  asked.end();
  const response = await answered;
  if (response.statusCode === 404) {
    throw new CliError("the server that runs is of a version that cannot be backed up while it runs: end it, and make the backup then");
  }
  if (response.statusCode !== 200) throw new CliError(await text(response));
  // The connection is closed by us when the copy has been read, and nothing more is expected then.
  response.on("error", () => {});
  for await (const said of linesOf(response)) {
    if (said.step === "copying") onProgress?.(said.done, said.total);
    if (said.step === "failed") throw new CliError(`the server could not copy its objects: ${said.why}`);
    if (said.step === "copied") return { ...said, [Symbol.dispose]: () => void asked.destroy() };
  }
  throw new CliError("the server ended while it copied its objects: make the backup again");
}

/** The answer stays open when the last line has been read: that is how the server knows that its copy is still needed. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<CopyLine> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8").iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as CopyLine;
  }
}

/**
 * After the objects: a sandbox that ends between the two copies is in one of them. Resolves with false when there is no history yet.
 * `source` and `file` are paths.
 */
export async function copyHistory(source: string, file: string, watch: CopyWatch): Promise<boolean> {
  if (!existsSync(source)) return false;
  const db = new DatabaseSync(source, { timeout: 2000 });
  try {
    // The server goes on writing; this transaction sees none of it.
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    await copyDatabase(db, file, watch);
  } finally {
    db.close();
  }
  return true;
}

/** The number of the last migration. */
export function formatOf(file: string): number {
  const db = new DatabaseSync(file);
  try {
    return Number(db.prepare("SELECT coalesce(max(version), 0) AS version FROM migrations").get()?.["version"]);
  } finally {
    db.close();
  }
}
