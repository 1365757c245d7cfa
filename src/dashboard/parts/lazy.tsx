/** A component whose code is loaded when it is first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty } from "./empty.tsx";

interface LazyProps<Props extends object> {
  readonly load: () => Promise<ComponentType<Props>>;
  readonly props: Props;
}

export function Lazy<Props extends object>({ load, props }: LazyProps<Props>) {
  const [loaded, setLoaded] = useState<{ readonly Component: ComponentType<Props> }>();
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    load()
      .then((Component) => setLoaded({ Component }))
      .catch(() => setFailed(true));
  }, []);
  if (hasFailed) {
    return (
      <Empty title="This part could not be loaded">
        <p>The server may have a newer console now. Reload the page.</p>
      </Empty>
    );
  }
  if (loaded === undefined) return <p class="hint">Loading…</p>;
  const { Component } = loaded;
  return <Component {...props} />;
}
