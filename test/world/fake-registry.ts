/** A registry on loopback that speaks the real protocol, also for pushing, keeps its content in memory and misbehaves when told to. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Digest, digestOf } from "#images/digest.ts";
import { mediaTypes } from "#images/manifest.ts";
import type { RegistrySettings } from "#images/registry/endpoints.ts";
import { type ImageFixture, indexOf } from "./image-fixture.ts";

/** What lets a client speak with registries on loopback, at any port. */
export const loopbackRegistries: RegistrySettings = { private: ["127.0.0.1:*", "localhost:*"] };

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
}

/** What to do instead of answering well. */
export interface Fault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Never answer. */
  readonly hangs?: true;
  /** Break the connection after so many bytes of the body: of the request's, if it has one. */
  readonly cutAfter?: number;
  /** Take what was sent, and break the connection instead of saying so. */
  readonly cutAnswer?: true;
}

export interface FakeRegistryOptions {
  /** Users and their passwords; no password is needed when left out. */
  readonly users?: Readonly<Record<string, string>>;
  readonly scheme?: "basic" | "bearer";
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Of loopback. */
  readonly address?: string;
  /** Answer ranges as if they had not been asked for. */
  readonly ignoresRanges?: boolean;
  /** Leave out the header with the digest. */
  readonly hidesDigest?: boolean;
}

interface BeginOfUpload {
  readonly repository: string;
  readonly pathname: string;
  readonly wanted: URLSearchParams;
  readonly fault: Fault | undefined;
}

