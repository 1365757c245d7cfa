/** Encrypted connections, to a server that takes no others over TCP. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import type { HistoryHealth } from "#store/history-store.ts";
import { parseDatabaseUrl } from "#store/postgres/database-url.ts";
import { openPostgresHistory } from "#store/postgres/store.ts";
import { certificateAuthority, serverCertificate } from "../kubernetes/certificates.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
let folder = "";
beforeAll(async () => {
  const authority = certificateAuthority("history tests");
  server = await startPostgres({ certificate: serverCertificate(authority) });
  folder = await mkdtemp(join(tmpdir(), "agentbox-history-"));
  await writeFile(join(folder, "ours.pem"), authority.cert);
  await writeFile(join(folder, "other.pem"), certificateAuthority("somebody else").cert);
}, 60_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function connect(mode: string, root?: string, host = "127.0.0.1"): Promise<HistoryHealth> {
  const file = root === undefined ? "" : `&sslrootcert=${encodeURIComponent(join(folder, root))}`;
  const url = `${server.tcpUrl("postgres").replace("127.0.0.1", host)}?sslmode=${mode}${file}`;
  const { log } = recordedLog();
  const history = await openPostgresHistory({ address: parseDatabaseUrl(url), clock: systemClock, log, patienceMs: 200 });
  const health = await history.health();
  await history.close();
  return health;
}

// The certificate names 127.0.0.1, and not this other way to write it.
const otherName = "127.1";

describe("an encrypted connection", () => {
  test.each([
    ["require", undefined, "127.0.0.1"],
    ["require", undefined, otherName],
    ["require", "ours.pem", otherName],
    ["verify-ca", "ours.pem", "127.0.0.1"],
    ["verify-ca", "ours.pem", otherName],
    ["verify-full", "ours.pem", "127.0.0.1"],
    ["verify-full", "ours.pem", "localhost"],
  ])("with %s and %s is made to %s", async (mode, root, host) => {
    expect(await connect(mode, root, host)).toMatchObject({ ok: true });
  });

  test.each([
    ["require", "other.pem", "127.0.0.1"],
    ["verify-ca", undefined, "127.0.0.1"],
    ["verify-ca", "other.pem", "127.0.0.1"],
    ["verify-full", undefined, "127.0.0.1"],
    ["verify-full", "other.pem", "127.0.0.1"],
    ["verify-full", "ours.pem", otherName],
  ])("with %s and %s is refused to %s, since it could be anybody", async (mode, root, host) => {
    await expect(connect(mode, root, host)).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/certificate.*sslrootcert/) as string,
    });
  });

  test("that is missing where the server wants one is recommended", async () => {
    await expect(connect("disable")).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("add ?sslmode=require to DATABASE_URL") as string,
    });
  });
});
