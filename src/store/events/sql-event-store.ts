/** Events in SQL that both databases understand: statements of their own, none of which needs another to be whole. */
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { checkedScope } from "../checked-query.ts";
import type { HistoryScope } from "../history-store.ts";
import type { Delivery, DeliveryView, EventQuery, EventStore, FailedDelivery } from "./event-store.ts";

export type Row = Readonly<Record<string, unknown>>;

/** Runs one statement with `?` for its parameters. */
export type RunSql = (sql: string, params: readonly (string | number)[]) => Promise<readonly Row[]>;

/** The same in both databases but for the type of the number that counts up. */
export function eventTables(counting: string): string {
  return `
    CREATE TABLE agentbox_event (
      seq ${counting},
      id TEXT NOT NULL UNIQUE,
      sandbox_id TEXT NOT NULL,
      team TEXT NOT NULL,
      owner TEXT NOT NULL,
      type TEXT NOT NULL,
      at_ms BIGINT NOT NULL,
      body TEXT NOT NULL
    );
    CREATE INDEX agentbox_event_of_sandbox ON agentbox_event (sandbox_id, seq);
    CREATE INDEX agentbox_event_of_team ON agentbox_event (team, seq);
    CREATE INDEX agentbox_event_by_age ON agentbox_event (at_ms);
    CREATE INDEX agentbox_event_by_type ON agentbox_event (type, sandbox_id);
    CREATE TABLE agentbox_delivery (
      id ${counting},
      webhook TEXT NOT NULL,
      seq BIGINT NOT NULL,
      sandbox_id TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      due_ms BIGINT NOT NULL,
      dead INTEGER NOT NULL,
      last_error TEXT NOT NULL,
      UNIQUE (webhook, seq)
    );
    CREATE INDEX agentbox_delivery_by_time ON agentbox_delivery (dead, due_ms);
    CREATE INDEX agentbox_delivery_of_sandbox ON agentbox_delivery (webhook, sandbox_id, seq);
    CREATE INDEX agentbox_delivery_of_event ON agentbox_delivery (seq);
  `;
}

/** Of one webhook: a receiver that is not there must not fill the disk. */
const mostWaiting = 10_000;

export class SqlEventStore implements EventStore {
  readonly #run: RunSql;
  readonly #mostOfWebhook: number;

  constructor(run: RunSql, mostOfWebhook = mostWaiting) {
    this.#run = run;
    this.#mostOfWebhook = mostOfWebhook;
  }

