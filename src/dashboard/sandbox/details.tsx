/** State of a sandbox with its reasons, its timeline, and its usage. */
import type { ComponentChildren } from "preact";
import type { Sandbox } from "#client/sandbox-types.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { Ago } from "../parts/ago.tsx";
import { Link } from "../parts/link.tsx";
import { hrefOf } from "../route.ts";
import { timelineOf } from "./timeline.ts";
import { UsageCharts } from "./usage-charts.tsx";

export function Details({ sandbox }: { readonly sandbox: Sandbox }) {
  const { diagnosis, metadata } = sandbox;
  return (
    <>
      {diagnosis !== undefined && (
        <div class="notice" role="status">
          <strong>{diagnosis.reason}</strong>: {diagnosis.message}
        </div>
      )}
      <div class="columns">
        <section class="card">
          <h2>Life</h2>
          <ol class="timeline">
            {timelineOf(sandbox).map(({ name, about, time, tone }) => (
              <li key={`${name} ${time}`} class={tone}>
                <div>
                  <strong>{name}</strong>
                  {about !== undefined && <div class="hint">{about}</div>}
                </div>
                <Ago time={time} />
              </li>
            ))}
          </ol>
        </section>
        <section class="card">
          <h2>Facts</h2>
          <Facts sandbox={sandbox} />
        </section>
        {!isTerminalStatus(sandbox.status) && <UsageCharts sandboxId={sandbox.sandboxId} />}
        {Object.keys(metadata).length > 0 && (
          <section class="card">
            <h2>Metadata</h2>
            <dl class="facts">
              {Object.entries(metadata).map(([key, value]) => (
                <Fact key={key} name={key}>
                  <Link href={hrefOf(["sandboxes"], { q: `${key}=${value}` })}>{value}</Link>
                </Fact>
              ))}
            </dl>
          </section>
        )}
      </div>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Facts({ sandbox }: { readonly sandbox: Sandbox }) {
  const { namespace, poolName, envName, templateName, team, user, podName, node, cpu, memory, disk, containerImages } = sandbox;
  const owner = [team, user].filter((part) => part !== "").join(" / ");
  return (
    <dl class="facts">
      <Fact name="Pool">
        <Link href={hrefOf(["pools", namespace, poolName])}>{poolName}</Link>
      </Fact>
      {envName !== undefined && (
        <Fact name="Env">
          <Link href={hrefOf(["envs", namespace, envName])}>{envName}</Link>
        </Fact>
      )}
      {templateName !== undefined && (
        <Fact name="Template">
          <Link href={hrefOf(["templates", templateName])}>{templateName}</Link>
        </Fact>
      )}
      <Fact name="Owner">{owner === "" ? "none" : owner}</Fact>
      <Fact name="Size">
        {[cpu && `${cpu} CPU`, memory && `${memory} memory`, disk && `${disk} disk`].filter(Boolean).join(", ") || "not limited"}
      </Fact>
      <Fact name="Ends without traffic">{sandbox.idleTimeout === undefined ? "no" : `after ${sandbox.idleTimeout}`}</Fact>
      <Fact name="At its time">{sandbox.onTimeout === undefined || sandbox.onTimeout === "kill" ? "it ends" : "it pauses"}</Fact>
      <Fact name="Internet">{egressText(sandbox)}</Fact>
      <Fact name="Ports">{sandbox.privateTraffic === true ? "need its traffic token" : "open to any client that knows the address"}</Fact>
      <Fact name="Pod">
        <span class="mono">{podName}</span>
        {node !== undefined && ` on ${node}`}
      </Fact>
      {Object.entries(containerImages).map(([container, image]) => (
        <Fact key={container} name={`Image of ${container}`}>
          <span class="mono">{image}</span>
        </Fact>
      ))}
    </dl>
  );
}

function egressText({ egress }: Sandbox): string {
  if (egress === undefined) return "yes; no private networks";
  const rules = [
    egress.allow.length > 0 && `allow ${egress.allow.join(", ")}`,
    egress.deny.length > 0 && `deny ${egress.deny.join(", ")}`,
  ].filter(Boolean);
  return [egress.internet ? "yes" : "no", ...rules].join("; ");
}
