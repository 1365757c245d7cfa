/**
 * A PostgreSQL of our own, in a folder that goes with it. It refuses to run as root, so as root it runs as `nobody`. It never outlives
 * us: the kernel ends it when we die.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { appendFile, chmod, chown, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePort } from "../world/free-port.ts";

export const serverUser = "agentbox";
export const serverPassword = "sesam-öffne/dich@#1";

const execute = promisify(execFile);
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const asNobody = isRoot ? ["--reuid", String(nobody), "--regid", String(nobody), "--clear-groups"] : [];

/** Where a server is, and what an administrator does there. */
export class PostgresAddress {
  /** Of the unix socket. */
  readonly folder: string;
  readonly port: number;
  /** Where it is reached over TCP. */
  readonly host: string;

  constructor({ folder, port, host = "127.0.0.1" }: { readonly folder: string; readonly port: number; readonly host?: string }) {
    this.folder = folder;
    this.port = port;
    this.host = host;
  }

  /** Over the unix socket, without a password. */
  url(database: string): string {
    return `postgres://${serverUser}@localhost:${this.port}/${database}?host=${encodeURIComponent(this.folder)}`;
  }

  /** Over TCP, where the server asks for the password. */
  tcpUrl(database: string, password = serverPassword): string {
    return `postgres://${serverUser}:${encodeURIComponent(password)}@${this.host}:${this.port}/${database}`;
  }

  async createDatabase(name: string): Promise<void> {
    await this.run("postgres", `CREATE DATABASE ${name}`);
  }

  async run(database: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ host: this.folder, port: this.port, user: serverUser, database });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}

export interface PostgresOptions {
  /** With it, the server refuses unencrypted TCP connections. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** For pods: at which address of this machine it listens, and from where they come. */
  readonly pods?: { readonly address: string; readonly network: string };
}

export async function startPostgres({ certificate, pods }: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = await findBinaries();
  const folder = await mkdtemp(join(tmpdir(), "agentbox-postgres-"));
  if (isRoot) await chown(folder, nobody, nobody);
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, serverPassword);
  await chmod(passwordFile, 0o644);
  const initdb = ["-D", data, "-U", serverUser, "--pwfile", passwordFile, "--auth-local=trust", "--auth-host=scram-sha-256"];
  await execute("setpriv", [...asNobody, "--", join(bin, "initdb"), ...initdb, "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"], {
    cwd: folder,
  });
  if (certificate !== undefined) await setUpTls(data, certificate);
  if (pods !== undefined) await appendFile(join(data, "pg_hba.conf"), `host all all ${pods.network} scram-sha-256\n`);
  const server = new PostgresServer(bin, { folder, port: await freePort(), ...(pods && { host: pods.address }) });
  await server.start();
  return server;
}

async function setUpTls(data: string, { cert, key }: { readonly cert: string; readonly key: string }): Promise<void> {
  await writeFile(join(data, "server.crt"), cert);
  await writeFile(join(data, "server.key"), key, { mode: 0o600 });
  if (isRoot) await chown(join(data, "server.key"), nobody, nobody);
  await appendFile(join(data, "postgresql.conf"), "ssl = on\n");
  await writeFile(join(data, "pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n");
}

export class PostgresServer extends PostgresAddress {
  readonly #bin: string;
  #child: ChildProcess | undefined;
  #output = "";

  constructor(bin: string, address: { readonly folder: string; readonly port: number; readonly host?: string }) {
    super(address);
    this.#bin = bin;
  }

  /** Also after it was killed: then the kernel may still be ending some of its processes, and a new one refuses to start beside them. */
  async start(): Promise<void> {
    for (let tries = 1; !(await this.#start()); tries++) {
      if (tries === 20) throw new Error(`PostgreSQL does not start:\n${this.#output}`);
      await setTimeout(100);
    }
  }

  async #start(): Promise<boolean> {
    // What is lost when the machine dies is not what these tests are about, so nothing waits for the disk. A vacuum that happens to
    // look at the template database keeps a new one waiting for seconds.
    const settings = [
      "fsync=off",
      "autovacuum=off",
      "max_connections=200",
      `listen_addresses=${this.host}`,
      `unix_socket_directories=${this.folder}`,
    ];
    const args = ["-D", join(this.folder, "data"), "-p", String(this.port), ...settings.flatMap((setting) => ["-c", setting])];
    const child = spawn("setpriv", [...asNobody, "--pdeathsig", "KILL", "--", join(this.#bin, "postgres"), ...args], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-4000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    return this.#answers(child);
  }

  /** False if it ends before. */
  async #answers(child: ChildProcess): Promise<boolean> {
    for (;;) {
      if (child.exitCode !== null) return false;
      const answered = await this.run("postgres", "SELECT 1").then(
        () => true,
        () => false,
      );
      if (answered) return true;
      await setTimeout(20);
    }
  }

  /** To every process of the server: SIGSTOP makes it silent, SIGKILL takes it down hard. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const main = this.#child?.pid;
    if (main === undefined) throw new Error("PostgreSQL does not run");
    // Held still, it makes no new ones while they are counted.
    process.kill(main, "SIGSTOP");
    const { stdout } = await execute("ps", ["-o", "pid=", "--ppid", String(main)]);
    const gone = signal === "SIGKILL" ? new Promise((resolve) => this.#child?.once("exit", resolve)) : undefined;
    for (const pid of [main, ...stdout.trim().split(/\s+/).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended by itself meanwhile.
      }
    }
    await gone;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      await this.signal("SIGCONT"); // a test may have failed while it was held
      child.kill("SIGQUIT"); // at once, but it still waits for its own processes
      await gone;
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function findBinaries(): Promise<string> {
  const root = "/usr/lib/postgresql";
  const versions = await readdir(root).catch(() => []);
  const newest = versions
    .map(Number)
    .filter(Number.isInteger)
    .toSorted((a, b) => b - a)[0];
  if (newest === undefined) {
    throw new Error("the history tests need PostgreSQL: install the Debian package `postgresql` (its service need not run)");
  }
  return join(root, String(newest), "bin");
}
