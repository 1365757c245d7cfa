/** One Env: its groups and members, their sizes with the reasons, and what a newer template would change. */
import { useState } from "preact/hooks";
import type { EnvGroup, EnvName } from "#client/envs.ts";
import { api } from "../api.ts";
import { nameOf } from "../live/apply-changes.ts";
import { known } from "../live/live-state.ts";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";
import { BoundsDialog } from "./bounds-dialog.tsx";
import { EventList } from "./event-list.tsx";
import { RefreshDialog } from "./refresh-dialog.tsx";
import { SizeChart } from "./size-chart.tsx";

export function EnvPage({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const env = known.value.envs.get(nameOf({ namespace, name }));
  const wanted: EnvName = { namespace, name };
  const version = env?.metadata.resourceVersion ?? "";
  const scaling = useLoaded((signal) => api.envs.autoscaling(wanted, signal), { of: [namespace, name, version], everyMs: 5000 });
  const events = useLoaded((signal) => api.envs.events(wanted, signal), { of: [namespace, name], everyMs: 10_000 });
  const [open, setOpen] = useState<EnvGroup | "refresh">();
  if (env === undefined) {
    return (
      <div class="page">
        <Empty title={`There is no Env ${name}`}>
          <Link href={hrefOf(["pools"])}>All Envs and pools</Link>
        </Empty>
      </div>
    );
  }
  const groups = scaling.value?.groups ?? [];
  const template = env.spec.templateRef?.name;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Env {name}</h1>
        {template !== undefined && (
          <span class="hint">
            from template <Link href={hrefOf(["templates", template])}>{template}</Link>
          </span>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={() => setOpen("refresh")}>
            Update to the current template…
          </button>
        </div>
      </div>
      {scaling.error !== undefined && <p class="error">{scaling.error}</p>}
      {groups.map((group) => (
        <GroupCard key={group.name} namespace={namespace} group={group} onEdit={() => setOpen(group)} />
      ))}
      <section class="card">
        <h2>What happened</h2>
        <EventList events={events.value ?? []} />
      </section>
      {open === "refresh" && <RefreshDialog env={wanted} onClose={() => setOpen(undefined)} />}
      {open !== undefined && open !== "refresh" && (
        <BoundsDialog env={wanted} group={open} onClose={() => setOpen(undefined)} onSaved={scaling.reload} />
      )}
    </div>
  );
}

interface GroupCardProps {
  readonly namespace: string;
  readonly group: EnvGroup;
  readonly onEdit: () => void;
}

function GroupCard({ namespace, group, onEdit }: GroupCardProps) {
  const { name, enabled, policy, idle, running, desired, waiting, decision, members } = group;
  return (
    <section class="card">
      <div class="card-head">
        <h2>Group {name}</h2>
        <span class="hint">
          {enabled
            ? `${policy?.minReplicas ?? 0} to ${policy?.maxReplicas ?? "any number of"} pods, by ${policy?.scaleUpPolicy?.mode ?? "its policy"}`
            : "sized by hand"}
        </span>
        <button type="button" class="button" onClick={onEdit}>
          Edit bounds…
        </button>
      </div>
      <p>
        {desired} wanted, {idle} idle, {running} in use, {waiting} waiting
      </p>
      {decision !== undefined && <p class="hint">Latest decision: {decision}</p>}
      <div class="columns">
        {members.map((member) => (
          <div key={member.name} class="form">
            <h3>
              <Link href={hrefOf(["pools", namespace, member.name])}>{member.name}</Link>
              <span class="hint">
                {" "}
                {member.replicas} pods{member.state === undefined ? "" : `, ${member.state}`}
              </span>
            </h3>
            {member.message !== undefined && member.message !== "" && <p class="hint">{member.message}</p>}
            <SizeChart pool={{ namespace, name: member.name }} />
          </div>
        ))}
      </div>
    </section>
  );
}
