/** What steps hand on to those after them, beside files: the user, the folder and the variables that commands run with. Pure. */

export interface BuildContext {
  readonly user: string;
  /** Undefined: the user's home. */
  readonly workdir?: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Of a build that starts from an image. */
export const firstContext: BuildContext = { user: "user", workdir: "/home/user", env: {} };

/** A relative path is below the present folder. */
export function joinedPath(folder: string | undefined, path: string): string {
  const whole = path.startsWith("/") ? path : `${folder ?? ""}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Of all variables of a build together, and of one text that names some: a value that names another twice doubles it, and such values add up to any size. */
export const mostVariableText = 64 * 1024;

export class TooMuchText extends Error {
  override readonly name = "TooMuchText";

  constructor() {
    super(`the variables of a build, and what they stand for in one text, may have ${mostVariableText} characters`);
  }
}

const variable = /\\([\\$"])|\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/**
 * Puts variables in the place of `$NAME` and `${NAME}`; one that is not set is empty, and `\$` is a dollar sign. Nothing else of a shell has a
 * meaning here: a backtick or `$(` stays as it is written. Of several sets of variables the first that has a name counts. Throws TooMuchText.
 */
export function expandVariables(text: string, ...known: readonly Readonly<Record<string, string>>[]): string {
  let left = mostVariableText;
  return text.replaceAll(variable, (_, escaped: string | undefined, braced: string | undefined, bare: string | undefined) => {
    if (escaped !== undefined) return escaped;
    const name = braced ?? bare ?? "";
    const value = known.find((some) => Object.hasOwn(some, name))?.[name] ?? "";
    left -= value.length;
    if (left < 0) throw new TooMuchText();
    return value;
  });
}

/** The variables after an ENV step: a value sees those before it, also of the same step. `machine`: what a login shell has by itself. Throws TooMuchText. */
export function withVariables(
  context: BuildContext,
  pairs: readonly (readonly [string, string])[],
  machine: Readonly<Record<string, string>>,
): BuildContext {
  const env: Record<string, string> = { ...context.env };
  let size = Object.entries(env).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  for (const [name, value] of pairs) {
    const next = expandVariables(value, env, machine);
    size += next.length - (env[name]?.length ?? -name.length);
    if (size > mostVariableText) throw new TooMuchText();
    env[name] = next;
  }
  return { ...context, env };
}
