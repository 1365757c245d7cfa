/** The few answers of the API that are about the server itself. */
import type { ResourceType } from "#model/resource.ts";
import type { Answer } from "./answer.ts";
import { notServed } from "./bad-request.ts";

export interface ServerFacts {
  readonly kinds: readonly ResourceType[];
  readonly version: string;
  readonly ready: () => boolean;
}

export function documentAnswer(facts: ServerFacts, path: string): Answer {
  switch (path) {
    case "/healthz":
    case "/livez":
      return text(200, "ok");
    case "/readyz":
      return facts.ready() ? text(200, "ok") : text(503, "not ready");
    case "/version":
      return { code: 200, body: { gitVersion: facts.version, platform: `${process.platform}/${process.arch}` } };
    case "/api":
      return { code: 200, body: { kind: "APIVersions", versions: ["v1"] } };
    case "/apis":
      return { code: 200, body: { kind: "APIGroupList", apiVersion: "v1", groups: apiGroups(facts.kinds) } };
    default:
      throw notServed();
  }
}

function apiGroups(kinds: readonly ResourceType[]): unknown[] {
  const versions = new Map<string, Set<string>>();
  for (const { group, version } of kinds) {
    if (group === "") continue;
    versions.set(group, (versions.get(group) ?? new Set()).add(version));
  }
  return [...versions].map(([name, served]) => {
    const entries = [...served].map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: entries, preferredVersion: entries[0] };
  });
}

function text(code: number, words: string): Answer {
  return {
    stream: async (response) => {
      response.writeHead(code, { "Content-Type": "text/plain; charset=utf-8" });
      response.end(words);
    },
  };
}
