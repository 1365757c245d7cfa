/**
 * Expands `$(NAME)` in commands, arguments and values of variables, with Kubernetes' rules: `$$` is a literal dollar sign, and an
 * undefined name stays as it is written.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  // Behind the last bracket no name ends: looked for there, its end would be sought to the end of the text from every dollar sign.
  const end = text.lastIndexOf(")") + 1;
  const named = text.slice(0, end).replaceAll(/\$(\$|\(([^)]*)\))/g, (written, second: string, name: string | undefined) => {
    if (second === "$") return "$";
    return variables.get(name ?? "") ?? written;
  });
  return named + text.slice(end).replaceAll("$$", "$");
}
