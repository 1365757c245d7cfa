/**
 * Mistakes that are put into the control plane on purpose, to see that the simulation finds them (docs/simulation.md). Each is put in by
 * way of what the control plane is given: no switch for it exists in the product.
 */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient, Patch, WatchEvent } from "#kube/object-client.ts";
import { labelKeys, type SandboxPhase } from "#model/keys.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { Reach } from "./control-plane.ts";
import { envPlants, type PlantedBug } from "./env-plants.ts";
import type { Plant } from "./world.ts";

const repeatedAfterMs = 5_000;

export const plants: readonly PlantedBug[] = [
  {
    name: "delete-without-preconditions",
    within: 40,
    // With claims on Leases, the reconciling process also keeps the pod until it is recorded.
    breaks: ["I3", "I4"],
    plant: withClient((client) => ({
      delete: (type, key, options) => client.delete(type, key, { ...options, preconditions: undefined }),
      ...leaseWrites(client, {
        of: "closed",
        write: async (lease) => ({ ...lease, metadata: { ...lease.metadata, resourceVersion: "0" } }),
      }),
    })),
  },
  {
    name: "claim-without-version",
    within: 20,
    breaks: ["I1"],
    plant: withClient((client) => ({
      ...blind(["starting", "running"])(client),
      ...leaseWrites(client, { of: "claim", write: overwriting(client) }),
    })),
  },
  {
    name: "release-without-version",
    within: 20,
    breaks: ["I1", "I2", "I3", "I11"],
    plant: (reach) => withClient(repeated(["stopping"], (again) => reach.clock.after(repeatedAfterMs, again)))(reach),
  },
  {
    name: "record-later",
    within: 20,
    breaks: ["I3"],
    plant: (reach) => {
      const put = async (record: Parameters<typeof reach.history.put>[0]): Promise<void> => {
        reach.process.clock.after(3_000, () => void reach.history.put(record).catch(() => {}));
      };
      return { ...reach, history: { ...reach.history, put } };
    },
  },
  {
    name: "arming-taken-for-granted",
    within: 20,
    breaks: ["I5", "I11"],
    plant: (reach) => ({ ...reach, daemon: { ...reach.daemon, init: async () => {} } }),
  },
  {
    name: "lost-wake-ups",
    within: 60,
    breaks: ["I3", "I5", "I6", "I7", "I9", "I10", "I11", "E3", "K1"],
    plant: (reach) => {
      const after: Reach["clock"]["after"] = (ms, run) => reach.clock.after(ms, reach.random.chance(0.02) ? () => {} : run);
      return { ...reach, clock: { ...reach.clock, after } };
    },
  },
  {
    name: "lost-events",
    within: 60,
    breaks: ["I3", "I5", "I6", "I7", "I9", "I11", "E3"],
    plant: (reach) =>
      withClient((client) => ({
        watch: (type, options) => ({
          [Symbol.asyncIterator]: () => withGaps(client.watch(type, options), () => reach.random.chance(0.05)),
        }),
      }))(reach),
  },
  ...envPlants,
];

/** Undefined where none is named. */
export function plantNamed(name: string | undefined): PlantedBug | undefined {
  const planted = plants.find((each) => each.name === name);
  if (name !== undefined && planted === undefined) {
    throw new Error(`there is no plant "${name}"; there are ${plants.map((each) => each.name).join(", ")}`);
  }
  return planted;
}

function withClient(changed: (client: ObjectClient) => Partial<ObjectClient>): Plant {
  return (reach) => ({ ...reach, client: { ...reach.client, ...changed(reach.client) } });
}

/** Does not look whether the pod is still what it was when it goes into one of these phases. */
function blind(phases: readonly SandboxPhase[]): (client: ObjectClient) => Partial<ObjectClient> {
  return (client) => ({
    patch: (type, key, patch, options) => client.patch(type, key, isInto(patch, phases) ? untested(patch) : patch, options),
  });
}

/** Other writes of the Leases by which pods are claimed, or closed to claims before they are deleted. */
function leaseWrites(client: ObjectClient, { of, write }: OtherLeaseWrites): Pick<ObjectClient, "create" | "update"> {
  const isMeant = ({ kind }: ResourceType, { metadata: { labels = {} } }: ApiObject): boolean =>
    kind === "Lease" && labelKeys.sandboxPool in labels && labelKeys.sandboxId in labels === (of === "claim");
  return {
    create: (type, object, options) => (isMeant(type, object) ? write(object, type) : client.create(type, object, options)),
    update: (type, object, options) => (isMeant(type, object) ? write(object, type) : client.update(type, object, options)),
  };
}

interface OtherLeaseWrites {
  readonly of: "claim" | "closed";
  readonly write: <T extends ApiObject>(lease: T, type: ResourceType<T>) => Promise<T>;
}

/** Whatever it says by now. */
function overwriting(client: ObjectClient): OtherLeaseWrites["write"] {
  return async (lease, type) => {
    const { resourceVersion: _, name = "", ...metadata } = lease.metadata;
    try {
      return await client.create(type, { ...lease, metadata: { ...metadata, name } });
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
    const body = { ...lease, metadata } as unknown as JsonObject; // An object is JSON.
    return client.patch(type, { namespace: metadata.namespace, name }, { type: "merge", body });
  };
}

/** Repeats an order after a lost answer without checking if the pod still has the sandbox. */
function repeated(phases: readonly SandboxPhase[], later: (again: () => void) => void): (client: ObjectClient) => Partial<ObjectClient> {
  return (client) => ({
    patch: (type, key, patch, options) => {
      const again = (): void => void client.patch(type, key, untested(patch)).catch(() => {});
      if (isInto(patch, phases)) later(again);
      return client.patch(type, key, patch, options);
    },
  });
}

function isInto(patch: Patch, phases: readonly SandboxPhase[]): boolean {
  const path = `/metadata/labels/${labelKeys.sandboxPhase.replaceAll("/", "~1")}`;
  return (
    patch.type === "json" &&
    patch.operations.some((one) => one.path === path && "value" in one && phases.some((phase) => phase === one.value))
  );
}

function untested(patch: Patch): Patch {
  return patch.type === "json" ? { ...patch, operations: patch.operations.filter(({ op }) => op !== "test") } : patch;
}

async function* withGaps<T extends ApiObject>(
  events: AsyncIterable<WatchEvent<T>>,
  isLost: () => boolean,
): AsyncGenerator<WatchEvent<T>, void> {
  for await (const event of events) if (!isLost()) yield event;
}
