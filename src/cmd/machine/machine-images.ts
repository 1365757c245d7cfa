/** The image store in the words of the command line. */
import { join } from "node:path";
import { CliError } from "#cli/failure.ts";
import type { MachineImage, MachineImages } from "#cli/machine-images.ts";
import { isImageError } from "#images/image-error.ts";
import { ImageStore } from "#images/image-store.ts";
import { parsePlatform, type Platform } from "#images/platform.ts";
import { canonicalName, familiarName, parseReference } from "#images/reference.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import type { Clock } from "#lib/clock.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { imageLimits } from "./node-settings.ts";

export interface MachineImagesOptions {
  readonly home: Pick<HomeFolder, "folder">;
  readonly clock: Clock;
  readonly stdin: AsyncIterable<Buffer>;
  /** Where limits of images are (node-settings.ts); as usual when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export function machineImages(options: MachineImagesOptions): Promise<MachineImages> {
  return explained(() => open(options));
}

async function open({ home, clock, stdin, env = {} }: MachineImagesOptions): Promise<MachineImages> {
  const random = Math.random;
  await using made = new AsyncDisposableStack();
  const client = made.use(new RegistryClient({ clock, random, ...(await readRegistryFile(join(home.folder, "registries.json"))) }));
  const store = made.use(await ImageStore.open({ folder: join(home.folder, "images"), limits: imageLimits(env), clock, random, client }));
  const named = async (names: readonly string[]): Promise<MachineImage[]> => (await list(store)).filter(({ name }) => names.includes(name));
  const parts = made.move();
  return {
    list: () => explained(() => list(store)),
    pull: (reference, { platform, credentials, ...watched }) =>
      explained(async () => {
        await store.pull(reference, { pullSecrets: credentials, ...platformOf(platform), ...watched });
        const [image] = await named([canonicalName(parseReference(reference))]);
        if (image === undefined) throw new CliError(`${reference} was removed as soon as it was pulled`);
        return image;
      }),
    import: (source, { name, platform, ...watched }) =>
      explained(async () => {
        const images = await store.import(source === "-" ? stdin : source, { name, ...platformOf(platform), ...watched });
        return named(images.map((image) => image.name));
      }),
    importRootfs: (folder, { name, onProgress, onSkipped, signal, ...config }) =>
      explained(async () =>
        named((await store.importRootfs(folder, { name, config, onProgress, onSkipped, signal })).map((image) => image.name)),
      ),
    export: (reference, folder, { credentials: pullSecrets, signal }) =>
      explained(() => store.export(reference, folder, { pullSecrets, signal })),
    remove: (reference, signal) => explained(() => store.remove(reference, signal)),
    collect: (request) => explained(() => store.gc(request)),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function list(store: ImageStore): Promise<MachineImage[]> {
  return (await store.list()).map(({ name, digest, id, platform, source, bytes, since, lastUsed }) => ({
    name,
    shortName: familiarName(parseReference(name)),
    digest,
    id,
    platform,
    source,
    bytes,
    since,
    lastUsed,
  }));
}

function platformOf(text: string | undefined): { platform?: Platform } {
  return text === undefined ? {} : { platform: parsePlatform(text) };
}

/** What can go wrong with an image is for people to read. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isImageError(error)) throw error;
    // The reader is the admin of this machine.
    const detail = error.detail === undefined ? "" : ` (${error.detail})`;
    throw new CliError(`${error.message}${detail}`, { cause: error });
  }
}
