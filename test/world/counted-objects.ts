import type { Informer } from "#kube/informer/informer.ts";
import type { ApiObject } from "#model/meta.ts";

/** An informer whose reads are counted: one for each question, and one for each object that an iteration hands out. */
export class CountedObjects<T extends ApiObject> {
  readonly informer: Informer<T>;
  reads = 0;

  constructor(informer: Informer<T>) {
    const objects = new Proxy(informer.objects, { get: (target, name) => this.#counted(target, name) });
    this.informer = new Proxy(informer, {
      get: (target, name) => (name === "objects" ? objects : bound(target, Reflect.get(target, name, target))),
    });
  }

  #counted(target: object, name: string | symbol): unknown {
    const member: unknown = bound(target, Reflect.get(target, name, target));
    if (typeof member !== "function") return member;
    return (...args: readonly unknown[]): unknown => {
      this.reads += 1;
      const answer: unknown = Reflect.apply(member, undefined, args);
      return answer instanceof Iterator ? answer.map((object: unknown) => ((this.reads += 1), object)) : answer;
    };
  }
}

/** Methods of a class with private fields work only on the object itself. */
function bound(target: object, member: unknown): unknown {
  return typeof member === "function" ? (member.bind(target) as unknown) : member;
}
