/** What images of a tenant's own can do. */
import { imageOf } from "../world/image-fixture.ts";
import { pushImage } from "../world/push-image.ts";
import { type Attack, again, type Attacker, Tally } from "./scene.ts";

/** Files that a container runtime reads are FIFOs: opening one waits for ever. */
const fifoImages: Attack = {
  name: "images with FIFOs for passwd and group",
  run: async (attacker, signal) => {
    const hostile = (file: string): Promise<string> =>
      pushImage(attacker.registry, `hostile/${file}:1`, imageOf([[{ name: "etc/" }, { name: `etc/${file}`, type: "fifo" }]]));
    return createWith(attacker, [await hostile("passwd"), await hostile("group")], signal);
  },
};

/** Small to fetch, large on disk. */
const zeroLayers: Attack = {
  name: "layers of zeros",
  run: async (attacker, signal) => {
    const content = Buffer.alloc(256 << 20);
    const layers = Array.from({ length: 5 }, (_, index) => [{ name: `zeros-${index}`, content }]);
    return createWith(attacker, [await pushImage(attacker.registry, "hostile/zeros:1", imageOf(layers))], signal);
  },
};

async function createWith(attacker: Attacker, images: readonly string[], signal: AbortSignal): Promise<string> {
  const tally = new Tally();
  await again(signal, { parallel: 12, rounds: 300 }, (round) => {
    const wish = { poolName: "base", image: images[round % images.length], startupTimeout: "20s", lifetime: "1m" };
    return tally.count(attacker.ask("POST", "/v1/sandboxes", wish, signal));
  });
  return tally.toString();
}

export const imageAttacks: readonly Attack[] = [fifoImages, zeroLayers];
