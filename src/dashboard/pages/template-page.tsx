/** One template: its documentation, and the properties of its sandboxes. */
import { api } from "../api.ts";
import { envs, pools } from "../live/live-state.ts";
import { Lazy } from "../parts/lazy.tsx";
import { Link } from "../parts/link.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";

export function TemplatePage({ name }: { readonly name: string }) {
  const { value, error } = useLoaded(
    async (signal) => {
      const [template, docs] = await Promise.all([api.templates.get(name, signal), api.templates.docs(name, signal)]);
      return { template, markdown: docs.markdown };
    },
    { of: [name] },
  );
  const made = [
    ...envs.value.filter(({ spec }) => spec.templateRef?.name === name).map(({ metadata }) => ({ kind: "Env", ...metadata })),
    ...pools.value.filter(({ spec }) => spec.templateName === name).map(({ metadata }) => ({ kind: "Pool", ...metadata })),
  ].map(({ kind, namespace = "", name: one = "" }) => ({ kind, namespace, name: one }));
  return (
    <div class="page">
      <div class="page-head">
        <h1>Template {name}</h1>
        {value?.template.spec.version !== undefined && <span class="hint">{value.template.spec.version}</span>}
      </div>
      {error !== undefined && <p class="error">{error}</p>}
      {value !== undefined && (
        <>
          {value.template.spec.description !== undefined && <p>{value.template.spec.description}</p>}
          <section class="card">
            <h2>For its users</h2>
            {value.markdown === "" ? (
              <p class="hint">This template has no documentation (annotation agentbox.navix.sh/docs).</p>
            ) : (
              <Lazy key={name} load={async () => (await import("../parts/markdown.tsx")).Markdown} props={{ text: value.markdown }} />
            )}
          </section>
          <section class="card">
            <h2>Made from it</h2>
            {made.length === 0 ? (
              <p class="hint">No Env or pool visible to you.</p>
            ) : (
              <ul>
                {made.map(({ kind, namespace, name: one }) => (
                  <li key={`${kind} ${namespace}/${one}`}>
                    {kind} <Link href={hrefOf([kind === "Env" ? "envs" : "pools", namespace, one])}>{one}</Link>
                  </li>
                ))}
              </ul>
            )}
          </section>
          <section class="card">
            <h2>Specification</h2>
            <pre class="code" tabIndex={0}>
              {JSON.stringify(value.template.spec, null, 2)}
            </pre>
          </section>
        </>
      )}
    </div>
  );
}
