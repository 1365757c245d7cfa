import type { ImageConfig } from "#images/image-config.ts";

/** A config in which only the names are set. No commit and no date: with them, equal images would have different digests. */
export function plainConfig(title: string, version: string): ImageConfig {
  return {
    env: [],
    entrypoint: [],
    cmd: [],
    user: "",
    workingDir: "",
    labels: {
      "org.opencontainers.image.title": title,
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
  };
}
