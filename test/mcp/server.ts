/**
 * `/mcp` as our servers have it, with the fixtures of the protocol's conformance suite beside our tools. They are of this program: no server of ours has them. The suite sends no
 * key, so one is put into each of its requests; what keys may do is tested in src/api/mcp.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { Registry } from "prom-client";
import { apiServer } from "#api/http/api-server.ts";
import { problemShape } from "#api/http/problem.ts";
import { mcpRoutes } from "#api/mcp/mcp-routes.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { mcpHttp } from "#mcp/mcp-http.ts";
import { mcpServer, type McpServerDeps } from "#mcp/mcp-server.ts";
import type { ToolSandboxes } from "#mcp/sandboxes.ts";
import { addInputTools } from "./input-fixtures.ts";
import { addPlainTools, addTestPrompts, addTestResources, testCapabilities } from "./plain-fixtures.ts";

const log = openLog({ clock: systemClock, out: { write: () => true } });
const states = createRequestStateCodec({ key: randomBytes(32) });

const notAsked = (): never => {
  throw new Error("the suite calls no tool of ours");
};
const noSandboxes: ToolSandboxes = {
  list: async () => ({ sandboxes: [] }),
  create: notAsked,
  view: notAsked,
  end: notAsked,
  logs: notAsked,
  run: notAsked,
  start: notAsked,
  runCode: notAsked,
  readFile: notAsked,
  writeFile: notAsked,
  listFolder: notAsked,
  portUrl: notAsked,
};

function withFixtures(deps: McpServerDeps) {
  const server = mcpServer(deps, {
    requestState: { verify: (state, context) => states.verify(state, context) },
    capabilities: testCapabilities,
  });
  addPlainTools(server);
  addTestResources(server);
  addTestPrompts(server);
  addInputTools(server, states);
  return server;
}

export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
}

export async function startFixtureServer(): Promise<FixtureServer> {
  const app = await apiServer({
    keys: { authenticate: () => ({ role: "admin", team: "", keyId: "conformance" }), whenEnded: () => () => {} },
    clock: systemClock,
    log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    limits: { ofTeam: () => undefined },
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
    faces: [
      {
        errors: problemShape,
        routes: (routes) =>
          mcpRoutes<McpServerDeps>(routes, {
            hosts: ["localhost", "127.0.0.1", "[::1]"],
            load: async () => mcpHttp(withFixtures, { onError: () => {} }),
            contextOf: (_request, session, signal) => ({
              sandboxes: noSandboxes,
              session,
              version: "0.0.0",
              clock: systemClock,
              signal,
              onDefect: () => {},
            }),
            endSession: async () => {},
          }),
      },
    ],
  });
  await app.ready();
  const server = createServer((request, response) => {
    request.headers.authorization = `Bearer e2b_${"0".repeat(40)}`;
    app.routing(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await app.close();
    },
  };
}
