/** The templates that sandboxes can be created from. */
import { api } from "../api.ts";
import { Empty } from "../parts/empty.tsx";
import { Link } from "../parts/link.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { hrefOf } from "../route.ts";

export function TemplateList() {
  const { value, error } = useLoaded((signal) => api.templates.list(signal), { of: [] });
  return (
    <div class="page">
      <h1>Templates</h1>
      {error !== undefined && <p class="error">{error}</p>}
      {value?.length === 0 && (
        <div class="card">
          <Empty title="No template is visible to you">
            <p>An admin makes templates from YAML:</p>
            <pre class="code">bin/agentbox apply -f template.yaml</pre>
          </Empty>
        </div>
      )}
      {value !== undefined && value.length > 0 && (
        <div class="table-wrap">
          <table>
            <thead>
              <tr>
                <th>Template</th>
                <th>Version</th>
                <th>About</th>
              </tr>
            </thead>
            <tbody>
              {value.map(({ metadata: { name = "" }, spec }) => (
                <tr key={name}>
                  <td>
                    <Link href={hrefOf(["templates", name])}>{name}</Link>
                  </td>
                  <td>{spec.version ?? "–"}</td>
                  <td>{spec.description ?? ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
