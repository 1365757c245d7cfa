/** Where an installation keeps the images of its checkpoints: one repository for each, below a name that its operator has chosen. */
import { readFile } from "node:fs/promises";
import { ImageError } from "#images/image-error.ts";
import { formatReference, parseReference, type RegistryReference } from "#images/reference.ts";
import type { PullSecret } from "#images/registry/pull-secret.ts";

export interface CheckpointRepository {
  referenceOf(id: string): RegistryReference;
  /** What the registry wants to see of those that push. Read anew each time: secrets are exchanged while processes run. */
  secrets(): Promise<readonly PullSecret[]>;
}

/** `name` is like registry.example.com/platform/checkpoints; the file is a .dockerconfigjson. Throws ImageError. */
export function checkpointRepository(name: string, credentialsFile?: string): CheckpointRepository {
  const parsed = parseReference(name);
  const isPlain = parsed.kind === "registry" && parsed.digest === undefined && formatReference(parsed) === `${name}:latest`;
  if (!isPlain) {
    throw new ImageError(
      "invalid_reference",
      `${JSON.stringify(name)} is not a repository for checkpoints: give the registry and a path, without tag and digest, such as registry.example.com/platform/checkpoints`,
    );
  }
  const { registry, repository } = parsed;
  return {
    referenceOf: (id) => ({ kind: "registry", registry, repository: `${repository}/${id}` }),
    secrets: async () => (credentialsFile === undefined ? [] : [await readCredentials(credentialsFile)]),
  };
}

async function readCredentials(file: string): Promise<PullSecret> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new ImageError("invalid_config", "the credentials of the checkpoints' registry cannot be read", {
      cause: error,
      detail: String(error),
    });
  }
}
