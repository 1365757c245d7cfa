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

const variable = /\\([\\$"])|\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/**
 * Puts variables in the place of `$NAME` and `${NAME}`; one that is not set is empty, and `\$` is a dollar sign. Nothing else of a shell has a
 * meaning here: a backtick or `$(` stays as it is written.
 */
export function expandVariables(text: string, known: Readonly<Record<string, string>>): string {
  return text.replaceAll(variable, (_, escaped: string | undefined, braced: string | undefined, bare: string | undefined) => {
    if (escaped !== undefined) return escaped;
    const name = braced ?? bare ?? "";
    return Object.hasOwn(known, name) ? (known[name] ?? "") : "";
  });
}

/** The variables after an ENV step: a value sees those before it, also of the same step. `machine`: what a login shell has by itself. */
export function withVariables(
  context: BuildContext,
  pairs: readonly (readonly [string, string])[],
  machine: Readonly<Record<string, string>>,
): BuildContext {
  const env: Record<string, string> = { ...context.env };
  for (const [name, value] of pairs) env[name] = expandVariables(value, { ...machine, ...env });
  return { ...context, env };
}
