/** Claims of the embedded engine stand on the pods: its store takes a tenth of a millisecond to write one, and no other program follows its pods. */
import type { ClaimBook } from "#engine-port/claim-book.ts";
import { Pods } from "#model/pod.ts";

const book: ClaimBook = {
  followed: [],
  claim: (client, { metadata: { namespace, name = "" } }, { patch }) => client.patch(Pods, { namespace, name }, patch),
  close: async () => true,
  show: (pod) => pod,
  onChange: () => {},
  read: async (_, pod) => pod,
  find: async () => [],
};

export function claimsOnPods(): ClaimBook {
  return book;
}
