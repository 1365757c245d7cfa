import type { ApiKeyInfo } from "#client/keys.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { age } from "../print/human-duration.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";

export const listKeys: WordAction = {
  flags: ["output"],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`key ls takes no names: unexpected ${words.join(" ")}`);
    const keys = await (await apiClient(context)).keys.list();
    if (args.has("output")) context.stdout.write(`${JSON.stringify(keys, null, 2)}\n`);
    else if (keys.length === 0) context.stdout.write("No API keys\n");
    else context.stdout.write(new TableText().lay([header, ...keys.map((key) => row(key, context.clock.now()))]));
    return 0;
  },
};

const header = ["ID", "ROLE", "TEAM", "USER", "AGE", "EXPIRES", "NAME"];

function row({ id, role, team, user, createdAt, expiresAt, name }: ApiKeyInfo, now: number): string[] {
  return [id, role, team ?? "-", user ?? "-", age(createdAt, now), expiresAt ?? "never", name];
}