  async append(event: SandboxEvent, webhooks: readonly string[]): Promise<void> {
    const { id, sandboxId, team, user, type, at } = event;
    const values = [id, sandboxId, team, user, type, Date.parse(at), JSON.stringify(event)];
    // It has its name, and is seen, once all of its deliveries are there.
    const seq = await this.#reserve(values);
    if (seq === undefined) return;
    for (const webhook of webhooks) {
      await this.#run(
        `INSERT INTO agentbox_delivery (webhook, seq, sandbox_id, attempts, due_ms, dead, last_error)
         SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), 0, 0, 0, ''
         WHERE (SELECT count(*) FROM (SELECT 1 FROM agentbox_delivery WHERE webhook = ? AND dead = 0 LIMIT ?) AS waiting) < ?
         ON CONFLICT DO NOTHING`,
        [webhook, seq, sandboxId, webhook, this.#mostOfWebhook, this.#mostOfWebhook],
      );
    }
    await this.#run("UPDATE agentbox_event SET id = ? WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM agentbox_event WHERE id = ?)", [
      id,
      seq,
      id,
    ]);
    await this.#dropUnfinished(seq);
  }

  /** Another process told the same event meanwhile, and its row is the event. */
  async #dropUnfinished(seq: number): Promise<void> {
    const gone = await this.#run(`DELETE FROM agentbox_event WHERE seq = ? AND NOT (${finished}) RETURNING seq`, [seq]);
    if (gone.length > 0) await this.#run("DELETE FROM agentbox_delivery WHERE seq = ?", [seq]);
  }

  /** A row under a name that is not the event's yet: what is left of a process that died is taken over. Undefined: the event is there. */
  async #reserve([id = "", ...values]: readonly (string | number)[]): Promise<number | undefined> {
    const [known] = await this.#run("SELECT seq FROM agentbox_event WHERE id = ?", [id]);
    if (known !== undefined) return undefined;
    const columns = "(id, sandbox_id, team, owner, type, at_ms, body)";
    await this.#run(`INSERT INTO agentbox_event ${columns} VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, [
      unfinished(id),
      ...values,
    ]);
    const [row] = await this.#run("SELECT seq FROM agentbox_event WHERE id = ?", [unfinished(id)]);
    return row === undefined ? undefined : Number(row["seq"]);
  }

  async newestOf(sandboxId: string, limit: number): Promise<readonly SandboxEvent[]> {
    const rows = await this.#run(`SELECT body FROM agentbox_event WHERE sandbox_id = ? AND ${finished} ORDER BY seq DESC LIMIT ?`, [
      sandboxId,
      limit,
    ]);
    return rows.map(eventIn);
  }

  async unended(after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#run(
      `SELECT e.sandbox_id FROM agentbox_event e WHERE e.type = 'created' AND e.sandbox_id > ? AND NOT EXISTS
         (SELECT 1 FROM agentbox_event k WHERE k.type = 'killed' AND k.sandbox_id = e.sandbox_id AND k.${finished})
       ORDER BY e.sandbox_id LIMIT ?`,
      [after, limit],
    );
    return rows.map((row) => String(row["sandbox_id"]));
  }

  async list({ scope, sandboxId, types, offset, limit, order }: EventQuery): Promise<readonly SandboxEvent[]> {
    const owned = ownedBy(checkedScope(scope));
    const conditions = [finished, ...owned.sql, ...(sandboxId === undefined ? [] : ["sandbox_id = ?"])];
    const params: (string | number)[] = [...owned.params, ...(sandboxId === undefined ? [] : [sandboxId])];
    if (types !== undefined && types.length > 0) {
      conditions.push(`type IN (${types.map(() => "?").join(", ")})`);
      params.push(...types);
    }
    const direction = order === "newest" ? "DESC" : "ASC";
    const rows = await this.#run(
      `SELECT body FROM agentbox_event WHERE ${conditions.join(" AND ")} ORDER BY seq ${direction} LIMIT ? OFFSET ?`,
      [...params, limit, offset],
    );
    return rows.map(eventIn);
  }

  async due(nowMs: number, limit: number, without: readonly string[] = []): Promise<readonly Delivery[]> {
    const others = without.length === 0 ? "" : `AND d.webhook NOT IN (${without.map(() => "?").join(", ")})`;
    const rows = await this.#run(
      `SELECT d.id, d.webhook, d.attempts, e.body FROM agentbox_delivery d JOIN agentbox_event e ON e.seq = d.seq
       WHERE d.dead = 0 AND d.due_ms <= ? ${others} AND e.${finished} AND NOT EXISTS
         (SELECT 1 FROM agentbox_delivery b WHERE b.webhook = d.webhook AND b.sandbox_id = d.sandbox_id AND b.dead = 0 AND b.seq < d.seq)
       ORDER BY d.due_ms, d.seq LIMIT ?`,
      [nowMs, ...without, limit],
    );
    return rows.map(deliveryIn);
  }

  async nextDueMs(): Promise<number | undefined> {
    const [row] = await this.#run(
      `SELECT min(d.due_ms) AS due FROM agentbox_delivery d JOIN agentbox_event e ON e.seq = d.seq WHERE d.dead = 0 AND e.${finished}`,
      [],
    );
    return row === undefined || row["due"] === null ? undefined : Number(row["due"]);
  }

  async delivered(id: number): Promise<void> {
    await this.#run("DELETE FROM agentbox_delivery WHERE id = ?", [id]);
  }

  async failed(id: number, { attempts, dueMs, error, isDead }: FailedDelivery): Promise<void> {
    const values = [attempts, dueMs, error, isDead ? 1 : 0, id];
    await this.#run("UPDATE agentbox_delivery SET attempts = ?, due_ms = ?, last_error = ?, dead = ? WHERE id = ?", values);
  }

  async undelivered(webhook: string, limit: number): Promise<readonly DeliveryView[]> {
    const rows = await this.#run(
      `SELECT d.id, d.webhook, d.attempts, d.due_ms, d.dead, d.last_error, e.body FROM agentbox_delivery d
       JOIN agentbox_event e ON e.seq = d.seq WHERE d.webhook = ? ORDER BY d.seq LIMIT ?`,
      [webhook, limit],
    );
    return rows.map((row) => ({
      ...deliveryIn(row),
      state: Number(row["dead"]) === 1 ? "dead" : "pending",
      dueAt: new Date(Number(row["due_ms"])).toISOString(),
      ...(row["last_error"] === "" ? {} : { lastError: String(row["last_error"]) }),
    }));
  }

  async dropWebhook(webhook: string): Promise<void> {
    await this.#run("DELETE FROM agentbox_delivery WHERE webhook = ?", [webhook]);
  }

  async prune(olderThanMs: number, limit: number): Promise<number> {
    const gone = await this.#run(
      `DELETE FROM agentbox_event WHERE seq IN (SELECT e.seq FROM agentbox_event e WHERE e.at_ms < ? AND (NOT (e.${finished}) OR NOT EXISTS
         (SELECT 1 FROM agentbox_delivery d WHERE d.seq = e.seq AND d.dead = 0)) ORDER BY e.at_ms LIMIT ?) RETURNING seq`,
      [olderThanMs, limit],
    );
    for (const { seq } of gone) await this.#run("DELETE FROM agentbox_delivery WHERE seq = ?", [Number(seq)]);
    return gone.length;
  }
}

const mark = "making ";
/** Only those whose deliveries are all there. */
const finished = "id NOT LIKE 'making %'";

function unfinished(id: string | number): string {
  return `${mark}${id}`;
}

function ownedBy(scope: HistoryScope): { readonly sql: readonly string[]; readonly params: readonly string[] } {
  if (scope.kind === "admin") return { sql: [], params: [] };
  const { team, user } = scope;
  return user === undefined ? { sql: ["team = ?"], params: [team] } : { sql: ["team = ?", "owner = ?"], params: [team, user] };
}

function eventIn(row: Row): SandboxEvent {
  // Written by `append`.
  return JSON.parse(String(row["body"])) as SandboxEvent;
}

function deliveryIn(row: Row): Delivery {
  return { id: Number(row["id"]), webhook: String(row["webhook"]), attempts: Number(row["attempts"]), event: eventIn(row) };
}
