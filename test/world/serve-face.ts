/** The embedded HTTP face over a client that the test scripts, on a unix socket of its own; requests are raw, as any client could send them. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveObjects, type ServeOptions } from "#engines/embedded/http/serve-objects.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { coreKinds } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

export interface Widget extends ApiObject {
  readonly spec?: { readonly size?: number };
}

/** A custom kind with every subresource. */
export const Widgets: ResourceType<Widget> = {
  group: "example.test",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  singular: "widget",
  shortNames: ["wd"],
  namespaced: true,
  statusSubresource: true,
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" },
};

/** A custom kind without namespaces or subresources. */
export const Shelves: ResourceType = {
  group: "example.test",
  version: "v1",
  kind: "Shelf",
  plural: "shelves",
  singular: "shelf",
  shortNames: [],
  namespaced: false,
  statusSubresource: false,
};

export interface Reply {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The parsed body, for replies that are JSON. */
  readonly body: unknown;
}

export interface RequestInit {
  readonly body?: string | Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Face extends AsyncDisposable {
  readonly socketPath: string;
  readonly send: (method: string, path: string, init?: RequestInit) => Promise<Reply>;
  /** Resolves with the response as soon as its head is there; the body is read by the test. */
  readonly open: (path: string) => Promise<IncomingMessage>;
  readonly stop: () => void;
}

export async function startFace(script: Partial<ObjectClient>, options: Partial<ServeOptions> = {}): Promise<Face> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-face-"));
  const socketPath = join(folder, "api.sock");
  const face = serveObjects({ client: scripted(script), kinds: [Widgets, Shelves, ...coreKinds], ...options });
  const server = createServer(face.listener);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    send: async (method, path, init) => await readReply(await start({ socketPath, method, path }, init)),
    open: (path) => start({ socketPath, method: "GET", path }),
    stop: face.stop,
    [Symbol.asyncDispose]: async () => {
      face.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function start(options: RequestOptions, init: RequestInit = {}): Promise<IncomingMessage> {
  const body = typeof init.body === "object" ? JSON.stringify(init.body) : init.body;
  const headers: Record<string, string> = { ...(typeof init.body === "object" && { "content-type": "application/json" }), ...init.headers };
  // Node sends a body with DELETE only when its length is given.
  if (body !== undefined && headers["transfer-encoding"] === undefined) headers["content-length"] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...options, headers }, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function readReply(response: IncomingMessage): Promise<Reply> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  const json = response.headers["content-type"] === "application/json" && !text.includes("}\n{");
  return { code: response.statusCode ?? 0, headers: response.headers, text, body: json ? JSON.parse(text) : undefined };
}

/** A call that the test did not script is a mistake of the face. */
function scripted(script: Partial<ObjectClient>): ObjectClient {
  return new Proxy(script, {
    get: (target, name) => {
      const method = Reflect.get(target, name);
      if (method !== undefined) return method;
      return () => Promise.reject(new Error(`the face called ${String(name)}, which this test does not expect`));
    },
  }) as ObjectClient;
}
