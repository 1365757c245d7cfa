/** What one tenant can ask of the APIs. */
import { connect, type Socket } from "node:net";
import { type Attack, again, type Attacker, Tally, untilAborted } from "./scene.ts";

interface Asking {
  readonly parallel: number;
  readonly rounds: number;
}

/** The same kind of request over and over. */
function asking(
  name: string,
  how: Asking,
  ask: (attacker: Attacker, round: number, signal: AbortSignal) => ReturnType<Attacker["ask"]>,
): Attack {
  return {
    name,
    run: async (attacker, signal) => {
      const tally = new Tally();
      await again(signal, how, (round) => tally.count(ask(attacker, round, signal)));
      return tally.toString();
    },
  };
}

const hugePools = asking("pools of 100,000 pods", { parallel: 2, rounds: 200 }, (attacker, round) =>
  attacker.ask("POST", "/v1/pools", { metadata: { name: `huge-${round}` }, spec: { replicas: 100_000, templateName: "base" } }),
);

const manyPools = asking("pools without number", { parallel: 4, rounds: 3000 }, (attacker, round) =>
  attacker.ask("POST", "/v1/pools", { metadata: { name: `many-${round}` }, spec: { replicas: 0, templateName: "base" } }),
);

const manyKeys = asking("keys without number", { parallel: 4, rounds: 3000 }, (attacker, round) =>
  attacker.ask("POST", "/v1/keys", { name: `key-${round}` }),
);

/** Their pools would be in another cluster, so that none of them counts here. */
const manyEnvs = asking("Envs without number", { parallel: 4, rounds: 3000 }, (attacker, round) => {
  const clusters = [{ clusterID: "elsewhere", members: [{ name: "a" }] }];
  return attacker.ask("POST", "/v1/envs", { metadata: { name: `many-${round}` }, spec: { templateRef: { name: "base" }, clusters } });
});

const filterQuery = Array.from({ length: 32 }, (_, index) => `metadata=k${index}%3Dv${index}`).join("&");
const filters = asking("lists with 32 metadata filters", { parallel: 4, rounds: 3000 }, (attacker) =>
  attacker.ask("GET", `/v1/sandboxes?${filterQuery}`),
);

/** Nothing special, but a hundred at a time. */
const plainRequests = asking("100 ordinary requests at a time", { parallel: 100, rounds: 100_000 }, (attacker) =>
  attacker.ask("GET", "/v1/pools"),
);

const waitingCreates = asking("200 creates that wait at once", { parallel: 200, rounds: 3000 }, (attacker, _round, signal) =>
  attacker.ask("POST", "/v1/sandboxes", { poolName: "base", startupTimeout: "60s", lifetime: "1m" }, signal),
);

/** Half a request on each, so that the server has to wait for the rest. */
const openConnections: Attack = {
  name: "2,000 open connections",
  run: async (attacker, signal) => {
    const { hostname, port } = new URL(attacker.url);
    const sockets: Socket[] = [];
    for (let count = 0; count < 2000 && !signal.aborted; count++) {
      const socket = connect(Number(port), hostname);
      // A reset is an answer here: the socket is then destroyed, and counted as such.
      socket.on("error", () => {}).on("connect", () => socket.write("GET /v1/sandboxes HTTP/1.1\r\nhost: x\r\nx-"));
      sockets.push(socket);
      if (count % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await untilAborted(signal);
    const open = sockets.filter((socket) => !socket.destroyed).length;
    for (const socket of sockets) socket.destroy();
    return `${open} of ${sockets.length} still open at the end`;
  },
};

export const apiAttacks: readonly Attack[] = [
  hugePools,
  manyPools,
  manyEnvs,
  manyKeys,
  filters,
  plainRequests,
  waitingCreates,
  openConnections,
];
