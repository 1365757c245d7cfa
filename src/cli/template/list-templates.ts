import { ifFound } from "#kube/api-error.ts";
import { readyTemplateNames } from "#model/ready-templates.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { objectClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

interface Row {
  readonly name: string;
  /** From the template on the server; undefined: the server has none of this name. */
  readonly image?: string | undefined;
  readonly description: string;
}

export const listTemplates: WordAction = {
  flags: Object.keys(listingFlags),
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`template ls takes no names: unexpected ${words.join(" ")}`);
    const [client, ready] = [await objectClient(context), await context.readyTemplates()];
    const load = (): Promise<readonly Row[]> =>
      Promise.all(
        readyTemplateNames.map(async (name): Promise<Row> => {
          const key = { name: ready.objects(name, "").template.metadata.name ?? name };
          const there = await ifFound(client.get(SandboxTemplates, key));
          const image = there?.spec.template?.spec?.containers[0]?.image;
          return { name, description: ready.describe(name), ...(image !== undefined && { image }) };
        }),
      );
    return await showListing(context, args, { load, nameOf: ({ name }) => name, columns, empty: "No templates" });
  },
};

const columns: readonly ListColumn<Row>[] = [
  { name: "NAME", cell: ({ name }) => name },
  { name: "IMAGE", cell: ({ image }) => image ?? "not added" },
  { name: "DESCRIPTION", cell: ({ description }) => description },
];
