/** What lets terminal and editor write rules of their own: the page allows no style element without its nonce. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
}

/** While `work` runs, new style elements get the nonce: the terminal has no setting for it. */
export function withStyleNonce(work: () => void): void {
  const create = document.createElement.bind(document);
  const createWithNonce = (tag: string, options?: ElementCreationOptions): HTMLElement => {
    const element = create(tag, options);
    if (tag === "style") element.setAttribute("nonce", styleNonce());
    return element;
  };
  document.createElement = createWithNonce;
  try {
    work();
  } finally {
    // The document's own again, which its prototype has.
    Reflect.deleteProperty(document, "createElement");
  }
}
