/** The history as one process reaches it: one database for all, at the far end of the same bad connections. */
import { HistoryError } from "#store/history-error.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { Wire, type WireDeps } from "./wire.ts";

const errors = {
  unreachable: () => new HistoryError("unavailable", "no answer"),
  refused: () => new HistoryError("unavailable", "try again later"),
};

export interface FaultyHistoryOptions {
  readonly database: HistoryStore;
  /** Told of every record that the database has taken. */
  readonly onPut: (record: Parameters<HistoryStore["put"]>[0]) => void;
}

export function faultyHistory(deps: WireDeps, { database, onPut }: FaultyHistoryOptions): HistoryStore {
  const wire = new Wire(deps, errors);
  return {
    description: database.description,
    events: database.events,
    put: (record) =>
      wire.send({
        apply: async () => {
          await database.put(record);
          onPut(record);
        },
      }),
    get: (sandboxId, scope) => wire.send({ apply: () => database.get(sandboxId, scope) }),
    search: (query) => wire.send({ apply: () => database.search(query) }),
    statistics: (query) => wire.send({ apply: () => database.statistics(query) }),
    prune: (request) => wire.send({ apply: () => database.prune(request) }),
    audit: database.audit,
    usage: database.usage,
    logs: database.logs,
    health: () => database.health(),
    close: async () => {},
  };
}
