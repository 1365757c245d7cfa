/**
 * `$(NAME)` in commands, arguments and values of variables, with Kubernetes' rules: `$$` is a dollar sign that begins
 * nothing, and a name that nobody defined stays as it is written.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(\$|\(([^)]*)\))/g, (written, second: string, name: string | undefined) => {
    if (second === "$") return "$";
    return variables.get(name ?? "") ?? written;
  });
}
