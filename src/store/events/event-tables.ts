/** Tables of events and deliveries, in SQL that both databases understand. */

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

/**
 * Each look costs what it finds, and not what waits: SQLite works in the server's own thread. So the deliveries of a webhook are found in the order of their
 * times, and those that wait for another one of their sandbox have a time that never comes.
 */
export const turnIndexes = `
    DROP INDEX agentbox_delivery_by_time;
    DROP INDEX agentbox_delivery_of_sandbox;
    CREATE INDEX agentbox_delivery_of_webhook ON agentbox_delivery (webhook, dead, due_ms, seq);
    CREATE INDEX agentbox_delivery_in_turn ON agentbox_delivery (webhook, sandbox_id, dead, seq);
  `;

/**
 * Lists skip what does not match, and what lies before a page, so the indexes hold all that is asked about an event: reading the events themselves takes ten
 * times as long.
 */
export const listIndexes = `
    DROP INDEX agentbox_event_of_sandbox;
    DROP INDEX agentbox_event_of_team;
    CREATE INDEX agentbox_event_by_sandbox ON agentbox_event (sandbox_id, seq, team, owner, type, id);
    CREATE INDEX agentbox_event_by_team ON agentbox_event (team, seq, owner, type, id);
  `;
