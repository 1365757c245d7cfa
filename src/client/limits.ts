import type { HttpCaller } from "./http-caller.ts";
import type { Limit, LimitSet } from "./generated/api-types.generated.ts";

export type { Limit, LimitSet };

/** Limits of the server, of all teams, of one team, or of one user of a team. */
export type LimitsOf = "server" | "teams" | { readonly team: string; readonly user?: string };

export class LimitsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async list(team?: string, user?: string): Promise<readonly LimitSet[]> {
    return this.#sets("limits", team, user);
  }

  /** Limits that are sums, with their usage. */
  async use(team?: string, user?: string): Promise<readonly LimitSet[]> {
    return this.#sets("quotas", team, user);
  }

  async #sets(what: "limits" | "quotas", team: string | undefined, user: string | undefined): Promise<readonly LimitSet[]> {
    const query = new URLSearchParams({ ...(team !== undefined && { team }), ...(user !== undefined && { user }) });
    const path = `/v1/${what}${query.size === 0 ? "" : `?${query.toString()}`}`;
    return (await this.#http.json<{ readonly sets: readonly LimitSet[] }>({ method: "GET", path })).sets;
  }

  /** Null resets the limit. */
  async set(whose: LimitsOf, limits: Readonly<Record<string, number | null>>): Promise<LimitSet> {
    const place = typeof whose === "string" ? whose : `teams/${encodeURIComponent(whose.team)}${userPart(whose.user)}`;
    return await this.#http.json({ method: "PATCH", path: `/v1/limits/${place}`, body: { limits } });
  }
}

function userPart(user: string | undefined): string {
  return user === undefined ? "" : `/users/${encodeURIComponent(user)}`;
}
