/** Paths in a sandbox. Pure. */
export function parentOf(path: string): string {
  const at = path.replace(/\/+$/, "").lastIndexOf("/");
  return at <= 0 ? "/" : path.slice(0, at);
}

export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? "";
}

export function joined(folder: string, name: string): string {
  return name.startsWith("/") ? name : `${folder === "/" ? "" : folder}/${name}`;
}

/** All parent folders, from the root down to this folder. */
export function foldersTo(path: string): readonly { readonly name: string; readonly path: string }[] {
  const parts = path.split("/").filter((part) => part !== "");
  return [{ name: "/", path: "/" }, ...parts.map((name, index) => ({ name, path: `/${parts.slice(0, index + 1).join("/")}` }))];
}
