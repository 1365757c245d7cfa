/**
 * One suite, every API server. A contract test is written once against the port and runs on
 * - `embedded`: the store in this process,
 * - `embedded-http`: the same store behind its HTTP face, reached with the Kubernetes client over a unix socket,
 * - `kubernetes`: a real kube-apiserver with etcd.
 * AGENTBOX_TEST_SERVERS chooses (the vitest projects set it). Where the first two differ from the third, they are wrong.
 */
import { afterAll, beforeAll, describe } from "vitest";
import type { ObjectClient } from "#kube/object-client.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { serverStarters, type ServerName } from "../world/start-server.ts";

export interface ContractServer {
  readonly name: ServerName;
  readonly client: ObjectClient;
  /** A new namespace, so that tests do not see each other's objects. */
  namespace(): Promise<string>;
}

export function chosenServers(): readonly ServerName[] {
  const names = (process.env["AGENTBOX_TEST_SERVERS"] ?? "embedded,embedded-http").split(",");
  return names.map((name) => {
    if (!(name in serverStarters))
      throw new Error(`AGENTBOX_TEST_SERVERS names "${name}"; there are ${Object.keys(serverStarters).join(", ")}`);
    return name as ServerName;
  });
}

/** Runs the suite once per chosen server; the server is started before its first test and stopped after its last. */
export function describeServers(title: string, suite: (server: () => ContractServer) => void): void {
  for (const name of chosenServers()) describeServer(title, name, suite);
}

export interface ClaimServer extends ContractServer {
  readonly claimsOnLeases: boolean;
}

/**
 * Where claims stand: on the pods with the embedded engine, on Leases beside them with Kubernetes (ADR 54). The store knows both, so what is
 * true of claims on Leases is seen without a cluster, too.
 */
const waysToClaim = {
  embedded: [false, true],
  "embedded-http": [false, true],
  kubernetes: [true],
} satisfies Record<ServerName, readonly boolean[]>;

/** As describeServers, once for each way in which claims are written there. */
export function describeClaims(title: string, suite: (server: () => ClaimServer) => void): void {
  for (const name of chosenServers()) {
    for (const claimsOnLeases of waysToClaim[name]) {
      const standing = `${title}, with claims on ${claimsOnLeases ? "Leases" : "pods"},`;
      describeServer(standing, name, (server) => suite(() => ({ ...server(), claimsOnLeases })));
    }
  }
}

function describeServer(title: string, name: ServerName, suite: (server: () => ContractServer) => void): void {
  describe(`${title} on ${name}`, () => {
    let server: ContractServer | undefined;
    let stop = async (): Promise<void> => {};
    beforeAll(async () => {
      const started = await serverStarters[name]();
      stop = started.stop;
      server = { name, client: started.client, namespace: () => newNamespace(started.client) };
    }, 120_000);
    afterAll(() => stop());
    suite(() => {
      if (server === undefined) throw new Error("the server is there only inside a test");
      return server;
    });
  });
}

async function newNamespace(client: ObjectClient): Promise<string> {
  const made = await client.create(Namespaces, { metadata: { generateName: "contract-" } });
  if (made.metadata.name === undefined) throw new Error("the server gave the namespace no name");
  return made.metadata.name;
}
