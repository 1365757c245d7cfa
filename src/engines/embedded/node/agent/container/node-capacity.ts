import { availableParallelism, totalmem } from "node:os";

/** What a container without limits may use: the machine. In the units of resource quantities. */
export interface NodeCapacity {
  readonly cpu: string;
  readonly memory: string;
  readonly "ephemeral-storage": string;
}

export function machineCapacity(): NodeCapacity {
  return { cpu: String(availableParallelism()), memory: String(totalmem()), "ephemeral-storage": "0" };
}
