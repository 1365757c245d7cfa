/** `agentbox volume …`: one file for each of its words in volume/. */
import type { Command } from "../command.ts";
import { listingFlags } from "../print/listing.ts";
import { createVolume } from "../volume/create-volume.ts";
import { listVolumes } from "../volume/list-volumes.ts";
import { removeVolumes } from "../volume/remove-volumes.ts";
import { showVolume } from "../volume/show-volume.ts";
import { runWordAction } from "../word-action.ts";

const actions = { create: createVolume, ls: listVolumes, get: showVolume, rm: removeVolumes };

export const volume: Command = {
  usage: ["volume create [--size MIB] NAME", "volume ls", "volume get NAME", "volume rm [--force] NAME …"],
  about:
    "A volume is a folder with a size that outlives sandboxes. Several sandboxes can have it mounted at the same time: run --volume NAME:PATH[:ro]. " +
    "A volume that is mounted is not deleted, unless --force is given; then the sandboxes keep it until they end.",
  examples: [
    { does: "Make a volume of 2 GiB", line: "agentbox volume create --size 2048 data" },
    { does: "Use it in a sandbox", line: "agentbox run --volume data:/mnt/data base" },
    { does: "Delete it with all that is in it", line: "agentbox volume rm data" },
  ],
  flags: {
    size: { value: "MIB", help: "How much it can hold, in MiB (default: 1024)" },
    force: { help: "Delete it also while sandboxes have it mounted" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("volume", actions),
};
