/** How containers of a checkpoint start: as those of the image below, unless the checkpoint says otherwise. */
import type { CheckpointConfig } from "#model/checkpoint.ts";
import { type ImageConfig, writeConfig } from "../image-config.ts";
import { ImageError } from "../image-error.ts";
import { maxManifestBytes } from "../manifest.ts";
import type { BaseImage } from "./base-image.ts";

/** Their places stand in the options of a mount, which are one page. */
const mostLayers = 150;
/** As of images that are pulled; with room for one more layer. */
const maxConfigBytes = maxManifestBytes - 1024;

export function changedConfig(config: ImageConfig, { env = {}, user, workingDir, entrypoint, cmd }: CheckpointConfig = {}): ImageConfig {
  for (const name of Object.keys(env)) {
    if (name === "" || /[=\0]/.test(name))
      throw new ImageError("invalid_config", `${JSON.stringify(name)} cannot be the name of a variable`);
  }
  const kept = config.env.filter((entry) => !Object.hasOwn(env, entry.slice(0, entry.indexOf("="))));
  return {
    ...config,
    env: [...kept, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    ...(user === undefined ? {} : { user }),
    ...(workingDir === undefined ? {} : { workingDir }),
    // As in a Dockerfile: an entrypoint of one's own does not get the command of the image below.
    ...(entrypoint === undefined ? {} : { entrypoint, cmd: [] }),
    ...(cmd === undefined ? {} : { cmd }),
  };
}

/** What could not be used afterwards, before the sandbox stands still for it. */
export function checkImageSize(
  { layers, platform, diffIds }: Pick<BaseImage, "layers" | "platform" | "diffIds">,
  config: ImageConfig,
): void {
  if (layers.length >= mostLayers) {
    throw new ImageError("too_large", `the image would have more than ${mostLayers} layers: begin anew from an image that has fewer`);
  }
  const { length } = writeConfig({ platform: platform ?? { os: "", architecture: "" }, config, diffIds });
  if (length <= maxConfigBytes) return;
  throw new ImageError(
    "too_large",
    `variables, labels and commands of the image would be of ${length} bytes; at most ${maxConfigBytes} are read`,
  );
}
