/**
 * A server for the Connect protocol, reduced to what the daemon's services need: unary calls, server streaming and client streaming; JSON and protocol
 * buffers. The official library would cost every sandbox more memory than the whole daemon.
 * - `protocol-headers.ts`: headers of a request, - `frames.ts`: messages of a stream, - `server-stream.ts`: a streamed answer, - `request-body.ts`,
 * `request-chunks.ts`: bodies up to a limit
 * - `codec.ts`, `json-message.ts`, `binary-codec.ts`, `descriptors.ts`: messages as bytes
 * - `connect-error.ts`: errors of calls
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { connectStatus } from "#envd-protocol/connect-code.ts";
import { requestOf, responseOf, services, type MethodKind } from "#envd-protocol/schema.ts";
import { codecOf, type Codec } from "./codec.ts";
import { asConnectError, ConnectError } from "./connect-error.ts";
import type { Json } from "./json-message.ts";
import { checkVersion, contentTypes, timeoutOf, wireFormat } from "./protocol-headers.ts";
import { readMessages, readSingle, readUnary } from "./request-body.ts";
import { ServerStream } from "./server-stream.ts";

export interface Call {
  readonly headers: IncomingHttpHeaders;
  /** Time limit from the caller, in ms from now. */
  readonly timeoutMs: number | undefined;
}

// A handler knows the type of its request; the schema has checked it.
export type Unary = (request: never, call: Call) => Promise<object>;
export type StreamOut = (request: never, call: Call, stream: ServerStream) => Promise<void>;
export type StreamIn = (requests: AsyncIterable<never>, call: Call) => Promise<object>;

/** By service and method, each with the kind that the schema defines. */
export interface Handlers {
  readonly unary: Readonly<Record<string, Unary>>;
  readonly streamOut: Readonly<Record<string, StreamOut>>;
  readonly streamIn: Readonly<Record<string, StreamIn>>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly codec: Codec;
  readonly requestType: string;
  readonly responseType: string;
  readonly call: Call;
}

interface Method {
  readonly service: string;
  readonly method: string;
  readonly kind: MethodKind;
}

function methodOf(url: string): Method | undefined {
  const [, service = "", method = "", ...rest] = url.split("?", 1)[0]?.split("/") ?? [];
  const methods = Object.hasOwn(services, service) ? services[service] : undefined;
  if (methods === undefined || rest.length > 0 || !Object.hasOwn(methods, method)) return undefined;
  const kind = methods[method];
  return kind === undefined ? undefined : { service, method, kind };
}

/** Handlers of a service, which may have to be loaded first. */
export type HandlersOf = (service: string) => Promise<Handlers>;

/** False if the path does not belong to a service. */
export async function serveRpc(handlersOf: HandlersOf, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const found = methodOf(request.url ?? "");
  if (found === undefined) return false;
  const { service, method, kind } = found;
  if (request.method !== "POST") return refuse(response, 405, { allow: "POST" });
  const format = wireFormat(request.headers["content-type"]);
  if (format === undefined || format.isStream !== (kind !== "unary"))
    return refuse(response, 415, { "accept-post": contentTypes.join(", ") });
  const [codec, handlers] = await Promise.all([codecOf(format.codec), handlersOf(service)]);
  const answer = format.isStream ? answerStream : answerUnary;
  const types = { requestType: requestOf(service, method), responseType: responseOf(service, method) };
  const call: Call = { headers: request.headers, timeoutMs: undefined };
  await answer(handlers, `${service}/${method}`, { request, response, codec, ...types, call });
  return true;
}

function refuse(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>): true {
  response.writeHead(status, headers).end();
  return true;
}

async function answerUnary(handlers: Handlers, path: string, exchange: Exchange): Promise<void> {
  const { request, response, codec, requestType, responseType } = exchange;
  try {
    const call = withTimeout(exchange.call);
    const message = codec.decode(requestType, await readUnary(request));
    const reply = await beforeDeadline(call.timeoutMs, handlerOf(handlers.unary, path)(message as never, call));
    const body = codec.encode(responseType, reply);
    response.writeHead(200, { "content-type": `application/${codec.name}`, "content-length": body.length }).end(body);
  } catch (error) {
    const { code, message } = asConnectError(error);
    const body = Buffer.from(JSON.stringify({ code, message }));
    response.writeHead(connectStatus[code], { "content-type": "application/json", "content-length": body.length }).end(body);
  }
}

async function answerStream(handlers: Handlers, path: string, exchange: Exchange): Promise<void> {
  const { request, response, codec, requestType, responseType } = exchange;
  response.writeHead(200, { "content-type": `application/connect+${codec.name}` });
  const stream = new ServerStream(response, codec, responseType);
  try {
    const call = withTimeout(exchange.call);
    const streamOut = handlers.streamOut[path];
    if (streamOut !== undefined) {
      await streamOut(codec.decode(requestType, await readSingle(request)) as never, call, stream);
    } else {
      const messages = decoded(codec, requestType, readMessages(request)) as AsyncIterable<never>;
      stream.send(await beforeDeadline(call.timeoutMs, handlerOf(handlers.streamIn, path)(messages, call)));
    }
    stream.end();
  } catch (error) {
    stream.end(asConnectError(error));
  }
}

function withTimeout(call: Call): Call {
  checkVersion(call.headers);
  return { ...call, timeoutMs: timeoutOf(call.headers) };
}

function handlerOf<T>(handlers: Readonly<Record<string, T>>, path: string): T {
  const handler = handlers[path];
  if (handler === undefined) throw new ConnectError("unimplemented", `${path} is not there`);
  return handler;
}

async function* decoded(codec: Codec, type: string, payloads: AsyncIterable<Buffer>): AsyncGenerator<Json> {
  for await (const payload of payloads) yield codec.decode(type, payload);
}

async function beforeDeadline<T>(timeoutMs: number | undefined, work: Promise<T>): Promise<T> {
  if (timeoutMs === undefined) return work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ConnectError("deadline_exceeded", `not done within ${timeoutMs / 1000} s`)),
      Math.min(timeoutMs, 2 ** 31 - 1),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
