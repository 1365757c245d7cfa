/** A proxy in front of the API that breaks requests, as networks and gateways do, from a seed. */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export const faults = {
  "502 instead of forwarding": "the server never saw the request",
  "cut before forwarding": "the client's connection is reset, and the server never saw the request",
  "502 after the answer": "the server did it, and a gateway says that it failed",
  "answer lost": "the server did it, and the connection is reset before the first byte of the answer",
  "reset in the answer": "the server did it, and the connection is reset after half of the answer",
  "cut while the server works": "the server loses its client, and the client its server",
} as const;

export type Fault = keyof typeof faults;

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** How often each was done. */
  readonly done: ReadonlyMap<Fault | "none", number>;
}

/** `share`: of the requests, how many are broken. */
export async function openFaultyProxy(target: string, share: number, random: () => number): Promise<FaultyProxy> {
  const names = Object.keys(faults) as Fault[];
  const done = new Map<Fault | "none", number>();
  const choose = (): Fault | undefined => (random() < share ? names[Math.floor(random() * names.length)] : undefined);
  const server = createServer((request, response) => {
    const fault = choose();
    done.set(fault ?? "none", (done.get(fault ?? "none") ?? 0) + 1);
    void handle({ target, request, response, fault }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    done,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Exchange {
  readonly target: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly fault: Fault | undefined;
}

async function handle({ target, request, response, fault }: Exchange): Promise<void> {
  const body = await buffer(request);
  if (fault === "502 instead of forwarding") return badGateway(response);
  if (fault === "cut before forwarding") return reset(response);
  if (fault === "cut while the server works") {
    // Its answer may come first: then it is lost, which is another fault of the list.
    const asked = ask(target, request, body);
    setTimeout(() => asked.abort(), 2);
    await asked.answer.catch(() => {});
    return reset(response);
  }
  const answer = await ask(target, request, body).answer;
  if (fault === "502 after the answer") return badGateway(response);
  if (fault === "answer lost") return reset(response);
  response.writeHead(answer.status, answer.headers);
  if (fault !== "reset in the answer") return void response.end(answer.body);
  response.write(answer.body.subarray(0, answer.body.length / 2), () => reset(response));
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

function ask(target: string, { method, url, headers }: IncomingMessage, body: Buffer): { readonly answer: Promise<Answer>; abort(): void } {
  const { promise: answer, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = send(new URL(url ?? "/", target), { method, headers: { ...headers, host: new URL(target).host } }, (got) => {
    buffer(got).then((bytes) => resolve({ status: got.statusCode ?? 500, headers: got.headers, body: bytes }), reject);
  });
  asked.on("error", reject);
  asked.end(body);
  return { answer, abort: () => asked.destroy(new Error("cut")) };
}

/** As a gateway's own page: it says nothing of the API's. */
function badGateway(response: ServerResponse): void {
  response.writeHead(502, { "content-type": "text/html" }).end("<h1>502 Bad Gateway</h1>");
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
