import { isReadyTemplate, type ReadyTemplateName, readyTemplateNames } from "#model/ready-templates.ts";
import { apiClient, chosenServer, objectClient } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { LayerProgress } from "../print/layer-progress.ts";
import type { ReadyTemplates } from "../ready-templates.ts";
import type { WordAction } from "../word-action.ts";
import { registerTemplate } from "./register-template.ts";
import { TemplateProgress } from "./template-progress.ts";

export const addTemplate: WordAction = {
  flags: ["image", "fresh"],
  run: async (context, words, args) => {
    const names = wanted(words, args);
    // Before minutes of building, not after.
    const client = await objectClient(context);
    const api = await apiClient(context);
    const templates = await context.readyTemplates();
    const given = args.text("image");
    if (given === undefined) await checkPlace(context);
    for (const [index, name] of names.entries()) {
      const since = context.clock.now();
      const image = given ?? (await build(context, templates, name, args.isOn("fresh") && index === 0));
      const objects = templates.objects(name, image);
      const { stale } = await registerTemplate(client, objects);
      for (const env of stale) await api.envs.refresh({ name: env }, { member: undefined, dryRun: false }, context.signal);
      const seconds = ((context.clock.now() - since) / 1000).toFixed(1);
      context.stdout.write(`${name} is there after ${seconds} s, with the image ${image}. Make a sandbox: agentbox run ${name}\n`);
    }
    return 0;
  },
};

function wanted(words: readonly string[], args: Arguments): readonly ReadyTemplateName[] {
  const list = readyTemplateNames.join(", ");
  if (words.length === 0) throw new UsageError(`template add needs a name: ${list}`);
  const unknown = words.find((word) => !isReadyTemplate(word));
  if (unknown !== undefined) {
    throw new UsageError(`there is no template ${JSON.stringify(unknown)} to add; there are ${list}. From a Dockerfile: agentbox build`);
  }
  if (!args.has("image")) return words.filter((word) => isReadyTemplate(word));
  if (words.length > 1) throw new UsageError("--image is for one template");
  if (args.isOn("fresh")) throw new UsageError("--image uses an image as it is: remove --fresh or --image");
  return words.filter((word) => isReadyTemplate(word));
}

/** An image that is built here is of use to the server of this machine's data folder only. */
async function checkPlace(context: CliContext): Promise<void> {
  const chosen = await chosenServer(context);
  if (chosen === undefined || (chosen.url === undefined && (chosen.home === undefined || chosen.home === context.home.folder))) return;
  throw new CliError(
    `the context ${chosen.name} is not the server of ${context.home.folder}: run this on its machine with its AGENTBOX_HOME, or push an image (make images IMAGES=template-NAME) and name it with --image`,
  );
}

async function build(context: CliContext, templates: ReadyTemplates, name: ReadyTemplateName, isFresh: boolean): Promise<string> {
  const steps = new TemplateProgress(context.stderr, context.clock);
  const layers = new LayerProgress(context.stderr, context.clock);
  let areStepsOver = false;
  const image = await templates.build(name, {
    isFresh,
    onStep: steps.update,
    onLayer: (state) => {
      if (!areStepsOver) steps.finish();
      areStepsOver = true;
      layers.update(state);
    },
    signal: context.signal,
  });
  steps.finish();
  layers.finish();
  return image;
}
