/** What tags mean to the pods of a cluster: asked of registries as their kubelets would ask. */
import { isImageError } from "#images/image-error.ts";
import type { DigestResolver } from "#images/resolve-digest.ts";
import { abortable } from "#lib/abortable.ts";
import type { ImageDigests } from "./pool-images.ts";
import { PullSecrets, type PullSecretsDeps } from "./pull-secrets.ts";

export interface ClusterDigestsDeps extends PullSecretsDeps {
  readonly resolver: DigestResolver;
}

export function clusterDigests(deps: ClusterDigestsDeps): ImageDigests {
  const secrets = new PullSecrets(deps);
  return {
    resolve: async (image, { signal, puller }) => {
      if (puller === undefined) return deps.resolver.resolve(image, { signal });
      const shown = await abortable(secrets.of(puller), signal);
      try {
        return await deps.resolver.resolve(image, { signal, pullSecrets: shown });
      } catch (error) {
        // Some registries do not know an image that one may not see. Others have been given new secrets since.
        if (!isImageError(error, "unauthorized", "not_found")) throw error;
        const now = await abortable(secrets.of(puller, true), signal);
        if (now.length === shown.length && now.every((secret, index) => secret === shown[index])) throw error;
        return deps.resolver.resolve(image, { signal, pullSecrets: now });
      }
    },
  };
}
