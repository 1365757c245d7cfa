/** The daemons in the containers, as one process reaches them. They know one pod, one boot and at most one sandbox. */
import { type DaemonClient, DaemonError, type DaemonHealth, type InitOrder } from "#daemon-client/daemon-client.ts";
import type { ContainerInstance } from "./container.ts";
import type { SimulatedNode } from "./node.ts";
import { Wire, type WireDeps } from "./wire.ts";

const errors = {
  unreachable: () => new DaemonError("unreachable", "no answer"),
  refused: () => new DaemonError("unreachable", "the connection was reset"),
};

export function daemonClient(
  deps: WireDeps,
  node: SimulatedNode,
  onArmed: (sandboxId: string, container: ContainerInstance) => void,
): DaemonClient {
  const wire = new Wire(deps, errors);
  const daemonAt = (ip: string): { readonly uid: string; readonly container: ContainerInstance } => {
    const pod = node.at(ip);
    if (pod?.container === undefined || pod.container.answersAtMs > deps.clock.now()) throw errors.unreachable();
    return { uid: pod.uid, container: pod.container };
  };
  return {
    health: ({ ip }, options) =>
      wire.send({
        apply: async (): Promise<DaemonHealth> => {
          const { uid, container } = daemonAt(ip);
          const { bootId, armedFor } = container;
          return { podUid: uid, bootId, ...(armedFor === undefined ? {} : { sandboxId: armedFor }) };
        },
        signal: options?.signal,
      }),
    init: ({ ip }, order, options) =>
      wire.send({
        apply: async () => {
          const { uid, container } = daemonAt(ip);
          arm(uid, container, order);
          onArmed(order.sandboxId, container);
        },
        signal: options?.signal,
      }),
    retire: ({ ip }, order, options) =>
      wire.send({
        apply: async () => {
          const { uid, container } = daemonAt(ip);
          if (order.podUid !== uid) throw new DaemonError("other-boot", "signed for another pod");
          if (container.armedFor !== undefined && container.armedFor !== order.sandboxId) throw new DaemonError("taken", "another's");
          container.isRetired = true;
        },
        signal: options?.signal,
      }),
  };
}

function arm(podUid: string, container: ContainerInstance, order: InitOrder): void {
  if (order.podUid !== podUid || order.bootId !== container.bootId) throw new DaemonError("other-boot", "signed for another boot");
  if (container.isRetired || (container.armedFor !== undefined && container.armedFor !== order.sandboxId)) {
    throw new DaemonError("taken", `armed for ${container.armedFor}`);
  }
  container.armedFor = order.sandboxId;
}
