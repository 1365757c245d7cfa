/** When sandboxes end: times, the earliest first. */
export class EndTimes {
  readonly #heap: number[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get first(): number {
    return this.#heap[0] ?? Infinity;
  }

  push(time: number): void {
    const heap = this.#heap;
    let index = heap.push(time) - 1;
    for (let up = (index - 1) >> 1; index > 0 && (heap[up] ?? 0) > time; up = (index - 1) >> 1) {
      heap[index] = heap[up] ?? 0;
      heap[(index = up)] = time;
    }
  }

  pop(): void {
    const heap = this.#heap;
    const last = heap.pop() ?? 0;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ;) {
      let least = 2 * index + 1;
      if (least >= heap.length) return;
      if ((heap[least + 1] ?? Infinity) < (heap[least] ?? Infinity)) least += 1;
      if ((heap[least] ?? Infinity) >= last) return;
      heap[index] = heap[least] ?? 0;
      heap[(index = least)] = last;
    }
  }
}
