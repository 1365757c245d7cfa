/** Interprets the words after `get` and `delete`: kinds, names, `kind/name` pairs, several kinds with commas, categories. */
import { customKinds, findResourceType } from "#model/kinds.ts";
import type { ResourceType } from "#model/resource.ts";
import { CliError } from "./failure.ts";

export interface Selection {
  readonly type: ResourceType;
  /** Undefined: all objects of the kind. */
  readonly names: readonly string[] | undefined;
}

export function selectObjects(words: readonly string[], command: "get" | "delete"): readonly Selection[] {
  if (words.some((word) => word.includes("/"))) return pairs(words, command);
  const [kinds = "", ...names] = words;
  const types = kinds.split(",").flatMap(typesNamed);
  if (names.length === 0) return types.map((type) => ({ type, names: undefined }));
  return types.map((type) => ({ type, names }));
}

function pairs(words: readonly string[], command: string): readonly Selection[] {
  return words.map((word) => {
    const [kind = "", name = "", ...rest] = word.split("/");
    if (!word.includes("/")) {
      throw new CliError(
        "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form " +
          `(e.g. 'agentbox ${command} resource/<resource_name>' instead of 'agentbox ${command} resource resource/<resource_name>'`,
      );
    }
    if (rest.length > 0) throw new CliError("arguments in resource/name form may not have more than one slash");
    if (kind === "" || name === "") throw new CliError("arguments in resource/name form must have a single resource and name");
    return { type: oneType(kind), names: [name] };
  });
}

function oneType(typed: string): ResourceType {
  const type = findResourceType(typed);
  if (type === undefined) throw new CliError(`the server doesn't have a resource type ${JSON.stringify(typed.split(".")[0])}`);
  return type;
}

function typesNamed(typed: string): readonly ResourceType[] {
  const members = customKinds.filter((kind) => kind.categories?.includes(typed) === true).map((kind) => kind.resource);
  return members.length > 0 ? members : [oneType(typed)];
}
