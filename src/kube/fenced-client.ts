/**
 * A client that refuses writes once its signal has ended. It is for a leader's work: decisions of a process that no longer leads
 * must not be carried out. Reads go on; they do no harm.
 */
import type { ObjectClient } from "#kube/object-client.ts";

export function fencedClient(client: ObjectClient, signal: AbortSignal): ObjectClient {
  const fenced = <T>(call: () => Promise<T>): Promise<T> => (signal.aborted ? Promise.reject(signal.reason as Error) : call());
  return {
    get: (...call) => client.get(...call),
    list: (...call) => client.list(...call),
    watch: (...call) => client.watch(...call),
    create: (...call) => fenced(() => client.create(...call)),
    update: (...call) => fenced(() => client.update(...call)),
    patch: (...call) => fenced(() => client.patch(...call)),
    delete: (...call) => fenced(() => client.delete(...call)),
    getScale: (...call) => client.getScale(...call),
    updateScale: (...call) => fenced(() => client.updateScale(...call)),
    patchScale: (...call) => fenced(() => client.patchScale(...call)),
  };
}
