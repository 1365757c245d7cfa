/** Templates that `agentbox template add` can build. The control plane only knows their names, for the hint to clients that ask for one. */
export const readyTemplateNames = ["base", "code-interpreter", "node", "browser", "desktop"] as const;
export type ReadyTemplateName = (typeof readyTemplateNames)[number];

export function isReadyTemplate(name: string): name is ReadyTemplateName {
  return readyTemplateNames.some((known) => known === name);
}
