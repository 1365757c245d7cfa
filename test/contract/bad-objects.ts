/**
 * Objects of our kinds that are wrong in one way each, with the field and the reason that kube-apiserver gives for it.
 * At least one per rule of the schemas; where a schema gains a rule, an object belongs here.
 */
import { badCheckpoints } from "./bad-checkpoints.ts";
import { badEnvs } from "./bad-envs.ts";
import { badPools } from "./bad-pools.ts";
import { badTemplates } from "./bad-templates.ts";
import { badVolumes } from "./bad-volumes.ts";
import type { BadObject } from "./object-corpus.ts";

export const badObjects: readonly BadObject[] = [...badTemplates, ...badPools, ...badEnvs, ...badCheckpoints, ...badVolumes];
