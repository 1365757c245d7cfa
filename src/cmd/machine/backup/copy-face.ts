/**
 * The running server's part in a backup: it owns objects.db, so only it can copy it. Asked for on the unix socket in the data folder, which only the
 * folder's owner reaches. The answer is a line of JSON for each step and one for the finished copy. The copy stays until the client closes the
 * connection, also by dying.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { join, resolve } from "node:path";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { historyPlace } from "#store/open-history.ts";
import { describeAddress, parseDatabaseUrl } from "#store/postgres/database-url.ts";
import { openStaging } from "./staging.ts";

export const copyPath = "/agentbox/objects-copy";
export const stagingPrefix = "backup-";

/** Where ended sandboxes are kept: in a file that can be copied, or by a database server with tools of its own. */
export type HistorySource = { readonly file: string } | { readonly elsewhere: string };

/** `location` as open-history.ts takes it. Never holds a password. */
export function historySource(location: string): HistorySource {
  const place = historyPlace(location.trim());
  return place.kind === "sqlite" ? { file: resolve(place.file) } : { elsewhere: describeAddress(parseDatabaseUrl(location.trim())) };
}

export interface CopyFaceDeps {
  readonly store: Pick<ObjectStore, "copyTo">;
  readonly runFolder: string;
  readonly history: HistorySource;
  readonly clock: Clock;
  readonly log: Logger;
}

export type CopyLine =
  | { readonly step: "copying"; readonly done: number; readonly total: number }
  | { readonly step: "copied"; readonly file: string; readonly at: number; readonly history: HistorySource }
  | { readonly step: "failed"; readonly why: string };

/** Answers what is asked about copies, and gives all else to `others`. */
export function withCopies(deps: CopyFaceDeps, others: RequestListener): RequestListener {
  let isCopying = false;
  return (request, response) => {
    if (request.url !== copyPath) return others(request, response);
    if (request.method !== "POST") return refuse(response, 405, "copies are asked for with POST");
    // Each copy takes the room of a second database.
    if (isCopying) return refuse(response, 409, "another backup is being made: try again when it is done");
    isCopying = true;
    void copy(deps, request, response).finally(() => (isCopying = false));
  };
}

async function copy(deps: CopyFaceDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  const closed = new Promise<void>((done) => response.once("close", done));
  response.once("close", () => gone.abort(new Error("the client went away")));
  request.resume();
  const say = (line: CopyLine): void => void response.write(`${JSON.stringify(line)}\n`);
  try {
    await using staging = await openStaging(deps.runFolder, stagingPrefix);
    const file = join(staging.folder, "objects.db");
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.flushHeaders();
    await deps.store.copyTo(file, { signal: gone.signal, onProgress: (done, total) => say({ step: "copying", done, total }) });
    say({ step: "copied", file, at: deps.clock.now(), history: deps.history });
    deps.log.info({ file }, "objects copied for a backup");
    await closed;
  } catch (error) {
    if (gone.signal.aborted) return;
    deps.log.error({ error }, "objects could not be copied for a backup");
    say({ step: "failed", why: error instanceof Error ? error.message : String(error) });
    response.end();
  }
}

function refuse(response: ServerResponse, code: number, why: string): void {
  response.writeHead(code, { "Content-Type": "text/plain; charset=utf-8" });
  response.end(why);
}
