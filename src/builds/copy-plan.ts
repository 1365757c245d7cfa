/**
 * What a COPY does, as a script that runs as root in the build's sandbox. Pure. A file gets the name of the target, or goes into it where the target is a
 * folder; the content of a folder is merged into the target, and links that lead to folders there are followed; a link stays a link.
 */
import { type BuildContext, joinedPath } from "./build-context.ts";
import type { CopyStep } from "./build-step.ts";

export interface CopyPlan {
  /** Below the unpacked archive; empty: all of it. */
  readonly from: string;
  readonly target: string;
  /** The target is a folder, whether it is there or not. */
  readonly intoFolder: boolean;
  readonly owner: string;
  /** Empty: as in the archive. */
  readonly mode: string;
}

const patternPart = /[*?[\]{}]|^!|[!@+]\(/;

/** The client has found the files that a pattern means: the part before the pattern is what is copied. */
export function fixedPart(source: string): string {
  const parts: string[] = [];
  for (const part of source.split("/")) {
    if (patternPart.test(part)) break;
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** `home`: of the present user, where there is no folder to work in. */
export function copyPlan({ source, target, owner, mode = "" }: CopyStep, context: BuildContext, home: string): CopyPlan {
  return {
    from: fixedPart(source),
    target: joinedPath(context.workdir ?? home, target),
    intoFolder: target.endsWith("/") || target === "." || target.endsWith("/."),
    owner: owner ?? `${context.user}:`,
    mode,
  };
}

/** Arguments: the archive's pieces as a pattern, how tar reads them, a folder for it, and the plan. */
const script = `set -euo pipefail
work=$1 flags=$2 from=$3 target=$4 into=$5 owner=$6 mode=$7
mkdir "$work/tree"
cat "$work"/piece.* | tar -x -p $flags -f - -C "$work/tree"
rm -f "$work"/piece.*
path="$work/tree\${from:+/$from}"
if [ ! -e "$path" ] && [ ! -L "$path" ]; then
  echo "the archive that was sent for this step does not have \${from:-any file}" >&2
  exit 66
fi
folder() {
  [ -d "$1" ] && return
  folder "$(dirname "$1")"
  mkdir "$1"
  chown "$owner" "$1"
}
if [ -d "$path" ] && [ ! -L "$path" ]; then
  chown -hR "$owner" "$path"
  [ -z "$mode" ] || chmod -R "$mode" "$path"
  folder "$target"
  if tar --version 2>/dev/null | grep -q GNU; then
    tar -c -C "$path" -f - . | tar -x -p -C "$target" --keep-directory-symlink --no-overwrite-dir -f -
  else
    cp -a "$path/." "$target/"
  fi
else
  chown -h "$owner" "$path"
  [ -z "$mode" ] || [ -L "$path" ] || chmod "$mode" "$path"
  if [ "$into" = yes ]; then folder "$target"; else folder "$(dirname "$target")"; fi
  if [ -d "$target" ]; then target="\${target%/}/$(basename "$path")"; fi
  mv -fT "$path" "$target" 2>/dev/null || mv -f "$path" "$target"
fi
rm -rf "$work"`;

export interface CopyArchive {
  /** Where the pieces of the archive are, in a folder of their own that goes with the step. */
  readonly folder: string;
  readonly isGzip: boolean;
}

export function copyCommand({ from, target, intoFolder, owner, mode }: CopyPlan, { folder, isGzip }: CopyArchive): readonly string[] {
  return ["/bin/bash", "-c", script, "copy", folder, isGzip ? "-z" : "", from, target, intoFolder ? "yes" : "no", owner, mode];
}
