/** Events in SQL that both databases understand: statements of their own, none of which needs another to be whole. */
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { checkedScope } from "../checked-query.ts";
import type { HistoryScope } from "../history-store.ts";
import type { Begun, Delivery, DeliveryView, EventQuery, EventStore, FailedDelivery } from "./event-store.ts";

export type Row = Readonly<Record<string, unknown>>;

/** Runs one statement with `?` for its parameters. */
export type RunSql = (sql: string, params: readonly (string | number)[]) => Promise<readonly Row[]>;

/** The time of those that wait for another one. Older versions gave them a time of their own, so it is not all that says whether one is due. */
const behindAnother = 9e15;

/** Of one webhook: a receiver that is not there must not fill the disk. */
const mostWaiting = 10_000;

export class SqlEventStore implements EventStore {
  readonly #run: RunSql;
  readonly #mostOfWebhook: number;
  /** By webhook: so many more may be stored before they are counted anew, which costs as much as there is. 0: none, until one of them ends. */
  readonly #room = new Map<string, number>();
  /** The newest event when no team had too many. */
  #trimmedAt = -Infinity;

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
    for (const webhook of webhooks) if (await this.#hasRoom(webhook)) await this.#insert(webhook, sandboxId, seq);
    await this.#run("UPDATE agentbox_event SET id = ? WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM agentbox_event WHERE id = ?)", [
      id,
      seq,
      id,
    ]);
    await this.#dropUnfinished(seq);
  }

  async #hasRoom(webhook: string): Promise<boolean> {
    const room = this.#room.get(webhook) ?? (await this.#counted(webhook));
    if (room === 1) this.#room.delete(webhook);
    else this.#room.set(webhook, Math.max(room - 1, 0));
    return room > 0;
  }

  async #counted(webhook: string): Promise<number> {
    const sql = "SELECT count(*) AS n FROM (SELECT 1 FROM agentbox_delivery WHERE webhook = ? AND dead = 0 LIMIT ?) AS waiting";
    const [row] = await this.#run(sql, [webhook, this.#mostOfWebhook]);
    return this.#mostOfWebhook - Number(row?.["n"]);
  }

  async #insert(webhook: string, sandboxId: string, seq: number): Promise<void> {
    await this.#run(
      `INSERT INTO agentbox_delivery (webhook, seq, sandbox_id, attempts, due_ms, dead, last_error)
       SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), 0,
         CASE WHEN EXISTS (SELECT 1 FROM agentbox_delivery b WHERE b.webhook = ? AND b.sandbox_id = ? AND b.dead = 0 AND b.seq < ?)
           THEN ${behindAnother} ELSE 0 END, 0, ''
       ON CONFLICT DO NOTHING`,
      [webhook, seq, sandboxId, webhook, sandboxId, seq],
    );
  }

  /** Another process told the same event meanwhile, and its row is the event. */
  async #dropUnfinished(seq: number): Promise<void> {
    const gone = await this.#run(`DELETE FROM agentbox_event WHERE seq = ? AND NOT (${finished}) RETURNING seq`, [seq]);
    if (gone.length === 0) return;
    const rows = await this.#run("DELETE FROM agentbox_delivery WHERE seq = ? RETURNING webhook, sandbox_id", [seq]);
    for (const row of rows) await this.#nextInTurn(row);
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

  async begun(after: string, limit: number): Promise<Begun> {
    const rows = await this.#run(
      `SELECT c.sandbox_id, EXISTS (SELECT 1 FROM agentbox_event k WHERE k.type = 'killed' AND k.sandbox_id = c.sandbox_id AND k.${finished}) AS ended
       FROM (SELECT sandbox_id FROM agentbox_event WHERE type = 'created' AND sandbox_id > ? ORDER BY sandbox_id LIMIT ?) c ORDER BY c.sandbox_id`,
      [after, limit],
    );
    const unended = rows.filter(({ ended }) => !Number(ended)).map((row) => String(row["sandbox_id"]));
    return { unended, last: rows.length < limit ? undefined : String(rows.at(-1)?.["sandbox_id"]) };
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
      `SELECT body FROM agentbox_event WHERE seq IN
         (SELECT seq FROM agentbox_event WHERE ${conditions.join(" AND ")} ORDER BY seq ${direction} LIMIT ? OFFSET ?)
       ORDER BY seq ${direction}`,
      [...params, limit, offset],
    );
    return rows.map(eventIn);
  }

  async due(webhook: string, nowMs: number, limit: number): Promise<readonly Delivery[]> {
    const rows = await this.#run(
      `SELECT d.id, d.webhook, d.attempts, e.body FROM agentbox_delivery d JOIN agentbox_event e ON e.seq = d.seq
       WHERE d.webhook = ? AND d.dead = 0 AND d.due_ms <= ? AND e.${finished} AND ${isInTurn} ORDER BY d.due_ms, d.seq LIMIT ?`,
      [webhook, nowMs, limit],
    );
    return rows.map(deliveryIn);
  }

  async nextDueMs(webhook: string, afterMs: number): Promise<number | undefined> {
    const [row] = await this.#run(
      "SELECT due_ms FROM agentbox_delivery WHERE webhook = ? AND dead = 0 AND due_ms > ? ORDER BY due_ms LIMIT 1",
      [webhook, afterMs],
    );
    return row === undefined || Number(row["due_ms"]) === behindAnother ? undefined : Number(row["due_ms"]);
  }

  async delivered(id: number): Promise<void> {
    await this.#ends(id, () => this.#run("DELETE FROM agentbox_delivery WHERE id = ?", [id]));
  }

  async failed(id: number, { attempts, dueMs, error, isDead }: FailedDelivery): Promise<void> {
    const values = [attempts, dueMs, error, isDead ? 1 : 0, id];
    const change = () => this.#run("UPDATE agentbox_delivery SET attempts = ?, due_ms = ?, last_error = ?, dead = ? WHERE id = ?", values);
    await (isDead ? this.#ends(id, change) : change());
  }

  /** The one behind it is made due before it ends, so that none is forgotten if this process dies in between; and after it, for one that came meanwhile. */
  async #ends(id: number, change: () => Promise<unknown>): Promise<void> {
    const [row] = await this.#run("SELECT webhook, sandbox_id FROM agentbox_delivery WHERE id = ?", [id]);
    if (row === undefined) return;
    await this.#nextInTurn(row, id);
    await change();
    await this.#nextInTurn(row);
    this.#room.delete(String(row["webhook"]));
  }

  async #nextInTurn({ webhook, sandbox_id: sandboxId }: Row, without = 0): Promise<void> {
    await this.#run(
      `UPDATE agentbox_delivery SET due_ms = 0 WHERE due_ms = ${behindAnother} AND id =
         (SELECT id FROM agentbox_delivery WHERE webhook = ? AND sandbox_id = ? AND dead = 0 AND id <> ? ORDER BY seq LIMIT 1)`,
      [String(webhook), String(sandboxId), without],
    );
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
      ...(Number(row["due_ms"]) === behindAnother ? {} : { dueAt: new Date(Number(row["due_ms"])).toISOString() }),
      ...(row["last_error"] === "" ? {} : { lastError: String(row["last_error"]) }),
    }));
  }

  async dropWebhook(webhook: string): Promise<void> {
    await this.#run("DELETE FROM agentbox_delivery WHERE webhook = ?", [webhook]);
    this.#room.delete(webhook);
  }

  async webhooks(): Promise<readonly string[]> {
    // From one to the next, because a plain DISTINCT reads all rows.
    const rows = await this.#run(
      `WITH RECURSIVE w (webhook) AS (SELECT min(webhook) FROM agentbox_delivery UNION ALL
         SELECT (SELECT min(d.webhook) FROM agentbox_delivery d WHERE d.webhook > w.webhook) FROM w WHERE w.webhook IS NOT NULL)
       SELECT webhook FROM w WHERE webhook IS NOT NULL`,
      [],
    );
    return rows.map((row) => String(row["webhook"]));
  }

  async repair(webhook: string): Promise<void> {
    const sql = `UPDATE agentbox_delivery AS d SET due_ms = 0 WHERE d.webhook = ? AND d.dead = 0 AND d.due_ms = ${behindAnother} AND ${isInTurn}`;
    await this.#run(sql, [webhook]);
  }

  async prune(olderThanMs: number, limit: number): Promise<number> {
    const gone = await this.#run(
      `DELETE FROM agentbox_event WHERE seq IN (SELECT e.seq FROM agentbox_event e WHERE e.at_ms < ? AND (NOT (e.${finished}) OR ${isDelivered}) ORDER BY e.at_ms LIMIT ?) RETURNING seq`,
      [olderThanMs, limit],
    );
    return await this.#forgotten(gone);
  }

  async trim(most: number, limit: number): Promise<number> {
    const [row] = await this.#run("SELECT max(seq) AS newest FROM agentbox_event", []);
    const newest = Number(row?.["newest"]);
    // Counting reads every event's place, so it waits until there are a good few more.
    if (newest - this.#trimmedAt < most / 10) return 0;
    const teams = await this.#run("SELECT team, count(*) AS n FROM agentbox_event GROUP BY team HAVING count(*) > ?", [most]);
    let count = 0;
    for (const { team, n } of teams) {
      const gone = await this.#run(
        `DELETE FROM agentbox_event WHERE seq IN (SELECT e.seq FROM agentbox_event e WHERE e.team = ? AND e.${finished} AND ${isDelivered}
           ORDER BY e.seq LIMIT ?) RETURNING seq`,
        [String(team), Math.min(limit, Number(n) - most)],
      );
      count += await this.#forgotten(gone);
    }
    if (count < limit) this.#trimmedAt = newest;
    return count;
  }

  async #forgotten(events: readonly Row[]): Promise<number> {
    for (const { seq } of events) await this.#run("DELETE FROM agentbox_delivery WHERE seq = ?", [Number(seq)]);
    return events.length;
  }
}

const mark = "making ";
/** Only those whose deliveries are all there. */
const finished = "id NOT LIKE 'making %'";
/** Of an event `e`: nothing of it is still to be delivered. */
const isDelivered = "NOT EXISTS (SELECT 1 FROM agentbox_delivery d WHERE d.seq = e.seq AND d.dead = 0)";
/** Of a delivery `d`: no other of its webhook and sandbox comes before it. */
const isInTurn = `NOT EXISTS
         (SELECT 1 FROM agentbox_delivery b WHERE b.webhook = d.webhook AND b.sandbox_id = d.sandbox_id AND b.dead = 0 AND b.seq < d.seq)`;

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
