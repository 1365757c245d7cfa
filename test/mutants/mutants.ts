/** All bugs, by what they break. */
import { accessMutants } from "./list/access.ts";
import { backupMutants } from "./list/backup.ts";
import { decisionMutants } from "./list/decisions.ts";
import { buildMutants } from "./list/builds.ts";
import { edgeMutants } from "./list/edge.ts";
import { imageMutants } from "./list/images.ts";
import { isolationMutants } from "./list/isolation.ts";
import { lifeMutants } from "./list/life.ts";
import { writeMutants } from "./list/writes.ts";
import type { Mutant } from "./mutant.ts";
import { volumeMutants } from "./list/volumes.ts";

export const mutants: readonly Mutant[] = [
  ...accessMutants,
  ...backupMutants,
  ...decisionMutants,
  ...buildMutants,
  ...edgeMutants,
  ...imageMutants,
  ...isolationMutants,
  ...volumeMutants,
  ...lifeMutants,
  ...writeMutants,
];
