/** `agentbox image …`: one file for each of its words in image/. */
import type { Command } from "../command.ts";
import { collectImages } from "../image/collect-images.ts";
import { exportImage } from "../image/export-image.ts";
import { importImage } from "../image/import-image.ts";
import { listImages } from "../image/list-images.ts";
import { pullImages } from "../image/pull-images.ts";
import { removeImages } from "../image/remove-images.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = { ls: listImages, pull: pullImages, rm: removeImages, gc: collectImages, import: importImage, export: exportImage };

export const image: Command = {
  usage: [
    "image ls",
    "image pull IMAGE … [--platform PLATFORM] [--credentials FILE]",
    "image import FILE|FOLDER|- [--name NAME]",
    "image import --rootfs FOLDER --name NAME [--env NAME=VALUE] [--user USER] [--workdir FOLDER] [-- COMMAND …]",
    "image export IMAGE FOLDER [--credentials FILE]",
    "image rm IMAGE …",
    "image gc [--older-than DURATION] [--keep SIZE]",
  ],
  about:
    "Shows and changes the images on this machine. Images come from registries when a sandbox needs them; this is for\n" +
    "fetching them earlier, for images that are in no registry, and for freeing space. AgentBox need not be running.\n" +
    "Images that sandboxes use are never removed. Mirrors and registries without TLS: registries.json in the data folder.",
  examples: [
    { does: "Fetch an image before the first sandbox needs it", line: "agentbox image pull python:3.13-slim" },
    { does: "Bring one from Docker", line: "docker save my-tool:1 | agentbox image import -" },
    { does: "Make an image from a folder", line: "agentbox image import --rootfs ./root --name my-root:1 -- /bin/sh" },
    { does: "Write one for other tools, also a checkpoint", line: "agentbox image export IMAGE ./layout" },
    {
      does: "Remove images not used for a week, if images take more than 20 GB",
      line: "agentbox image gc --older-than 168h --keep 20GB",
    },
  ],
  flags: {
    platform: { value: "PLATFORM", help: "Platform of the image, such as linux/arm64 (default: this machine's)" },
    credentials: { value: "FILE", many: true, help: "Credentials for registries, in the form of Docker's config.json" },
    name: { value: "NAME", help: "Name of the imported image (default: the name in the archive)" },
    rootfs: { value: "FOLDER", help: "Import a folder with a root file system as an image of one layer" },
    env: { short: "e", value: "NAME=VALUE", many: true, help: "With --rootfs: environment variable of its processes" },
    entrypoint: { value: "PROGRAM", help: "With --rootfs: program that gets the command as its arguments" },
    user: { short: "u", value: "USER", help: "With --rootfs: user of its processes, by name or number, optionally with :GROUP" },
    workdir: { short: "w", value: "FOLDER", help: "With --rootfs: working directory of its processes (default: /)" },
    label: { value: "NAME=VALUE", many: true, help: "With --rootfs: a label" },
    "older-than": { value: "DURATION", help: "Only images not used for this time (default: 1m)" },
    keep: { value: "SIZE", help: "Remove only until the total is below this size, such as 20GB (default: 0)" },
    ...listingFlags,
    // -w is --workdir here.
    watch: { help: "Keep showing changes until Ctrl-C" },
  },
  words: Object.keys(actions),
  run: runWordAction("image", actions),
};
