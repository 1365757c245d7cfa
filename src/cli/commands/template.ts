/** `agentbox template …`: one file for each of its words in template/. */
import { readyTemplateNames } from "#model/ready-templates.ts";
import type { Command } from "../command.ts";
import { listingFlags } from "../print/listing.ts";
import { addTemplate } from "../template/add-template.ts";
import { listTemplates } from "../template/list-templates.ts";
import { runWordAction } from "../word-action.ts";

const actions = { add: addTemplate, ls: listTemplates };

export const template: Command = {
  usage: ["template add NAME … [--image IMAGE] [--fresh]", "template ls"],
  about:
    "Adds templates that programs for E2B expect, built on this machine from packages of Debian, PyPI and npm: " +
    `${readyTemplateNames.join(", ")}. ` +
    "It needs root and debootstrap, and takes a few minutes the first time. An Env of the name that was there, such as base on the programs of this machine, gets the " +
    "new image; sandboxes that run are not touched. With --image nothing is built: IMAGE is used, as on clusters (make images IMAGES=template-NAME).",
  examples: [
    { does: "Have a code interpreter with numpy and pandas", line: "agentbox template add code-interpreter" },
    { does: "Have them all", line: `agentbox template add ${readyTemplateNames.join(" ")}` },
    { does: "Go back to the programs of this machine", line: "agentbox template add base --image host" },
    { does: "Build one anew, with the packages of today", line: "agentbox template add base --fresh" },
    { does: "Show which there are", line: "agentbox template ls" },
  ],
  flags: {
    image: { value: "IMAGE", help: "Use this image instead of building one" },
    fresh: { help: "Build everything anew, with the newest packages of Debian" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("template", actions),
};
