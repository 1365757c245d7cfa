/** Limits and their usage. */
import type { Limit, LimitSet } from "#client/limits.ts";
import { api } from "../api.ts";
import { numberText } from "../format.ts";
import { useLoaded } from "../parts/use-loaded.ts";

export function LimitPage() {
  const { value, error } = useLoaded(() => api.limits.list(), { of: [], everyMs: 10_000 });
  return (
    <div class="page">
      <h1>Limits and use</h1>
      {error !== undefined && <p class="error">{error}</p>}
      {(value ?? []).map((set) => (
        <SetCard key={titleOf(set)} set={set} />
      ))}
      <p class="hint">
        An admin changes limits with <code>agentbox limits set</code>.
      </p>
    </div>
  );
}

function titleOf({ of, team, user }: LimitSet): string {
  if (of === "server") return "This server";
  if (of === "teams") return "Every team";
  return user === undefined ? `Team ${team ?? ""}` : `User ${user} of team ${team ?? ""}`;
}

function SetCard({ set }: { readonly set: LimitSet }) {
  return (
    <section class="card">
      <h2>{titleOf(set)}</h2>
      <table>
        <thead>
          <tr>
            <th>Limit</th>
            <th class="number">Used</th>
            <th class="number">At most</th>
            <th>Share</th>
            <th>About</th>
          </tr>
        </thead>
        <tbody>
          {set.limits.map((limit) => (
            <LimitRow key={limit.name} limit={limit} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function LimitRow({ limit: { name, limit, used, about } }: { readonly limit: Limit }) {
  return (
    <tr>
      <td class="mono">{name}</td>
      <td class="number">{used === undefined ? "–" : numberText(used)}</td>
      <td class="number">{limit === undefined ? "no limit" : numberText(limit)}</td>
      <td>
        {used !== undefined && limit !== undefined && limit > 0 && <meter min={0} max={limit} value={used} aria-label={`${name} used`} />}
      </td>
      <td class="hint">{about}</td>
    </tr>
  );
}
