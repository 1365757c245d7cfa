/**
 * The use cases of checkpoints, as every API sees them. Each throws ServiceError.
 *
 * - `take-checkpoint.ts`    takes one, and waits until it is there
 * - `find-checkpoint.ts`    the one that a caller names, by id or alias
 * - `list-checkpoints.ts`   all that a caller has
 * - `fork-sandbox.ts`       one checkpoint, and several sandboxes from it
 * - `meant-checkpoint.ts`   a create that names one
 * - `checkpoint-view.ts`    a checkpoint as answers show it
 */
import type { CheckpointConfig, CheckpointPurpose } from "#model/checkpoint.ts";
import type { Caller } from "#services/caller.ts";
import type { CreatedSandbox } from "#services/sandbox-service.ts";
import type { CheckpointView } from "./checkpoint-view.ts";
import { findCheckpoint } from "./find-checkpoint.ts";
import { type ForkDeps, forkSandbox } from "./fork-sandbox.ts";
import { listCheckpoints } from "./list-checkpoints.ts";
import { deleteCheckpoint, takeCheckpoint } from "./take-checkpoint.ts";
import { viewOfCheckpoint } from "./checkpoint-view.ts";

export interface CheckpointService {
  /** Resolves when it can be used. What fails, or is given up by its caller, leaves nothing. */
  take(caller: Caller, command: TakeCheckpoint, signal: AbortSignal): Promise<CheckpointView>;
  /** By id or alias. */
  get(caller: Caller, name: string): Promise<CheckpointView>;
  list(caller: Caller, query: ListCheckpoints): CheckpointPage;
  delete(caller: Caller, name: string): Promise<void>;
  fork(caller: Caller, command: ForkSandbox, signal: AbortSignal): Promise<readonly ForkedSandbox[]>;
}

export interface TakeCheckpoint {
  readonly sandboxId: string;
  /** `name` or `name:tag`. */
  readonly alias?: string;
  /** False: the sandbox ends once the checkpoint is there. */
  readonly keepRunning?: boolean;
  /** Keeps the processes, too; where that cannot be done it is refused. */
  readonly memory?: boolean;
  readonly ttlMs?: number;
  readonly purpose?: CheckpointPurpose;
  readonly config?: CheckpointConfig;
}

export interface ListCheckpoints {
  readonly sandboxId?: string;
  /** `name`: with any tag. `name:tag`: with this one. */
  readonly alias?: string;
  /** Snapshots when left out. */
  readonly purpose?: CheckpointPurpose;
  /** 1 to 1000; 100 when left out. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface CheckpointPage {
  readonly checkpoints: readonly CheckpointView[];
  readonly next?: string;
}

export interface ForkSandbox {
  readonly sandboxId: string;
  /** 1 to 100; 1 when left out. */
  readonly count?: number;
  /** How long each child lives at most; as its original when left out. */
  readonly lifetimeMs?: number;
  readonly memory?: boolean;
}

/** Each child by itself. */
export type ForkedSandbox = CreatedSandbox | { readonly failure: { readonly code: string; readonly message: string } };

export function openCheckpointService(deps: ForkDeps): CheckpointService {
  return {
    take: async (caller, command, signal) => viewOfCheckpoint(await takeCheckpoint(deps, caller, command, signal)),
    get: async (caller, name) => viewOfCheckpoint(await findCheckpoint(deps, caller, name)),
    list: (caller, query) => listCheckpoints(deps, caller, query),
    delete: async (caller, name) => deleteCheckpoint(deps, await findCheckpoint(deps, caller, name)),
    fork: (caller, command, signal) => forkSandbox(deps, caller, command, signal),
  };
}