export class FakeRegistry implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly #options: FakeRegistryOptions;
  readonly #server: Server;
  readonly #content = new Map<string, { readonly type: string; readonly content: Buffer }>();
  readonly #tokens = new Set<string>();
  #uploads = 0;
  /** Asked for every request; the first answer that is not undefined is what happens. */
  fault: (request: SeenRequest) => Fault | undefined = () => undefined;
  /** Seconds that tokens are good for. */
  tokenLife = 300;

  private constructor(options: FakeRegistryOptions) {
    this.#options = options;
    const handle = (request: IncomingMessage, response: ServerResponse): void => this.#handle(request, response);
    this.#server = options.tls === undefined ? createServer(handle) : createTlsServer(options.tls, handle);
  }

  static async start(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
    const registry = new FakeRegistry(options);
    await new Promise<void>((resolve) => registry.#server.listen(0, options.address ?? "127.0.0.1", resolve));
    return registry;
  }

  /** Host and port, as it stands in references. */
  get host(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${address}:${port}`;
  }

  /** Names of requested things, without what goes before them: `manifests/1`, `blobs/sha256:…`. */
  get asked(): string[] {
    return this.requests
      .filter(({ path }) => path.startsWith("/v2/"))
      .map(({ method, path }) => `${method} ${path.split("/").slice(-2).join("/")}`);
  }

  /** Puts an image, or one for each of several platforms, under `repository:tag`. Returns the digest of what the tag points to. */
  add(repository: string, tag: string, ...images: readonly ImageFixture[]): Digest {
    for (const { manifest, config, layers, digest, id } of images) {
      this.addManifest(repository, digest, manifest);
      this.addBlob(repository, id, config);
      for (const layer of layers) this.addBlob(repository, layer.digest, layer.blob);
    }
    const [only] = images;
    const top = images.length === 1 && only !== undefined ? only.manifest : indexOf(images);
    this.addManifest(repository, digestOf(top), top);
    this.addManifest(repository, tag, top);
    return digestOf(top);
  }

  addManifest(repository: string, tagOrDigest: string, content: Buffer): void {
    const type = content.includes('"manifests"') ? mediaTypes.index : mediaTypes.manifest;
    this.#content.set(`/v2/${repository}/manifests/${tagOrDigest}`, { type, content });
  }

  addBlob(repository: string, digest: Digest, content: Buffer): void {
    this.#content.set(`/v2/${repository}/blobs/${digest}`, { type: "application/octet-stream", content });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/", headers } = request;
    const seen: SeenRequest = { method, path: url, authorization: headers.authorization, range: headers.range };
    this.requests.push(seen);
    const fault = this.fault(seen);
    if (fault?.hangs === true) return;
    if (fault?.status !== undefined) send(response, fault.status, fault.headers ?? {}, Buffer.from(fault.body ?? ""));
    else if (url.startsWith("/token?")) this.#giveToken(seen, response);
    else if (this.#mayEnter(seen)) this.#serve(request, response, { seen, fault });
    else
      send(
        response,
        401,
        { "www-authenticate": this.#challenge() },
        json({ errors: [{ code: "UNAUTHORIZED", message: "authentication required" }] }),
      );
  }

  #serve(request: IncomingMessage, response: ServerResponse, { seen, fault }: { seen: SeenRequest; fault: Fault | undefined }): void {
    if (seen.method === "POST" || seen.method === "PUT") this.#take(request, response, fault);
    else if (seen.method === "DELETE") this.#remove(seen.path, response);
    else this.#giveContent(seen, response, fault);
  }

  /** An upload in one piece, as the protocol has it: asked for, sent, and checked. */
  #take(request: IncomingMessage, response: ServerResponse, fault: Fault | undefined): void {
    const { pathname, searchParams } = new URL(request.url ?? "/", `http://${this.host}`);
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => {
      parts.push(part);
      if (fault?.cutAfter !== undefined && Buffer.concat(parts).length > fault.cutAfter) response.destroy();
    });
    request.on("end", () => {
      if (response.destroyed) return;
      const content = Buffer.concat(parts);
      const [repository = ""] = /(?<=^\/v2\/).*(?=\/(?:blobs|manifests)\/)/.exec(pathname) ?? [];
      if (request.method === "POST") {
        this.#begin(response, { repository, pathname, wanted: searchParams, fault });
        return;
      }
      const promised = searchParams.get("digest");
      if (promised !== null && promised !== digestOf(content)) {
        send(response, 400, {}, json({ errors: [{ code: "DIGEST_INVALID", message: "provided digest did not match" }] }));
        return;
      }
      const [digest, tag] = [digestOf(content), pathname.slice(pathname.lastIndexOf("/") + 1)];
      if (promised === null) for (const name of [tag, digest]) this.addManifest(repository, name, content);
      else this.addBlob(repository, digest, content);
      if (fault?.cutAnswer === true) response.destroy();
      else send(response, 201, { "docker-content-digest": digestOf(content), ...fault?.headers }, Buffer.alloc(0));
    });
  }

  /** An upload; or a blob of another repository, which this one has from now on. */
  #begin(response: ServerResponse, { repository, pathname, wanted, fault }: BeginOfUpload): void {
    const there = this.#content.get(`/v2/${wanted.get("from")}/blobs/${wanted.get("mount")}`);
    if (there !== undefined) this.#content.set(`/v2/${repository}/blobs/${wanted.get("mount")}`, there);
    const location = `${pathname}${this.#uploads++}?state=a%2Fb`;
    send(response, there === undefined ? 202 : 201, { location, ...fault?.headers }, Buffer.alloc(0));
  }

  /** An image by its digest, with all of its tags. */
  #remove(path: string, response: ServerResponse): void {
    const found = this.#content.get(path);
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    for (const [name, { content }] of this.#content) {
      if (found !== undefined && name.startsWith(folder) && content.equals(found.content)) this.#content.delete(name);
    }
    send(response, found === undefined ? 404 : 202, {}, Buffer.alloc(0));
  }

  #giveContent({ method, path, range }: SeenRequest, response: ServerResponse, fault: Fault | undefined): void {
    const found = this.#content.get(path);
    if (found === undefined) {
      send(response, 404, {}, json({ errors: [{ code: "NAME_UNKNOWN", message: "not known here" }] }));
      return;
    }
    const content = fault?.body === undefined ? found.content : Buffer.from(fault.body);
    const from = this.#options.ignoresRanges === true ? 0 : startOf(range);
    const known = this.#options.hidesDigest === true ? {} : { "docker-content-digest": digestOf(found.content) };
    const part = from === 0 ? {} : { "content-range": `bytes ${from}-${content.length - 1}/${content.length}` };
    const headers = { "content-type": found.type, "content-length": String(content.length - from), ...known, ...part, ...fault?.headers };
    response.writeHead(from > 0 ? 206 : 200, headers);
    if (method === "HEAD") response.end();
    else if (fault?.cutAfter === undefined) response.end(content.subarray(from));
    else response.write(content.subarray(from, from + fault.cutAfter), () => response.destroy());
  }

  #giveToken({ path, authorization }: SeenRequest, response: ServerResponse): void {
    if (authorization !== undefined && !this.#knows(authorization)) {
      send(response, 401, {}, json({ errors: [{ code: "UNAUTHORIZED", message: "wrong password" }] }));
      return;
    }
    const token = `token-${this.#tokens.size}-${authorization === undefined ? "anonymous" : "known"}`;
    if (authorization !== undefined || this.#options.users === undefined) this.#tokens.add(token);
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    send(response, 200, {}, json({ token, expires_in: this.tokenLife, scope: query.get("scope") }));
  }

  #mayEnter({ authorization }: SeenRequest): boolean {
    if (this.#options.users === undefined && this.#options.scheme === undefined) return true;
    if (this.#options.scheme === "bearer") return this.#tokens.has(authorization?.replace("Bearer ", "") ?? "");
    return authorization !== undefined && this.#knows(authorization);
  }

  /** Tokens handed out so far stop working. */
  revokeTokens(): void {
    this.#tokens.clear();
  }

  #knows(authorization: string): boolean {
    const [user = "", password] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
    return password !== undefined && this.#options.users?.[user] === password;
  }

  #challenge(): string {
    const scheme = this.#options.tls === undefined ? "http" : "https";
    return this.#options.scheme === "bearer"
      ? `Bearer realm="${scheme}://${this.host}/token",service="fake, \\"quoted\\""`
      : 'Basic realm="fake"';
  }
}

function startOf(range: string | undefined): number {
  return Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
}

function send(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: Buffer): void {
  response.writeHead(status, { "content-length": String(body.length), ...headers });
  response.end(body);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** The content of a pull secret. */
export function pullSecret(auths: Readonly<Record<string, readonly [user: string, password: string]>>): string {
  const entries = Object.entries(auths).map(([host, [user, password]]) => [
    host,
    { auth: Buffer.from(`${user}:${password}`).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(entries) });
}
