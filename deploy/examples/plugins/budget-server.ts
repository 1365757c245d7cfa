/**
 * An AgentBox plugin behind HTTP: a small server that knows how many pods each team has paid for. Any language will do; this one is
 * TypeScript for Node without a library:
 *
 *     SECRET_FILE=budget.secret BUDGETS='{"red":10}' PORT=9400 node budget-server.ts
 *
 * AgentBox sends POST { hook, object, pool? } with the headers x-agentbox-timestamp (seconds) and x-agentbox-signature, which is
 * `sha256=` and the HMAC-SHA256 of `<timestamp>.<body>` in hex, with the secret that both know. The answer is { object } or { refusal }.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const secret = readFileSync(process.env["SECRET_FILE"] ?? "budget.secret", "utf8").trim();
const budgets = JSON.parse(process.env["BUDGETS"] ?? "{}") as Record<string, number>;

const server = createServer(async (request, response) => {
  const body = await bodyOf(request);
  if (!isSigned(request, body)) {
    response.writeHead(401).end("the signature is not good");
    return;
  }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer(JSON.parse(body))));
});

interface Call {
  hook: string;
  object: { metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: { replicas: number } };
}

function answer({ hook, object }: Call): object {
  const team = object.metadata.labels?.["scheduling.navix.sh/team"] ?? "";
  const budget = budgets[team];
  if (budget === undefined) return { object };
  if (object.spec.replicas > budget) {
    const message = `team ${team} has paid for ${budget} pods`;
    return { refusal: { kind: "InsufficientResources", message, wouldFit: budget } };
  }
  if (hook !== "preCreatePool") return { object };
  const annotations = { ...object.metadata.annotations, "example.com/budget": String(budget) };
  return { object: { ...object, metadata: { ...object.metadata, annotations } } };
}

function isSigned(request: IncomingMessage, body: string): boolean {
  const timestamp = String(request.headers["x-agentbox-timestamp"]);
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const wanted = Buffer.from(`sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`);
  const given = Buffer.from(String(request.headers["x-agentbox-signature"]));
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

server.listen(Number(process.env["PORT"] ?? 9400), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
