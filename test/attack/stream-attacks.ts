/** Many clients of one tenant that stay, and clients that come and go without end. */
import { type Attack, again, type Attacker, Tally } from "./scene.ts";

/** Streams that stay open, as many as are let in. Each is read, or the server would wait for it. */
function streams(name: string, open: (attacker: Attacker, signal: AbortSignal) => Promise<Response>): Attack {
  return {
    name,
    run: async (attacker, signal) => {
      const tally = new Tally();
      let isOpen = 0;
      const opening = again(signal, { parallel: 50, rounds: 2500 }, async () => {
        const answer = await open(attacker, signal).catch((error: unknown) => error as Error);
        if (answer instanceof Error) return tally.add(answer.name);
        tally.add(answer.ok ? "granted" : `${answer.status}`);
        if (!answer.ok) {
          await answer.body?.cancel();
          return;
        }
        isOpen++;
        void answer.body?.pipeTo(new WritableStream(), { signal }).catch(() => {});
      });
      // Meanwhile things change, of which all of them are told.
      const changing = again(signal, { parallel: 2, rounds: 3000 }, async () => {
        const body = { metadata: { name: "told" }, spec: { replicas: 0, templateName: "base" } };
        await attacker.ask("POST", "/v1/pools", body, signal).catch(() => {});
        await attacker.ask("DELETE", "/v1/pools/told", undefined, signal).catch(() => {});
      });
      await Promise.all([opening, changing]);
      return `${isOpen} open at the end; ${tally.toString()}`;
    },
  };
}

const readers = streams("2,500 readers of all changes", (attacker, signal) => attacker.stream("GET", "/v1/events", { signal }));

const mcpVersion = "2026-07-28";
const subscription = {
  jsonrpc: "2.0",
  id: 1,
  method: "subscriptions/listen",
  params: {
    notifications: { toolsListChanged: true },
    _meta: { "io.modelcontextprotocol/protocolVersion": mcpVersion, "io.modelcontextprotocol/clientCapabilities": {} },
  },
};
const mcpHeaders = {
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": mcpVersion,
  "mcp-method": "subscriptions/listen",
};

const subscribers = streams("2,500 subscribers of MCP", (attacker, signal) =>
  attacker.stream("POST", "/mcp", { headers: mcpHeaders, body: subscription, signal }),
);

/** Signs in to the console, and out again. */
const signIns: Attack = {
  name: "signing in and out",
  run: async (attacker, signal) => {
    const tally = new Tally();
    const headers = { "x-agentbox-console": "1" };
    await again(signal, { parallel: 16, rounds: 1_000_000 }, async () => {
      try {
        const answer = await attacker.stream("POST", "/console/session", { headers, body: { key: attacker.apiKey }, signal });
        const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
        await answer.body?.cancel();
        tally.add(answer.ok ? "signed in" : `${answer.status}`);
        if (!answer.ok) return;
        const out = await attacker.stream("DELETE", "/console/session", { headers: { ...headers, cookie }, signal });
        await out.body?.cancel();
      } catch (error) {
        tally.add((error as Error).name);
      }
    });
    return tally.toString();
  },
};

export const streamAttacks: readonly Attack[] = [readers, subscribers, signIns];
