/** The object server as one process reaches it. */
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { faultyWatch } from "./faulty-watch.ts";
import { type Call, Wire, type WireDeps } from "./wire.ts";

/** One write as it reached the server. */
export interface Write {
  readonly process: string;
  readonly verb: "create" | "update" | "patch" | "delete";
  readonly type: ResourceType;
  readonly name: string;
  /** What the caller will be told: lost, refused, or whatever the server says. */
  readonly fate: string;
}

export interface FaultyClientOptions {
  readonly server: ObjectClient;
  readonly onSend: (write: Write) => void;
  /** Told when a write was taken by the server. */
  readonly onApplied: (write: Write) => void;
}

const errors = {
  unreachable: () => new ApiError("Unreachable", "no answer"),
  refused: () => new ApiError("ServiceUnavailable", "try again later"),
};

export function faultyClient(deps: WireDeps, { server, onSend, onApplied }: FaultyClientOptions): ObjectClient {
  const wire = new Wire(deps, errors);
  const write = <T>(what: Omit<Write, "process" | "fate">, call: Call<T>): Promise<T> => {
    let sent: Write = { ...what, process: deps.process.name, fate: "arrives" };
    return wire.send({
      ...call,
      apply: async () => {
        const result = await call.apply();
        onApplied(sent);
        return result;
      },
      onFate: (fate) => {
        sent = { ...sent, fate };
        onSend(sent);
      },
    });
  };
  return {
    get: (type, key, options = {}) => wire.send({ apply: () => server.get(type, key), signal: options.signal }),
    list: (type, { signal, ...options } = {}) => wire.send({ apply: () => server.list(type, options), signal }),
    watch: (type, options) => ({ [Symbol.asyncIterator]: () => faultyWatch(deps, server, type, options) }),
    create: (type, object, { signal, ...options } = {}) =>
      write({ verb: "create", type, name: nameOf(object) }, { apply: () => server.create(type, object, options), signal }),
    update: (type, object, { signal, ...options } = {}) =>
      write({ verb: "update", type, name: nameOf(object) }, { apply: () => server.update(type, object, options), signal }),
    patch: (type, key, patch, { signal, ...options } = {}) =>
      write({ verb: "patch", type, name: key.name }, { apply: () => server.patch(type, key, patch, options), signal }),
    delete: (type, key, { signal, ...options } = {}) =>
      write({ verb: "delete", type, name: key.name }, { apply: () => server.delete(type, key, options), signal }),
    getScale: unused,
    updateScale: unused,
    patchScale: unused,
  };
}

function nameOf({ metadata }: ApiObject): string {
  return metadata.name ?? "";
}

function unused(): never {
  throw new Error("the control plane reads and writes pools as they are");
}
