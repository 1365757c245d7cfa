/** `agentbox checkpoint …`: one file for each of its words in checkpoint/. */
import { deleteCheckpoints } from "../checkpoint/delete-checkpoints.ts";
import { listCheckpoints } from "../checkpoint/list-checkpoints.ts";
import { showCheckpoint } from "../checkpoint/show-checkpoint.ts";
import { takeCheckpoint } from "../checkpoint/take-checkpoint.ts";
import type { Command } from "../command.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = { take: takeCheckpoint, ls: listCheckpoints, show: showCheckpoint, rm: deleteCheckpoints };

export const checkpoint: Command = {
  usage: [
    "checkpoint take ID [--name NAME[:TAG]] [--ttl DURATION] [--end]",
    "checkpoint ls [--sandbox ID]",
    "checkpoint show NAME",
    "checkpoint rm NAME …",
  ],
  about:
    "A checkpoint keeps the files of a sandbox at one moment, as an image. The sandbox stands still while its changed files are copied, " +
    "and goes on. New sandboxes are made from it by its id or name, as from a pool. Processes and memory are not in it, nor are volumes.",
  examples: [
    { does: "Keep the files of a sandbox", line: "agentbox checkpoint take ID --name prepared" },
    { does: "Make a sandbox from them", line: "agentbox run prepared" },
    { does: "Keep them for a day, and end the sandbox", line: "agentbox checkpoint take ID --ttl 24h --end" },
    { does: "Delete a checkpoint", line: "agentbox checkpoint rm prepared" },
  ],
  flags: {
    name: { value: "NAME", help: "Name to find it by, with a tag or without; the newest of a name is meant" },
    ttl: { value: "DURATION", help: "Delete it after this time, such as 24h (default: never)" },
    end: { help: "End the sandbox once the checkpoint is there" },
    sandbox: { value: "ID", help: "Only checkpoints of this sandbox" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("checkpoint", actions),
};
