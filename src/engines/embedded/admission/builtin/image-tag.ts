/** The names of images, as far as the server looks into them: to decide how often an image is pulled. */
const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const host = "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
const reference = new RegExp(
  `^(?:(?<host>${host})/)?(?<path>${component}(?:/${component})*)(?::(?<tag>[\\w][\\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);

/** `Always` for images without a tag, or with the tag latest: they change under their name. Anything else is pulled once. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const groups = reference.exec(image)?.groups;
  if (groups === undefined) return "IfNotPresent";
  const { tag, digest } = groups;
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}
